"""Runs built by hand for the tests of the renderers."""

from __future__ import annotations

from typing import Any

from embcalc.core.findings import Finding, Severity, Skipped
from embcalc.core.reports.check import CheckFacts, CheckReport, TokenizerSizes
from embcalc.core.reports.check_run import CheckedModel, CheckRun, Unreadable

HOSTILE = "::error::x%0A\r\n\x1b[31m|`<b>@team</b>`](http://evil) 100% a:b,c \u202e\ud800 ]]>&\x00"
"""What a token may hold: commands, escapes, markup, links, controls, half a character."""

FACTS = CheckFacts(
    vocab_size=32000,
    vocab_source="config.json:vocab_size",
    embedding_rows=32000,
    embedding_name="model.embed_tokens.weight",
    head_rows=32000,
    head_name="lm_head.weight",
    tied=False,
    tokenizer=TokenizerSizes(
        format="tokenizer.json",
        file="tokenizer.json",
        base_size=32000,
        size=32001,
        max_id=32000,
        holes=0,
    ),
    special_ids={"pad_token_id": 32000, "eos_token_id": (2, 3)},
)
ERROR = Finding(
    rule="EMB101",
    name="token-without-row",
    severity=Severity.ERROR,
    message="1 token past the 32,000 rows of model.embed_tokens.weight: '<pad>' (32000, special)",
    hint="grow the model, or remove the token",
    file="tokenizer.json",
    ids=(32000,),
)
WARNING = Finding(
    rule="EMB507",
    name="duplicate-rows",
    severity=Severity.WARNING,
    message="2 tokens in 1 group of identical rows",
    file="model-00001-of-00002.safetensors",
    ids=(5, 6),
)
NOTE = Finding(
    rule="EMB109", name="padding-rows", severity=Severity.NOTE, message="64 padding rows are fine"
)


def report(*findings: Finding, **changes: Any) -> CheckReport:
    given: dict[str, Any] = {
        "model": "models/a",
        "facts": FACTS,
        "findings": findings,
        "skipped": (Skipped("EMB120", "no base"),),
        "ran": ("EMB101", "EMB109", "EMB501", "EMB507"),
        **changes,
    }
    return CheckReport(**given)


def model(*findings: Finding, **changes: Any) -> CheckedModel:
    folder = changes.pop("folder", "models/a")
    known = changes.pop("known", ())
    return CheckedModel(report=report(*findings, **changes), folder=folder, known=known)


PASSING = CheckRun(models=(model(NOTE),), single=True)
FAILING = CheckRun(
    models=(
        model(ERROR, WARNING, NOTE),
        model(model="org/b@main", folder=None, strict=True),
        model(WARNING, model="models/c", folder="models/c", known=(ERROR,), strict=True),
    ),
    unreadable=(
        Unreadable(model="models/d", error="no such file or folder: models/d", hint="check it"),
    ),
)
HOSTILE_RUN = CheckRun(
    models=(
        model(
            Finding(
                rule="EMB101",
                name="token-without-row",
                severity=Severity.ERROR,
                message=f"token {HOSTILE!s}",
                hint=HOSTILE,
                file=f"a,b:c {HOSTILE}.json",
            ),
            model=f"m {HOSTILE}",
            folder=f"m {HOSTILE}",
        ),
    ),
    unreadable=(Unreadable(model=HOSTILE, error=HOSTILE, hint=HOSTILE),),
)
