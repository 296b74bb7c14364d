from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embcalc.core.findings import Rule
from embcalc.rules import RULES
from tests.conftest import Run


def test_the_page_of_rules_is_up_to_date() -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "rules_docs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_list_has_every_rule(run: Callable[..., Run]) -> None:
    result = run("explain")
    assert result.code == 0
    assert all(rule.code in result.out and rule.name in result.out for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=[rule.code for rule in RULES])
def test_every_rule_says_what_why_how_and_shows_it(
    run: Callable[..., Run], rule: Rule[Any]
) -> None:
    out = run("explain", rule.code).out
    assert out.startswith(f"{rule.code} {rule.name} ({rule.severity.value})\n\n")
    for part in ("\nFix: ", "\nBefore:\n    ", "\nAfter:\n    "):
        assert part in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_names_and_small_letters_do_too(run: Callable[..., Run]) -> None:
    assert run("explain", "emb101").out == run("explain", "token-without-row").out


def test_an_unknown_rule_gets_the_nearest(run: Callable[..., Run]) -> None:
    result = run("explain", "token-without-rows")
    assert (result.code, result.out) == (2, "")
    assert "token-without-row" in result.err
    assert "lists all rules" in run("explain", "zzz").err


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)


def test_a_row_a_rule(run: Callable[..., Run]) -> None:
    lines = run("explain", "--format", "csv").out.splitlines()
    assert lines[:2] == [
        "code,name,severity,summary",
        "EMB101,token-without-row,error,A token's id lies past the last embedding row.",
    ]
    assert len(lines) == 1 + len(RULES)
    rows = run("explain", "emb101", "--format", "markdown").out.splitlines()
    assert rows == [
        "| rule | name | severity | checks |",
        "| --- | --- | --- | --- |",
        "| EMB101 | token-without-row | error | A token's id lies past the last embedding row. |",
    ]


def test_json(run: Callable[..., Run], tmp_path: Path) -> None:
    every = run("explain", "--format", "json").json
    assert every["schema"] == "embcalc/explain/v1"
    assert [item["code"] for item in every["rules"]] == [rule.code for rule in RULES]
    (one,) = run("explain", "token-without-row", "--format", "json").json["rules"]
    assert set(one) == {"code", "name", "severity", "summary", "explanation"}
    assert (one["code"], one["severity"]) == ("EMB101", "error")
    assert one["explanation"].startswith(one["summary"])
    target = tmp_path / "rules.json"
    written = run("explain", "--format", "json", "--output", target)
    assert (written.code, written.out, json.loads(target.read_text("utf-8"))) == (0, "", every)
