"""Names of files as a server gives them, and what they say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

from embcalc.errors import SourceError

MAX_FILES = 50_000
"""Files that an address may list: far above any model, far below a whole bucket."""
WEIGHTS = (
    ".safetensors", ".gguf", ".bin", ".pt", ".pth", ".ckpt", ".npy", ".npz", ".h5", ".msgpack",
    ".onnx", ".ot", ".pkl", ".zip", ".tar", ".gz", ".parquet", ".arrow",
)  # fmt: skip
"""Endings of files that may be large and are read by byte ranges."""
TEXTS = (
    ".json", ".jsonl", ".txt", ".model", ".vocab", ".spm", ".bpe", ".tiktoken", ".jinja", ".yaml",
    ".yml",
)  # fmt: skip
"""Endings of configs, indexes and tokenizer files."""

_UNSAFE = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|^[A-Za-z]:|[\\\x00-\x1f\x7f]")
T = TypeVar("T")


def is_safe(name: str) -> bool:
    """Whether a name stays inside the folder that it is relative to."""
    return bool(name) and len(name) <= 1024 and _UNSAFE.search(name) is None


def is_hidden(name: str) -> bool:
    """Whether a file or one of its folders begins with a dot."""
    return name.startswith(".") or "/." in name


def names_a_file(path: str) -> bool:
    """Whether the ending of a path says that it is a file of a model."""
    return path.lower().endswith(WEIGHTS + TEXTS)


def bounded(entries: Iterable[T], label: str) -> Iterator[T]:
    """Pass entries of a listing on.

    Raises:
        SourceError: there are too many for one model.
    """
    for number, entry in enumerate(entries):
        if number >= MAX_FILES:
            raise SourceError(
                f"{label} holds more than {MAX_FILES:,} files",
                hint="name the folder or the file of one model",
            )
        yield entry
