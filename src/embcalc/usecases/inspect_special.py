"""Special and chat-template tokens on ill rows: they are what breaks fine-tunes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from embcalc.core.files import Folder, read_small
from embcalc.core.reports.inspect import BeyondTokenizer, SpecialRow, Undertrained
from embcalc.errors import SourceError, UnreachableError
from embcalc.rows.health import Mask
from embcalc.rows.references import is_placeholder
from embcalc.usecases.inspect_scan import ScannedTable, TableContext


class _TokenizerConfig(msgspec.Struct):
    chat_template: str | list[dict[str, str]] | None = None


def chat_template(folder: Folder) -> str:
    """All chat templates of a folder as one text, "" where there is none that can be read."""
    names = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
    return "\n".join(text for name in names for text in _templates(folder, name))


def _templates(folder: Folder, name: str) -> list[str]:
    try:
        content = read_small(folder, name)
        if content is None:
            return []
        if name.endswith(".jinja"):
            return [content.decode("utf-8", "replace")]
        template = msgspec.json.decode(content, type=_TokenizerConfig).chat_template
    except UnreachableError:
        raise
    except (SourceError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    if isinstance(template, list):
        return [part.get("template", "") for part in template]
    return [template or ""]


def special_rows(
    context: TableContext,
    scanned: ScannedTable,
    beyond: BeyondTokenizer | None,
    undertrained: Undertrained | None,
) -> tuple[SpecialRow, ...]:
    """Special tokens, and tokens that the chat template writes, whose rows are ill.

    Padding tokens and placeholders are left out: their rows may be anything.
    """
    vocabulary = scanned.vocabulary
    if vocabulary is None:
        return ()
    template = chat_template(context.model.tokenizer_folder)
    signs = list(_signs(scanned, beyond, undertrained))
    found = []
    for token in vocabulary.added:
        written = bool(template) and token.text in template
        if not (token.special or written) or token.id >= scanned.table.rows:
            continue
        if token.id in context.pad_ids or is_placeholder(token.text):
            continue
        for why, severe, mask in signs:
            if mask[token.id]:
                found.append(
                    SpecialRow(
                        row=token.id, token=token.text, why=why, in_template=written, severe=severe
                    )
                )
                break
    return tuple(sorted(found, key=lambda row: (not row.severe, not row.in_template, row.row)))


def _signs(
    scanned: ScannedTable, beyond: BeyondTokenizer | None, undertrained: Undertrained | None
) -> Iterator[tuple[str, bool, Mask]]:
    """Why a row is ill, whether that is severe, and which rows are so; worst first."""
    health = scanned.health
    yield "not finite", True, health.nonfinite
    yield "zero", True, health.zero
    yield "near zero", True, health.near_zero
    if beyond is not None:
        mask = np.zeros(scanned.table.rows, dtype=np.bool_)
        mask[list(beyond.uninitialised.rows)] = True
        yield "never initialised", True, mask
    yield "a copy of another row", False, scanned.repeated
    if undertrained is not None and undertrained.confidence == "high":
        low = [candidate.row for candidate in undertrained.apart if candidate.category == "special"]
        mask = np.zeros(scanned.table.rows, dtype=np.bool_)
        mask[low] = True
        yield "under-trained", False, mask


def zero_on_tokens(context: TableContext, scanned: ScannedTable) -> int:
    """Zero rows whose token should have numbers: padding, placeholders, nameless rows may be 0."""
    zero = np.flatnonzero(scanned.health.zero)
    if scanned.vocabulary is None:
        return len(zero)
    texts = scanned.vocabulary.texts
    return sum(
        row in texts and row not in context.pad_ids and not is_placeholder(texts[row])
        for row in zero.tolist()
    )
