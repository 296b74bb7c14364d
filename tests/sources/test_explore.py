"""lookup, neighbors and diff of models on a hub: the same answers from few bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Run
from tests.sources.helpers import interrupted, needs_signals
from tests.sources.hub_server import HubServer, Repo, slow

Build = Callable[..., Path]
Command = Callable[..., Run]
NAME = "model.embed_tokens.weight"
CONFIG = {"model_type": "llama", "vocab_size": 4000, "hidden_size": 300}


@pytest.fixture
def models(tiny_checkpoint: Build, hub: HubServer) -> dict[str, Path]:
    """Two models of 4.8 MB on the hub as org/base and org/tuned, and their folders."""
    table = np.random.default_rng(0).normal(0, 0.02, (4000, 300)).astype(np.float32)
    tuned = table.copy()
    tuned[::7] *= np.float32(1.5)
    vocabulary = {f"t{number}": number for number in range(4000)}
    words = {"added_tokens": [], "model": {"type": "WordLevel", "vocab": vocabulary}}
    tensors = {"base": {NAME: table}, "tuned": {NAME: tuned, "lm_head.weight": table}}
    folders = {}
    for name, stored in tensors.items():
        folders[name] = tiny_checkpoint(stored, config=CONFIG, tokenizer=words, name=name)
        hub.repos[f"org/{name}"] = Repo()
        hub.repos[f"org/{name}"].add_folder(folders[name])
    return folders


def answer(result: Run) -> dict[str, Any]:
    assert result.code == 0, result.err
    document: dict[str, Any] = result.json
    return {key: value for key, value in document.items() if key not in ("model", "a", "b")}


@pytest.mark.parametrize(
    "options",
    [
        ["lookup", "MODEL", "--ids", "0,3999,17", "--vectors"],
        ["lookup", "MODEL", "--ids", "3", "--one-hot"],
        ["neighbors", "MODEL", "t12", "--minus", "t13"],
        ["neighbors", "MODEL", "--id", "12", "--center", "--metric", "euclidean"],
    ],
)
def test_the_same_as_on_a_disk(models: dict[str, Path], run: Command, options: list[str]) -> None:
    for name, folder in models.items():
        lines = (
            [word.replace("MODEL", model) for word in (*options, "--format", "json")]
            for model in (f"org/{name}", str(folder))
        )
        remote, local = (answer(run(*line)) for line in lines)
        # A sum over several blocks may be added up in another order.
        remote.pop("mean_cosine", None)
        local.pop("mean_cosine", None)
        assert remote == local


def test_diff_of_a_hub_and_a_disk(models: dict[str, Path], run: Command) -> None:
    local = [str(models[name]) for name in ("base", "tuned")]
    expected = answer(run("diff", *local, "--format", "json"))
    assert expected["tables"][0]["changed_rows"] == len(range(0, 4000, 7))
    assert expected["only_in_b"] == ["lm_head.weight"]
    for pair in (["org/base", "org/tuned"], ["org/base", local[1]], [local[0], "org/tuned"]):
        assert answer(run("diff", *pair, "--format", "json")) == expected


def test_lookup_reads_the_rows_alone(models: dict[str, Path], hub: HubServer, run: Command) -> None:
    assert run("lookup", "org/base", "--ids", "5,3900").code == 0
    assert (
        hub.sent_of(".safetensors")
        < models["base"].joinpath("model.safetensors").stat().st_size / 4
    )


def test_neighbors_reads_the_table_once(
    models: dict[str, Path], hub: HubServer, run: Command
) -> None:
    result = run("neighbors", "org/tuned", "t12")
    assert result.code == 0, result.err
    table = 4000 * 300 * 4
    assert table < hub.sent_of(".safetensors") < 1.2 * table


def test_a_table_that_differs_is_not_read_for_tying(
    models: dict[str, Path], hub: HubServer, run: Command
) -> None:
    """The verdict on tying takes the first rows of each; the tables themselves are read once."""
    result = run("diff", "org/tuned", "org/tuned", "--tensor", NAME)
    assert result.code == 0, result.err
    named = hub.sent_of(".safetensors")
    hub.sent.clear()
    assert "untied in A" in run("diff", "org/tuned", "org/tuned").out
    assert hub.sent_of(".safetensors") < 2.2 * named


@pytest.mark.parametrize("name", ["neighbors", "diff"])
@needs_signals
def test_ctrl_c_while_a_table_is_read(
    models: dict[str, Path], hub: HubServer, tmp_path: Path, name: str
) -> None:
    hub.always("model.safetensors", slow(20))
    options = ["org/base", "--id", "1"] if name == "neighbors" else ["org/base", "org/tuned"]
    target = tmp_path / "result.json"
    command = (name, *options, "--output", str(target))
    result = interrupted(hub, tmp_path / "home", *command)
    assert (result.code, result.out, target.exists()) == (130, "", False)
    assert "Traceback" not in result.err
