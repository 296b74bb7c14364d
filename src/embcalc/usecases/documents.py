"""JSON files beside the weights: absent, unreadable, or what they hold."""

from __future__ import annotations

import codecs
import json
from typing import Any

from embcalc.core.config import ModelConfig
from embcalc.core.files import Folder, is_html, is_lfs_pointer, lfs_pointer_error, read_small
from embcalc.core.tokenizer_facts import TokenizerFacts
from embcalc.errors import ConfigError, TokenizerError

_KINDS: dict[type, str] = {
    type(None): "null",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def read_object(folder: Folder, name: str) -> dict[str, Any] | None:
    """Read a JSON file that should hold an object; None where the folder has no such file.

    Raises:
        LfsPointerError: a Git LFS pointer stands in its place.
        ConfigError: it is no JSON, or holds something else than an object.
        SourceError: it cannot be read.
    """
    content = read_small(folder, name)
    if content is None:
        return None
    if is_lfs_pointer(content):
        raise lfs_pointer_error(name, content)
    document = _decoded(content, name)
    if not isinstance(document, dict):
        raise ConfigError(
            f"{name} holds {_KINDS[type(document)]}, not a JSON object",
            hint="it should begin with {; take the original model's file",
        )
    return document


def tying_unread(config: ModelConfig | None, absent: str | None) -> str | None:
    """Say why a config that is there does not tell whether table and head are tied."""
    if config is None:
        return absent
    return config.tied_from if config.tied_refused else None


def require_tokenizer(facts: TokenizerFacts, address: str) -> None:
    """Refuse a place that was named for its tokenizer and has none.

    Raises:
        TokenizerError: there is no tokenizer file.
    """
    if facts.vocabulary is None and not facts.problems and facts.python_class is None:
        raise TokenizerError(
            f"no tokenizer file in {address}",
            hint="--tokenizer takes a tokenizer file, or a folder or hub id that holds one",
        )


def _decoded(content: bytes, name: str) -> object:
    if not content.strip():
        raise ConfigError(f"{name} is empty", hint="download it again")
    if is_html(content):
        raise ConfigError(
            f"{name} is an HTML page, not JSON",
            hint="a login or error page was saved in its place; download the file itself",
        )
    _require_utf8(content, name)
    try:
        return json.loads(content)
    except RecursionError:
        raise ConfigError(f"{name} is nested too deep", "download it again") from None
    except ValueError as error:
        why = str(error).partition(";")[0]  # what follows is advice for Python programmers
        raise ConfigError(f"{name} is not valid JSON: {why}", "download it again") from error


def _require_utf8(content: bytes, name: str) -> None:
    # json.loads would guess UTF-16 and UTF-32; transformers opens the file as UTF-8.
    if content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ConfigError(
            f"{name} begins with a byte order mark: transformers cannot read it",
            hint="save it as UTF-8 without a byte order mark (BOM)",
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{name} is not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start:,}",
            hint="save it as UTF-8, or download it again",
        ) from error
    if "\0" in text:
        raise ConfigError(
            f"{name} holds zero bytes: it is damaged, or UTF-16",
            hint="save it as UTF-8, or download it again",
        )
