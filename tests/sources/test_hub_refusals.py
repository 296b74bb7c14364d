"""Each way in which a hub can say no, or nothing, or nonsense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from embcalc.errors import SourceError
from embcalc.sources import locate
from tests.conftest import Run
from tests.sources.hub_server import (
    Fault,
    Handler,
    HubServer,
    Repo,
    circle,
    endless,
    hang_up,
    lies,
    page,
    slow,
    status,
)

INFO = "GET /api/models/org/name"
BYTES = bytes(range(256)) * 8192


@pytest.fixture
def repo(hub: HubServer) -> Repo:
    hub.repos["org/name"] = Repo({"config.json": b"{}", "model.safetensors": BYTES})
    return hub.repos["org/name"]


def refused(address: str, *, read: str | None = None) -> tuple[str, str]:
    """Message and hint of the error that an address ends with."""

    def use() -> None:
        folder = locate(address).folder
        if read is not None:
            folder.open(read).read(0, 100)

    with pytest.raises(SourceError) as caught:
        use()
    message, hint = caught.value.message, caught.value.hint or ""
    assert "\n" not in message + hint
    return message, hint


def test_missing_repository(hub: HubServer) -> None:
    message, hint = refused("org/nothing")
    assert message == "no local path and no model on the hub that you may read: org/nothing"
    assert "hf auth login" in hint


def test_private_repository_opens_with_the_token(
    hub: HubServer, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.token = "hf_secret"
    assert "that you may read" in refused("org/name")[0]
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert locate("org/name").folder.open("model.safetensors").read(0, 4) == BYTES[:4]


def test_the_token_is_not_sent_to_another_host(
    hub: HubServer, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    file = locate("org/name").folder.open("model.safetensors")
    assert b"".join(map(bytes, file.stream(0, len(BYTES), 4096))) == BYTES
    assert any("org/name::" in line for line in hub.requests)
    assert {server for server, _ in hub.authorized} == {"hub"}


def test_wrong_token(hub: HubServer, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "wrong")
    message, hint = refused("org/name")
    assert message == "the hub does not accept your token"
    assert "HF_TOKEN" in hint


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_gated_repository(hub: HubServer, repo: Repo, name: str) -> None:
    repo.gated = True
    message, hint = refused("org/name", read=name)
    assert message == "org/name is gated: its owners have to give you access"
    assert hint.startswith(f"ask for it at {hub.url}/org/name, then ")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_that_is_listed_and_not_there(hub: HubServer, repo: Repo, name: str) -> None:
    repo.extra_names = ("gone.json", "gone.safetensors")
    ending = Path(name).suffix
    message, _ = refused("org/name", read=f"gone{ending}")
    assert message == f"org/name/gone{ending} does not exist on the hub"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_that_is_gone_is_no_missing_repository(
    hub: HubServer, repo: Repo, name: str
) -> None:
    """Mirrors of the hub do not say in a header what is missing."""
    hub.always(name, status(404))
    assert refused("org/name", read=name)[0] == f"org/name/{name} does not exist on the hub"


def test_unknown_file(hub: HubServer, repo: Repo) -> None:
    assert refused("org/name", read="nope.json")[0] == "org/name has no file nope.json"


def test_missing_revision(hub: HubServer, repo: Repo) -> None:
    repo.revisions.add("v1")
    assert locate("org/name@v1").folder.names()
    message, hint = refused("org/name@v2")
    assert message == "org/name has no revision v2"
    assert hint.endswith("/org/name/tree/main")


def test_revision_with_a_slash(hub: HubServer, repo: Repo) -> None:
    repo.revisions.add("refs/pr/7")
    for address in ("org/name@refs/pr/7", "hf://org/name@refs/pr/7", "hf://org/name@refs%2Fpr%2F7"):
        assert locate(address).folder.names()


@pytest.mark.parametrize(
    "revision",
    [
        "../../x",
        "%2e%2e",
        "%2E",
        "refs/pr/../../x",
        "a b",
        "@",
        "x" * 3000,
        "a:b",
        "a.",
        "%2Fa",
        "a~1",
    ],
)
def test_what_can_be_no_revision_is_not_asked_for(
    hub: HubServer, repo: Repo, revision: str
) -> None:
    message, hint = refused(f"hf://org/name@{revision}")
    assert message.startswith("org/name can have no revision ") or "names no" in message
    assert len(message) < 100
    assert hint
    assert hub.requests == []


def test_renamed_repository_is_found_and_named(
    hub: HubServer, repo: Repo, caplog: pytest.LogCaptureFixture
) -> None:
    hub.renamed["old/name"] = "org/name"
    folder = locate("old/name").folder
    assert folder.open("model.safetensors").read(0, 4) == BYTES[:4]
    assert "note: old/name is now org/name" in caplog.text


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (status(429), "too many requests"),
        (status(500), "HTTP 500"),
        (status(503), "HTTP 503"),
        (hang_up, "cannot be reached"),
    ],
)
@pytest.mark.parametrize("name", [None, "model.safetensors"])
def test_failures_pass_or_are_told_after_a_few_tries(
    hub: HubServer, repo: Repo, fault: Fault, message: str, name: str | None
) -> None:
    pattern = INFO if name is None else "model.safetensors"
    hub.fault(pattern, fault, fault)
    assert locate("org/name").folder.open("model.safetensors").read(5, 5) == BYTES[5:10]
    hub.always(pattern, fault)
    assert message in refused("org/name", read=name)[0]
    assert len(hub.requests) < 20


def test_a_wait_that_is_too_long_is_told(hub: HubServer, repo: Repo) -> None:
    hub.always(INFO, status(429, Retry_After="900"))
    message, hint = refused("org/name")
    assert "too many requests" in message
    assert hint == "try again in 900 seconds"
    assert len(hub.requests) == 1


def test_a_short_wait_is_kept(hub: HubServer, repo: Repo) -> None:
    hub.fault(INFO, status(429, Retry_After="1"))
    assert locate("org/name").folder.names()


def test_slow_answers_end(hub: HubServer, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.1)
    hub.always(INFO, slow(0.5))
    message, hint = refused("org/name")
    assert message.endswith("no answer in time")
    assert "HF_HUB_DOWNLOAD_TIMEOUT" in hint


def test_nobody_listens(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    hub.close()
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    message, hint = refused("org/name")
    assert message.startswith(
        "org/name is no local path, and the hub (http://127.0.0.1:9) cannot be reached"
    )
    assert "network" in hint


@pytest.mark.parametrize(
    "fault",
    [
        page(),
        page(b"[1, 2]", "application/json"),
        page(b'{"sha": null}', "application/json"),
        page(b'{"sha": "../../../etc"}', "application/json"),
        page(b'{"sha": "abcdef", "id": "../.."}', "application/json"),
        page(b'{"sha": "abcdef", "siblings": [{"rfilename": 5}]}', "application/json"),
        page(
            b'{"sha": "abcdef", "siblings": [{"rfilename": "a", "size": -5}]}', "application/json"
        ),
        page(b"\xff\xfe", "application/json"),
        page(b"", "application/json"),
    ],
)
def test_an_answer_that_is_no_hubs(hub: HubServer, repo: Repo, fault: Fault) -> None:
    hub.fault(INFO, fault)
    message, hint = refused("org/name")
    assert message == f"{hub.url} does not answer like a hub"
    assert "HF_ENDPOINT" in hint


def test_redirects_in_circles(hub: HubServer, repo: Repo) -> None:
    hub.always(INFO, circle)
    assert "redirects in circles" in refused("org/name")[0]


def test_a_listing_without_an_end(hub: HubServer, repo: Repo) -> None:
    hub.fault(INFO, endless)
    assert "is longer than 64,000,000 bytes" in refused("org/name")[0]


def test_names_that_lead_out_of_the_repository_are_left_out(hub: HubServer, repo: Repo) -> None:
    repo.extra_names = (
        "../../etc/passwd", "/etc/passwd", "a/../../b", "C:\\x", "c:/x", "a\\b", "", ".", "a//b",
        "a\x00b", "a\nb", ".hidden", "a/.git/b", "x/" * 9 + "deep.json", "ok/fine.json",
    )  # fmt: skip
    assert locate("org/name").folder.names() == ("config.json", "model.safetensors", "ok/fine.json")


def test_a_listing_that_is_too_long(hub: HubServer, repo: Repo) -> None:
    repo.extra_names = tuple(f"{number}.json" for number in range(50_001))
    message, hint = refused("org/name")
    assert message == "org/name holds more than 50,000 files"
    assert hint


@pytest.mark.parametrize(
    "fault",
    [
        lies(Content_Range="bytes 5-14/2097152"),
        lies(Content_Range="bytes 0-9/2097152"),
        lies(Content_Range="bytes 0-99999999999999999999999/2097152"),
        lies(Content_Range="nonsense"),
        lies(),
        lies(Content_Range="bytes 0-4/2097152"),
    ],
)
def test_other_bytes_than_asked_for_are_refused(hub: HubServer, repo: Repo, fault: Fault) -> None:
    hub.always("GET /org/name::model|model.safetensors", fault)
    message, _ = refused("org/name", read="model.safetensors")
    assert message == (
        "the server of org/name/model.safetensors sends other bytes than it was asked for"
    )


@pytest.mark.parametrize("read", ["config.json", "model.safetensors"])
def test_a_compressed_body_is_refused(hub: HubServer, repo: Repo, read: str) -> None:
    fault = lies(Content_Range="bytes 0-16383/2097152", Content_Encoding="gzip")
    hub.always(read, fault)
    message, _ = refused("org/name", read=read)
    assert message == (
        f"the server of org/name/{read} sends it compressed though it was asked not to"
    )


def test_a_file_that_is_replaced_while_it_is_read(hub: HubServer, repo: Repo) -> None:
    """The new one has the same length; only the tag tells."""

    def replaced(handler: Handler) -> bool:
        repo.tag = "another"
        return bool(handler is None)

    file = locate("org/name").folder.open("model.safetensors")
    assert file.read(0, 8) == BYTES[:8]
    hub.fault("GET /org/name::model", replaced)
    with pytest.raises(SourceError, match="changed while it was read"):
        file.read(1_000_000, 8)


def test_a_file_that_changed_is_refused(hub: HubServer, repo: Repo) -> None:
    hub.always("model.safetensors", lies(Content_Range="bytes 0-16383/999999"))
    message, _ = refused("org/name", read="model.safetensors")
    assert message == "org/name/model.safetensors has 999,999 bytes now, and had 2,097,152"


def test_a_body_shorter_than_its_length_is_a_broken_connection(hub: HubServer, repo: Repo) -> None:
    hub.always(
        "model.safetensors", lies(Content_Range="bytes 0-16383/2097152", Content_Length="10")
    )
    message, _ = refused("org/name", read="model.safetensors")
    assert "org/name/model.safetensors" in message


@pytest.mark.parametrize("code", [400, 403, 418])
def test_other_refusals_name_the_status(hub: HubServer, repo: Repo, code: int) -> None:
    hub.always(INFO, status(code))
    assert f"HTTP {code}" in refused("org/name")[0]


def test_disabled_repository(hub: HubServer, repo: Repo) -> None:
    hub.always(INFO, status(403, X_Error_Message="Access to this resource is disabled."))
    assert refused("org/name")[0] == "org/name was disabled on the hub"


def test_a_link_that_expires_is_asked_for_again(hub: HubServer, repo: Repo) -> None:
    file = locate("org/name").folder.open("model.safetensors")
    assert file.read(0, 8) == BYTES[:8]
    hub.fault("GET /org/name::", status(403))
    assert file.read(1_000_000, 8) == BYTES[1_000_000:1_000_008]
    links = [line for line in hub.requests if "/resolve/" in line]
    assert len(links) == 2


def test_a_link_that_never_works_is_refused(hub: HubServer, repo: Repo) -> None:
    hub.always("GET /org/name::", status(403))
    message, _ = refused("org/name", read="model.safetensors")
    assert "HTTP 403" in message


@pytest.mark.parametrize("pattern", ["HEAD .*config.json", "GET .*config.json"])
def test_a_text_file_survives_a_broken_connection(hub: HubServer, repo: Repo, pattern: str) -> None:
    from huggingface_hub.utils import are_progress_bars_disabled

    hub.fault(pattern, hang_up)
    assert locate("org/name").folder.open("config.json").read() == b"{}"
    assert not are_progress_bars_disabled()


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://[::bad"])
def test_redirects_lead_to_web_servers_only(hub: HubServer, repo: Repo, target: str) -> None:
    def redirect(handler: Handler) -> bool:
        handler.reply(302, b"", {"Location": target})
        return True

    for pattern, read in ((INFO, None), ("model.safetensors", "model.safetensors")):
        hub.always(pattern, redirect)
        assert refused("org/name", read=read)[1]
        hub.faults.clear()


def test_what_a_server_writes_cannot_act_on_a_terminal(
    hub: HubServer, run: Callable[..., Run]
) -> None:
    def evil(handler: Handler) -> bool:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-\x1b[31m: y\r\n\r\n")
        handler.hang_up()
        return True

    hub.always("GET", evil)
    result = run("inspect", "org/name")
    assert result.code == 2
    assert "\x1b" not in result.err
