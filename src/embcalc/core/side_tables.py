"""Tables beside the token table: positions, token types, per-layer inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from embcalc.core.class_defaults import ClassDefaults, SideDefault, class_defaults
from embcalc.core.config_keys import Level
from embcalc.core.limits import LARGEST_ROWS, LARGEST_WIDTH
from embcalc.core.role import Role


@dataclass(frozen=True, slots=True)
class SideTable:
    """A trained table that something other than the token id looks up, or one for every layer."""

    role: Role
    rows: int
    width: int
    source: str
    """The key or class default that its rows come from."""
    usable_rows: int
    """Fewer than the rows where the class keeps some back: RoBERTa's 514 rows hold 512."""


def side_tables(
    text: Level, model_type: str | None, *, hidden: int | None, embedding: int | None
) -> Iterator[SideTable]:
    """The side tables of a text model; none for a class that is unknown or rotary.

    Args:
        text: the text configuration.
        model_type: its class.
        hidden: the model's width.
        embedding: the token table's width.
    """
    defaults = class_defaults(model_type)
    if defaults is None or hidden is None or embedding is None:
        return
    for default in _of_its_own(text, defaults.side_tables):
        table = _side_table(text, default, embedding if default.narrow else hidden)
        if table is not None and not (default.role == "position" and _without_positions(text)):
            yield table
    yield from _per_layer(text, defaults)


def _of_its_own(text: Level, listed: tuple[SideDefault, ...]) -> Iterable[SideDefault]:
    """A class of encoder and decoder lists both; as a decoder alone it has one."""
    named = text.document.get("architectures")
    alone = isinstance(named, list) and any(str(name).endswith("ForCausalLM") for name in named)
    return dict.fromkeys(listed) if alone or text.path.endswith("decoder.") else listed


def _without_positions(text: Level) -> bool:
    """Deberta adds no positions to its input; ESM can be rotary."""
    kind = text.document.get("position_embedding_type")
    return text.document.get("position_biased_input") is False or kind in ("rotary", "rope")


def _side_table(text: Level, default: SideDefault, width: int) -> SideTable | None:
    if text.document.get(default.key) == 0:
        return None
    stated = text.whole(default.key, LARGEST_ROWS)
    rows = (stated or default.size) + default.extra
    if not stated and not default.size:
        return None
    kept_back = default.extra or (_padding_id(text) + 1 if default.from_padding else 0)
    return SideTable(
        role=Role(default.role),
        rows=rows,
        width=width,
        source=f"{text.path}{default.key}" if stated else f"class default of {default.owner}",
        usable_rows=max(0, rows - kept_back),
    )


def _padding_id(text: Level) -> int:
    stated = text.document.get("pad_token_id")
    return stated if isinstance(stated, int) else 1


def _per_layer(text: Level, defaults: ClassDefaults) -> Iterator[SideTable]:
    """Gemma 3n and the small Gemma 4: a narrow second table with a part for every layer."""
    if defaults.per_layer is None or text.document.get("hidden_size_per_layer_input") == 0:
        return
    rows, width, layers = defaults.per_layer
    stated = text.whole("vocab_size_per_layer_input", LARGEST_ROWS)
    width = text.whole("hidden_size_per_layer_input", LARGEST_WIDTH) or width
    layers = text.whole("num_hidden_layers", LARGEST_WIDTH) or layers
    key = "vocab_size_per_layer_input"
    source = f"{text.path}{key}" if stated else f"class default of {defaults.model_type}"
    rows = stated or rows
    yield SideTable(Role.PER_LAYER, rows, width * layers, source, rows)
