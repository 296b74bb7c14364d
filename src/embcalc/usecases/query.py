"""From what was typed to the one token that it means."""

from __future__ import annotations

from embcalc.core.reports.neighbors import QueryToken
from embcalc.core.token_search import Match, matches
from embcalc.core.vocabulary import Vocabulary
from embcalc.errors import EmbcalcError, UsageError
from embcalc.usecases.opened import Model


def query_token(model: Model, typed: str, notes: list[str], *, minus: bool) -> QueryToken:
    """Find the token that a typed text means; say in `notes` what else it could mean.

    Raises:
        UsageError: it is no token, several tokens, or there is no tokenizer.
    """
    if model.vocabulary is None:
        raise UsageError(
            f"{typed!r} cannot be found: {model.absent or 'there is no tokenizer'}",
            "give row numbers with --id, or a tokenizer with --tokenizer",
        )
    found = matches(model.vocabulary, typed)
    if found:
        notes.extend(_said(typed, found))
        row = found[0].id
    else:
        row = _encoded(model, model.vocabulary, typed, notes)
    return QueryToken(row=row, text=model.text(row), shown=model.shown(row), minus=minus)


def _said(typed: str, found: tuple[Match, ...]) -> list[str]:
    """Where it was not taken literally, or could mean another token as well."""
    taken, *others = found
    notes = []
    if taken.text != typed and others:
        notes.append(f"{typed!r} was taken as {taken.text!r} (id {taken.id}, {taken.meaning})")
    if others:
        also = ", ".join(f"{match.text!r} (id {match.id}, {match.meaning})" for match in others)
        notes.append(f"{typed!r} is also {also}")
    return notes


def _encoded(model: Model, vocabulary: Vocabulary, typed: str, notes: list[str]) -> int:
    """Ask the tokenizer itself: it may lower the case, or cut the text in pieces."""
    from embcalc.tokenizers.encode import open_encoder

    unknown = UsageError(
        f"{typed!r} is no token of {vocabulary.file}",
        "tokens are found as stored or as typed; --id takes a row number",
    )
    try:
        encoder = open_encoder(model.tokenizer_folder, vocabulary)
        ids = encoder.encode(typed, template=False).ids
    except EmbcalcError as error:
        raise unknown from error
    if not ids or (encoder.unknown_id is not None and encoder.unknown_id in ids):
        raise unknown
    if len(ids) > 1:
        pieces = " | ".join(f"{vocabulary.text(token)} ({token})" for token in ids[:12])
        raise UsageError(
            f"{typed!r} is {len(ids)} tokens, not one: {pieces}",
            "ask for one of them, or for their sum by naming each",
        )
    notes.append(f"the tokenizer reads {typed!r} as {vocabulary.text(ids[0])!r} (id {ids[0]})")
    return ids[0]
