"""`embcalc estimate` beside other calculators: parameters of four models, errors and time.

Peers, each run where it installs (`pip install accelerate torchinfo vramcalc transformers torch`):

- accelerate estimate-memory: its own counting (`calculate_maximum_sizes` of an empty AutoModel),
  fed with the configuration, because the command itself needs the hub;
- torchinfo: `summary` of the model with its head;
- vramcalc: a small calculator that works from config.json.

The truth is torch's: unique parameters of the class with its head, on the meta device. Every
tool runs in a fresh process; the time is the wall time of that process.

Usage: python benchmarks/estimate_vs_peers.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LLAMA = {
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "tie_word_embeddings": False,
}
QWEN = {
    "model_type": "qwen2",
    "vocab_size": 151936,
    "hidden_size": 896,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "intermediate_size": 4864,
    "tie_word_embeddings": True,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "bert-base-uncased": {"model_type": "bert"},
    "gpt2": {"model_type": "gpt2"},
    "llama-3-8b": LLAMA,
    "qwen2.5-0.5b": QWEN,
}


def config_of(name: str) -> Any:
    """The configuration object of transformers."""
    from transformers import CONFIG_MAPPING

    fields = dict(CONFIGS[name])
    return CONFIG_MAPPING[fields.pop("model_type")](**fields)


def empty_model(name: str) -> Any:
    """The model with its head, without memory; BERT as AutoModel loads it."""
    import torch
    from transformers import AutoModel, AutoModelForCausalLM

    factory = AutoModel if name.startswith("bert") else AutoModelForCausalLM
    with torch.device("meta"):
        model: Any = factory.from_config(config_of(name))
        model.tie_weights()
    return model


def truth(name: str) -> int:
    """Unique parameters."""
    return sum(parameter.numel() for parameter in empty_model(name).parameters())


def embcalc(name: str) -> int:
    """What embcalc says, by the name of the preset."""
    from embcalc import estimate

    total = estimate(name).parameters.model_total
    if total is None:
        raise LookupError(name)
    return total


def accelerate(name: str) -> int:
    """What estimate-memory multiplies: bytes of an empty AutoModel in fp32."""
    from accelerate import init_empty_weights
    from accelerate.utils import calculate_maximum_sizes
    from transformers import AutoModel

    with init_empty_weights():
        model = AutoModel.from_config(config_of(name))
    total: int = calculate_maximum_sizes(model)[0]
    return total // 4


def torchinfo(name: str) -> int:
    """What torchinfo.summary prints as total parameters."""
    import torchinfo as library

    return int(library.summary(empty_model(name), verbose=0).total_params)


def vramcalc(name: str) -> int:
    """What vramcalc counts from a config.json."""
    from vramcalc.arch import Arch

    return int(Arch.from_config(CONFIGS[name]).param_count())


TOOLS: dict[str, Callable[[str], int]] = {
    "torch (truth)": truth,
    "embcalc": embcalc,
    "accelerate": accelerate,
    "torchinfo": torchinfo,
    "vramcalc": vramcalc,
}


def measured(tool: str, name: str) -> tuple[int | None, float, str]:
    """Count, seconds, and why there is none."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, tool, name], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return None, seconds, lines[-1][:50] if lines else "failed"
    return int(json.loads(done.stdout.strip().splitlines()[-1])), seconds, ""


def main() -> None:
    """Print a line for each model and tool."""
    print(f"{'model':18} {'tool':14} {'parameters':>15} {'error':>9} {'seconds':>8}")
    for name in CONFIGS:
        right = None
        for tool in TOOLS:
            count, seconds, reason = measured(tool, name)
            if tool == "torch (truth)":
                right = count
            if count is None:
                print(f"{name:18} {tool:14} {'-':>15} {'-':>9} {seconds:8.2f}  {reason}")
                continue
            error = f"{100 * (count / right - 1):+.2f}%" if right else "?"
            print(f"{name:18} {tool:14} {count:15,} {error:>9} {seconds:8.2f}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(TOOLS[sys.argv[1]](sys.argv[2])))
    else:
        main()
