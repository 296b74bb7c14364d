from __future__ import annotations

from pathlib import Path

from embcalc.core.formulas import FORMULAS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "formulas.md").read_text("utf-8")


def test_the_document_holds_the_same_formulas() -> None:
    for formula in FORMULAS:
        assert f"| {formula.text} | {formula.source} |" in DOCUMENT, formula.name
