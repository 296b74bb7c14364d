"""The JSON header of a safetensors file, accepted and rejected as the reference parser does.

The reference (safetensors' Rust source, `tensor.rs`) is `serde_json` over a map of tensors. A
header as every writer makes it is decoded in one pass by msgspec. One with anything unusual in it
(escapes, unknown fields, negative numbers) is parsed again, slowly, by serde's rules.
"""

from __future__ import annotations

import gc
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from embcalc.checkpoints.messages import shown
from embcalc.core.dtypes import BY_NAME

MAX_DEPTH = 127
"""Nesting that serde_json follows."""
_U64 = 1 << 64
Integers = np.ndarray[Any, np.dtype[np.int64]]


class Entry(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One tensor of the header."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Header:
    """A valid header."""

    entries: Mapping[str, Entry]
    """By name, ordered by place in the file."""
    metadata: Mapping[str, str]
    data_bytes: int
    """Bytes of data that the tensors cover, from the first byte after the header."""
    empty: tuple[str, ...] = ()
    """Names of the tensors without scalars."""


_ENTRIES = msgspec.json.Decoder(dict[str, Entry])
_METADATA = msgspec.json.Decoder(dict[str, str])
_IN_FRONT = re.compile(rb'\s*\{"__metadata__":(\{[^{}]*\})(,|(?=\}))')
_BEHIND = re.compile(rb'[,{]"__metadata__":(\{[^{}]*\})\}\s*\Z')
_BY_KIND = attrgetter("dtype", "shape")
_BY_PLACE = attrgetter("data_offsets")


def parse_header(raw: bytes) -> Header:
    """Parse and validate the JSON of a header.

    Raises:
        ValueError: the reference parser rejects it; the message says what is wrong.
    """
    with _no_collection():
        parsed = _parse_usual(raw)
        entries, metadata = _parse_any(raw) if parsed is None else parsed
        return _validate(entries, metadata)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Spare the garbage collector the walk over 94,000 new objects of which none is garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _parse_usual(raw: bytes) -> tuple[dict[str, Entry], dict[str, str]] | None:
    """Decode a header that has nothing but the known fields, each once; None for others."""
    if b"\\" in raw or b"-0" in raw:
        return None
    try:
        metadata, rest = _cut_metadata(raw)
        entries = _ENTRIES.decode(rest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    # The decoder refuses unknown and missing fields; every `":` ends a key, so their number
    # proves that none is repeated.
    return (entries, metadata) if rest.count(b'":') == 4 * len(entries) else None


def _cut_metadata(raw: bytes) -> tuple[dict[str, str], bytes]:
    """Take the metadata out, which come first or last as all writers have it."""
    found = _IN_FRONT.match(raw)
    if found is not None:
        rest = b"{" + raw[found.end() :]
    else:
        at = raw.rfind(b'"__metadata__"')
        found = _BEHIND.match(raw, at - 1) if at > 0 else None
        if found is None:
            return {}, raw
        rest = raw[: at - 1] + (b"{}" if raw[at - 1 : at] == b"{" else b"}")
    metadata = _METADATA.decode(found[1])
    if found[1].count(b'":') != len(metadata):
        raise msgspec.DecodeError("a key of the metadata is repeated")
    return metadata, rest


def _validate(entries: dict[str, Entry], metadata: dict[str, str]) -> Header:
    sizes = _sizes(entries)
    try:
        flat = chain.from_iterable(map(_BY_PLACE, entries.values()))
        offsets = np.fromiter(flat, np.int64, 2 * len(entries)).reshape(-1, 2)
    except OverflowError:
        raise ValueError("an offset lies past any file") from None
    order = np.lexsort((offsets[:, 1], offsets[:, 0]))
    ordered = offsets[order]
    names = list(entries)
    _refuse_gaps(ordered, order, names)
    wrong = np.flatnonzero(offsets[:, 1] - offsets[:, 0] != sizes)
    if len(wrong):
        name = names[int(wrong[0])]
        spans = offsets[wrong[0], 1] - offsets[wrong[0], 0]
        raise ValueError(
            f"tensor {shown(name)} takes {sizes[wrong[0]]:,} bytes by its shape,"
            f" {spans:,} in the file"
        )
    if np.any(order[1:] < order[:-1]):
        entries = {names[index]: entries[names[index]] for index in order}
    return Header(
        entries,
        metadata,
        data_bytes=int(ordered[-1, 1]) if len(ordered) else 0,
        empty=tuple(names[index] for index in np.flatnonzero(sizes == 0)),
    )


def _refuse_gaps(ordered: Integers, order: Integers, names: list[str]) -> None:
    """Refuse holes, overlaps and reversed ranges, as the reference walks them."""
    starts = np.concatenate(([0], ordered[:-1, 1])) if len(ordered) else ordered[:, 0]
    wrong = np.flatnonzero((ordered[:, 0] != starts) | (ordered[:, 1] < ordered[:, 0]))
    if len(wrong):
        first = int(wrong[0])
        raise ValueError(
            f"tensor {shown(names[order[first]])} lies at bytes {ordered[first, 0]:,} to"
            f" {ordered[first, 1]:,}, where byte {starts[first]:,} comes next"
        )


def _sizes(entries: Mapping[str, Entry]) -> Integers:
    """Compute the bytes of each tensor; one shape is computed once."""
    kinds = list(map(_BY_KIND, entries.values()))
    known = {}
    for kind in set(kinds):
        try:
            known[kind] = _size(*kind)
        except ValueError as error:
            name = list(entries)[kinds.index(kind)]
            raise ValueError(f"tensor {shown(name)} {error}") from None
    return np.fromiter(map(known.__getitem__, kinds), np.uint64, len(kinds)).astype(np.int64)


def _size(name: str, shape: tuple[int, ...]) -> int:
    """Compute bytes; the error goes on behind the tensor's name."""
    dtype = BY_NAME.get(name)
    if dtype is None:
        raise ValueError(f"has the unknown dtype {shown(name)}")
    scalars = 1
    for length in shape:
        scalars *= length
        if not 0 <= length < _U64 or scalars >= _U64:
            raise ValueError("has an impossible shape")
    bits = scalars * dtype.bits
    if bits >= _U64:
        raise ValueError("has an impossible shape")
    if bits % 8:
        raise ValueError(f"has {scalars:,} scalars of {dtype}, which do not fill bytes")
    return bits // 8


class _Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object with every key that it has, repeated ones too."""

    __slots__ = ()


def _parse_any(raw: bytes) -> tuple[dict[str, Entry], dict[str, str]]:
    try:
        document = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_Pairs,
            parse_float=_finite,
            parse_int=_integer,
            parse_constant=_no_constant,
        )
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("broken JSON: a lone surrogate in a string") from None
    except UnicodeDecodeError:
        raise ValueError("the header is no UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"broken JSON: {error}") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    if not isinstance(document, _Pairs):
        raise ValueError("the header is no JSON object")
    _refuse_depth(document)
    entries: dict[str, Entry] = {}
    for name, value in document:
        if name != "__metadata__":
            entries.pop(name, None)
            entries[name] = _entry(name, value)
    return entries, _metadata([value for name, value in document if name == "__metadata__"])


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"broken JSON: number out of range: {text[:40]}")
    return value


def _integer(text: str) -> int | float:
    """Read integers as serde_json does: those past 64 bits, and -0, are floats."""
    if text == "-0" or len(text) > 20:
        return _finite(text)
    value = int(text)
    return value if -(1 << 63) <= value < _U64 else float(value)


def _no_constant(text: str) -> None:
    raise ValueError(f"broken JSON: {text} is no JSON")


def _refuse_depth(document: object) -> None:
    level: list[object] = [document]
    for _ in range(MAX_DEPTH):
        if not level:
            return
        level = [inner for value in level for inner in _inner(value)]
    if any(isinstance(value, _Pairs | list) for value in level):
        raise ValueError("the JSON is nested too deep")


def _inner(value: object) -> list[object]:
    if isinstance(value, _Pairs):
        return [inner for _, inner in value]
    return value if isinstance(value, list) else []


def _metadata(values: list[object]) -> dict[str, str]:
    if len(values) > 1:
        raise ValueError("duplicate __metadata__")
    if not values or values[0] is None:
        return {}
    if not isinstance(values[0], _Pairs) or any(type(text) is not str for _, text in values[0]):
        raise ValueError("__metadata__ maps to something else than text")
    return dict(values[0])


def _entry(name: str, value: object) -> Entry:
    fields = _fields(name, value)
    dtype = fields["dtype"]
    if isinstance(dtype, _Pairs) and len(dtype) == 1 and dtype[0][1] is None:
        dtype = dtype[0][0]
    shape, offsets = fields["shape"], fields["data_offsets"]
    if (
        not isinstance(dtype, str)
        or not _are_sizes(shape)
        or not _are_sizes(offsets)
        or len(offsets) != 2
    ):
        raise ValueError(f"tensor {shown(name)} has a malformed dtype, shape or offsets")
    return Entry(dtype, tuple(shape), tuple(offsets))


def _fields(name: str, value: object) -> dict[str, Any]:
    """Take the three fields from an object, or from the array that serde takes for one."""
    known = ("dtype", "shape", "data_offsets")
    if isinstance(value, list):
        pairs = list(zip(known, value, strict=False)) if len(value) == 3 else []
    else:
        pairs = [pair for pair in value if pair[0] in known] if isinstance(value, _Pairs) else []
    fields = dict(pairs)
    if len(fields) != 3 or len(pairs) != 3:
        raise ValueError(f"tensor {shown(name)} has absent or repeated fields")
    return fields


def _are_sizes(value: object) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)
