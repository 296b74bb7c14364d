from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from embcalc.core.findings import Severity
from embcalc.usecases.check_vocab import CheckOptions, check_vocab
from tests.usecases.cases import CASES, build

DECIDED = [case for case in CASES if "expect" in case]
UNDECIDED = [case for case in CASES if "expect" not in case]


@pytest.mark.parametrize("case", DECIDED, ids=[case["id"] for case in DECIDED])
def test_the_verdict_is_that_of_the_report(case: dict[str, Any], tmp_path: Path) -> None:
    built = build(case, tmp_path)
    pairs = dict(zip(built.options[::2], built.options[1::2], strict=True))
    options = CheckOptions(base=pairs.get("--base"), against=pairs.get("--against"))
    report = check_vocab(str(built.folder), options)
    found = {finding.severity for finding in report.findings}
    verdict = next((s.value for s in Severity if s in found and s is not Severity.NOTE), "fine")
    assert verdict == case["expect"], [finding.message for finding in report.findings]


def test_what_the_numbers_do_not_decide_is_listed_with_the_reason() -> None:
    assert len(CASES) == 130
    assert all(case["undecidable"] for case in UNDECIDED)
    assert Counter(case["expect"] for case in DECIDED)["fine"] > 40
