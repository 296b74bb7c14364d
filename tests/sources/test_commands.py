"""The command line against the hub: bytes, numbers, messages and exit codes."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Run
from tests.sources.helpers import interrupted, needs_signals
from tests.sources.hub_server import HubServer, Repo, drops, hang_up, running_hub, slow, status

ROWS, WIDTH = 50_000, 1_000
SHARDS, SHARD_BYTES = 4, 500_000_000
Command = Callable[..., Run]


def write_shards(folder: Path) -> None:
    """2 GB in four sparse files; the first begins with a BF16 table of 100 MB."""
    index = {}
    for number in range(1, SHARDS + 1):
        tensors: dict[str, object] = {}
        at = 0
        name = f"model-{number:05}-of-{SHARDS:05}.safetensors"
        if number == 1:
            at = ROWS * WIDTH * 2
            shape = [ROWS, WIDTH]
            tensors["model.embed_tokens.weight"] = _tensor(shape, 0, at)
        for layer in range(20):
            stop = at + (SHARD_BYTES - at) // (20 - layer) // 2000 * 2000
            shape = [(stop - at) // 2000, 1000]
            tensors[f"model.layers.{number}.{layer}.weight"] = _tensor(shape, at, stop)
            at = stop
        header = json.dumps(tensors).encode()
        with (folder / name).open("wb") as stream:
            stream.write(len(header).to_bytes(8, "little") + header)
            if number == 1:
                values = np.random.default_rng(0).integers(0x3C00, 0x3F00, ROWS * WIDTH)
                stream.write(values.astype(np.uint16).tobytes())
            stream.truncate(8 + len(header) + at)
        index.update(dict.fromkeys(tensors, name))
    document = {"metadata": {}, "weight_map": index}
    (folder / "model.safetensors.index.json").write_text(json.dumps(document))


def _tensor(shape: list[int], start: int, stop: int) -> dict[str, object]:
    return {"dtype": "BF16", "shape": shape, "data_offsets": [start, stop]}


@pytest.fixture
def big(hub: HubServer, tmp_path: Path) -> Path:
    """A sharded model of 2 GB on the hub as org/big, and its folder."""
    folder = tmp_path / "big"
    folder.mkdir()
    write_shards(folder)
    config = {"model_type": "llama", "vocab_size": ROWS, "hidden_size": WIDTH}
    (folder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": True}))
    vocab = {f"t{number}": number for number in range(ROWS)}
    tokenizer = {"added_tokens": [], "model": {"type": "WordLevel", "vocab": vocab}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    hub.repos["org/big"] = Repo()
    hub.repos["org/big"].add_folder(folder)
    return folder


@pytest.fixture
def middling(tiny_checkpoint: Callable[..., Path], hub: HubServer) -> Path:
    """A model of 10 MB on the hub as org/middling, and its folder."""
    table = np.random.default_rng(2).normal(0, 0.02, (5000, 500)).astype(np.float32)
    config = {"model_type": "llama", "vocab_size": 5000, "hidden_size": 500}
    folder = tiny_checkpoint(
        {"model.embed_tokens.weight": table}, config={**config, "tie_word_embeddings": True}
    )
    hub.repos["org/middling"] = Repo()
    hub.repos["org/middling"].add_folder(folder)
    return folder


@pytest.fixture
def small(hub: HubServer, demo_model: Path) -> Path:
    """The demo model on the hub as org/small, and its folder."""
    hub.repos["org/small"] = Repo()
    hub.repos["org/small"].add_folder(demo_model)
    return demo_model


def test_only_the_bytes_that_are_needed(
    big: Path, hub: HubServer, command: Command, run: Command
) -> None:
    checked = command(hub.url, "check-vocab", "org/big", "--format", "json")
    assert checked.code == 0, checked.err
    assert checked.json["facts"]["embedding_rows"] == ROWS
    assert hub.sent_of(".safetensors") < 1_000_000
    hub.sent.clear()
    inspected = command(hub.url, "inspect", "org/big", "--format", "json")
    assert inspected.code == 0, inspected.err
    assert ROWS * WIDTH * 2 < hub.sent_of(".safetensors") < 102_000_000
    assert hub.sent_of("tokenizer.json") == 0  # cached by check-vocab
    read = float(inspected.err.split()[1])
    assert ROWS * WIDTH * 2 / 1e6 < read < 102
    assert inspected.err.endswith(" of 2.001 GB over the network\n")
    local = run("inspect", big, "--format", "json")
    assert without_samples(inspected) == without_samples(local)
    assert local.err == ""


def without_samples(result: Run) -> list[dict[str, object]]:
    """The tables of an inspect report, without sums whose last digit threads may change."""
    left_out = ("columns", "elements")
    return [
        {k: v for k, v in table.items() if k not in left_out} for table in result.json["tables"]
    ]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_connection_cut_in_a_table_gives_the_same_numbers(
    middling: Path, hub: HubServer, run: Command, ranges: bool
) -> None:
    hub.ranges = ranges
    hub.cut_after, hub.cuts = 400_000, 4
    cut = run("inspect", "org/middling", "--format", "json")
    assert hub.cuts == 0
    assert cut.code == 0, cut.err
    local = run("inspect", middling, "--format", "json")
    assert cut.json["tables"] == local.json["tables"]


def test_cache_keeps_the_weights(middling: Path, hub: HubServer, run: Command) -> None:
    assert run("inspect", "org/middling", "--cache").code == 0
    assert hub.sent_of(".safetensors") == (middling / "model.safetensors").stat().st_size
    hub.sent.clear()
    again = run("inspect", "org/middling")
    assert again.code == 0
    assert hub.sent_of(".safetensors") == 0


COMMANDS = {
    "estimate": (),
    "inspect": (),
    "check-vocab": (),
    "check": (),
    "lookup": ("--ids", "1"),
    "neighbors": ("--id", "1"),
    "diff": ("org/small",),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_reads_the_hub_and_stays_offline_when_told(
    small: Path, hub: HubServer, run: Command, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    with monkeypatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        offline = run(name, "org/small", *COMMANDS[name])
    assert (offline.code, offline.out) == (2, "")
    assert offline.err == NOT_CACHED
    assert hub.requests == []
    online = run(name, "org/small", *COMMANDS[name], "--format", "json")
    assert online.code == 0, online.err
    assert online.json["schema"].startswith("embcalc/")
    assert online.err.endswith(" over the network\n")


NOT_CACHED = (
    "error: org/small is no local path and not in the hub's cache; offline mode is on\n"
    "hint: unset HF_HUB_OFFLINE, or run 'hf download org/small' while online\n"
)


def test_offline_by_its_variable(small: Path, hub: HubServer, command: Command) -> None:
    offline = command(hub.url, "check-vocab", "org/small", HF_HUB_OFFLINE="1")
    assert (offline.code, offline.out, offline.err) == (2, "", NOT_CACHED)
    assert command(hub.url, "check-vocab", "org/small").code == 0
    asked = len(hub.requests)
    cached = command(hub.url, "check-vocab", "org/small", "--format", "json", HF_HUB_OFFLINE="1")
    assert cached.json["facts"]["tokenizer"]["size"] == 6
    assert cached.err == "note: offline mode is on; reading what the cache holds of org/small\n"
    assert len(hub.requests) == asked


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_HUB_DOWNLOAD_TIMEOUT", "soon"),
        ("HF_ENDPOINT", "no address"),
    ],
)
def test_settings_that_cannot_be(
    small: Path, hub: HubServer, command: Command, name: str, value: str
) -> None:
    result = command(hub.url, "lookup", "org/small", "--ids", "1", **{name: value})
    assert_refused(result)
    assert "HF_" in result.err


def test_a_port_that_some_versions_of_the_library_take_no_notice_of(
    small: Path, hub: HubServer, command: Command
) -> None:
    result = command("http://127.0.0.1:99999", "lookup", "org/small", "--ids", "1")
    assert_refused(result)


def assert_refused(result: Run) -> None:
    assert (result.code, result.out) == (2, "")
    assert [line.split(":")[0] for line in result.err.splitlines()] == ["error", "hint"]


def test_a_token_that_no_header_can_hold(
    small: Path, hub: HubServer, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "ключ")
    result = run("lookup", "org/small", "--ids", "1")
    assert_refused(result)
    assert "HF_TOKEN" in result.err


@pytest.mark.parametrize(
    ("name", "value"), [("HTTP_PROXY", "nonsense://x"), ("HTTPS_PROXY", "http://[::bad")]
)
def test_proxies_that_cannot_be(
    small: Path,
    hub: HubServer,
    run: Command,
    name: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(name, value)
    result = run("lookup", "org/small", "--ids", "1")
    if result.code != 0:  # requests takes no notice of them where NO_PROXY names the host
        assert_refused(result)
        assert "HTTPS_PROXY" in result.err


def test_an_endpoint_with_a_path(small: Path, hub: HubServer, command: Command) -> None:
    hub.prefix = "/hubs/mine"
    result = command(f"{hub.url}/hubs/mine/", "lookup", "org/small", "--ids", "1")
    assert result.code == 0, result.err
    assert all(line.startswith("GET /hubs/mine/") for line in hub.requests)


def test_a_token_with_a_newline_is_the_token(
    small: Path, hub: HubServer, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repos["org/small"].token = "hf_secret"
    monkeypatch.setenv("HF_TOKEN", "hf_secret\n")
    result = run("lookup", "org/small", "--ids", "1")
    assert result.code == 0, result.err


def test_a_proxy_is_used_and_passed_by_for_some_hosts(
    small: Path, hub: HubServer, command: Command
) -> None:
    """A proxy is asked for whole addresses; this one only writes them down."""
    arguments = ("http://hub.invalid", "lookup", "org/small", "--ids", "1")
    hub.always("http://hub.invalid", status(404, X_Error_Code="RepoNotFound"))
    proxied = command(*arguments, HTTP_PROXY=hub.url)
    assert "that you may read" in proxied.err
    assert hub.requests == ["GET http://hub.invalid/api/models/org/small?blobs=true"]
    dead = {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    assert command(hub.url, *arguments[1:], **dead).code == 0


def test_the_hub_under_an_address_of_ipv6(small: Path, hub: HubServer, command: Command) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with running_hub("::1") as sixth:
        sixth.repos = hub.repos
        result = command(sixth.url, "lookup", "org/small", "--ids", "1")
        assert result.code == 0, result.err
        assert sixth.total > 0


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("org/nothing", "that you may read"),
        ("org/private", "that you may read"),
        ("org/gated", "is gated"),
        ("org/small@v9", "has no revision v9"),
        ("hf://org/small/nope", "has no file or folder nope"),
        ("hf://datasets/org/small", "is no model repository"),
        ("HUB/nope.safetensors", "does not exist"),
        ("http://127.0.0.1:9/model.safetensors", "cannot be reached"),
        ("s4://bucket/x", "is no address that can be read"),
        ("smb://host/share", "one more package is needed"),
    ],
)
def test_failures_are_two_lines_and_code_two(
    small: Path, hub: HubServer, run: Command, address: str, message: str
) -> None:
    hub.repos["org/gated"] = Repo(hub.repos["org/small"].files, gated=True)
    hub.repos["org/private"] = Repo(hub.repos["org/small"].files, token="hf_x")
    result = run("lookup", address.replace("HUB", hub.url), "--ids", "1")
    assert (result.code, result.out) == (2, "")
    lines = result.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["error", "hint"], result.err
    assert message in lines[0]


def test_a_repository_without_a_checkpoint(hub: HubServer, run: Command) -> None:
    hub.repos["org/empty"] = Repo({"README.md": b"# soon", "config.json": b"{}"})
    result = run("inspect", "org/empty")
    assert result.code == 2
    assert result.err.splitlines()[0].startswith("error: ")
    assert "org/empty" in result.err


def test_short_faults_are_survived(small: Path, hub: HubServer, run: Command) -> None:
    hub.fault("GET /api/models", status(503), hang_up)
    hub.fault("model.safetensors", status(500), hang_up)
    result = run("lookup", "org/small", "--ids", "1", "--format", "json")
    assert result.code == 0, result.err
    assert result.json["sequences"][0]["ids"] == [1]


@needs_signals
def test_ctrl_c_ends_a_download_at_once(middling: Path, hub: HubServer, tmp_path: Path) -> None:
    """Also while every connection waits for a server that says nothing."""
    hub.always("model.safetensors", slow(20))
    result = interrupted(hub, tmp_path / "home", "lookup", "org/middling", "--ids", "1")
    assert (result.code, result.out) == (130, "")
    assert "Traceback" not in result.err


@needs_signals
def test_ctrl_c_leaves_nothing_in_the_cache(middling: Path, hub: HubServer, tmp_path: Path) -> None:
    hub.fault("model.safetensors", drops(100_000, 0.05))
    home = tmp_path / "home"
    stored = home / "hub" / "models--org--middling" / "blobs"
    command = ("lookup", "org/middling", "--ids", "1", "--cache")
    result = interrupted(hub, home, *command, begun=lambda: any(stored.glob("*.incomplete")))
    assert (result.code, result.out) == (130, "")
    assert "Traceback" not in result.err
    assert list(stored.iterdir()) == []
