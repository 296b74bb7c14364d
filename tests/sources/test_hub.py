from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embcalc.checkpoints import open_checkpoint
from embcalc.errors import UnreachableError
from embcalc.sources import locate
from embcalc.sources.traffic import TRAFFIC
from tests.sources.helpers import table_bytes
from tests.sources.hub_server import HubServer, Repo, status

WEIGHTS = "model.safetensors"


@pytest.fixture
def model(tiny_checkpoint: Callable[..., Path], hub: HubServer) -> Path:
    """A model of 20 MB on the hub as org/name, and its folder on this machine."""
    table = np.random.default_rng(1).normal(size=(5000, 1000)).astype(np.float32)
    folder = tiny_checkpoint(
        {"model.embed_tokens.weight": table},
        config={"vocab_size": 5000, "hidden_size": 1000, "model_type": "llama"},
        tokenizer={"model": {"vocab": {}}},
    )
    repo = Repo()
    repo.add_folder(folder)
    hub.repos["org/name"] = repo
    return folder


def test_lists_the_files_of_a_repository(model: Path, hub: HubServer) -> None:
    found = locate("org/name")
    assert found.file is None
    assert found.folder.label == "org/name"
    assert found.folder.names() == ("config.json", WEIGHTS, "tokenizer.json")
    assert hub.requests == ["GET /api/models/org/name?blobs=true"]


def test_reads_the_same_rows_as_from_disk(model: Path, hub: HubServer) -> None:
    assert table_bytes("org/name") == table_bytes(str(model))
    size = (model / WEIGHTS).stat().st_size
    assert size - 20_000 < hub.sent_of(WEIGHTS) <= size + 20_000
    assert TRAFFIC.read >= hub.sent_of(WEIGHTS)
    assert TRAFFIC.available == sum(path.stat().st_size for path in model.iterdir())


def test_nothing_of_the_weights_stays_on_disk(model: Path, hub: HubServer, tmp_path: Path) -> None:
    table_bytes("org/name")
    cached = [path for path in (tmp_path / "hf-cache").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in cached) < 10_000  # a config, and what belongs to it
    assert WEIGHTS not in {path.name for path in cached}


@pytest.fixture
def sharded(hub: HubServer, tiny_checkpoint: Callable[..., Path]) -> dict[str, bytes]:
    """Twelve shards on the hub as org/sharded; their index names ten."""
    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    shards = {}
    for number in range(1, 13):
        folder = tiny_checkpoint({f"layers.{number}.embed_tokens.weight": table + number})
        shards[f"model-{number:05}-of-00012.safetensors"] = (folder / WEIGHTS).read_bytes()
    index = {f"layers.{n}.embed_tokens.weight": name for n, name in enumerate(shards, 1) if n < 11}
    files = {**shards, "model.safetensors.index.json": json.dumps({"weight_map": index}).encode()}
    hub.repos["org/sharded"] = Repo(dict(files))
    return shards


def test_the_headers_of_the_shards_that_the_index_names(
    sharded: dict[str, bytes], hub: HubServer
) -> None:
    checkpoint = open_checkpoint(locate("org/sharded").folder)
    assert len(checkpoint.tensors) == 10
    asked = [line for line in hub.requests if line.endswith(".safetensors")]
    assert len(asked) == len(set(asked)) == 10


def test_a_shard_that_cannot_be_reached_is_no_fault_of_the_checkpoint(
    sharded: dict[str, bytes], hub: HubServer
) -> None:
    hub.always("GET .*model-00004", status(503))
    with pytest.raises(UnreachableError, match="HTTP 503"):
        open_checkpoint(locate("org/sharded").folder)
