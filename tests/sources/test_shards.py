"""A repository of many shards: which of their headers are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save

from tests.conftest import Run
from tests.sources.hub_server import HubServer, Repo, status

MANY, FEW = 163, 9
"""Shards of the model whose requests are counted, and of the others."""
ROWS, WIDTH = 64, 8
Command = Callable[..., Run]
Tensors = dict[str, NDArray[Any]]
EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def shard(number: int, count: int = FEW) -> str:
    return f"model-{number:05}-of-{count:05}.safetensors"


def layers(number: int) -> Tensors:
    """Tensors of a decoder layer; `out_proj` and its like look a little like heads."""
    prefix = f"model.layers.{number}"
    one = np.full((4, 4), number, np.float32)
    return {f"{prefix}.self_attn.out_proj.weight": one, f"{prefix}.input_layernorm.weight": one[0]}


def model(extra: Mapping[int, Tensors] | None = None, *, count: int = FEW) -> dict[int, Tensors]:
    """The table in the first shard, the head in the last one."""
    values = np.random.default_rng(3).normal(0, 0.02, (ROWS, WIDTH)).astype(np.float32)
    tensors = {number: layers(number) for number in range(1, count + 1)}
    tensors[1][EMBED] = values
    tensors[count][HEAD] = values + 1
    for number, more in (extra or {}).items():
        tensors[number] |= more
    return tensors


def upload(hub: HubServer, tensors: Mapping[int, Tensors], **config: object) -> Repo:
    count = len(tensors)
    files: dict[str, Any] = {shard(number, count): save(held) for number, held in tensors.items()}
    weight_map = {name: shard(number, count) for number, held in tensors.items() for name in held}
    total = sum(array.nbytes for held in tensors.values() for array in held.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    stated = {"model_type": "llama", "vocab_size": ROWS, "hidden_size": WIDTH}
    tokenizer = {"model": {"type": "WordLevel", "vocab": {f"t{n}": n for n in range(ROWS)}}}
    for name, document in (
        ("config.json", {**stated, "tie_word_embeddings": False, **config}),
        ("tokenizer.json", {"added_tokens": [], **tokenizer}),
        ("model.safetensors.index.json", index),
    ):
        files[name] = json.dumps(document).encode()
    hub.repos["org/many"] = Repo(files)
    return hub.repos["org/many"]


def asked(hub: HubServer) -> set[str]:
    """The shards of which anything was asked."""
    return {line.rpartition("/")[2] for line in hub.requests if line.endswith(".safetensors")}


COMMANDS: dict[str, tuple[str, ...]] = {
    "check-vocab": (),
    "check": (),
    "lookup": ("--ids", "1"),
    "neighbors": ("--id", "1"),
    "diff": ("org/many",),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_only_the_shards_that_hold_tables_are_asked(
    hub: HubServer, run: Command, name: str
) -> None:
    upload(hub, model())
    result = run(name, "org/many", *COMMANDS[name], "--format", "json")
    assert result.code == 0, result.out + result.err
    assert asked(hub) == {shard(1), shard(FEW)}


def test_few_requests_and_few_bytes(hub: HubServer, run: Command) -> None:
    upload(hub, model(count=MANY))
    checked = run("check-vocab", "org/many", "--format", "json")
    assert checked.json["facts"]["embedding_rows"] == checked.json["facts"]["head_rows"] == ROWS
    assert len(hub.requests) == 6  # the listing, three text files, two headers
    assert hub.sent_of(".safetensors") < 2 * 16_384
    reason = "headers of 161 of 163 shards were not read over the network"
    skipped = [one["rule"] for one in checked.json["skipped"] if one["reason"] == reason]
    assert skipped == ["EMB601", "EMB602"]
    assert f"not checked ({reason})" in " ".join(run("check-vocab", "org/many").out.split())


def test_totals_count_every_shard(hub: HubServer, run: Command) -> None:
    tensors = model()
    upload(hub, tensors)
    facts = run("inspect", "org/many", "--format", "json").json["checkpoint"]
    arrays = [array for held in tensors.values() for array in held.values()]
    assert facts["tensors"] == len(arrays)
    assert facts["files"] == FEW
    assert facts["parameters"] == sum(array.size for array in arrays)
    assert facts["bytes"] == sum(array.nbytes for array in arrays)


def test_a_named_tensor_is_asked_for_in_its_shard(hub: HubServer, run: Command) -> None:
    upload(hub, model({7: {"odd.table.weight": np.ones((5, 3), np.float32)}}))
    result = run("lookup", "org/many", "--ids", "4", "--tensor", "odd.table.weight")
    assert result.code == 0, result.err
    assert asked(hub) == {shard(7)}
    result = run("lookup", "org/many", "--ids", "4", "--tensor", "no.such")
    assert result.code == 2
    assert "there is no tensor 'no.such'" in result.err


def test_names_that_tell_nothing_are_looked_up_in_all_headers(hub: HubServer, run: Command) -> None:
    tensors = model()
    tensors[6]["strange"] = tensors[1].pop(EMBED)
    tensors[FEW].pop(HEAD)
    upload(hub, tensors)
    result = run("check-vocab", "org/many", "--format", "json")
    assert result.json["facts"]["embedding_rows"] == ROWS
    assert len(asked(hub)) == FEW


def test_a_name_that_means_something_else_in_this_model(hub: HubServer, run: Command) -> None:
    """The type of the model says that the token table is none: the others are opened after all."""
    tensors = model({4: {"strange": np.ones((ROWS, WIDTH), np.float32)}})
    tensors[FEW].pop(HEAD)
    upload(hub, tensors, model_type="kyutai_speech_to_text")
    result = run("lookup", "org/many", "--ids", "3", "--format", "json")
    assert result.code == 0, result.err
    assert len(asked(hub)) == FEW


def test_an_index_that_errs_about_a_table_is_recounted(hub: HubServer, run: Command) -> None:
    tensors = model()
    repo = upload(hub, tensors)
    moved = tensors[1].pop(EMBED)
    repo.files[shard(1)] = save(tensors[1])
    repo.files[shard(2)] = save({**tensors[2], EMBED: moved})
    result = run("check-vocab", "org/many", "--format", "json")
    assert result.json["facts"]["embedding_rows"] == ROWS
    found = [one for one in result.json["findings"] if one["rule"] == "EMB601"]
    assert f"is in {shard(2)}, not in {shard(1)}" in found[0]["message"]
    assert len(asked(hub)) == FEW


def test_an_index_that_errs_elsewhere_is_told_when_it_matters(hub: HubServer, run: Command) -> None:
    tensors = model({7: {"odd.weight": np.ones((5, 3), np.float32)}})
    repo = upload(hub, tensors)
    repo.files[shard(7)] = save(layers(7))
    assert run("check-vocab", "org/many").code == 0
    result = run("lookup", "org/many", "--ids", "1", "--tensor", "odd.weight")
    assert result.code == 2
    assert "odd.weight" in result.err


def test_parts_of_a_quantised_table_in_two_shards(hub: HubServer, run: Command) -> None:
    codes = np.random.default_rng(1).integers(0, 1 << 32, (ROWS, WIDTH), np.uint32)
    ones = np.ones((ROWS, 1), np.float16)
    tensors = model()
    tensors[1][EMBED] = codes
    tensors[2] |= {"model.embed_tokens.scales": ones, "model.embed_tokens.biases": ones}
    tensors[FEW].pop(HEAD)
    quantization = {"group_size": 64, "bits": 4}
    upload(hub, tensors, quantization=quantization, hidden_size=64, tie_word_embeddings=True)
    result = run("lookup", "org/many", "--ids", "1", "--format", "json", "--vectors")
    assert result.code == 0, result.err
    assert result.json["shape"] == [1, 1, 64]
    assert asked(hub) == {shard(1), shard(2)}


def test_shards_that_are_cached_are_read_there(hub: HubServer, run: Command) -> None:
    upload(hub, model())
    assert run("lookup", "org/many", "--ids", "1", "--cache").code == 0
    hub.requests.clear()
    assert run("lookup", "org/many", "--ids", "1").code == 0
    assert asked(hub) == set()


def test_a_shard_of_tables_that_does_not_answer(hub: HubServer, run: Command) -> None:
    upload(hub, model())
    hub.always(shard(FEW), status(503))
    result = run("check-vocab", "org/many")
    assert (result.code, result.out) == (2, "")
    assert "HTTP 503" in result.err


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a/../../b", "https://else.invalid/x", "file:///x"]
)
def test_an_index_that_leads_elsewhere_is_refused(hub: HubServer, run: Command, name: str) -> None:
    repo = upload(hub, model())
    repo.files["model.safetensors.index.json"] = json.dumps({"weight_map": {EMBED: name}}).encode()
    result = run("lookup", "org/many", "--ids", "1")
    assert (result.code, result.out) == (2, "")
    assert f"names '{name}', which is not a file of its own folder: refused" in result.err
    assert asked(hub) == set()


def test_a_shard_opened_later_without_what_the_index_says(hub: HubServer, run: Command) -> None:
    tensors = model({4: {"strange": np.ones((ROWS, WIDTH), np.float32)}})
    tensors[FEW].pop(HEAD)
    repo = upload(hub, tensors, model_type="kyutai_speech_to_text")
    repo.files[shard(4)] = save(layers(4))
    result = run("lookup", "org/many", "--ids", "3")
    assert (result.code, result.out) == (2, "")
    assert f"'strange' is not in {shard(4)}, though the index says so" in result.err


def test_a_model_with_a_table_in_each_shard(hub: HubServer, run: Command) -> None:
    upload(hub, model(count=2))
    checked = run("check-vocab", "org/many", "--format", "json").json
    assert checked["facts"]["head_rows"] == ROWS
    assert not any("shards" in one["reason"] for one in checked["skipped"])
