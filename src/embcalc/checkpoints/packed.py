"""Arithmetic of packed weights: bits to integers, integers and scales to numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.core.decode import to_float32
from embcalc.core.dtypes import BY_NAME

Floats = NDArray[np.float32]


def unpack_bits(packed: NDArray[Any], bits: int, width: int) -> NDArray[np.uint8]:
    """Take scalars of 2 to 8 bits out of a little-endian bit stream, the first lowest.

    Args:
        packed: `[rows, words]` of any integer type, little endian.
        bits: bits per scalar.
        width: scalars per row.

    Returns:
        uint8 `[rows, width]`.
    """
    stream = np.ascontiguousarray(packed).view(np.uint8).reshape(len(packed), -1)
    if bits == 8:
        return stream[:, :width]
    if bits == 4:
        pairs = np.stack((stream & 15, stream >> 4), axis=-1)
        return pairs.reshape(len(packed), -1)[:, :width]
    single = np.unpackbits(stream, axis=1, bitorder="little")[:, : width * bits]
    weights = (1 << np.arange(bits)).astype(np.uint8)
    codes: NDArray[np.uint8] = single.reshape(len(packed), width, bits) @ weights
    return codes


def affine(codes: NDArray[np.uint8], scales: Floats, biases: Floats) -> Floats:
    """MLX: value = scale of its group × code + bias of its group.

    Args:
        codes: `[rows, width]`.
        scales: `[rows, groups]`.
        biases: `[rows, groups]`.
    """
    rows, width = codes.shape
    grouped = codes.reshape(rows, scales.shape[1], -1).astype(np.float32)
    grouped *= scales[..., None]
    grouped += biases[..., None]
    return grouped.reshape(rows, width)


def symmetric(codes: NDArray[np.uint8], bits: int, scales: Floats) -> Floats:
    """compressed-tensors: value = scale of its group × (code - 2^(bits - 1))."""
    centred = codes.astype(np.float32) - np.float32(1 << (bits - 1))
    return scaled(centred, scales)


def scaled(values: Floats, scales: Floats) -> Floats:
    """Multiply each row's groups of columns by their scales.

    Args:
        values: `[rows, width]`.
        scales: `[rows, groups]`; the last group may be narrower than the others.
    """
    width, groups = values.shape[1], scales.shape[1]
    if groups == 1:
        return values * scales
    size = group_size(width, groups)
    return values * np.repeat(scales, size, axis=1)[:, :width]


def group_size(length: int, groups: int) -> int:
    """Compute the scalars per group: 128 where that fits, a power of two where none divides."""
    if -(-length // 128) == groups:
        return 128
    if length % groups == 0:
        return length // groups
    return 1 << (-(-length // groups) - 1).bit_length()


def fp4(packed: NDArray[Any], width: int) -> Floats:
    """Decode packed E2M1 scalars, two a byte.

    Args:
        packed: `[rows, words]` of any integer type.
        width: scalars per row.
    """
    stream = np.ascontiguousarray(packed).view(np.uint8).reshape(len(packed), -1)
    return to_float32(stream, BY_NAME["F4"])[:, :width]


def small_floats(codes: NDArray[Any], dtype: str) -> Floats:
    """Decode one-byte floats that are stored as plain bytes."""
    return to_float32(codes.astype(np.uint8, copy=False), BY_NAME[dtype])
