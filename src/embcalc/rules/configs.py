"""The configuration itself: values that no loader takes."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Problem, Severity, rule


@rule("EMB117", Severity.ERROR)
def config_value_of_wrong_type(facts: ModelFacts) -> Iterator[Problem]:
    """A value of the configuration is of another type than loading wants.

    `"vocab_size": "32000"` raises TypeError when the table is built. `"tie_word_embeddings":
    "false"` is worse: a text that is not empty counts as true. Such values count as unknown here,
    and what depends on them is not checked.

    Fix: write numbers and true or false without quotes.

    Before:
        config.json: "vocab_size": "32000", "tie_word_embeddings": "false", "pad_token_id": "0"
    After:
        config.json: "vocab_size": 32000, "tie_word_embeddings": false, "pad_token_id": 0
    """
    yield from facts.wrong_values
