"""What a checkpoint's pickle may build: tensors, storages and plain containers, all inert."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from embcalc.core.dtypes import BY_NAME, DType

MAX_AXES = 64
_STORAGE_DTYPES = {
    "FloatStorage": "F32",
    "DoubleStorage": "F64",
    "HalfStorage": "F16",
    "BFloat16Storage": "BF16",
    "LongStorage": "I64",
    "IntStorage": "I32",
    "ShortStorage": "I16",
    "CharStorage": "I8",
    "ByteStorage": "U8",
    "BoolStorage": "BOOL",
    "ComplexFloatStorage": "C64",
}
_TORCH_DTYPES = {
    "float32": "F32",
    "float": "F32",
    "float64": "F64",
    "double": "F64",
    "float16": "F16",
    "half": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "long": "I64",
    "int32": "I32",
    "int": "I32",
    "int16": "I16",
    "short": "I16",
    "int8": "I8",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "bool": "BOOL",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
}


class RefusedError(ValueError):
    """A pickle asks for something that is no tensor and no plain container."""


@dataclass(frozen=True, slots=True)
class Storage:
    """A run of scalars in the file."""

    key: str
    dtype: DType | None
    """None for a storage of bare bytes."""
    scalars: int
    """Scalars; bytes where there is no dtype."""

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return self.scalars if self.dtype is None else self.dtype.nbytes(self.scalars)


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A view of a storage. Offset and strides count scalars."""

    storage: Storage
    dtype: DType
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def contiguous(self) -> bool:
        """Whether its scalars lie one after the other in the order of its axes."""
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size > 1 and stride != expected:
                return False
            expected *= size
        return True

    @property
    def identity(self) -> str:
        """Equal for two tensors that are one and the same matrix."""
        strides = "c" if self.contiguous else self.strides
        return f"{self.storage.key}+{self.offset}/{self.dtype}/{strides}"


@dataclass(frozen=True, slots=True)
class StorageType:
    """A class of storages; its dtype is None for untyped ones."""

    dtype: DType | None


class Opaque:
    """Something harmless of which nothing is needed: a device, a type."""


Builder = Callable[..., Any]


def _tensor(storage: object, offset: object, shape: object, strides: object, *_: object) -> object:
    if not isinstance(storage, Storage) or storage.dtype is None:
        raise RefusedError("a tensor without a typed storage")
    return _view(storage, storage.dtype, offset, shape, strides)


def _tensor_v3(*arguments: object) -> object:
    """Take storage, offset, shape, strides, requires_grad, hooks, dtype and metadata."""
    if len(arguments) < 7 or not isinstance(arguments[0], Storage):
        raise RefusedError("a tensor without storage or dtype")
    storage, offset, shape, strides, _, _, dtype = arguments[:7]
    if not isinstance(storage, Storage) or not isinstance(dtype, DType):
        raise RefusedError("a tensor without storage or dtype")
    return _view(storage, dtype, offset, shape, strides)


def _view(
    storage: Storage, dtype: DType, offset: object, shape: object, strides: object
) -> StoredTensor:
    sizes, steps = _sizes(shape), _sizes(strides)
    if type(offset) is not int or offset < 0 or len(sizes) != len(steps):
        raise RefusedError("a tensor with impossible offset, shape or strides")
    last = offset + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    if prod(sizes) and dtype.nbytes(last + 1) > storage.nbytes:
        raise RefusedError(f"a tensor past the end of its storage {storage.key!r:.60}")
    return StoredTensor(storage, dtype, offset, sizes, steps)


def _sizes(value: object) -> tuple[int, ...]:
    if not isinstance(value, tuple) or len(value) > MAX_AXES:
        raise RefusedError("a tensor with an impossible shape")
    if any(type(size) is not int or not 0 <= size < 1 << 63 for size in value):
        raise RefusedError("a tensor with an impossible shape")
    return value


def _parameter(data: object = None, *_: object) -> object:
    return data


def _from_type(
    function: object = None, _type: object = None, arguments: object = (), *_: object
) -> object:
    if function not in (_tensor, _tensor_v3) or not isinstance(arguments, tuple):
        raise RefusedError("a tensor of a class that is not known")
    return function(*arguments)


def _dictionary(pairs: object = (), *_: object) -> dict[Any, Any]:
    """Build an ordered dictionary from none, or from a list of pairs."""
    if isinstance(pairs, dict):
        return pairs
    if not isinstance(pairs, list | tuple):
        return {}
    return {
        pair[0]: pair[1]
        for pair in pairs
        if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str | int)
    }


def _size(values: object = (), *_: object) -> tuple[int, ...]:
    return _sizes(tuple(values) if isinstance(values, list) else values)


def _encoded(text: object = "", *_: object) -> bytes:
    return text.encode("latin-1", "replace") if isinstance(text, str) else b""


def _list(values: object = (), *_: object) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else []


def _opaque(*_: object) -> Opaque:
    return Opaque()


_BUILDERS: Mapping[str, Builder] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.Tensor": _opaque,
    "torch.Size": _size,
    "torch.device": _opaque,
    "collections.OrderedDict": _dictionary,
    "collections.defaultdict": lambda *_: {},
    "collections.Counter": _dictionary,
    "_codecs.encode": _encoded,
    "builtins.set": _list,
    "builtins.frozenset": _list,
    "builtins.list": _list,
    "builtins.dict": _dictionary,
    "__builtin__.set": _list,
    "__builtin__.list": _list,
    "__builtin__.dict": _dictionary,
}


def known_global(module: str, name: str) -> Builder | StorageType | DType:
    """Stand in for a global that a pickle names; nothing is imported.

    Raises:
        RefusedError: it is none of those that tensors need; the message is its full name.
    """
    full = f"{module}.{name}"
    if full in _BUILDERS:
        return _BUILDERS[full]
    if module in ("torch", "torch.cuda") and name in _STORAGE_DTYPES:
        return StorageType(BY_NAME[_STORAGE_DTYPES[name]])
    if full in ("torch.storage.UntypedStorage", "torch.UntypedStorage"):
        return StorageType(None)
    if module == "torch" and name in _TORCH_DTYPES:
        return BY_NAME[_TORCH_DTYPES[name]]
    raise RefusedError(full)


def storage_of(identity: object) -> Storage:
    """Turn a persistent id into a storage.

    Raises:
        RefusedError: it is no id of a storage as torch writes them.
    """
    if not isinstance(identity, tuple) or len(identity) not in (5, 6) or identity[0] != "storage":
        raise RefusedError("a persistent id that is no storage")
    kind, key, scalars = identity[1], identity[2], identity[4]
    if not isinstance(kind, StorageType) or not isinstance(key, str | int):
        raise RefusedError("a persistent id that is no storage")
    if type(scalars) is not int or not 0 <= scalars < 1 << 60:
        raise RefusedError("a storage of an impossible size")
    if len(identity) == 6 and identity[5] is not None:
        raise RefusedError("a storage that is a view of another one")
    return Storage(str(key), kind.dtype, scalars)
