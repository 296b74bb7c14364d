"""Reads pickles without executing them.

The standard library's `pickletools` takes the instructions apart; this machine follows those that
build plain values. A global is never imported: it is one of a few inert stand-ins, or refused.
"""

from __future__ import annotations

import io
import pickletools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from embcalc.checkpoints.torch_objects import (
    RefusedError,
    Storage,
    known_global,
    storage_of,
)
from embcalc.core.files import File

MAX_INSTRUCTIONS = 2_000_000
"""A tensor takes about 30; each may build an object, so this bounds memory."""
MAX_PICKLE = 1 << 26
"""Bytes of one pickle; it holds names and shapes, no values."""
MAX_ARGUMENT = 1 << 24
"""Bytes of one string or number."""
WINDOW = 1 << 20
_SIZED = (str, bytes, list, tuple, dict)
_PLAIN = (str, int, float, bool, bytes, type(None))


class PickleError(ValueError):
    """Bytes that are no complete pickle."""


class ByteStream:
    """A file as `pickletools` wants it: read forward through a window, bounded."""

    def __init__(self, file: File, start: int = 0) -> None:
        self._file = file
        self._window = b""
        self._at = 0
        self._base = self._start = start

    def tell(self) -> int:
        """Offset of the next byte."""
        return self._base + self._at

    def read(self, length: int) -> bytes:
        """Read up to `length` bytes."""
        if length > MAX_ARGUMENT:
            raise PickleError(f"a value of {length:,} bytes")
        if self._at + length > len(self._window):
            self._refill(length)
        begin = self._at
        self._at = min(begin + length, len(self._window))
        return self._window[begin : self._at]

    def readline(self) -> bytes:
        """Read to the end of a line, which must come within the window."""
        end = self._window.find(b"\n", self._at)
        if end < 0:
            self._refill(0)
            end = self._window.find(b"\n")
            if end < 0:
                raise PickleError("a text that does not end")
        return self.read(end + 1 - self._at)

    def _refill(self, length: int) -> None:
        position = self.tell()
        if position - self._start > MAX_PICKLE:
            raise PickleError(f"more than {MAX_PICKLE:,} bytes")
        self._window = self._file.read(position, WINDOW + length)
        self._base, self._at = position, 0


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a pickle holds."""

    value: Any
    """Plain values, lists, tuples, dictionaries, and the objects of `torch_objects`."""
    storages: Mapping[str, Storage]
    """All storages that it names, by key."""


def load(stream: ByteStream | io.BytesIO) -> Loaded:
    """Read one pickle; the stream then stands behind it.

    Raises:
        PickleError: it is broken.
        RefusedError: it asks for more than that; the message says for what.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pickletools warns of odd escapes in damaged names
            return _run(stream)
    except (PickleError, RefusedError):
        raise
    except (ValueError, IndexError, OverflowError, RecursionError) as error:
        raise PickleError(str(error)[:200].replace("\n", " ")) from None


def _run(stream: ByteStream | io.BytesIO) -> Loaded:
    machine = _Machine()
    for opcode, argument, _ in pickletools.genops(stream):  # type: ignore[arg-type]
        if opcode.name == "STOP":
            return Loaded(machine.pop(), machine.storages)
        machine.step(opcode.name, argument)
    raise PickleError("it has no end")


class _Machine:
    """The stack, the marks and the memo of one pickle."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._spent = 0
        self.storages: dict[str, Storage] = {}

    def _spend(self, cost: int) -> None:
        self._spent += cost
        if self._spent > MAX_INSTRUCTIONS:
            raise PickleError(f"more than {MAX_INSTRUCTIONS:,} instructions")

    def step(self, name: str, argument: Any) -> None:  # noqa: ANN401 - as decoded
        """Follow one instruction."""
        self._spend(1)
        if name in _PUSHED_ARGUMENT:
            self._stack.append(argument)
        elif name in _PUSHED:
            self._stack.append(_PUSHED[name]())
        elif name in _MEMORISED:
            self._memo[len(self._memo) if name == "MEMOIZE" else argument] = self._top()
        elif name in _RECALLED:
            self._recall(argument)
        elif name in _ACTIONS:
            _ACTIONS[name](self, argument)
        elif name not in _IGNORED:
            raise RefusedError(f"the pickle instruction {name}")

    def pop(self) -> Any:  # noqa: ANN401
        """Take the top of the stack."""
        if not self._stack:
            raise PickleError("an instruction lacks its operand")
        return self._stack.pop()

    def _top(self) -> Any:  # noqa: ANN401
        if not self._stack:
            raise PickleError("an instruction lacks its operand")
        return self._stack[-1]

    def _recall(self, number: int) -> None:
        if number not in self._memo:
            raise PickleError(f"memo {number} is not set")
        self._stack.append(self._memo[number])

    def mark(self, _: object) -> None:
        """Begin a group of values."""
        self._marks.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        if not self._marks:
            raise PickleError("a mark is missing")
        values, self._stack = self._stack, self._marks.pop()
        return values

    def pop_value(self, _: object) -> None:
        """Drop the top, or an empty group."""
        if self._stack or not self._marks:
            self.pop()
        else:
            self._since_mark()

    def pop_mark(self, _: object) -> None:
        """Drop a group."""
        self._since_mark()

    def duplicate(self, _: object) -> None:
        """Push the top once more."""
        self._stack.append(self._top())

    def collect_tuple(self, _: object) -> None:
        """Turn a group into a tuple."""
        values = tuple(self._since_mark())
        self._stack.append(values)

    def collect_list(self, _: object) -> None:
        """Turn a group into a list."""
        values = self._since_mark()
        self._stack.append(values)

    def collect_dict(self, _: object) -> None:
        """Turn a group into a dictionary."""
        values = self._since_mark()
        self._stack.append({})
        self._set(values)

    def append(self, _: object) -> None:
        """Append one value to a list."""
        self._extend([self.pop()])

    def appends(self, _: object) -> None:
        """Append a group to a list."""
        self._extend(self._since_mark())

    def _extend(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, list):
            raise PickleError("values appended to no list")
        target.extend(values)

    def set_item(self, _: object) -> None:
        """Set one entry of a dictionary."""
        value, key = self.pop(), self.pop()
        self._set([key, value])

    def set_items(self, _: object) -> None:
        """Set a group of entries of a dictionary."""
        self._set(self._since_mark())

    def _set(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, dict) or len(values) % 2:
            raise PickleError("entries set in no dictionary")
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[_checked_key(key)] = value

    def tuple_of(self, number: int) -> None:
        """Make a tuple of the last values."""
        if len(self._stack) < number:
            raise PickleError("an instruction lacks its operand")
        values = tuple(self._stack[len(self._stack) - number :])
        del self._stack[len(self._stack) - number :]
        self._stack.append(values)

    def named_global(self, argument: str) -> None:
        """Push the stand-in of a global."""
        module, _, name = argument.partition(" ")
        self._stack.append(known_global(module, name))

    def stack_global(self, _: object) -> None:
        """Push the stand-in of a global whose name lies on the stack."""
        name, module = self.pop(), self.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise PickleError("a global without a name")
        self._stack.append(known_global(module, name))

    def reduce(self, _: object) -> None:
        """Build an object."""
        arguments, function = self.pop(), self.pop()
        self._build(function, arguments)

    def new_object_extended(self, _: object) -> None:
        """Build an object that takes named arguments; they are refused."""
        if self.pop() != {}:
            raise RefusedError("an object built with named arguments")
        self.reduce(None)

    def instance(self, argument: str) -> None:
        """Build an object of a class named in the instruction."""
        module, _, name = argument.partition(" ")
        arguments = tuple(self._since_mark())
        self._build(known_global(module, name), arguments)

    def object_of_class(self, _: object) -> None:
        """Build an object of a class on the stack."""
        values = self._since_mark()
        if not values:
            raise PickleError("an object without a class")
        self._build(values[0], tuple(values[1:]))

    def _build(self, function: object, arguments: object) -> None:
        if not callable(function) or not isinstance(arguments, tuple):
            raise RefusedError("a call of something that is no function")
        # A call may copy what it is given, and the same large value may be given a million times.
        self._spend(sum(len(value) for value in arguments if isinstance(value, _SIZED)))
        try:
            self._stack.append(function(*arguments))
        except TypeError:
            raise RefusedError("a tensor built in an unknown way") from None

    def state(self, _: object) -> None:
        """Set the attributes of an object: of a state_dict they hold versions, needed by none."""
        self.pop()
        self._top()

    def persistent_id(self, _: object) -> None:
        """Refuse a persistent id of text: torch writes tuples."""
        raise RefusedError("a persistent id that is no storage")

    def binary_persistent_id(self, _: object) -> None:
        """Push a storage."""
        storage = storage_of(self.pop())
        self.storages[storage.key] = storage
        self._stack.append(storage)

    def add_items(self, _: object) -> None:
        """Add a group to a set, which is kept as a list."""
        self._extend(self._since_mark())

    def frozen_set(self, _: object) -> None:
        """Turn a group into a set, which is kept as a list."""
        values = self._since_mark()
        self._stack.append(values)


def _checked_key(key: object) -> object:
    """Refuse keys whose hash could take for ever: a tuple of tuples of tuples."""
    plain = isinstance(key, _PLAIN) or (
        isinstance(key, tuple) and all(isinstance(part, _PLAIN) for part in key)
    )
    if not plain:
        raise RefusedError("a dictionary key that is no plain value")
    return key


_PUSHED_ARGUMENT = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
        *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BYTEARRAY8"),
    )
)
_PUSHED: dict[str, Callable[[], object]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": list,
}
_MEMORISED = frozenset(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"))
_RECALLED = frozenset(("GET", "BINGET", "LONG_BINGET"))
_IGNORED = frozenset(("PROTO", "FRAME"))
_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine.mark,
    "POP": _Machine.pop_value,
    "POP_MARK": _Machine.pop_mark,
    "DUP": _Machine.duplicate,
    "TUPLE": _Machine.collect_tuple,
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "LIST": _Machine.collect_list,
    "DICT": _Machine.collect_dict,
    "APPEND": _Machine.append,
    "APPENDS": _Machine.appends,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    "ADDITEMS": _Machine.add_items,
    "FROZENSET": _Machine.frozen_set,
    "GLOBAL": _Machine.named_global,
    "STACK_GLOBAL": _Machine.stack_global,
    "REDUCE": _Machine.reduce,
    "NEWOBJ": _Machine.reduce,
    "NEWOBJ_EX": _Machine.new_object_extended,
    "INST": _Machine.instance,
    "OBJ": _Machine.object_of_class,
    "BUILD": _Machine.state,
    "PERSID": _Machine.persistent_id,
    "BINPERSID": _Machine.binary_persistent_id,
}
