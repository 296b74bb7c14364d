"""What every tokenizer reader needs of a file: bytes, text or JSON, or a clear refusal."""

from __future__ import annotations

import codecs
from typing import TypeVar

import msgspec

from embcalc.core.files import Folder, is_html, is_lfs_pointer, lfs_pointer_error
from embcalc.errors import TokenizerError

T = TypeVar("T")
BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
WITHOUT_BOM = "save it as UTF-8 without a byte order mark (BOM)"
MAX_ID = 2**32 - 1
"""Token ids are 32-bit unsigned integers in `tokenizers`."""


def read_bytes(folder: Folder, name: str) -> bytes:
    """The whole content of a file.

    Raises:
        TokenizerError: it is empty, or a Git LFS pointer or a web page stands in its place.
        SourceError: it cannot be read.
    """
    content = folder.open(name).read()
    if not content.strip():
        raise TokenizerError(f"{name} is empty", hint="download the file again")
    if is_lfs_pointer(content):
        raise lfs_pointer_error(name, content)
    if is_html(content):
        raise TokenizerError(
            f"{name} is an HTML page, not the file itself",
            hint="the download was answered with a web page: sign in, or check the address",
        )
    return content


def read_text(folder: Folder, name: str) -> str:
    """The content of a UTF-8 file, line ends as stored.

    Raises:
        TokenizerError: as for `read_bytes`; also where the bytes are no UTF-8.
        SourceError: it cannot be read.
    """
    content = read_bytes(folder, name)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TokenizerError(
            f"{name} is not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start:,}",
            hint="the file is damaged, or is not what its name says",
        ) from error


def read_json(folder: Folder, name: str, kind: type[T]) -> T:
    """Decode the parts of a JSON file that `kind` names.

    Raises:
        TokenizerError: as for `read_bytes`; also where it is no JSON, or not as `kind` wants it.
        SourceError: it cannot be read.
    """
    return decode_json(read_bytes(folder, name), name, kind)


def decode_json(content: bytes | msgspec.Raw, name: str, kind: type[T]) -> T:
    """Decode JSON that was read already; `name` is for messages.

    Raises:
        TokenizerError: it is no JSON, or not as `kind` wants it.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise TokenizerError(
            f"{name} is not as its format wants it: {error}",
            hint="compare it with the original model's file",
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _no_json(name, content, error) from error


def _no_json(name: str, content: bytes | msgspec.Raw, error: Exception) -> TokenizerError:
    if bytes(content).startswith(BOMS):
        return TokenizerError(
            f"{name} begins with a byte order mark: no tokenizer library reads that", WITHOUT_BOM
        )
    if "truncated" in str(error):
        return TokenizerError(f"{name} is cut short: its JSON does not end", "download it again")
    return TokenizerError(f"{name} is not valid JSON: {error}", hint="download it again")


def check_ids(ids: list[int] | dict[str, int], name: str) -> None:
    """Refuse ids that no tokenizer can emit.

    Raises:
        TokenizerError: an id is negative or larger than 32 bits hold.
    """
    values = ids.values() if isinstance(ids, dict) else ids
    worst = min(values, default=0)
    if worst >= 0:
        worst = max(values, default=0)
    if not 0 <= worst <= MAX_ID:
        raise TokenizerError(
            f"{name} gives a token the id {worst:,}; ids are 0 to {MAX_ID:,}",
            hint="compare it with the original model's file",
        )
