"""How quantised weights are stored: several tensors that make up one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from embcalc.checkpoints import packed
from embcalc.checkpoints.packed import Floats
from embcalc.core.dtypes import DType
from embcalc.core.tables import TensorInfo

Read = Callable[[str, range], Any]
"""Reads rows of a stored tensor, as carried: `read(name, rows)`."""
Numbers = Callable[[str, range], Floats]
"""Reads rows of a stored tensor as float32, `[rows, width]`."""
Decode = Callable[[Read, Numbers, range], Floats]


@dataclass(frozen=True, slots=True)
class Recipe:
    """One logical weight."""

    name: str
    """Its name, `….weight`."""
    shape: tuple[int, ...]
    dtype: DType
    parts: tuple[str, ...]
    """Stored tensors that it is made of; the first gives its place in the file."""
    scheme: str
    """`MLX`, `GPTQ`, …"""
    decode: Decode | None
    """None where its values are not read."""


Stored = Mapping[str, TensorInfo]
Settings = Mapping[str, Any]
"""The `quantization` or `quantization_config` of the config, empty without one; and under
`shape_of` a function that reads the values of a tensor that holds a shape."""

_MLX_BITS = (2, 3, 4, 5, 6, 8)
_PACKED_BITS = range(2, 9)
_MLX_GROUPS = (64, 32, 128)
MARKERS = (
    ".scales",
    ".weight_packed",
    ".weight_scale",
    ".weight_scale_inv",
    ".weight.absmax",
    ".SCB",
    "_scales",
)
"""Ends of the names of scales: no checkpoint without one of them stores weights in parts."""


def find_recipes(stored: Stored, settings: Settings) -> Iterator[Recipe]:
    """Find the weights of a checkpoint that are stored in parts."""
    for name in stored:
        if not name.endswith(MARKERS):
            continue
        for suffix, find in _FINDERS:
            if name.endswith(suffix):
                recipe = find(stored, name.removesuffix(suffix), settings)
                if recipe is not None:
                    yield recipe
                    break


def _present(stored: Stored, stem: str, *suffixes: str) -> tuple[str, ...]:
    return tuple(stem + suffix for suffix in suffixes if stem + suffix in stored)


def _matrix(stored: Stored, name: str) -> TensorInfo | None:
    tensor = stored.get(name)
    return tensor if tensor is not None and len(tensor.shape) == 2 and tensor.scalars else None


def _mlx(stored: Stored, stem: str, settings: Settings) -> Recipe | None:
    weight, scales = stored.get(f"{stem}.weight"), stored.get(f"{stem}.scales")
    if weight is None or scales is None or weight.dtype.name != "U32":
        return None
    if len(weight.shape) < 2 or weight.shape[:-1] != scales.shape[:-1] or not scales.shape[-1]:
        return None
    product, rest = divmod(32 * weight.shape[-1], scales.shape[-1])
    biased = f"{stem}.biases" in stored
    found = None if rest else _mlx_sizes(stored, stem, product, settings, biased=biased)
    if found is None:
        return None
    bits, group = found
    width = scales.shape[-1] * group
    extra = 8 * scales.dtype.nbytes(1) * (2 if biased else 1)
    return Recipe(
        name=f"{stem}.weight",
        shape=(*weight.shape[:-1], width),
        dtype=DType(f"MLX{bits}", bits * group + extra, "quantised", group),
        parts=_present(stored, stem, ".weight", ".scales", ".biases"),
        scheme="MLX",
        decode=_mlx_affine(stem, bits, width) if biased else _mlx_floats(stem, bits, group, width),
    )


def _mlx_sizes(
    stored: Stored, stem: str, product: int, settings: Settings, *, biased: bool
) -> tuple[int, int] | None:
    """Find bits and group size, of which the shapes give only the product.

    The config's group size decides; without one, the width of the model, which its norms show.
    """
    if not biased:
        return {128: (4, 32), 64: (4, 16), 256: (8, 32)}.get(product)
    fitting = [(product // size, size) for size in _MLX_GROUPS if product % size == 0]
    fitting = [(bits, size) for bits, size in fitting if bits in _MLX_BITS]
    own = settings.get(stem)
    said = own if isinstance(own, dict) else settings
    for bits, size in fitting:
        if size == said.get("group_size"):
            return bits, size
    groups = stored[f"{stem}.scales"].shape[-1]
    widths = {t.shape[0] for n, t in stored.items() if len(t.shape) == 1 and "norm" in n}
    by_width = [(bits, size) for bits, size in fitting if groups * size in widths]
    return next(iter(by_width or fitting), None)


def _mlx_affine(stem: str, bits: int, width: int) -> Decode:
    def decode(read: Read, numbers: Numbers, rows: range) -> Floats:
        codes = packed.unpack_bits(read(f"{stem}.weight", rows), bits, width)
        scales, biases = numbers(f"{stem}.scales", rows), numbers(f"{stem}.biases", rows)
        return packed.affine(codes, scales, biases)

    return decode


def _mlx_floats(stem: str, bits: int, group: int, width: int) -> Decode:
    """Decode MLX's mxfp4, nvfp4 and mxfp8: tiny floats with one-byte scales."""

    def decode(read: Read, _: Numbers, rows: range) -> Floats:
        words = read(f"{stem}.weight", rows)
        if bits == 4:
            values = packed.fp4(words, width)
        else:
            values = packed.small_floats(packed.unpack_bits(words, 8, width), "F8_E4M3")
        kind = "F8_E4M3" if group == 16 else "F8_E8M0"
        return packed.scaled(values, packed.small_floats(read(f"{stem}.scales", rows), kind))

    return decode


def _gptq_or_awq(stored: Stored, stem: str, settings: Settings) -> Recipe | None:
    weight, scales = _matrix(stored, f"{stem}.qweight"), _matrix(stored, f"{stem}.scales")
    if weight is None or scales is None:
        return None
    outputs = scales.shape[1]
    if weight.shape[1] == outputs:
        zeros = _matrix(stored, f"{stem}.qzeros")
        bits = 32 * zeros.shape[1] // outputs if zeros else int(settings.get("bits", 4))
        shape, scheme = (weight.shape[0] * 32 // (bits or 4), outputs), "GPTQ"
    else:
        bits = 32 * weight.shape[1] // outputs
        shape, scheme = (weight.shape[0], outputs), "AWQ"
    return Recipe(
        name=f"{stem}.qweight",
        shape=shape,
        dtype=DType(f"{scheme}{bits}", bits or 4, "quantised"),
        parts=_present(stored, stem, ".qweight", ".scales", ".qzeros", ".g_idx"),
        scheme=scheme,
        decode=None,
    )


def _compressed(stored: Stored, stem: str, settings: Settings) -> Recipe | None:
    """compressed-tensors: packed integers of 4 or 8 bits, or NVFP4."""
    weight, scale = _matrix(stored, f"{stem}.weight_packed"), stored.get(f"{stem}.weight_scale")
    if weight is None or scale is None or scale.rows not in (1, weight.rows):
        return None
    parts = _present(
        stored, stem, ".weight_packed", ".weight_scale", ".weight_shape", ".weight_zero_point",
        ".weight_g_idx", ".weight_global_scale", ".input_global_scale",
    )  # fmt: skip
    name = f"{stem}.weight_packed"
    if weight.dtype.name == "U8":
        return _compressed_fp4(stored, weight, scale, parts)
    sizes = _compressed_sizes(stored, stem, settings)
    if sizes is None:
        return None
    bits, width = sizes
    plain = f"{stem}.weight_zero_point" not in stored and f"{stem}.weight_g_idx" not in stored
    return Recipe(
        name=name,
        shape=(weight.rows, width),
        dtype=DType(f"INT{bits}", bits, "quantised"),
        parts=parts,
        scheme="compressed-tensors",
        decode=_symmetric(stem, bits, width) if plain else None,
    )


def _compressed_fp4(
    stored: Stored, weight: TensorInfo, scale: TensorInfo, parts: tuple[str, ...]
) -> Recipe:
    """E2M1: NVFP4 has a scale for all beside those of its groups, MXFP4 powers of two alone."""
    width = 2 * weight.width
    general = weight.name.replace(".weight_packed", ".weight_global_scale")
    if general in stored:
        decode = _nvfp4(weight.name, scale.name, general, width, -1)
        dtype = DType("NVFP4", 4 * 16 + 8, "quantised", 16)
    else:
        decode = _mxfp4(weight.name, scale, width)
        dtype = DType("MXFP4", 4 * 32 + 8, "quantised", 32)
    return Recipe(weight.name, (weight.rows, width), dtype, parts, "compressed-tensors", decode)


def _mxfp4(weight: str, scale: TensorInfo, width: int) -> Decode:
    def decode(read: Read, numbers: Numbers, rows: range) -> Floats:
        values = packed.fp4(read(weight, rows), width)
        return packed.scaled(values, _scales(read, numbers, scale, rows))

    return decode


def _scales(read: Read, numbers: Numbers, scale: TensorInfo, rows: range) -> Floats:
    """Read scales, of which plain bytes are powers of two (OCP MX's E8M0)."""
    if scale.dtype.name == "U8":
        return packed.small_floats(read(scale.name, rows), "F8_E8M0")
    return numbers(scale.name, rows)


def _compressed_sizes(stored: Stored, stem: str, settings: Settings) -> tuple[int, int] | None:
    """Find bits and width: from the config's bits, or from the stored shape, which is a value."""
    words = stored[f"{stem}.weight_packed"].width
    groups = settings.get("config_groups")
    for group in groups.values() if isinstance(groups, dict) else ():
        weights = group.get("weights") if isinstance(group, dict) else None
        bits = weights.get("num_bits") if isinstance(weights, dict) else None
        if isinstance(bits, int) and bits in _PACKED_BITS and words * 32 % bits == 0:
            return bits, words * 32 // bits
    shape = settings.get("shape_of", lambda _: None)(f"{stem}.weight_shape")
    if shape is None or len(shape) != 2 or shape[1] <= 0:
        return None
    bits = 32 * words // shape[1]
    return (bits, shape[1]) if bits in _PACKED_BITS else None


def _symmetric(stem: str, bits: int, width: int) -> Decode:
    def decode(read: Read, numbers: Numbers, rows: range) -> Floats:
        codes = packed.unpack_bits(read(f"{stem}.weight_packed", rows), bits, width)
        return packed.symmetric(codes, bits, numbers(f"{stem}.weight_scale", rows))

    return decode


def _nvfp4(weight: str, scale: str, general: str, width: int, power: int) -> Decode:
    """Decode E2M1 with a scale a group of 16 and one for all, multiplied or divided by."""

    def decode(read: Read, numbers: Numbers, rows: range) -> Floats:
        values = packed.scaled(packed.fp4(read(weight, rows), width), numbers(scale, rows))
        factor = float(numbers(general, range(1)).ravel()[0])
        return values * (factor if power > 0 else 1 / factor)

    return decode


def _scaled_weight(stored: Stored, stem: str, scale_name: str) -> Recipe | None:
    """8-bit floats or integers with scales: a tensor, a row, or a block of 128 × 128 each."""
    weight, scale = _matrix(stored, f"{stem}.weight"), stored.get(scale_name)
    if weight is None or scale is None or not scale.scalars:
        return None
    parts = (*_present(stored, stem, ".weight"), scale_name)
    if weight.dtype.name == "U8" and f"{stem}.weight_scale_2" in stored:
        width = 2 * weight.width
        decode = _nvfp4(weight.name, scale_name, f"{stem}.weight_scale_2", width, 1)
        parts = (*parts, *_present(stored, stem, ".weight_scale_2", ".input_scale"))
        dtype = DType("NVFP4", 4 * 16 + 8, "quantised", 16)
        return Recipe(weight.name, (weight.rows, width), dtype, parts, "NVFP4", decode)
    if weight.dtype.bits != 8 or weight.dtype.name in ("U8", "BOOL"):
        return None
    dtype = DType(weight.dtype.name, 8, "quantised")
    parts = (*parts, *_present(stored, stem, ".input_scale"))
    decode = _blocks(weight, scale)
    return Recipe(weight.name, weight.shape, dtype, parts, "FP8", decode)


def _blocks(weight: TensorInfo, scale: TensorInfo) -> Decode:
    def decode(read: Read, numbers: Numbers, rows: range) -> Floats:
        values = numbers(weight.name, rows)
        if scale.rows in (1, weight.rows):
            some = range(1) if scale.rows == 1 else rows
            return packed.scaled(values, _scales(read, numbers, scale, some))
        size = packed.group_size(weight.rows, scale.rows)
        first, last = rows.start // size, (rows.stop - 1) // size
        scales = _scales(read, numbers, scale, range(first, last + 1))
        return packed.scaled(values, scales[[row // size - first for row in rows]])

    return decode


def _fp8(stored: Stored, stem: str, _: Settings) -> Recipe | None:
    return _scaled_weight(stored, stem, f"{stem}.weight_scale")


def _fp8_inverse(stored: Stored, stem: str, _: Settings) -> Recipe | None:
    return _scaled_weight(stored, stem, f"{stem}.weight_scale_inv")


def _compressed_or_fp8(stored: Stored, stem: str, settings: Settings) -> Recipe | None:
    return _compressed(stored, stem, settings) or _fp8(stored, stem, settings)


def _bitsandbytes4(stored: Stored, stem: str, _: Settings) -> Recipe | None:
    weight = stored.get(f"{stem}.weight")
    if weight is None or weight.dtype.name != "U8":
        return None
    prefix = f"{stem}.weight."
    parts = tuple(name for name in stored if name.startswith(prefix))
    dtype = DType("BNB4", 4, "quantised")
    shape = (2 * weight.scalars,)
    return Recipe(weight.name, shape, dtype, (weight.name, *parts), "bitsandbytes", None)


def _bitsandbytes8(stored: Stored, stem: str, _: Settings) -> Recipe | None:
    weight = stored.get(f"{stem}.weight")
    if weight is None or weight.dtype.name != "I8":
        return None
    parts = _present(stored, stem, ".weight", ".SCB", ".weight_format")
    dtype = DType("BNB8", 8, "quantised")
    return Recipe(weight.name, weight.shape, dtype, parts, "bitsandbytes", None)


def _mxfp4_experts(stored: Stored, stem: str, _: Settings) -> Recipe | None:
    blocks, scales = stored.get(f"{stem}_blocks"), stored.get(f"{stem}_scales")
    if blocks is None or scales is None or blocks.dtype.name != "U8" or len(blocks.shape) < 2:
        return None
    shape = (*blocks.shape[:-2], blocks.shape[-2] * blocks.shape[-1] * 2)
    dtype = DType("MXFP4", 136, "quantised", 32)
    return Recipe(blocks.name, shape, dtype, (blocks.name, scales.name), "MXFP4", None)


_Finder = Callable[[Stored, str, Settings], Recipe | None]
_FINDERS: tuple[tuple[str, _Finder], ...] = (
    (".scales", _mlx),
    (".scales", _gptq_or_awq),
    (".weight_scale", _compressed_or_fp8),
    (".weight_scale_inv", _fp8_inverse),
    (".weight.absmax", _bitsandbytes4),
    (".SCB", _bitsandbytes8),
    ("_scales", _mxfp4_experts),
)
