"""Two vocabularies, token by token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Problem, Severity, rule
from embcalc.core.vocabulary import Vocabulary
from embcalc.core.wording import count, id_list, listed, quoted


def _ids(vocabulary: Vocabulary) -> Mapping[str, int]:
    return {**vocabulary.base, **{token.text: token.id for token in vocabulary.added}}


def _both(facts: ModelFacts, other: ModelFacts | None) -> tuple[Vocabulary, Vocabulary] | None:
    theirs = other.tokenizer.vocabulary if other else None
    return (facts.vocabulary, theirs) if theirs else None


def _different_texts(one: Vocabulary, other: Vocabulary) -> list[int]:
    theirs = other.texts
    return sorted(i for i, text in one.texts.items() if theirs.get(i, text) != text)


def _spelled(one: Vocabulary, other: Vocabulary, ids: list[int]) -> str:
    shown = [f"{i} is {quoted(one.texts[i])} here, {quoted(other.texts[i])} there" for i in ids[:8]]
    return listed(shown, len(ids))


@rule("EMB123", Severity.WARNING, "base", "tokenizer")
def token_differs_from_base(facts: ModelFacts) -> Iterator[Problem]:
    """An id has another text than in the model it was made from.

    The row was trained as one token and is used as another. Giving a reserved token a name is the
    harmless case.

    Fix: add new tokens behind the last id; rename reserved tokens only.

    Before:
        parent: 151665 is <tool_response>      child: 151665 is <|PAD_TOKEN|>
    After:
        parent: 151665 is <tool_response>      child: the same, <|PAD_TOKEN|> is 151669
    """
    pair = _both(facts, facts.base)
    ids = _different_texts(*pair) if pair else []
    if pair and ids:
        yield Problem(
            f"{count(len(ids), 'id')} with another text than in the base: {_spelled(*pair, ids)}",
            hint="add new tokens behind the last id, or rename reserved tokens only",
            file=facts.vocabulary.file,
            ids=id_list(ids),
        )


@rule("EMB130", Severity.ERROR, "against", "tokenizer")
def different_token_at_id(facts: ModelFacts) -> Iterator[Problem]:
    """One id means different tokens in the two vocabularies.

    A draft model proposes ids that its target reads as other words; a merge averages rows of
    different tokens; distillation compares the wrong logits. Equal table sizes prove nothing:
    Qwen3-1.7B and Qwen2.5-Coder both have 151,936 rows and differ in 4 tokens.

    Fix: take a pair with one vocabulary, or map the ids by text.

    Before:
        target: 151665 is <tool_response>      draft: 151665 is <|PAD_TOKEN|>
    After:
        both: 151665 is <tool_response>
    """
    pair = _both(facts, facts.against)
    ids = _different_texts(*pair) if pair else []
    if pair and ids:
        yield Problem(
            f"{count(len(ids), 'id')} with different texts: {_spelled(*pair, ids)}",
            hint="use models of one vocabulary, or map ids by text",
            file=facts.vocabulary.file,
            ids=id_list(ids),
        )


@rule("EMB131", Severity.ERROR, "against", "tokenizer")
def token_moved(facts: ModelFacts) -> Iterator[Problem]:
    """A token has another id in the other vocabulary.

    Ids cannot be passed between the two models, nor rows be averaged by their number.

    Fix: map the ids by text.

    Before:
        here: '<pad>' is 0      there: '<pad>' is 32000
    After:
        both: '<pad>' is 32000
    """
    pair = _both(facts, facts.against)
    if pair is None:
        return
    ours, theirs = _ids(pair[0]), _ids(pair[1])
    moved = [text for text, token_id in ours.items() if theirs.get(text, token_id) != token_id]
    if moved:
        shown = [f"{quoted(text)} {ours[text]} here, {theirs[text]} there" for text in moved[:8]]
        yield Problem(
            f"{count(len(moved), 'token')} with another id: {listed(shown, len(moved))}",
            hint="map the ids by text",
            file=facts.vocabulary.file,
            ids=id_list(ours[text] for text in moved),
        )


@rule("EMB132", Severity.ERROR, "against", "tokenizer")
def token_missing(facts: ModelFacts) -> Iterator[Problem]:
    """A token of one vocabulary is missing in the other.

    A merge has no second row for it, a draft or a student can never say it.

    Fix: give both models the union of the vocabularies.

    Before:
        here: 32002 tokens      there: 32000 tokens
    After:
        both: 32002 tokens
    """
    pair = _both(facts, facts.against)
    if pair is None:
        return
    ours, theirs = _ids(pair[0]), _ids(pair[1])
    here = [text for text in ours if text not in theirs]
    there = [text for text in theirs if text not in ours]
    for place, texts, ids in (("the other", here, ours), ("this", there, theirs)):
        if texts:
            shown = [f"{quoted(text)} ({ids[text]})" for text in texts[:8]]
            yield Problem(
                f"{count(len(texts), 'token')} missing in {place} vocabulary: "
                f"{listed(shown, len(texts))}",
                hint="give both models the union of the vocabularies",
                file=facts.vocabulary.file,
                ids=id_list(ids[text] for text in texts),
            )


@rule("EMB133", Severity.NOTE, "against", "tokenizer")
def padding_differs(facts: ModelFacts) -> Iterator[Problem]:
    """Both vocabularies are equal, the tables are padded differently.

    This is fine: the tokens are the same. Engines that compare the sizes alone may want the
    smaller table padded.

    Fix: nothing to do, or pad the draft model to the target's rows.

    Before:
        target: 152064 rows      draft: 151936 rows
    After:
        the same
    """
    pair = _both(facts, facts.against)
    mine, theirs = facts.limit, facts.against.limit if facts.against else None
    if pair is None or mine is None or theirs is None or mine.rows == theirs.rows:
        return
    if _ids(pair[0]) == _ids(pair[1]):
        yield Problem(
            f"the same tokens, but {mine.rows:,} rows here and {theirs.rows:,} there: padding",
            hint="this is fine; pad the smaller table where an engine compares sizes",
        )
