"""What a file is by its first bytes, whatever its name says."""

from __future__ import annotations

import re
from enum import StrEnum

from embcalc.checkpoints.messages import where
from embcalc.core.files import File, is_html, is_lfs_pointer, promised_size
from embcalc.errors import CheckpointError

HEAD = 1024
"""Bytes that decide."""
MAX_SAFETENSORS_HEADER = 100_000_000
"""Bytes of a header that the reference parser of safetensors still reads."""


class Kind(StrEnum):
    """What a file holds."""

    SAFETENSORS = "a safetensors file"
    TORCH_ZIP = "a PyTorch file"
    TORCH_LEGACY = "a PyTorch pickle"
    GGUF = "a GGUF file"
    NPY = "a NumPy array"
    NPZ = "a NumPy archive"
    EMPTY = "empty"
    LFS = "a Git LFS pointer"
    HTML = "an HTML page"
    JSON = "a JSON text"
    ZEROS = "all zero bytes"
    ZIP = "a zip archive without tensors"
    OTHER = "an unknown format"
    HDF5 = "an HDF5 file"
    GZIP = "a gzip archive"
    ZSTD = "a Zstandard archive"
    XZ = "an xz archive"
    TAR = "a tar archive"
    TORCH_TAR = "a PyTorch 0.1 archive"


READABLE = (
    Kind.SAFETENSORS,
    Kind.TORCH_ZIP,
    Kind.TORCH_LEGACY,
    Kind.GGUF,
    Kind.NPY,
    Kind.NPZ,
)
SUFFIXES: dict[str, tuple[Kind, ...]] = {
    ".safetensors": (Kind.SAFETENSORS,),
    ".gguf": (Kind.GGUF,),
    ".npy": (Kind.NPY,),
    ".npz": (Kind.NPZ,),
    ".bin": (Kind.TORCH_ZIP, Kind.TORCH_LEGACY),
    ".pt": (Kind.TORCH_ZIP, Kind.TORCH_LEGACY),
    ".pth": (Kind.TORCH_ZIP, Kind.TORCH_LEGACY),
    ".ckpt": (Kind.TORCH_ZIP, Kind.TORCH_LEGACY),
}
"""What the names promise; a file of another suffix promises nothing."""

_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"GGUF", Kind.GGUF),
    (b"\x93NUMPY", Kind.NPY),
    (b"\x89HDF\r\n", Kind.HDF5),
    (b"\x1f\x8b", Kind.GZIP),
    (b"\x28\xb5\x2f\xfd", Kind.ZSTD),
    (b"\xfd7zXZ", Kind.XZ),
)
_TORCH_TAR = (b"sys_info", b"pickle", b"tensors", b"storages")
"""Members of the archives that torch.save wrote before version 0.1.10, of which one is first."""


def identify(file: File) -> Kind:
    """Say what a file is.

    Raises:
        SourceError: it cannot be read.
    """
    if file.size == 0:
        return Kind.EMPTY
    head = file.read(0, HEAD)
    if is_lfs_pointer(head):
        return Kind.LFS
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _zip_kind(file)
    return _text_or_binary(head)


def _text_or_binary(head: bytes) -> Kind:
    length = int.from_bytes(head[:8], "little")
    if 2 <= length <= MAX_SAFETENSORS_HEADER and re.match(rb"\s*\{", head[8:]):
        return Kind.SAFETENSORS
    if head[:1] == b"\x80" and head[1:2] in (b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"):
        return Kind.TORCH_LEGACY
    if is_html(head):
        return Kind.HTML
    if re.match(rb"\s*[{\[]", head) and b"\0" not in head:
        return Kind.JSON
    if head[257:262] == b"ustar":
        return Kind.TORCH_TAR if head.split(b"\0", 1)[0] in _TORCH_TAR else Kind.TAR
    return Kind.ZEROS if not any(head) else Kind.OTHER


def _zip_kind(file: File) -> Kind:
    """Tell zips apart by the names in the last bytes, where the directory lies."""
    tail = file.read(max(0, file.size - (1 << 20)))
    if b"data.pkl" in tail or b"data.pkl" in file.read(0, HEAD):
        return Kind.TORCH_ZIP
    return Kind.NPZ if b".npy" in tail else Kind.ZIP


_REFUSED = {
    Kind.EMPTY: ("is empty (0 bytes)", "download it again"),
    Kind.HTML: (
        "is an HTML page, not a checkpoint",
        "a login or error page was saved in its place; download the file itself",
    ),
    Kind.JSON: (
        "is a JSON text, not a checkpoint",
        "it may be an index or the message of a failed download; look into it",
    ),
    Kind.ZEROS: (
        f"begins with {HEAD:,} zero bytes: its contents were never written",
        "an interrupted download leaves such files; download it again",
    ),
    Kind.TORCH_TAR: (
        "is a tar archive as PyTorch wrote before 0.1.10: it is not read",
        "load it with torch.load and save it again with torch.save",
    ),
}
"""What is wrong with a file of a kind, and what to do."""


def refusal(file: File, kind: Kind) -> CheckpointError:
    """Word the error for a file that is not what its name, or any reader, asks for."""
    if kind is Kind.LFS:
        return _lfs_pointer(file)
    if kind in _REFUSED:
        what, hint = _REFUSED[kind]
        return CheckpointError(f"{where(file)} {what}", hint=hint)
    return _other_kind(file, kind)


def _other_kind(file: File, kind: Kind) -> CheckpointError:
    suffix = suffix_of(file.name)
    claimed = {".safetensors": "safetensors", ".gguf": "GGUF", ".npy": "NumPy", ".npz": "NumPy"}
    what = claimed.get(suffix, "PyTorch" if suffix in SUFFIXES else "a checkpoint")
    message = f"{where(file)} is {kind.value}, not {what}"
    if kind in READABLE:
        right = next(name for name, kinds in SUFFIXES.items() if kind in kinds)
        return CheckpointError(
            message, hint=f"rename it to end in {right}; embcalc can read it then"
        )
    if kind is Kind.OTHER:
        return CheckpointError(
            f"{where(file)} is no checkpoint of a known format",
            hint="embcalc reads safetensors, PyTorch, GGUF, MLX and NumPy files",
        )
    return CheckpointError(message, hint="unpack or convert it first")


def _lfs_pointer(file: File) -> CheckpointError:
    return CheckpointError(
        f"{where(file)} is a Git LFS pointer{promised_size(file.read(0, HEAD))}",
        hint="run 'git lfs pull' in its repository, or download the file itself",
    )


def suffix_of(name: str) -> str:
    """Take the suffix, dot included, in lower case; "" where there is none."""
    leaf = name.rpartition("/")[2]
    dot = leaf.rfind(".")
    return leaf[dot:].lower() if dot > 0 else ""
