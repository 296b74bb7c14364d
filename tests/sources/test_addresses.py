from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embcalc.errors import SourceError
from embcalc.sources import locate
from embcalc.sources.hub.address import HubAddress, from_uri, from_web, plain
from embcalc.sources.names import is_safe
from tests.sources.hub_server import HubServer, Repo

REPO = "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (REPO, HubAddress(REPO)),
        ("a/b", HubAddress("a/b")),
        (f"{REPO}@v1.0", HubAddress(REPO, "v1.0")),
        (f"{REPO}@refs/pr/3", HubAddress(REPO, "refs/pr/3")),
        (f"{REPO}@", None),
        ("gpt2", None),
        ("a/b/c", None),
        ("/a/b", None),
        ("./a/b", None),
        ("../a", None),
        ("a/..", None),
        ("a//b", None),
        ("a/b.git", None),
        ("a/b--c", None),
        ("a/b..c", None),
        ("~/model", None),
        ("a b/c", None),
        ("模型/b", None),
        ("a/" + "b" * 96, None),
        ("a\\b", None),
        ("", None),
    ],
)
def test_plain_spelling(address: str, expected: HubAddress | None) -> None:
    assert plain(address) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (f"hf://{REPO}", HubAddress(REPO)),
        (f"hf://models/{REPO}/", HubAddress(REPO)),
        (f"hf://{REPO}/sub/model.gguf", HubAddress(REPO, None, "sub/model.gguf")),
        (f"hf://{REPO}@v1/sub/x.gguf", HubAddress(REPO, "v1", "sub/x.gguf")),
        (f"hf://{REPO}@a%2Fb/x.gguf", HubAddress(REPO, "a/b", "x.gguf")),
        (f"hf://{REPO}@refs/pr/3/x.gguf", HubAddress(REPO, "refs/pr/3", "x.gguf")),
        (f"hf://{REPO}/odd@name.gguf", HubAddress(REPO, None, "odd@name.gguf")),
        ("hf://gpt2", HubAddress("gpt2")),
    ],
)
def test_uri(address: str, expected: HubAddress) -> None:
    assert from_uri(address) == expected


@pytest.mark.parametrize(
    "address",
    ["hf://", "hf:///", "hf://datasets/a/b", "hf://spaces/a/b", "hf://a b/c", "hf://../x"],
)
def test_uri_that_names_no_model(address: str) -> None:
    with pytest.raises(SourceError) as caught:
        from_uri(address)
    assert (caught.value.hint or "").startswith("write hf://org/name")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (f"https://huggingface.co/{REPO}", HubAddress(REPO)),
        (f"https://hf.co/{REPO}/", HubAddress(REPO)),
        (f"https://huggingface.co/{REPO}/tree/main", HubAddress(REPO, "main")),
        (f"https://huggingface.co/{REPO}/tree/v1/sub", HubAddress(REPO, "v1", "sub")),
        (
            f"https://huggingface.co/{REPO}/resolve/main/a/x.gguf?download=true",
            HubAddress(REPO, "main", "a/x.gguf"),
        ),
        (f"https://huggingface.co/{REPO}/blob/refs%2Fpr%2F1/x", HubAddress(REPO, "refs/pr/1", "x")),
        ("https://example.org/a/b", None),
        ("https://huggingface.co.example.org/a/b", None),
    ],
)
def test_web_pages_of_the_hub(address: str, expected: HubAddress | None) -> None:
    assert from_web(address) == expected


def test_an_existing_path_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "org" / "name").mkdir(parents=True)
    (tmp_path / "org" / "name" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert locate("org/name").folder.open("config.json").local_path


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("gpt2-nothing", "a model on the hub is written org/name"),
        ("./nowhere", "check the path"),
        ("/no/where", "check the path"),
        ("models/model.safetensors", "check the path"),
        ("org/name/model.gguf", "a file of a hub repository is written hf://org/name/model.gguf"),
        ("", "check the path"),
        ("x" * 5000, None),
        ("a\x00b", None),
    ],
)
def test_what_is_nowhere_is_told_without_asking_anybody(
    address: str, hint: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as caught:
        locate(address)
    assert (hint or "") in (caught.value.hint or "")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the folders models/tiny and small."""
    for name in ("models/tiny", "small"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("models/tiny/nope.safetensors", "models/tiny has no nope.safetensors"),
        ("models/tyni/model.safetensors", "models has no tyni; did you mean models/tiny?"),
        ("models/tyni/", "models has no tyni; did you mean models/tiny?"),
        ("./modles/tiny", "there is no modles here; did you mean models?"),
        ("smal", "there is no smal here; did you mean small?"),
        ("../nowhere-at-all", ".. has no nowhere-at-all"),
        ("~/models", "~ is left as it is within quotes; write $HOME, or leave the quotes out"),
        ("models/one/two/three", "models has no one"),
        ("small/x.gguf", "small has no x.gguf"),
        ("one/two/three", "a file of a hub repository is written hf://one/two/three"),
    ],
)
def test_a_mistyped_path_is_never_asked_for_on_the_hub(
    here: Path, hub: HubServer, address: str, hint: str
) -> None:
    with pytest.raises(SourceError) as caught:
        locate(address)
    assert caught.value.message == f"no such file or folder: {address}"
    assert caught.value.hint == hint
    assert hub.requests == []


def test_what_may_be_a_path_or_a_model_is_called_both(
    here: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(address: str) -> tuple[str, str | None]:
        with pytest.raises(SourceError) as caught:
            locate(address)
        return caught.value.message, caught.value.hint

    both = "no such file or folder: models/tyni; and as a model of the hub: "
    hint = "models has no tyni; did you mean models/tiny? Otherwise check the name on the hub"
    message, told = refused("models/tyni")
    assert message == f"{both}no local path and no model on the hub that you may read: models/tyni"
    assert told == hint
    assert refused("small/xyz")[1] == "small has no xyz; or check the name on the hub"
    hub.close()
    message, told = refused("models/tyni")
    assert message.startswith(f"{both}the hub ({hub.url}) cannot be reached: ")
    assert told == hint
    message, told = refused("org/name")
    assert message.startswith(f"org/name is no local path, and the hub ({hub.url}) cannot be")
    assert "network" in (told or "")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "offline mode is on" in refused("models/tyni")[0]


def test_a_model_of_the_hub_beside_a_folder_of_its_organisation(here: Path, hub: HubServer) -> None:
    hub.repos["models/other"] = Repo({"config.json": b"{}"})
    assert locate("models/other").folder.names() == ("config.json",)


def test_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    with pytest.raises(SourceError, match="which does not exist"):
        locate(str(tmp_path / "link"))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_looked_into(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    with pytest.raises(SourceError, match="cannot read"):
        locate(str(tmp_path / "closed" / "model"))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.sampled_from("./\\:ab\x00"), max_size=12))
def test_a_safe_name_stays_inside(name: str) -> None:
    if is_safe(name):
        inside = Path("/base") / name
        assert inside.is_relative_to("/base")
        assert ".." not in inside.parts
        assert os.path.normpath(inside) == str(inside)


def test_sources_are_imported_without_hub_and_fsspec(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom embcalc.sources import locate\n"
        f"locate({str(tmp_path)!r})\n"
        "bad = {'huggingface_hub', 'fsspec', 'msgspec', 'numpy'} & set(sys.modules)\n"
        "sys.exit(str(bad) if bad else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_file_is_looked_for_beside_itself_alone(tmp_path: Path) -> None:
    """The folder of one file may be crowded: it says nothing about the folders below it."""
    (tmp_path / "sub").mkdir()
    for name in ("model.safetensors", "model.index.json", "sub/part.safetensors"):
        (tmp_path / name).touch()
    beside = ("model.index.json", "model.safetensors")
    assert locate(str(tmp_path / "model.safetensors")).folder.names() == beside
    for address in (tmp_path, tmp_path / "model.index.json"):
        assert locate(str(address)).folder.names() == (*beside, "sub/part.safetensors")
