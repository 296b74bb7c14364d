from __future__ import annotations

from pathlib import Path

import pytest

from embcalc.usecases.patterns import expand, is_pattern


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("models/b", "models/a", "models/.hidden", "other/deep/c"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    (tmp_path / "models" / "README.md").write_text("no model")
    (tmp_path / "models" / "x.safetensors").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (["models/*"], ["models/a", "models/b", "models/x.safetensors"]),
        (["models/[ab]"], ["models/a", "models/b"]),
        (["**/config.json"], ["models/a", "models/b", "other/deep/c"]),
        (["other/**/c/"], ["other/deep/c"]),
        (["models/b", "models/*"], ["models/b", "models/a", "models/x.safetensors"]),
        (["models/b", "./models/b/", "models/b"], ["models/b"]),
        (["org/name", "nowhere", "s3://bucket/*"], ["org/name", "nowhere", "s3://bucket/*"]),
    ],
)
def test_patterns(models: Path, typed: list[str], found: list[str]) -> None:
    assert expand(typed) == (tuple(found), ())


def test_a_pattern_without_matches_is_named(models: Path) -> None:
    assert expand(["models/a", "none/*", "none/*"]) == (("models/a",), ("none/*",))


def test_a_path_that_exists_is_no_pattern(models: Path) -> None:
    (models / "odd[1]").mkdir()
    assert not is_pattern("odd[1]")
    assert expand(["odd[1]"]) == (("odd[1]",), ())


def test_links_to_one_folder_are_one_model(models: Path) -> None:
    (models / "models" / "link").symlink_to(models / "models" / "a")
    assert expand(["models/a", "models/link"]) == (("models/a",), ())
