"""How many positions a learned position table really holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embcalc.core.facts import ModelFacts
from embcalc.core.tables import Role

OFFSET_BY_PAD = frozenset(
    {
        "roberta",
        "xlm-roberta",
        "xlm-roberta-xl",
        "camembert",
        "longformer",
        "luke",
        "mluke",
        "mpnet",
        "data2vec-text",
        "ibert",
        "layoutlmv3",
        "esm",
        "roberta-prelayernorm",
        "xmod",
        "markuplm",
    }
)
"""Position ids start at the padding id + 1."""
OFFSET_OF_TWO = frozenset({"bart", "mbart", "opt", "blenderbot", "plbart", "mvp", "led"})
"""The stored table has two rows more than positions."""
ABSOLUTE = frozenset(
    {
        "bert",
        "gpt2",
        "openai-gpt",
        "distilbert",
        "electra",
        "albert",
        "deberta",
        "ernie",
        "mobilebert",
        "clip_text_model",
        "gpt_bigcode",
        "gpt_neo",
        "xlm",
        "big_bird",
        "splinter",
        "squeezebert",
        "layoutlm",
        "nystromformer",
    }
)


def usable_positions(facts: ModelFacts) -> tuple[int, str] | None:
    """The longest sequence that the position table holds, and which table or key says so.

    None where the model has no learned positions, or nothing says how many.
    """
    if not _learned(facts.document):
        return None
    config = facts.config
    side = next((t for t in config.side_tables if t.role == "position"), None) if config else None
    if side is not None:
        return side.usable_rows or side.rows, side.source
    kinds = set(facts.model_types)
    table = facts.table(Role.POSITION)
    if table is not None and (kinds & (ABSOLUTE | OFFSET_BY_PAD | OFFSET_OF_TWO)):
        return table.rows - _offset(facts, kinds, stored=True), table.name
    stated = facts.document.get("max_position_embeddings", facts.document.get("n_positions"))
    known = kinds & (ABSOLUTE | OFFSET_BY_PAD | OFFSET_OF_TWO)
    if known and isinstance(stated, int) and stated > 2:
        return stated - _offset(facts, kinds, stored=False), "config.json:max_position_embeddings"
    return None


def _learned(document: Mapping[str, Any]) -> bool:
    """ESM keeps its table and may not look anything up in it; DeBERTa may leave positions out."""
    rotary = document.get("position_embedding_type") in ("rotary", "rope")
    return not rotary and document.get("position_biased_input") is not False


def _offset(facts: ModelFacts, kinds: set[str], *, stored: bool) -> int:
    if kinds & OFFSET_BY_PAD:
        pad = facts.special_ids.get("pad_token_id", 1)
        return (pad if isinstance(pad, int) and pad >= 0 else 1) + 1
    return 2 if stored and kinds & OFFSET_OF_TWO else 0
