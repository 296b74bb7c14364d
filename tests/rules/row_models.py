"""Facts about rows, built by hand for the tests of the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from embcalc.core.config import parse_config
from embcalc.core.dtypes import BY_NAME
from embcalc.core.facts import ModelFacts
from embcalc.core.row_facts import RowFacts, TableRows
from embcalc.core.tables import EmbeddingTable, Role, TensorInfo
from embcalc.core.tokenizer_facts import NamedSpecial, TokenizerFacts
from embcalc.core.vocabulary import Token, Vocabulary

TEXTS = ("<pad>", "<s>", "</s>", "<unk>", "<|user|>", "the", "of", "<extra>", "[unused8]", "and")
SPECIAL = (0, 1, 2, 3, 4, 7)


def vocabulary(texts: Sequence[str] = TEXTS, special: Sequence[int] = SPECIAL) -> Vocabulary:
    base = {text: index for index, text in enumerate(texts)}
    added = tuple(Token(text=texts[i], id=i, special=True) for i in special)
    return Vocabulary(format="tokenizer.json", file="tokenizer.json", base=base, added=added)


def tokenizer(**changes: Any) -> TokenizerFacts:
    names = {"pad_token": 0, "bos_token": 1, "eos_token": 2, "unk_token": 3}
    named = tuple(
        NamedSpecial(name=name, text=TEXTS[i], id=i, file="tokenizer_config.json")
        for name, i in names.items()
    )
    facts = {"vocabulary": vocabulary(), "named": named, "chat_tokens": ("<|user|>",)}
    return TokenizerFacts(**{**facts, **changes})


def table(
    role: Role = Role.TOKEN, rows: int = 12, width: int = 4, dtype: str = "F32"
) -> EmbeddingTable:
    name = "lm_head.weight" if role is Role.OUTPUT else "model.embed_tokens.weight"
    nbytes = BY_NAME[dtype].nbytes(rows * width)
    tensor = TensorInfo(
        name=name,
        shape=(rows, width),
        dtype=BY_NAME[dtype],
        file="model.safetensors",
        nbytes=nbytes,
    )
    return EmbeddingTable(role=role, tensor=tensor)


def rows(of: EmbeddingTable | None = None, **found: Any) -> TableRows:
    return TableRows(**{"table": of or table(), "median_norm": 1.0, "largest_norm": 2.0, **found})


def facts(
    *tables: TableRows,
    config: Mapping[str, Any] | None = None,
    tokenizer_facts: TokenizerFacts | None = None,
    allowed: Sequence[str] = (),
    **changes: Any,
) -> RowFacts:
    document = {"model_type": "llama", "vocab_size": 12, "hidden_size": 4, **(config or {})}
    model = ModelFacts(
        model="m",
        config=parse_config(document),
        document=document,
        tables=tuple(found.table for found in tables),
        tokenizer=tokenizer_facts or tokenizer(),
        allowed=frozenset(allowed),
    )
    return RowFacts(model=model, tables=tables, **changes)
