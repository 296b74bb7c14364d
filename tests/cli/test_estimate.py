from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.conftest import Run

BARE = ("--vocab-size", 150_000, "--hidden-size", 2560)
HEAVY = ("numpy", "huggingface_hub", "numkong", "rich.console", "msgspec", "fsspec")


def test_the_bare_table_as_json(run: Callable[..., Run]) -> None:
    result = run("estimate", *BARE, "--tied", "--format", "json")
    assert result.code == 0
    document = result.json
    assert document["schema"] == "embcalc/estimate/v1"
    assert document["model"] == {
        "name": None,
        "source": "flags",
        "vocab_size": 150_000,
        "hidden_size": 2560,
        "tied": True,
        "tied_source": "flag",
        "tied_from": "the command line",
    }
    assert document["parameters"]["total"] == 384_000_000
    assert document["parameters"]["saved_by_tying"] == 384_000_000
    totals = {row["precision"]: row["bytes"]["total"] for row in document["memory"]}
    assert totals == {
        "fp32": 6_144_000_000,
        "bf16": 3_072_000_000,
        "fp16": 3_072_000_000,
        "amp": 6_144_000_000,
        "mixed": 4_608_000_000,
        "mixed-master": 6_144_000_000,
        "megatron": 6_912_000_000,
        "deepspeed": 7_680_000_000,
    }
    mixed = next(row for row in document["memory"] if row["precision"] == "mixed")
    assert mixed["bytes"] == {
        "weights": 768_000_000,
        "gradients": 768_000_000,
        "master_weights": 0,
        "optimizer_state": 3_072_000_000,
        "exp_avg": 1_536_000_000,
        "exp_avg_sq": 1_536_000_000,
        "total": 4_608_000_000,
    }
    assert mixed["bytes_per_parameter"] == 12.0


def test_unknown_tying_counts_as_untied_and_text_shows_both(run: Callable[..., Run]) -> None:
    document = run("estimate", *BARE, "--format", "json").json
    assert (document["model"]["tied"], document["model"]["tied_source"]) == (False, "assumed")
    assert document["parameters"]["total"] == 768_000_000
    text = run("estimate", *BARE).out
    assert "Tied, 384,000,000 parameters" in text
    assert "Untied, 768,000,000 parameters" in text
    assert "4.608 4.292" in text


@pytest.mark.parametrize("extra", [[], ["--format", "json"], ["--explain"]])
def test_imports_nothing_heavy(extra: list[str]) -> None:
    arguments = ["estimate", *map(str, BARE), *extra]
    code = (
        "import sys\nfrom embcalc.cli.app import main\n"
        f"code = main({arguments!r})\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(f'loaded: {loaded}' if loaded else code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
