"""What a hub sends is bounded: in length, in time, in tries; and what is kept is kept whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache

from embcalc.errors import SourceError
from embcalc.sources import locate, pace, ranged, retry
from embcalc.sources.hub.address import HubAddress
from embcalc.sources.hub.open import list_repository
from embcalc.sources.hub.store import store
from tests.conftest import Run
from tests.sources.hub_server import (
    Fault,
    Handler,
    HubServer,
    Repo,
    circle,
    drops,
    endless,
    redirect,
    slow_head,
    status,
)

TEXT = b'{"vocab_size": 6, "hidden_size": 4, "model_type": "llama"}'
HUGE = 5_000_000_000


@pytest.fixture
def repo(hub: HubServer) -> Repo:
    hub.repos["org/name"] = Repo({"config.json": TEXT, "big.txt": b"x" * 2_000_000})
    return hub.repos["org/name"]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience for tenths of seconds."""
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.15)
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.15)
    monkeypatch.setattr(retry, "BUDGET", 0.8)


def refused(address: str = "org/name", name: str = "config.json") -> tuple[str, str]:
    with pytest.raises(SourceError) as caught:
        locate(address).folder.open(name).read()
    assert "\n" not in f"{caught.value.message}{caught.value.hint}"
    return caught.value.message, caught.value.hint or ""


def kept(tmp_path: Path) -> list[str]:
    """Names of all files in the cache."""
    return sorted(path.name for path in (tmp_path / "hf-cache").rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (endless, "sends other bytes than it was asked for"),
        (status(429, Retry_After="3600"), "too many requests"),
        (status(503, Retry_After="3600"), "HTTP 503"),
        (circle, "redirects in circles"),
        (redirect("file:///etc/passwd"), "leads to no address that can be read"),
        (redirect("ftp://127.0.0.1/x"), "leads to no address that can be read"),
    ],
)
def test_a_text_file_that_never_comes(
    hub: HubServer, repo: Repo, tmp_path: Path, run: Callable[..., Run], fault: Fault, message: str
) -> None:
    hub.always("config.json", fault)
    result = run("check-vocab", "org/name")
    assert (result.code, result.out) == (2, "")
    first, second = result.err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert second.startswith("hint: ")
    assert kept(tmp_path) == []
    waited = [line for line in hub.requests if "config.json" in line]
    assert len(waited) == 1 or fault is circle


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("pattern", ["GET /api", "GET .*config.json"])
@pytest.mark.parametrize(
    ("fault", "message"),
    [(drops(1, 0.02), "stalls: "), (slow_head(0.05), "no answer in time")],
)
def test_answers_in_drops_end(
    hub: HubServer, repo: Repo, tmp_path: Path, pattern: str, fault: Fault, message: str
) -> None:
    hub.always(pattern, fault)
    assert message in refused()[0]
    assert len(hub.requests) <= 6
    assert kept(tmp_path) == []


def test_a_slow_network_is_no_stalled_one(hub: HubServer, repo: Repo) -> None:
    started = time.monotonic()
    hub.fault("config.json", drops(20, 0.01))
    assert locate("org/name").folder.open("config.json").read() == TEXT
    assert time.monotonic() > started


def test_a_size_that_no_text_file_has_is_refused_unasked(
    hub: HubServer, repo: Repo, tmp_path: Path
) -> None:
    repo.claims["config.json"] = HUGE
    message, hint = refused()
    assert message == (
        "org/name/config.json has 5,000,000,000 bytes; configs, tokenizers and indexes are read"
        " up to 100,000,000"
    )
    assert hint
    assert len(hub.requests) == 1
    assert kept(tmp_path) == []


def test_a_size_that_is_told_late_is_refused_as_well(hub: HubServer, repo: Repo) -> None:
    repo.sizes = False

    def huge(handler: Handler) -> bool:
        handler.reply(206, b"{", {"Content-Range": f"bytes 0-0/{HUGE}"})
        return True

    hub.fault("config.json", huge)
    assert "has 5,000,000,000 bytes" in refused()[0]


def test_the_limit_holds_at_web_addresses_too(
    hub: HubServer, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranged, "MAX_WHOLE", 50)
    assert "read up to 50" in refused(f"{hub.url}/org/name/resolve/main/config.json")[0]


def test_a_body_without_a_length_is_bounded_by_the_listing(
    hub: HubServer, repo: Repo, tmp_path: Path
) -> None:
    """A server that ignores ranges and sends chunks: exactly the listed bytes are taken."""
    hub.fault("config.json", chunked(TEXT))
    assert locate("org/name").folder.open("config.json").read() == TEXT
    assert kept(tmp_path)


def chunked(content: bytes) -> Fault:
    def fault(handler: Handler) -> bool:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content))
        return True

    return fault


def test_the_library_finds_what_was_kept(hub: HubServer, repo: Repo) -> None:
    """Both of its ways: offline by the name of the branch, online by the tag of the file."""
    folder = locate("org/name").folder
    for name in ("config.json", "big.txt"):
        folder.open(name).read()
        place = Path(folder.open(name).local_path or "")
        assert place.is_symlink()
        assert try_to_load_from_cache("org/name", name) == str(place)
        assert hf_hub_download("org/name", name, local_files_only=True) == str(place)
        sent = hub.total
        assert hf_hub_download("org/name", name) == str(place)
        assert hub.total == sent


def test_contents_lie_under_the_names_that_the_hub_gives_them(hub: HubServer, repo: Repo) -> None:
    """So that another revision with the same file shares it, whoever fetched it first."""
    folder = locate("org/name").folder
    names = []
    for name in ("config.json", "big.txt"):
        folder.open(name).read()
        names.append(Path(folder.open(name).local_path or "").resolve().name)
    # git hash-object; sha256sum
    assert names == [
        "6a1d7f1398d606e9f3e543dd8cea76f6738a039a",
        "be8889d3b8893c11d290b8dcf682164c326a90e6998f6bddb25d9a3a02daf666",
    ]


def test_a_revision_is_kept_by_its_name(hub: HubServer, repo: Repo) -> None:
    repo.revisions.add("refs/pr/7")
    file = locate("org/name@refs/pr/7").folder.open("config.json")
    file.read()
    assert try_to_load_from_cache("org/name", "config.json", revision="refs/pr/7")
    assert try_to_load_from_cache("org/name", "config.json", revision=repo.sha)
    assert try_to_load_from_cache("org/name", "config.json") is None


def test_without_links_the_file_itself_is_kept(
    hub: HubServer, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, where most users may not make links."""

    def refuse(_self: Path, _target: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    file = locate("org/name").folder.open("config.json")
    assert file.read() == TEXT
    assert kept(tmp_path) == ["config.json", "main"]
    assert hf_hub_download("org/name", "config.json", local_files_only=True) == file.local_path


def test_what_breaks_off_leaves_nothing(hub: HubServer, repo: Repo, tmp_path: Path) -> None:
    hub.always("big.txt", status(500))
    refused(name="big.txt")
    assert kept(tmp_path) == []

    def pieces() -> Iterator[bytes]:
        yield b"xx"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store(list_repository(HubAddress("org/name")), "big.txt", 5, pieces())
    assert kept(tmp_path) == []


def test_tries_end_when_their_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "BUDGET", 1.0)
    waits: list[float] = []
    patience = retry.Patience(tries=99, sleep=waits.append)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.4)

    def wait_on() -> None:
        for _ in range(99):
            patience.after(retry.TransientError("x"))

    with pytest.raises(retry.TransientError):
        wait_on()
    assert waits == [0.4, 0.8]


def test_only_enough_bytes_are_progress() -> None:
    patience = retry.Patience(tries=3, sleep=lambda _seconds: None)
    for nbytes in (retry.PROGRESS, retry.PROGRESS, retry.PROGRESS):
        patience.after(retry.TransientError("x"))
        patience.after(retry.TransientError("x"))
        patience.progress(nbytes)
    patience.after(retry.TransientError("x"))
    patience.progress(1)
    patience.after(retry.TransientError("x"))
    with pytest.raises(retry.TransientError):
        patience.after(retry.TransientError("x"))


def test_what_comes_too_late_is_closed() -> None:
    closed: list[str] = []

    class Late:
        def __enter__(self) -> str:
            time.sleep(0.05)
            return "late"

        def __exit__(self, *_: object) -> None:
            closed.append("late")

    with pytest.raises(TimeoutError), pace.entered_within(0.01, Late()):
        pass
    time.sleep(0.15)
    assert closed == ["late"]
    with pace.entered_within(5, Late()) as value:
        assert value == "late"
    assert closed == ["late", "late"]
