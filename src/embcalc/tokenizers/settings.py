"""The files beside a vocabulary: tokenizer_config.json, special_tokens_map.json and their kin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from embcalc.core.files import Folder
from embcalc.core.tokenizer_facts import FileProblem
from embcalc.core.vocabulary import Declared
from embcalc.errors import EmbcalcError, LfsPointerError, TokenizerError
from embcalc.tokenizers.files import MAX_ID, decode_json, read_json

CONFIG = "tokenizer_config.json"
SPECIAL_MAP = "special_tokens_map.json"
ADDED = "added_tokens.json"
NAMES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
"""In the order in which transformers appends those that exist nowhere."""
INFILL = ("prefix_token", "middle_token", "suffix_token", "eot_token")
INFILL_TEXTS = ("▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>")
"""What Code Llama's tokenizer class adds unless the configuration says null."""
_LISTED = "added_tokens_decoder"
LIMIT = 100_000
"""Entries of a side file that are looked at."""

T = TypeVar("T")


class _Entry(msgspec.Struct, gc=False):
    content: str
    special: bool = False


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The side files of one tokenizer, as they are."""

    config: Mapping[str, Any] = field(default_factory=dict)
    has_config: bool = False
    special_map: Mapping[str, Any] = field(default_factory=dict)
    decoder: tuple[Declared, ...] | None = None
    """`added_tokens_decoder` in id order, or None where the key is absent."""
    added: tuple[Declared, ...] = ()
    """added_tokens.json in id order."""
    problems: tuple[FileProblem, ...] = ()

    @property
    def tokenizer_class(self) -> str:
        """The class without its `Fast`, "" where none is named."""
        name = self.config.get("tokenizer_class")
        return name.removesuffix("Fast") if isinstance(name, str) else ""

    def named(self) -> Iterator[tuple[str, str, str]]:
        """Special tokens by purpose: name, text and the file that counts."""
        for purpose in NAMES:
            key = f"{purpose}_token"
            text, file = text_of(self.config.get(key)), CONFIG
            if self.decoder is None and (mapped := text_of(self.special_map.get(key))):
                text, file = mapped, SPECIAL_MAP
            if text:
                yield key, text, file

    def further(self) -> Iterator[Declared]:
        """Special tokens without a purpose, in the order in which they are appended."""
        maps = [(self.config, CONFIG)]
        if self.decoder is None:
            maps.append((self.special_map, SPECIAL_MAP))
        for key in ("additional_special_tokens", "extra_special_tokens"):
            for document, file in maps:
                value = document.get(key)
                items = list(value.values()) if isinstance(value, dict) else value
                for item in items if isinstance(items, list) else ():
                    if text := text_of(item):
                        yield Declared(text=text, special=True, file=file)
        yield from self._infill()

    def _infill(self) -> Iterator[Declared]:
        if self.tokenizer_class != "CodeLlamaTokenizer":
            return
        for key, default in zip(INFILL, INFILL_TEXTS, strict=True):
            text = text_of(self.config.get(key, default))
            if text:
                yield Declared(text=text, special=True, file=CONFIG)


def text_of(value: object) -> str | None:
    """The text of a special token, written as a string or as an object."""
    if isinstance(value, Mapping):
        value = value.get("content")
    return value if isinstance(value, str) and value else None


def read_settings(folder: Folder, prefix: str = "") -> Settings:
    """Read what lies beside a vocabulary; a file that is broken becomes a problem.

    Args:
        folder: the model's.
        prefix: folder of the vocabulary inside it, with its slash.
    """
    names = folder.names()
    problems: list[FileProblem] = []

    def guarded(name: str, read: Callable[[str], T], fallback: T) -> T:
        if prefix + name not in names:
            return fallback
        try:
            return read(prefix + name)
        except EmbcalcError as error:
            problems.append(problem_of(prefix + name, error))
            return fallback

    empty: dict[str, Any] = {}
    config = guarded(CONFIG, lambda name: _config(folder, name), empty)
    special = guarded(SPECIAL_MAP, lambda name: read_json(folder, name, dict[str, Any]), empty)
    nothing: tuple[Declared, ...] = ()
    added = guarded(ADDED, lambda name: _added(folder, name), nothing)
    listed = config.pop(_LISTED, None)
    decoder = guarded(CONFIG, lambda name: _decoder(listed, name), None)
    return Settings(
        config=config,
        has_config=prefix + CONFIG in names,
        special_map=special,
        decoder=decoder,
        added=added,
        problems=tuple(problems),
    )


def problem_of(file: str, error: EmbcalcError) -> FileProblem:
    """An error as something to report."""
    return FileProblem(
        file=file,
        message=error.message,
        hint=error.hint,
        pointer=isinstance(error, LfsPointerError),
    )


def _added(folder: Folder, name: str) -> tuple[Declared, ...]:
    entries = read_json(folder, name, dict[str, int])
    for text, token_id in entries.items():
        _check(token_id, text, name)
    ordered = sorted(entries.items(), key=lambda entry: entry[1])
    return tuple(Declared(text=text, id=i, file=name) for text, i in ordered[:LIMIT])


def _config(folder: Folder, name: str) -> dict[str, Any]:
    """The settings; the long list of tokens among them is left as it is, to be decoded once."""
    values = read_json(folder, name, dict[str, msgspec.Raw])
    return {
        key: value if key == _LISTED else decode_json(value, name, object)
        for key, value in values.items()
    }


def _decoder(listed: msgspec.Raw | None, name: str) -> tuple[Declared, ...] | None:
    if listed is None or bytes(listed) == b"null":
        return None
    entries = decode_json(listed, f"added_tokens_decoder in {name}", dict[int, _Entry])
    for token_id, entry in entries.items():
        _check(token_id, entry.content, name)
    return tuple(
        Declared(text=entry.content, id=token_id, special=entry.special, file=name)
        for token_id, entry in sorted(entries.items())[:LIMIT]
    )


def _check(token_id: int, text: str, name: str) -> None:
    if not 0 <= token_id <= MAX_ID:
        raise TokenizerError(
            f"{name} gives {text[:40]!r} the id {token_id:,}; ids are 0 to {MAX_ID:,}",
            hint="correct the id, or save the tokenizer again",
        )
