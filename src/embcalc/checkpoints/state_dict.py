"""The weights among everything that a training run saves in one dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from embcalc.checkpoints.messages import listed, shown
from embcalc.checkpoints.torch_objects import StoredTensor
from embcalc.core.findings import Problem, Severity

HOLDERS = (
    "state_dict",
    "model_state_dict",
    "model",
    "module",
    "net",
    "network",
    "params",
    "weights",
)
"""Keys under which training loops put the weights, the likeliest first."""
MAX_DEPTH = 16
MAX_TENSORS = 1_000_000


def find_tensors(value: object, file: str) -> tuple[dict[str, StoredTensor], tuple[Problem, ...]]:
    """Take the model's tensors out of what a file holds.

    A dictionary without tensors of its own but with one of `HOLDERS` is a training checkpoint:
    that entry is taken, and a note says what was left.

    Returns:
        The tensors by name, nested dictionaries joined by dots, and the notes.
    """
    problems: list[Problem] = []
    while isinstance(value, dict) and (key := _holder(value)) is not None:
        others = [str(other) for other in value if other != key]
        if others:
            message = f"read the tensors under {shown(key)}; left {listed(others)}"
            problems.append(Problem(message, file=file, severity=Severity.NOTE))
        value = value[key]
    if isinstance(value, StoredTensor):
        return {"tensor": value}, tuple(problems)
    found: dict[str, StoredTensor] = {}
    for name, tensor in _walk(value, "", 0, set()):
        found.setdefault(name, tensor)
        if len(found) >= MAX_TENSORS:
            break
    return found, tuple(problems)


def _holder(value: dict[Any, Any]) -> str | None:
    if any(isinstance(inner, StoredTensor) for inner in value.values()):
        return None
    held = (key for key in HOLDERS if isinstance(value.get(key), dict) and value[key])
    return next(held, None)


def _walk(
    value: object, prefix: str, depth: int, seen: set[int]
) -> Iterator[tuple[str, StoredTensor]]:
    """Yield tensors with their dotted names; a container met twice is entered once."""
    if id(value) in seen or depth > MAX_DEPTH:
        return
    seen.add(id(value))
    for key, inner in _items(value):
        name = f"{prefix}{key}"
        if isinstance(inner, StoredTensor):
            yield name, inner
        elif not _is_optimizer(key):
            yield from _walk(inner, f"{name}.", depth + 1, seen)


def _items(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        yield from ((str(key), inner) for key, inner in value.items())
    elif isinstance(value, list | tuple):
        yield from ((str(index), inner) for index, inner in enumerate(value))


def _is_optimizer(key: str) -> bool:
    return any(part in key.lower() for part in ("optim", "scheduler", "rng_state"))
