from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

from embcalc.errors import SourceError
from embcalc.sources import locate
from embcalc.sources.traffic import TRAFFIC
from tests.sources.helpers import table_bytes


@pytest.fixture
def model(tiny_checkpoint: Callable[..., Path]) -> Path:
    folder = tiny_checkpoint(rows=300, width=64, config={"vocab_size": 300})
    (folder / ".hidden").write_text("x")
    (folder / "sub").mkdir()
    (folder / "sub" / "other.json").write_text("{}")
    return folder


def in_zip(model: Path, method: int) -> Path:
    path = model.parent / "packed.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in sorted(model.rglob("*")):
            archive.write(file, f"m/{file.relative_to(model)}")
    return path


def in_memory(model: Path) -> str:
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.put(str(model), "/bucket/", recursive=True)
    return f"memory://bucket/{model.name}"


def test_file_addresses_are_local(model: Path) -> None:
    found = locate(model.as_uri())
    assert found.folder.open("model.safetensors").local_path == str(model / "model.safetensors")
    assert locate((model / "config.json").as_uri()).file == "config.json"
    with pytest.raises(SourceError, match="no such file"):
        locate((model / "nope").as_uri())


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("inner", ["m", "m/model.safetensors"])
def test_reads_inside_archives(model: Path, method: int, inner: str) -> None:
    path = in_zip(model, method)
    assert table_bytes(f"zip://{inner}::{path}") == table_bytes(str(model))


def test_reads_through_a_plug_in(model: Path) -> None:
    TRAFFIC.reset()
    address = in_memory(model)
    assert locate(address).folder.names() == ("config.json", "model.safetensors", "sub/other.json")
    assert (
        table_bytes(address)
        == table_bytes(f"{address}/model.safetensors")
        == table_bytes(str(model))
    )
    assert TRAFFIC.read > 0
    assert TRAFFIC.available >= 300 * 64 * 4


def test_a_file_sees_its_folder_but_not_what_lies_below(model: Path) -> None:
    found = locate(f"{in_memory(model)}/model.safetensors")
    assert found.file == "model.safetensors"
    assert found.folder.names() == ("config.json", "model.safetensors")
    assert found.folder.open("config.json").read() == (model / "config.json").read_bytes()
    with pytest.raises(SourceError, match="has no file nope"):
        found.folder.open("nope")


@pytest.mark.parametrize(
    ("address", "message", "hint"),
    [
        ("memory://nothing/here", "does not exist", "check the address"),
        ("nonsense://x/y", "is no address that can be read", "s3://bucket"),
        ("zip://m::/nowhere.zip", "does not exist", "check the address"),
        ("zip://", "cannot be read", "check the address"),
        ("smb://host/share/x", "one more package is needed", "pip install 'fsspec[smb]'"),
        ("dropbox://x/y", "one more package is needed", "pip install dropboxdrivefs"),
    ],
)
def test_addresses_that_cannot_be_read(address: str, message: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        locate(address)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert "\n" not in caught.value.message


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(SourceError, match="cannot be read: BadZipFile"):
        locate(f"zip://m::{tmp_path}/bad.zip")


def test_a_whole_bucket_is_too_much(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    from embcalc.sources import names

    monkeypatch.setattr(names, "MAX_FILES", 2)
    with pytest.raises(SourceError, match="more than 2 files"):
        locate(in_memory(model)).folder.names()


def test_a_file_that_goes_away_while_it_is_read(model: Path) -> None:
    address = in_memory(model)
    file = locate(address).folder.open("model.safetensors")
    fsspec.filesystem("memory").store.clear()
    with pytest.raises(SourceError, match="does not exist"):
        file.read(0, 8)


def test_a_plug_in_without_sizes(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    address = in_memory(model)
    found = locate(f"{address}/model.safetensors")
    told = MemoryFileSystem.info

    def without(self: MemoryFileSystem, path: str, **options: object) -> dict[str, object]:
        return {**told(self, path, **options), "size": None}

    monkeypatch.setattr(MemoryFileSystem, "info", without)
    with pytest.raises(SourceError, match="does not tell its size"):
        locate(f"{address}/model.safetensors").folder.open("model.safetensors").read(0, 8)
    assert found.folder.open("model.safetensors").size
