"""config.json as it is in the wild → the embedding layer that it describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from embcalc.core.class_defaults import ClassDefaults, class_defaults
from embcalc.core.config_keys import (
    FACTORISED_KEYS,
    HIDDEN_KEYS,
    LESSER_HIDDEN_KEYS,
    TIE_KEY,
    VOCABULARY_KEYS,
    Level,
    levels,
)
from embcalc.core.config_types import note_wrong_types
from embcalc.core.design_rows import DesignRows, design_rows
from embcalc.core.findings import Problem
from embcalc.core.limits import LARGEST_ROWS, LARGEST_WIDTH
from embcalc.core.side_tables import SideTable, side_tables
from embcalc.core.special_ids import SpecialId, special_ids
from embcalc.errors import ConfigError

TiedSource = Literal["config", "class-default", "assumed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What a configuration says about the embedding layer, and where it says it."""

    model_type: str | None
    """Of the whole model."""
    text_type: str | None
    """Of the text model in it; the same for a model of one part."""
    known_type: bool
    """Whether the class defaults of the model type are known."""
    vocab_size: int | None
    """V, the text vocabulary size; None where neither the file nor the class says it."""
    vocab_source: str | None
    """`config.json:text_config.vocab_size`, or `class default of qwen3_vl`."""
    outer_vocab_size: int | None
    """The outer `vocab_size` of a nested configuration, where it states one."""
    hidden_size: int | None
    hidden_source: str | None
    embedding_size: int | None
    """Width of the token table: the hidden size unless the table is factorised."""
    embedding_source: str | None
    head_width: int | None
    """Width of the output head: RemBERT's differs from its table's."""
    tied: bool | None
    """Whether the output head is the token table; None where nothing says so."""
    tied_source: TiedSource
    tied_from: str
    """The key, or the class, or why it is unknown."""
    tied_refused: bool = False
    """Whether a key says so with a value that is neither true nor false."""
    tied_disputed: bool = False
    """Whether the levels of a nested configuration say both; `tied` is the text model's word."""
    architectures: tuple[str, ...]
    """Class names, `LlamaForCausalLM`."""
    dtype: str | None
    """`bfloat16`, as stated."""
    special_ids: tuple[SpecialId, ...]
    """Stated ids of all levels, then class defaults for names that no level states."""
    encoder_vocab_size: int | None
    """Where encoder and decoder have vocabularies of their own."""
    decoder_vocab_size: int | None
    design: DesignRows
    """Rows that the class makes of V."""
    side_tables: tuple[SideTable, ...]
    """Position, token-type and per-layer tables."""
    notes: tuple[str, ...]
    """What was assumed or contradicts itself, one sentence each."""

    @property
    def tells_tying(self) -> bool:
        """Whether the file says tied or untied, or is of a class that ties."""
        return self.tied_source == "config" or bool(self.tied)


def parse_config(
    document: Mapping[str, Any], file: str = "config.json", wrong: list[Problem] | None = None
) -> ModelConfig:
    """Read a configuration of any model, nested and old spellings included.

    V is the text configuration's, else the class default of that configuration, else the outer
    one's. Tying is the text configuration's, else the outer one's, else the class default.

    Args:
        document: the parsed JSON object.
        file: the name that sources and messages use.
        wrong: takes the values of a wrong type, which count as unknown then; None raises the
            first one that matters.

    Raises:
        ConfigError: it is no JSON object, or a value that matters is of a wrong type.
    """
    if not isinstance(document, Mapping):
        raise ConfigError(
            f"{file} holds no JSON object", hint="it should begin with { and name a model_type"
        )
    chain = levels(document, file, wrong)
    if wrong is not None:
        note_wrong_types(chain)
    outer, text = chain[0], chain[-1]
    vocabulary = _vocabulary(chain)
    hidden = _hidden(chain)
    width = _embedding_width(text, vocabulary, hidden)
    tying = _tying(chain)
    encoder, decoder = _two_vocabularies(outer, text)
    text_type = _text_type(chain)
    return ModelConfig(
        model_type=outer.model_type,
        text_type=text_type,
        known_type=class_defaults(outer.model_type) is not None,
        vocab_size=vocabulary[0] if vocabulary else None,
        vocab_source=vocabulary[1] if vocabulary else None,
        outer_vocab_size=outer.whole("vocab_size", LARGEST_ROWS) if len(chain) > 1 else None,
        hidden_size=hidden[0] if hidden else None,
        hidden_source=hidden[1] if hidden else None,
        embedding_size=width[0] if width else None,
        embedding_source=width[1] if width else None,
        head_width=_head_width(text, width),
        tied=tying[0],
        tied_source=tying[1],
        tied_from=tying[2],
        tied_refused=any(level.refused([TIE_KEY]) for level in chain),
        tied_disputed={True, False} <= {level.boolean(TIE_KEY) for level in chain},
        architectures=_architectures(outer),
        dtype=_dtype(chain),
        special_ids=tuple(_special_ids(chain)),
        encoder_vocab_size=encoder,
        decoder_vocab_size=decoder,
        design=design_rows(outer, text, vocabulary[0] if vocabulary else None),
        side_tables=tuple(
            side_tables(
                text,
                text_type,
                hidden=hidden[0] if hidden else None,
                embedding=width[0] if width else None,
            )
        ),
        notes=tuple(_notes(chain)),
    )


Found = tuple[int, str]


def _vocabulary(chain: Sequence[Level]) -> Found | None:
    text = chain[-1]
    stated = text.first_whole(VOCABULARY_KEYS, LARGEST_ROWS)
    if stated or text.refused(VOCABULARY_KEYS):
        return stated
    default = class_defaults(text.model_type)
    if default and default.vocab_size:
        return default.vocab_size, f"class default of {default.model_type}"
    for level in reversed(chain[:-1]):
        stated = level.first_whole(VOCABULARY_KEYS, LARGEST_ROWS)
        if stated:
            return stated
    for level in reversed(chain):
        default = class_defaults(level.model_type)
        if default and (default.text_vocab_size or default.vocab_size):
            size = default.text_vocab_size or default.vocab_size
            return size or 0, f"class default of {default.model_type}"
    return None


def _hidden(chain: Sequence[Level]) -> Found | None:
    text = chain[-1]
    stated = text.first_whole(HIDDEN_KEYS, LARGEST_WIDTH)
    if stated or text.refused(HIDDEN_KEYS):
        return stated
    for model_type in (text.model_type, _text_type(chain)):
        default = class_defaults(model_type)
        if default and default.hidden_size:
            return default.hidden_size, f"class default of {default.model_type}"
    for level in reversed(chain[:-1]):
        stated = level.first_whole(HIDDEN_KEYS, LARGEST_WIDTH)
        if stated:
            return stated
    return text.first_whole(LESSER_HIDDEN_KEYS, LARGEST_WIDTH)


def _embedding_width(text: Level, vocabulary: Found | None, hidden: Found | None) -> Found | None:
    """The factorised width where one is stated; OLMo calls its padded *rows* embedding_size."""
    stated = text.first_whole(FACTORISED_KEYS, LARGEST_ROWS)
    if stated and not (vocabulary and stated[0] >= vocabulary[0]):
        return stated
    return hidden


def _head_width(text: Level, embedding: Found | None) -> int | None:
    stated = text.whole("output_embedding_size", LARGEST_WIDTH)
    return stated or (embedding[0] if embedding else None)


def _tying(chain: Sequence[Level]) -> tuple[bool | None, TiedSource, str]:
    for level in reversed(chain):
        stated = level.boolean(TIE_KEY)
        if stated is not None:
            return stated, "config", f"{level.path}{TIE_KEY}"
        refused = level.refused([TIE_KEY])
        if refused:
            return None, "assumed", refused
    for default in _classes_by_say_in_tying(chain):
        if default.tied is not None:
            return default.tied, "class-default", f"class default of {default.model_type}"
    if chain[0].model_type is None:
        return None, "assumed", "the configuration names no model type"
    return None, "assumed", f"nothing is known of the model type {chain[0].model_type}"


def _classes_by_say_in_tying(chain: Sequence[Level]) -> Iterator[ClassDefaults]:
    """The text class first, unless it is only a part of the outer class (`qwen3_vl_text`).

    A stand-alone class nested in another (`mistral` in `mistral3`) keeps its own default: nested
    configurations are saved without the keys that equal it.
    """
    outer = class_defaults(chain[0].model_type)
    text = class_defaults(_text_type(chain))
    if outer and text and text.model_type.startswith(outer.model_type):
        yield from (outer, text)
        return
    yield from (default for default in (text, outer) if default)


def _text_type(chain: Sequence[Level]) -> str | None:
    """The text model's type: stated, or the one that the class nests by default."""
    for level in reversed(chain):
        if level.model_type:
            default = class_defaults(level.model_type)
            return (default and default.text_type) or level.model_type
    return None


def _two_vocabularies(outer: Level, text: Level) -> tuple[int | None, int | None]:
    pairs = (
        ("src_vocab_size", "tgt_vocab_size"),
        ("vocab_size", "decoder_vocab_size"),
        ("input_vocab_size", "output_vocab_size"),
    )
    for first, second in pairs:
        encoder = text.whole(first, LARGEST_ROWS)
        decoder = text.whole(second, LARGEST_ROWS)
        if encoder and decoder:
            return encoder, decoder
    parts = {key: outer.document.get(key) for key in ("encoder", "decoder")}
    sizes = [
        Level(part, f"{outer.path}{key}.", outer.wrong).first_whole(VOCABULARY_KEYS, LARGEST_ROWS)
        if isinstance(part, Mapping)
        else None
        for key, part in parts.items()
    ]
    encoder_size, decoder_size = sizes
    return (encoder_size[0], decoder_size[0]) if encoder_size and decoder_size else (None, None)


def _architectures(outer: Level) -> tuple[str, ...]:
    names = outer.document.get("architectures")
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def _dtype(chain: Sequence[Level]) -> str | None:
    for level in chain:
        for key in ("dtype", "torch_dtype"):
            value = level.document.get(key)
            if isinstance(value, str):
                return value.removeprefix("torch.")
    return None


def _special_ids(chain: Sequence[Level]) -> Iterator[SpecialId]:
    names = set()
    for level in chain:
        for special in special_ids(level.document, level.path):
            names.add(special.name)
            yield special
    for level in chain:
        default = class_defaults(level.model_type)
        for name, value in (default.special_ids if default else {}).items():
            # A key that is there and null switches the default off.
            if name not in names and not any(name in item.document for item in chain):
                names.add(name)
                ids = value if isinstance(value, tuple) else (value,)
                yield SpecialId(name, ids, f"class default of {level.model_type}", stated=False)


def _notes(chain: Sequence[Level]) -> Iterator[str]:
    outer, text = chain[0], chain[-1]
    if outer.model_type is None:
        yield "no model_type: sizes are read from their keys alone"
    elif class_defaults(outer.model_type) is None:
        yield f"model type {outer.model_type} is unknown: sizes are read from their keys alone"
    if len(chain) > 1:
        inner = text.first_whole(VOCABULARY_KEYS, LARGEST_ROWS)
        above = outer.first_whole(VOCABULARY_KEYS, LARGEST_ROWS)
        if inner and above and inner[0] != above[0]:
            yield f"{inner[1]} ({inner[0]:,}) counts, not {above[1]} ({above[0]:,})"
