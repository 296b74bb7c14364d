from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from embcalc.errors import SourceError
from embcalc.sources import locate
from tests.sources.helpers import table_bytes
from tests.sources.hub_server import Handler, HubServer, Repo, lies, page, status
from tests.sources.web_server import serving

pytestmark = pytest.mark.usefixtures("hub")  # its session and its short waits, not its address


@pytest.fixture
def model(tiny_checkpoint: Callable[..., Path]) -> Path:
    folder = tiny_checkpoint(rows=300, width=64, config={"vocab_size": 300}, tokenizer={})
    (folder / ".hidden").write_text("x")
    (folder / "sub").mkdir()
    (folder / "sub" / "other.json").write_text("{}")
    return folder


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("end", ["", "model.safetensors"])
def test_reads_the_same_rows_as_from_disk(model: Path, ranges: bool, end: str) -> None:
    with serving(model, ranges=ranges) as (url, _):
        assert table_bytes(url + end) == table_bytes(str(model))


def test_a_server_without_ranges_is_noticed(model: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(model, ranges=False) as (url, requests):
        file = locate(f"{url}model.safetensors").folder.open("model.safetensors")
        assert file.size == (model / "model.safetensors").stat().st_size
        assert file.read(8, 4) == (model / "model.safetensors").read_bytes()[8:12]
    assert len(requests) == 1
    assert caplog.messages == [
        f"note: the server cannot send parts of {url}model.safetensors; "
        f"reading all of it, {file.size:,} bytes"
    ]


def test_a_large_file_without_ranges_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "big.safetensors").open("wb") as stream:
        stream.truncate(64_000_001)
    with serving(tmp_path, ranges=False) as (url, _), pytest.raises(SourceError) as caught:
        locate(f"{url}big.safetensors").folder.open("big.safetensors").read(0, 8)
    assert caught.value.message.endswith("cannot send parts of a file")
    assert caught.value.hint == "download the file and give its path"


def test_a_body_without_a_length_is_read_to_its_end(model: Path) -> None:
    with serving(model, chunked=True) as (url, _):
        assert locate(url).folder.open("config.json").read() == b"abcd"


@pytest.mark.parametrize("listing", [True, False])
def test_finds_the_files_of_a_folder(model: Path, listing: bool) -> None:
    with serving(model, listing=listing) as (url, requests):
        names = ("config.json", "model.safetensors", "tokenizer.json")
        assert locate(url).folder.names() == names
        assert locate(url.rstrip("/")).folder.names() == names
        assert locate(f"{url}model.safetensors").folder.names() == names
    assert any("HEAD" in line for line in requests) is not listing


def test_a_file_of_an_unusual_name_is_in_its_folder(model: Path) -> None:
    (model / "model.safetensors").rename(model / "my own.gguf")
    with serving(model, listing=False) as (url, _):
        found = locate(f"{url}my%20own.gguf")
        assert found.file == "my own.gguf"
        assert found.folder.names() == ("config.json", "my own.gguf", "tokenizer.json")
        assert found.folder.open("my own.gguf").read(0, 8)


def test_an_empty_file_has_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"")
    for ranges in (True, False):
        with serving(tmp_path, ranges=ranges) as (url, _):
            file = locate(url).folder.open("config.json")
            assert (file.size, file.read()) == (0, b"")


def test_a_signed_address_keeps_its_query_and_hides_it(model: Path) -> None:
    with serving(model) as (url, requests):
        found = locate(f"{url}model.safetensors?signature=secret")
        assert found.folder.names() == ("model.safetensors",)
        assert found.folder.open("model.safetensors").read(0, 8)
        with pytest.raises(SourceError) as caught:
            locate(f"{url}nope.safetensors?signature=secret").folder.open("nope.safetensors").read()
    assert "signature=secret" in requests[0]
    assert caught.value.message == f"{url}nope.safetensors does not exist (HTTP 404)"


def test_a_password_is_not_shown(model: Path) -> None:
    with serving(model) as (url, _):
        file = locate(url.replace("//", "//me:secret@") + "nope.json").folder.open("nope.json")
        with pytest.raises(SourceError) as caught:
            file.read()
    assert "secret" not in caught.value.message


def test_no_token_leaves_for_other_hosts(
    model: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.always("GET", status(404))
    with pytest.raises(SourceError):
        locate(f"{hub.cdn}/model.safetensors").folder.open("model.safetensors").read(0, 1)
    assert hub.authorized == []


@pytest.mark.parametrize("address", ["http://", "https:///x/y", "http://127.0.0.1:9/config.json"])
def test_addresses_that_lead_nowhere(address: str) -> None:
    with pytest.raises(SourceError) as caught:
        locate(address).folder.open("config.json").read()
    assert caught.value.hint


def test_a_server_that_is_out_of_order(model: Path, hub: HubServer) -> None:
    hub.always("GET", status(503))
    with pytest.raises(SourceError, match="HTTP 503"):
        locate(f"{hub.cdn}/folder").folder.names()


@pytest.mark.parametrize(
    ("code", "message"), [(401, "access refused"), (403, "access refused"), (418, "HTTP 418")]
)
def test_refusals_of_a_web_server(hub: HubServer, code: int, message: str) -> None:
    hub.always("GET", status(code))
    with pytest.raises(SourceError, match=message) as caught:
        locate(f"{hub.url}/model.safetensors").folder.open("model.safetensors").read(0, 8)
    assert caught.value.hint


def test_a_server_that_does_not_tell_the_size(hub: HubServer) -> None:
    hub.always("GET", lies(Content_Range="bytes 0-0/*"))
    with pytest.raises(SourceError, match="does not tell its size"):
        locate(f"{hub.url}/model.safetensors").folder.open("model.safetensors").read(0, 8)


def test_a_folder_that_is_no_page(hub: HubServer) -> None:
    hub.fault("GET", page(b"{}", "application/json"))
    assert locate(f"{hub.url}/folder").folder.names() == ()


def test_a_page_that_breaks_off_is_read_again(model: Path, hub: HubServer) -> None:
    def short(handler: Handler) -> bool:
        handler.reply(200, b"<a", {"Content-Length": "5000", "Content-Type": "text/html"})
        handler.hang_up()
        return True

    links = (
        b"<a href='model.safetensors'>x</a><a href='../up.json'>y</a><a href='//else/z.json'>z</a>"
    )
    hub.fault("GET", short, page(links))
    assert locate(f"{hub.url}/folder").folder.names() == ("model.safetensors",)


def test_a_file_longer_than_the_listing_says(hub: HubServer) -> None:
    hub.repos["org/name"] = Repo({"model.safetensors": b"x" * 100})
    file = locate("org/name").folder.open("model.safetensors")
    hub.ranges = False
    hub.repos["org/name"].files["model.safetensors"] = b"x" * 200
    with pytest.raises(SourceError, match="has 200 bytes, not 100 as listed"):
        file.read(0, 8)


def test_a_small_file_without_ranges_is_taken_as_it_comes(
    hub: HubServer, caplog: pytest.LogCaptureFixture
) -> None:
    hub.repos["org/name"] = Repo({"model.safetensors": b"x" * 100})
    hub.ranges = False
    assert locate("org/name").folder.open("model.safetensors").read() == b"x" * 100
    assert caplog.messages == []  # all of it was asked for
