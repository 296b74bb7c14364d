from __future__ import annotations

from typing import Any

import pytest

from tests.core.test_memory import MEASURED, computed

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch")


@pytest.mark.parametrize("case", MEASURED["cases"], ids=str)
def test_torch_still_allocates_so(case: dict[str, Any]) -> None:
    from scripts.memory_truth import measure

    fresh = measure(case["regime"], case["optimizer"], tied=case["tied"])
    assert fresh == case["bytes"] == computed(case, MEASURED["shape"])


def test_every_case_is_in_the_golden_numbers() -> None:
    from scripts.memory_truth import cases

    known = [
        {key: case[key] for key in ("regime", "optimizer", "tied")} for case in MEASURED["cases"]
    ]
    assert list(cases()) == known
