"""From a vocabulary file and the files beside it to the ids that come out, by precedence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from embcalc.core.files import Folder
from embcalc.core.tokenizer_facts import (
    DeadLetter,
    FileProblem,
    NamedSpecial,
    TokenizerFacts,
)
from embcalc.core.vocabulary import Declared, Vocabulary, append_added
from embcalc.errors import EmbcalcError
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.files import read_json, read_text
from embcalc.tokenizers.settings import ADDED, CONFIG, SPECIAL_MAP, Settings, problem_of, text_of
from embcalc.tokenizers.siblings import siblings

_MARK = re.compile(r"<\|[^|<>\s{}'\"]{1,40}\|>")
"""Control marks in a chat template."""
_MARKS = 200
_MEDIA_KEYS = ("image_token", "audio_token", "video_token")
_PROCESSORS = ("processor_config.json", "preprocessor_config.json")


def assemble(folder: Folder, base: BaseRead, settings: Settings, prefix: str) -> TokenizerFacts:
    """Let the files beside the vocabulary have their say.

    `added_tokens_decoder` of tokenizer_config.json silences special_tokens_map.json and
    added_tokens.json; without it added_tokens.json comes after the vocabulary's own list. Special
    tokens that are named and exist nowhere are appended last.
    """
    vocabulary = _effective(base, settings)
    around = surroundings(folder, settings, prefix)
    problems = list(around.problems)
    return replace(
        around,
        vocabulary=vocabulary,
        named=tuple(_named(base, settings, vocabulary, prefix)),
        stated=base.stated,
        emitted=base.emitted,
        duplicates=base.duplicates,
        blank_ids=base.blank_ids,
        dead_letters=tuple(_dead_letters(settings, vocabulary, prefix)),
        siblings=siblings(folder, vocabulary, prefix, problems),
        open_ended=base.open_ended,
        base_holes_by_design=base.holes_by_design,
        parts=base.parts,
        merges=base.merges,
        problems=tuple(problems),
    )


def surroundings(folder: Folder, settings: Settings, prefix: str) -> TokenizerFacts:
    """What the files beside a vocabulary say where there is none."""
    problems = list(settings.problems)
    chat, chat_file = _chat_template(folder, settings, prefix, problems)
    return TokenizerFacts(
        named=tuple(
            NamedSpecial(name=name, text=text, id=None, file=prefix + file)
            for name, text, file in settings.named()
        ),
        media_tokens=_media_tokens(folder, settings, prefix, problems),
        chat_tokens=tuple(dict.fromkeys(_MARK.findall(chat)))[:_MARKS],
        chat_file=chat_file,
        config_file=prefix + CONFIG if settings.has_config else None,
        model_max_length=_number(settings.config.get("model_max_length")),
        problems=tuple(problems),
    )


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(min(value, 1e300))
    return None


def _effective(base: BaseRead, settings: Settings) -> Vocabulary:
    vocabulary = base.vocabulary
    stated = settings.added if settings.decoder is None else settings.decoder
    named = [Declared(text=text, special=True, file=f) for _, text, f in settings.named()]
    declared = [*stated, *named, *settings.further()]
    if not declared:
        return vocabulary
    added = append_added(vocabulary.base, base.count, declared, vocabulary.added)
    return replace(vocabulary, added=added)


def _named(
    base: BaseRead, settings: Settings, vocabulary: Vocabulary, prefix: str
) -> Iterator[NamedSpecial]:
    seen = set()
    for name, text, file in settings.named():
        seen.add(name)
        yield NamedSpecial(name=name, text=text, id=vocabulary.id(text), file=prefix + file)
    for name, text in base.named.items():
        if name not in seen:
            file = vocabulary.file
            yield NamedSpecial(name=name, text=text, id=vocabulary.id(text), file=file)


def _dead_letters(settings: Settings, vocabulary: Vocabulary, prefix: str) -> Iterator[DeadLetter]:
    for entry in settings.added:
        effective = vocabulary.id(entry.text)
        if entry.text in vocabulary.base and entry.id == effective:
            reason = "the base vocabulary has these already"
        elif settings.decoder is not None and effective != entry.id:
            reason = "added_tokens_decoder in tokenizer_config.json silences it"
        else:
            continue
        yield DeadLetter(
            file=prefix + ADDED,
            text=entry.text,
            declared_id=entry.id,
            effective_id=effective,
            reason=reason,
        )
    if settings.decoder is not None:
        yield from _dead_names(settings, vocabulary, prefix)


def _dead_names(settings: Settings, vocabulary: Vocabulary, prefix: str) -> Iterator[DeadLetter]:
    """Entries of special_tokens_map.json that name another token than tokenizer_config.json."""
    for key, value in settings.special_map.items():
        text, counts = text_of(value), text_of(settings.config.get(key))
        if text is None or text == counts:
            continue
        effective = vocabulary.id(text)
        if counts is None and effective is not None:
            continue
        yield DeadLetter(
            file=prefix + SPECIAL_MAP,
            text=text,
            declared_id=None,
            effective_id=effective,
            reason="added_tokens_decoder in tokenizer_config.json silences it",
        )


def _media_tokens(
    folder: Folder, settings: Settings, prefix: str, problems: list[FileProblem]
) -> Mapping[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    documents: list[tuple[Mapping[str, Any], str]] = [(settings.config, prefix + CONFIG)]
    extra = settings.config.get("extra_special_tokens")
    if isinstance(extra, dict):
        documents.append((extra, prefix + CONFIG))
    for name in _PROCESSORS:
        if prefix + name in folder.names():
            try:
                documents.append((read_json(folder, prefix + name, dict[str, Any]), prefix + name))
            except EmbcalcError as error:
                problems.append(problem_of(prefix + name, error))
    for document, file in documents:
        for key in _MEDIA_KEYS:
            if text := text_of(document.get(key)):
                found.setdefault(key, (text, file))
    return found


def _chat_template(
    folder: Folder, settings: Settings, prefix: str, problems: list[FileProblem]
) -> tuple[str, str | None]:
    """The text of all chat templates, and the file that they are in."""
    name = prefix + "chat_template.jinja"
    if name in folder.names():
        try:
            return read_text(folder, name), name
        except EmbcalcError as error:
            problems.append(problem_of(name, error))
    value = settings.config.get("chat_template")
    if isinstance(value, list):
        parts = [item.get("template") for item in value if isinstance(item, dict)]
        value = "\n".join(part for part in parts if isinstance(part, str))
    return (value, prefix + CONFIG) if isinstance(value, str) else ("", None)
