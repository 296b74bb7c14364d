"""The other table that raises the same IndexError: positions."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Problem, Severity, rule
from embcalc.core.positions import usable_positions

INFINITE = 10**9
"""transformers writes 10^30 for "no limit"."""
PUBLISHED_LONGER = frozenset({"whisper"})
"""Classes whose own tokenizers say more than the decoder holds."""


@rule("EMB116", Severity.WARNING)
def max_length_beyond_positions(facts: ModelFacts) -> Iterator[Problem]:
    """The tokenizer lets sequences grow past the position table.

    Models with learned positions have a second table; a longer sequence raises the same
    "index out of range in self". RoBERTa's ids start behind the padding id: 514 rows hold 512
    positions. Models with rotary positions have no such table and are not reported. Whisper is
    published with 1,024 over a decoder of 448: a note.

    Fix: write the usable number into tokenizer_config.json as model_max_length, and truncate.

    Before:
        tokenizer_config.json: "model_max_length": 1000000000000000019884624838656
    After:
        tokenizer_config.json: "model_max_length": 128
    """
    found = usable_positions(facts)
    if found is None or facts.tokenizer.config_file is None:
        return
    positions, source = found
    length = facts.tokenizer.model_max_length
    if length is not None and length <= positions:
        return
    if length is None:
        said = "model_max_length is missing"
    elif length >= INFINITE:
        said = "model_max_length is infinite"
    else:
        said = f"model_max_length is {length:,.0f}"
    yield Problem(
        f"{said}, but {source} holds {positions:,} usable positions",
        hint=f'write "model_max_length": {positions} into tokenizer_config.json, and truncate',
        file=facts.tokenizer.config_file,
        severity=Severity.NOTE if PUBLISHED_LONGER.intersection(facts.model_types) else None,
    )
