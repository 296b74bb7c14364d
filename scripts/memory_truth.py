"""Measure with torch what `embcalc estimate` computes: every tensor after one training step.

    python scripts/memory_truth.py > tests/core/data/torch_memory.json

A table (and a head, tied or not) is trained for one step in each regime with each optimizer that
torch has; the bytes of all weights, gradients, master copies and optimizer states are summed.
The step counters of the optimizers, 4 bytes a tensor, are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

ROWS, WIDTH, TOKENS = 96, 16, 10
Sizes = dict[str, int | None]
Case = dict[str, Any]


def cases() -> Iterator[Case]:
    """Every regime with AdamW, every optimizer in fp32, bf16 and mixed-master."""
    regimes = ("fp32", "bf16", "fp16", "amp", "mixed", "mixed-master", "megatron", "deepspeed")
    for tied in (True, False):
        for regime in regimes:
            yield {"regime": regime, "optimizer": "adamw", "tied": tied}
        for name in optimizers():
            if name != "adamw":
                for regime in ("fp32", "bf16", "mixed-master"):
                    yield {"regime": regime, "optimizer": name, "tied": tied}
    for regime in ("fp32", "bf16"):
        yield {"regime": regime, "optimizer": "sparse-adam", "tied": False}


def optimizers() -> dict[str, Callable[[list[Any]], Any]]:
    """Optimizers of torch under the names that embcalc gives them."""
    from torch import optim

    return {
        "adamw": optim.AdamW,
        "adam": optim.Adam,
        "amsgrad": lambda parameters: optim.AdamW(parameters, amsgrad=True),
        "sgd": lambda parameters: optim.SGD(parameters, lr=0.1),
        "sgd-momentum": lambda parameters: optim.SGD(parameters, lr=0.1, momentum=0.9),
        "muon-all": optim.Muon,
        "adagrad": optim.Adagrad,
        "rmsprop": optim.RMSprop,
        "adafactor": optim.Adafactor,
    }


def measure(regime: str, optimizer: str, *, tied: bool) -> Sizes:
    """Train one step and sum the bytes of every tensor."""
    import torch

    torch.manual_seed(0)
    half = {"fp32": torch.float32, "amp": torch.float32, "fp16": torch.float16}
    model = build(tied=tied, sparse=optimizer == "sparse-adam")
    model.to(half.get(regime, torch.bfloat16))
    parameters = list(model.parameters())
    masters: list[Any] = []
    extra_gradients = 0
    backward(model, autocast=regime == "amp")
    if regime == "mixed":
        state = step_in_fp32(parameters)
    elif regime in ("mixed-master", "megatron", "deepspeed"):
        masters = [torch.nn.Parameter(p.detach().float()) for p in parameters]
        for master, parameter in zip(masters, parameters, strict=True):
            master.grad = parameter.grad.float()
        state = step(masters, optimizer)
        extra_gradients = settle_gradients(regime, masters, parameters)
    else:
        state = step(parameters, optimizer)
    sizes: Sizes = {
        "weights": sum(map(nbytes, parameters)),
        "gradients": extra_gradients
        + sum(nbytes(p.grad) for p in parameters if p.grad is not None),
        "master_weights": sum(map(nbytes, masters)),
        "exp_avg": named(state, "exp_avg"),
        "exp_avg_sq": named(state, "exp_avg_sq"),
        "optimizer_state": sum(nbytes(tensor) for _, tensor in state),
    }
    parts = ("weights", "gradients", "master_weights", "optimizer_state")
    return {**sizes, "total": sum(sizes[part] or 0 for part in parts)}


def build(*, tied: bool, sparse: bool) -> Any:
    """A table and a head."""
    import torch

    table = torch.nn.Embedding(ROWS, WIDTH, sparse=sparse)
    if sparse:
        return torch.nn.ModuleList([table])
    head = torch.nn.Linear(WIDTH, ROWS, bias=False)
    if tied:
        head.weight = table.weight
    return torch.nn.ModuleList([table, head])


def backward(model: Any, *, autocast: bool) -> None:
    """Forward and backward of one batch."""
    import torch

    ids = torch.arange(TOKENS) % ROWS
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        vectors = model[0](ids)
        outputs = model[1](vectors) if len(model) > 1 else vectors
    outputs.float().pow(2).mean().backward()


def step(parameters: list[Any], name: str) -> list[tuple[str, Any]]:
    """One step; the tensors that the optimizer keeps, by name."""
    import torch

    if name == "sparse-adam":
        optimizer: Any = torch.optim.SparseAdam(parameters)
    else:
        optimizer = optimizers()[name](parameters)
    optimizer.step()
    return [
        (key, value)
        for state in optimizer.state.values()
        for key, value in state.items()
        if isinstance(value, torch.Tensor) and key != "step"
    ]


def step_in_fp32(parameters: list[Any]) -> list[tuple[str, Any]]:
    """AdamW with fp32 moments on half-precision weights, the textbook's mixed precision."""
    import torch

    kept: list[tuple[str, Any]] = []
    for parameter in parameters:
        gradient = parameter.grad.float()
        first, second = 0.1 * gradient, 0.001 * gradient**2
        with torch.no_grad():
            parameter.sub_((1e-3 * first / (second.sqrt() + 1e-8)).to(parameter.dtype))
        kept += [("exp_avg", first), ("exp_avg_sq", second)]
    return kept


def settle_gradients(regime: str, masters: list[Any], parameters: list[Any]) -> int:
    """Drop the gradients that a regime does not keep; bytes of fp32 ones that stay."""
    kept = sum(nbytes(master.grad) for master in masters)
    if regime == "mixed-master":
        kept = 0
    if regime == "megatron":
        for parameter in parameters:
            parameter.grad = None
    return kept


def nbytes(tensor: Any) -> int:
    """Bytes of a tensor; of a sparse one its values and indices."""
    if tensor.is_sparse:
        return nbytes(tensor._values()) + nbytes(tensor._indices())
    return int(tensor.numel() * tensor.element_size())


def named(state: list[tuple[str, Any]], name: str) -> int | None:
    """Bytes of the states of one name; None where there is none."""
    found = [nbytes(tensor) for key, tensor in state if key == name]
    return sum(found) if found else None


if __name__ == "__main__":
    measured = [{**case, "bytes": measure(**case)} for case in cases()]
    shape = {"rows": ROWS, "width": WIDTH, "tokens": TOKENS}
    body = ",\n".join(json.dumps(case) for case in measured)
    print(f'{{"shape": {json.dumps(shape)}, "cases": [\n{body}\n]}}')
