from __future__ import annotations

from pathlib import Path

import pytest

from embcalc.errors import UsageError
from embcalc.usecases.check_vocab import CheckOptions
from embcalc.usecases.settings import FileSettings, merged, read_file_settings

OWN = """
strict = true
ignore = ["EMB109"]
allow-token = ["<image_soft_token>"]
baseline = "known.json"

[models."models/old-*"]
strict = false
ignore = ["EMB203"]

[models."org/*"]
select = ["EMB1"]
no-weights = true
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileSettings:
    (tmp_path / "embcalc.toml").write_text(OWN)
    (tmp_path / "models" / "old-1").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return read_file_settings(tmp_path)


def test_what_is_said_for_all(settings: FileSettings, tmp_path: Path) -> None:
    options = merged(settings, CheckOptions(), "models/new")
    assert options == CheckOptions(
        strict=True, ignore=("EMB109",), allow_tokens=("<image_soft_token>",)
    )
    assert settings.baseline == tmp_path / "known.json"


@pytest.mark.parametrize("typed", ["models/old-1", "./models/old-1/", "models/old-2"])
def test_what_differs_for_some(settings: FileSettings, typed: str) -> None:
    options = merged(settings, CheckOptions(), typed)
    assert (options.strict, options.ignore) == (False, ("EMB109", "EMB203"))


def test_a_pattern_holds_from_another_folder(
    settings: FileSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "models" / "old-1")
    assert not merged(settings, CheckOptions(), ".").strict


def test_models_elsewhere(settings: FileSettings) -> None:
    options = merged(settings, CheckOptions(), "org/name")
    assert (options.select, options.weights) == (("EMB1",), False)


def test_typed_options_come_last(settings: FileSettings) -> None:
    typed = CheckOptions(strict=True, ignore=("EMB5",), select=("EMB2",))
    options = merged(settings, typed, "models/old-1")
    assert options.strict
    assert options.ignore == ("EMB109", "EMB203", "EMB5")
    assert merged(settings, typed, "org/name").select == ("EMB2",)


def test_a_shared_file_and_the_folders_above(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.embcalc]\nstrict = true\n[tool.embcalc.models."a"]\nstrict = false\n'
    )
    below = tmp_path / "x" / "y"
    below.mkdir(parents=True)
    (tmp_path / "x" / "pyproject.toml").write_text("[tool.other]\n")
    settings = read_file_settings(below)
    assert settings.strict
    assert not merged(settings, CheckOptions(), "a").strict


@pytest.mark.parametrize(
    "content",
    [
        "strict = 1",
        'ignore = "EMB1"',
        "ignore = [1]",
        "nothing = true",
        "baseline = 3",
        "models = 3",
        'models."a" = 3',
        '[models."a"]\nbaseline = "b.json"',
        '[models."a"]\nstrict = "yes"',
        "strict = ",
    ],
)
def test_mistakes_are_refused_with_a_hint(tmp_path: Path, content: str) -> None:
    (tmp_path / "embcalc.toml").write_text(content)
    with pytest.raises(UsageError) as raised:
        read_file_settings(tmp_path)
    assert raised.value.hint
    assert "\n" not in raised.value.message.split(": ")[0]
