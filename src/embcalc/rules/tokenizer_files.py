"""Tokenizer files: unreadable, stale, mixed up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Problem, Severity, rule
from embcalc.core.tokenizer_facts import DeadLetter, FileProblem
from embcalc.core.wording import count, id_list, listed, quoted


def _problems(facts: ModelFacts) -> Iterable[FileProblem]:
    """One problem a file: the processor's are read for the tokenizer and for special ids."""
    every = (*facts.problems, *facts.tokenizer.problems)
    return {problem.file: problem for problem in reversed(every)}.values()


@rule("EMB301", Severity.ERROR)
def lfs_pointer(facts: ModelFacts) -> Iterator[Problem]:
    """A Git LFS pointer stands in place of a file.

    The repository was cloned without git-lfs: the file holds three lines of text, not its content.

    Fix: git lfs install && git lfs pull, or download with the hub's client.

    Before:
        $ head -1 tokenizer.model
        version https://git-lfs.github.com/spec/v1
    After:
        $ git lfs pull
    """
    for problem in _problems(facts):
        if problem.pointer:
            yield Problem(problem.message, problem.hint, problem.file)


@rule("EMB302", Severity.ERROR)
def unreadable_file(facts: ModelFacts) -> Iterator[Problem]:
    """A file cannot be read: cut short, no JSON, not UTF-8, or without a vocabulary.

    What depends on it is not checked, and listed as such.

    Fix: download the file again, or take the original model's.

    Before:
        tokenizer.json: {"model": {"vocab": {"a": 0, "b
    After:
        $ rm tokenizer.json && hf download org/model tokenizer.json --local-dir .
    """
    for problem in (*facts.problems, *facts.tokenizer.problems):
        if not problem.pointer and not problem.weights:
            yield Problem(problem.message, problem.hint, problem.file)


@rule("EMB303", Severity.ERROR, "tokenizer")
def declared_id_has_no_effect(facts: ModelFacts) -> Iterator[Problem]:
    """The id that a file declares for an added token is not the one that encoding emits.

    tokenizers appends added tokens one after the other; the declared number has no say. The
    embedding trained for the declared id is never looked up. transformers 4 with a slow tokenizer
    keeps declared ids; with a fast tokenizer, and transformers 5 always, they are assigned anew.

    Fix: fill every gap with a placeholder token so that counting arrives at the declared id.

    Before:
        base of 10 tokens, "added_tokens": [{"id": 12, "content": "<a>"}]      (<a> becomes 10)
    After:
        "added_tokens": [{"id": 10, "content": "<unused10>"}, {"id": 11, …}, {"id": 12, …}]
    """
    wrong = [
        token
        for token in facts.vocabulary.added
        if token.declared_id not in (None, token.id) and token.text not in facts.allowed
    ]
    if wrong:
        shown = [f"{quoted(t.text)} declared {t.declared_id}, effective {t.id}" for t in wrong[:8]]
        yield Problem(
            f"{count(len(wrong), 'added token')} not at the declared id: "
            f"{listed(shown, len(wrong))}; transformers 4 slow tokenizers keep declared ids, "
            "fast ones and transformers 5 use the effective ones",
            hint="fill the gaps with placeholder tokens, or save the tokenizer again",
            file=wrong[0].file,
            ids=id_list(token.id for token in wrong),
        )


@rule("EMB304", Severity.WARNING)
def stale_token_file(facts: ModelFacts) -> Iterator[Problem]:
    """added_tokens.json or special_tokens_map.json says something that has no effect.

    With `added_tokens_decoder` in tokenizer_config.json transformers does not read these two
    files; other programs do (converters, older versions), and get other ids. An entry for a token
    that the base vocabulary has already is ignored, too.

    Fix: remove the file, or save the tokenizer again.

    Before:
        added_tokens.json: {"<end_of_utterance>": 100352}, tokenizer_config.json without it
    After:
        added_tokens.json removed
    """
    by_file: dict[str, list[DeadLetter]] = {}
    for letter in facts.tokenizer.dead_letters:
        by_file.setdefault(letter.file, []).append(letter)
    for file, letters in by_file.items():
        shown = [_letter(letter) for letter in letters[:8]]
        yield Problem(
            f"{file} is stale, {letters[0].reason}: {listed(shown, len(letters))}",
            hint=f"remove {file}, or save the tokenizer again",
            file=file,
            ids=id_list(x.declared_id for x in letters if x.declared_id is not None),
        )


def _letter(letter: DeadLetter) -> str:
    declared = "" if letter.declared_id is None else f" {letter.declared_id}"
    if letter.effective_id is None:
        return f"{quoted(letter.text)}{declared} (no such token)"
    return f"{quoted(letter.text)}{declared} (effective {letter.effective_id})"


@rule("EMB305", Severity.WARNING, "tokenizer")
def file_of_another_tokenizer(facts: ModelFacts) -> Iterator[Problem]:
    """vocab.json, vocab.txt or merges.txt does not belong to tokenizer.json.

    Programs that read the one and programs that read the other encode differently.

    Fix: remove the file that is not used, or save the tokenizer again.

    Before:
        tokenizer.json of one model beside vocab.txt of another
    After:
        tokenizer.json alone
    """
    for sibling in facts.tokenizer.siblings:
        shown = [
            f"{quoted(text)} is {here}"
            + (", unknown" if there is None else f", {there}")
            + f" in {facts.vocabulary.file}"
            for text, here, there in sibling.differing[:3]
        ]
        yield Problem(
            f"{sibling.file} is not of this tokenizer: {sibling.count:,} of {sibling.entries:,} "
            f"entries differ: {listed(shown, sibling.count)}",
            hint=f"remove {sibling.file}, or save the tokenizer again",
            file=sibling.file,
        )


@rule("EMB306", Severity.WARNING)
def duplicate_entries(facts: ModelFacts) -> Iterator[Problem]:
    """A text stands in the vocabulary file more than once.

    The last one wins; the rows of the others are never looked up, and len(tokenizer) is smaller
    than the largest id + 1.

    Fix: give the unused places names of their own ([unused1], …), keeping the number of lines.

    Before:
        vocab.txt: …, "the", …, "the"
    After:
        vocab.txt: …, "[unused1]", …, "the"
    """
    duplicates = facts.tokenizer.duplicates
    if duplicates:
        shown = [f"{quoted(d.text)} at {', '.join(map(str, d.ids[:4]))}" for d in duplicates[:8]]
        yield Problem(
            f"{count(len(duplicates), 'text')} more than once, the last counts: "
            f"{listed(shown, len(duplicates))}",
            hint="rename the earlier ones to [unusedN]; do not remove lines, ids would move",
            file=facts.vocabulary.file if facts.tokenizer.vocabulary else None,
            ids=id_list(token_id for d in duplicates for token_id in d.ids),
        )


@rule("EMB307", Severity.WARNING)
def blank_lines(facts: ModelFacts) -> Iterator[Problem]:
    """vocab.txt has blank lines: each is a token with an id.

    Readers that skip blank lines, or that split at other line ends of Unicode, count differently:
    all ids behind move.

    Fix: replace each by [unusedN]; do not remove it, ids would move.

    Before:
        vocab.txt: "[PAD]", "", "[UNK]"
    After:
        vocab.txt: "[PAD]", "[unused1]", "[UNK]"
    """
    ids = facts.tokenizer.blank_ids
    if ids:
        yield Problem(
            f"{count(len(ids), 'blank line')}: {listed([str(token_id) for token_id in ids])}",
            hint="replace each by [unusedN]; do not remove it, ids would move",
            file=facts.vocabulary.file if facts.tokenizer.vocabulary else None,
            ids=id_list(ids),
        )


@rule("EMB308", Severity.NOTE)
def tokenizer_is_code(facts: ModelFacts) -> Iterator[Problem]:
    """The tokenizer is Python code that comes with the model; its ids are unknown.

    embcalc runs no code of a model. What depends on the ids is listed as not checked.

    Fix: save a tokenizer.json beside it, where the class has a fast version.

    Before:
        tokenizer_config.json: "auto_map": {"AutoTokenizer": ["tokenization_x.XTokenizer", null]}
    After:
        tokenizer.json
    """
    if facts.tokenizer.python_class:
        yield Problem(
            f"the tokenizer is the model's own code ({facts.tokenizer.python_class}): not run, "
            "its ids are unknown",
            hint="give the ids with --tokenizer tokenizer.json where there is a fast version",
            file=facts.tokenizer.config_file,
        )


@rule("EMB309", Severity.ERROR, "tokenizer")
def tokenizer_cannot_be_loaded(facts: ModelFacts) -> Iterator[Problem]:
    """The tokenizers library refuses a part of tokenizer.json, or its merges.

    Its vocabulary can be read, so ids are checked; but loading fails, most often with "data did
    not match any variant of untagged enum". Each part is given to the installed library: a part
    of a newer kind than it knows fails on this machine as well. "Token `ab` out of vocabulary" is
    a merge whose tokens, or what becomes of them, the base vocabulary does not have: one was cut
    down or edited without the other. Of a megabyte of merges and more check-vocab looks at both
    ends, and check at all.

    Fix: take the original model's file, or save the tokenizer again; upgrade tokenizers where the
    file is newer.

    Before:
        tokenizer.json: "pre_tokenizer": {"type": "ByteLvel"}
    After:
        tokenizer.json: "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, …}
    """
    yield from facts.tokenizer.unloadable
