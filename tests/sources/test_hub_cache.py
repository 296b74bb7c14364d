"""What lies in the hub's cache is read there; what is small is put there; offline means offline."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embcalc.errors import SourceError
from embcalc.sources import locate
from embcalc.sources.hub import cache
from embcalc.sources.keeping import KEEP
from tests.sources.hub_server import HubServer, Repo, hang_up, page, slow, status

BYTES = bytes(range(256)) * 8192


@pytest.fixture
def repo(hub: HubServer) -> Repo:
    hub.repos["org/name"] = Repo(
        {
            "config.json": b'{"vocab_size": 5}',
            "model.safetensors": BYTES,
            "onnx/config.json": b"{}",
            "onnx/model.onnx": BYTES[:100],
        }
    )
    return hub.repos["org/name"]


def test_a_text_file_is_fetched_once(hub: HubServer, repo: Repo) -> None:
    file = locate("org/name").folder.open("config.json")
    assert (file.size, file.local_path) == (17, None)
    assert file.read() == b'{"vocab_size": 5}'
    assert b"".join(map(bytes, file.stream(1, 5, 2))) == b'"voca'
    assert Path(file.local_path or "").read_bytes() == file.read()
    again = locate("org/name").folder.open("config.json")
    assert again.local_path is not None
    assert again.read(0, 2) == b'{"'
    assert hub.sent_of("config.json") == 17


@pytest.fixture
def keeping() -> Iterator[None]:
    token = KEEP.set(True)
    yield
    KEEP.reset(token)


@pytest.mark.usefixtures("keeping")
def test_weights_can_be_kept(hub: HubServer, repo: Repo, caplog: pytest.LogCaptureFixture) -> None:
    file = locate("org/name").folder.open("model.safetensors")
    assert file.read(10, 5) == BYTES[10:15]
    assert locate("org/name").folder.open("model.safetensors").local_path == file.local_path
    assert hub.sent_of("model.safetensors") == len(BYTES)
    assert caplog.messages == []
    locate(hub.url)
    assert "only files of the hub can be kept" in caplog.text


def test_a_folder_or_a_file_of_a_repository(hub: HubServer, repo: Repo) -> None:
    found = locate("hf://org/name/onnx")
    assert (found.file, found.folder.names()) == (None, ("config.json", "model.onnx"))
    assert found.folder.open("model.onnx").read(5, 5) == BYTES[5:10]
    found = locate("hf://org/name/onnx/model.onnx")
    assert (found.file, found.folder.names()) == ("model.onnx", ("config.json", "model.onnx"))
    assert locate("hf://org/name@main/model.safetensors").file == "model.safetensors"
    with pytest.raises(SourceError, match="has no file or folder nope") as caught:
        locate("hf://org/name/nope")
    assert "config.json" in (caught.value.hint or "")


def test_a_listing_without_sizes_asks_for_them(hub: HubServer, repo: Repo) -> None:
    repo.sizes = False
    folder = locate("org/name").folder
    assert folder.open("model.safetensors").size == len(BYTES)
    assert folder.open("model.safetensors").read(0, 3) == BYTES[:3]
    assert folder.open("config.json").read() == b'{"vocab_size": 5}'


def test_a_cache_that_cannot_be_written_is_done_without(
    hub: HubServer, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "file" / "cache"))
    file = locate("org/name").folder.open("config.json")
    assert file.read() == b'{"vocab_size": 5}'
    assert file.local_path is None


def test_offline_reads_what_is_cached(
    hub: HubServer, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    folder = locate("org/name").folder
    for name in ("config.json", "onnx/config.json"):
        folder.open(name).read()
    asked = len(hub.requests)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for address in ("org/name", f"org/name@{repo.sha}", "hf://org/name@main"):
        found = locate(address)
        assert found.folder.label == address
        assert found.folder.names() == ("config.json", "onnx/config.json")
        assert found.folder.open("config.json").read() == b'{"vocab_size": 5}'
    assert locate("hf://org/name/onnx").folder.names() == ("config.json",)
    assert locate("hf://org/name/onnx/config.json").file == "config.json"
    with pytest.raises(SourceError, match=r"the cache holds no model\.safetensors of org/name"):
        locate("hf://org/name/model.safetensors")
    assert len(hub.requests) == asked


def test_a_renamed_repository_is_cached_by_the_name_that_was_asked_for(
    hub: HubServer, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    hub.renamed["old/name"] = "org/name"
    assert locate("old/name").folder.open("config.json").read() == b'{"vocab_size": 5}'
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert locate("old/name").folder.open("config.json").read() == b'{"vocab_size": 5}'


def test_a_branch_that_moves_after_the_listing(hub: HubServer, repo: Repo) -> None:
    folder = locate("org/name").folder
    listed, repo.sha = repo.sha, "b" * 40
    repo.revisions.add(listed)
    file = folder.open("config.json")
    assert file.read() == b'{"vocab_size": 5}'
    assert listed in (file.local_path or "")


@pytest.mark.parametrize("address", ["org/other", "org/name@v9", "hf://gpt2"])
def test_offline_and_nothing_cached(
    hub: HubServer, repo: Repo, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(SourceError, match="offline mode is on") as caught:
        locate(address)
    assert "unset HF_HUB_OFFLINE" in (caught.value.hint or "")
    assert hub.requests == []


def test_offline_web_addresses_are_not_asked(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(SourceError, match="offline mode is on"):
        locate(f"{hub.url}/config.json").folder.open("config.json").read()
    assert hub.requests == []


def test_a_hub_that_is_down_gives_way_to_the_cache(
    hub: HubServer, repo: Repo, caplog: pytest.LogCaptureFixture
) -> None:
    locate("org/name").folder.open("config.json").read()
    hub.always("GET /api", status(503))
    found = locate("org/name")
    assert found.folder.open("config.json").read() == b'{"vocab_size": 5}'
    assert "HTTP 503; reading what the cache holds of org/name" in caplog.text


@pytest.mark.parametrize("fault", [hang_up, status(500), status(404), status(429)])
def test_a_text_file_that_cannot_be_had(
    hub: HubServer, repo: Repo, fault: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    hub.always("config.json", fault)
    with pytest.raises(SourceError) as caught:
        locate("org/name").folder.open("config.json").read()
    assert "org/name/config.json" in caught.value.message or "the hub" in caught.value.message


def test_a_text_file_of_another_length_is_refused(hub: HubServer, repo: Repo) -> None:
    def longer(handler: object) -> bool:
        repo.files["config.json"] = b"[]" if handler else b""
        return False

    folder = locate("org/name").folder
    hub.fault("GET .*config.json", longer)
    with pytest.raises(SourceError, match=r"org/name/config\.json"):
        folder.open("config.json").read()


def test_a_login_page_in_place_of_a_file_is_refused_at_once(
    hub: HubServer, repo: Repo, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("config.json", "model.safetensors"):
        hub.fault(name, page())
        with pytest.raises(SourceError, match=r"has 26 bytes, not .* as listed") as caught:
            locate("org/name").folder.open(name).read()
        assert "login page" in (caught.value.hint or "")
    assert caplog.messages == []


def test_a_slow_file_ends(hub: HubServer, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.1)
    hub.always("model.safetensors", slow(0.4))
    with pytest.raises(SourceError, match="no answer in time"):
        locate("org/name").folder.open("model.safetensors").read(0, 5)


def test_a_snapshot_is_also_a_local_folder(hub: HubServer, repo: Repo) -> None:
    locate("org/name").folder.open("config.json").read()
    snapshot = cache.cached_snapshot("org/name", repo.sha)
    assert snapshot is not None
    assert locate(str(snapshot)).folder.open("config.json").read() == b'{"vocab_size": 5}'
    shutil.rmtree(snapshot.parent.parent / "blobs")
    with pytest.raises(SourceError, match="which does not exist"):
        locate(str(snapshot)).folder.open("config.json").read()


def test_a_broken_reference_is_no_reference(hub: HubServer, tmp_path: Path) -> None:
    base = tmp_path / "hf-cache" / "models--org--name"
    (base / "snapshots").mkdir(parents=True)
    (base / "refs").mkdir()
    for content in (b"../../..", b"\xff\xfe", b"", os.urandom(50)):
        (base / "refs" / "main").write_bytes(content)
        assert cache.cached_snapshot("org/name", None) is None
