"""Special tokens: what configuration, generation_config and tokenizer say about them."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.facts import MEDIA, ModelFacts
from embcalc.core.findings import Problem, Severity, rule
from embcalc.core.special_ids import SpecialId
from embcalc.core.wording import listed, quoted

NAMES = ("bos", "eos", "pad", "unk", "cls", "sep", "mask")
MEDIA_TEXTS = {
    "image": (
        "<image>",
        "<|image|>",
        "<|image_pad|>",
        "<image_soft_token>",
        "[IMG]",
        "<IMG_CONTEXT>",
        "<|media_placeholder|>",
        "<|image_token|>",
        "<|patch|>",
    ),
    "audio": ("<audio>", "<|audio|>", "<|audio_pad|>", "<|AUDIO|>", "<audio_soft_token>"),
    "video": ("<video>", "<|video|>", "<|video_pad|>"),
}
"""Texts that models give their placeholders."""
MEDIA_WORDS = {
    "image": ("image", "img", "vision", "media", "patch", "pix"),
    "audio": ("audio", "sound", "speech"),
    "video": ("video", "vision", "image"),
}

PAD_IS_EOS = frozenset({"whisper", "clip", "clip_text_model"})
"""Classes that pad with the end token by design."""


@rule("EMB201", Severity.WARNING)
def special_id_differs(facts: ModelFacts) -> Iterator[Problem]:
    """A special id of the configuration is not the tokenizer's special token, or two files differ.

    Generation stops at the wrong token or never, padding is attended to, the first token is
    another word. A list of end tokens only has to contain the tokenizer's. An id that was left at
    the class default is the usual cause.

    Fix: write the tokenizer's id into config.json and generation_config.json.

    Before:
        config.json: "eos_token_id": 2      tokenizer_config.json: "eos_token": "<|endoftext|>"
    After:
        config.json: "eos_token_id": 50256
    """
    stated = facts.stated_ids
    for name in NAMES:
        entries = [special for special in stated if special.name == f"{name}_token_id"]
        yield from _against_tokenizer(facts, name, entries)
        yield from _against_each_other(facts, name, entries)
    starts = [special for special in stated if special.name == "decoder_start_token_id"]
    yield from _against_each_other(facts, "decoder_start", starts)


def _against_tokenizer(facts: ModelFacts, name: str, entries: list[SpecialId]) -> Iterator[Problem]:
    named = facts.tokenizer.named_id(f"{name}_token")
    if named is None or named.id is None:
        return
    for special in entries:
        # Negative ids and those past the table have rules of their own.
        if named.id in special.ids or max(special.ids) < 0:
            continue
        text = facts.vocabulary.text(special.ids[0])
        shown = f" ({quoted(text)})" if text is not None else ""
        yield Problem(
            f"{special.source} is {_shown(special)}{shown}, but the tokenizer's {named.name} is "
            f"{quoted(named.text)} ({named.id})",
            hint=f'write "{special.name}": {named.id} there, or correct {named.file}',
            file=special.source.partition(":")[0],
            ids=tuple(sorted({*special.ids, named.id})),
        )


def _shown(special: SpecialId) -> str:
    return str(special.ids[0]) if len(special.ids) == 1 else str(list(special.ids))


def _against_each_other(
    facts: ModelFacts, name: str, entries: list[SpecialId]
) -> Iterator[Problem]:
    named = facts.tokenizer.named_id(f"{name}_token")
    if len(entries) < 2 or (named is not None and named.id is not None):
        return
    first = entries[0]
    for other in entries[1:]:
        if not set(first.ids) & set(other.ids):
            yield Problem(
                f"{first.source} is {_shown(first)}, but {other.source} is {_shown(other)}",
                hint="generation takes generation_config.json, training config.json: make them one",
                file=other.source.partition(":")[0],
                ids=tuple(sorted({*first.ids, *other.ids})),
            )


@rule("EMB202", Severity.WARNING)
def negative_special_id(facts: ModelFacts) -> Iterator[Problem]:
    """A special id is below 0.

    SentencePiece writes -1 for "there is none"; torch takes padding_idx -1 for the last row, and
    an embedding looked up at -1 fails.

    Fix: write null where there is no such token, or the id of a token that exists.

    Before:
        config.json: "pad_token_id": -1
    After:
        config.json: "pad_token_id": null
    """
    for special in facts.stated_ids:
        negative = tuple(token_id for token_id in special.ids if token_id < 0)
        if not negative or special.name.startswith(("eos", *MEDIA)):
            continue
        reads = ": torch reads it as the last row" if special.name.startswith("pad") else ""
        yield Problem(
            f"{special.source} is {negative[0]}{reads}",
            hint=f'write "{special.name}": null, or the id of a token that exists',
            file=special.source.partition(":")[0],
            ids=negative,
        )


@rule("EMB203", Severity.WARNING)
def pad_is_eos(facts: ModelFacts) -> Iterator[Problem]:
    """The padding token is the end token.

    Training code that masks padding in the loss masks the end tokens too: the model never learns
    to stop. Generation in batches is not affected. Whisper and CLIP are made so and not reported,
    nor are GGUF files, which nobody trains.

    Fix: take another existing token for padding (the unknown token, a reserved one).

    Before:
        tokenizer.pad_token = tokenizer.eos_token
    After:
        tokenizer.pad_token = "<|finetune_right_pad_id|>"
    """
    if PAD_IS_EOS.intersection(facts.model_types) or _is_gguf(facts):
        return
    pads = [s for s in facts.stated_ids if s.name == "pad_token_id"]
    ends = [s for s in facts.stated_ids if s.name == "eos_token_id"]
    # Of several ends the others go on to teach where to stop.
    if pads and ends and pads[0].ids == ends[0].ids and pads[0].ids[0] >= 0:
        where, token_id = pads[0].source, pads[0].ids[0]
    else:
        pad, end = facts.tokenizer.named_id("pad_token"), facts.tokenizer.named_id("eos_token")
        if pad is None or end is None or pad.text != end.text or pad.id is None:
            return
        where, token_id = f"{pad.file}:pad_token", pad.id
    yield Problem(
        f"{where} is the end token too ({token_id})",
        hint="take another existing token for padding: training that masks padding masks the ends",
        file=where.partition(":")[0],
        ids=(token_id,),
    )


def _is_gguf(facts: ModelFacts) -> bool:
    vocabulary = facts.tokenizer.vocabulary
    return vocabulary is not None and vocabulary.format == "gguf"


@rule("EMB204", Severity.NOTE, "tokenizer")
def no_pad_token(facts: ModelFacts) -> Iterator[Problem]:
    """Neither the configuration nor the tokenizer names a padding token.

    Many models are published so, and one sequence at a time needs none. Batches do: then choose
    an existing token, so that no row has to be added.

    Fix: tokenizer.pad_token = an existing token, and its id as pad_token_id in config.json.

    Before:
        tokenizer(["a", "b c"], padding=True)      # ValueError: Asking to pad, no padding token
    After:
        tokenizer.pad_token = "<|finetune_right_pad_id|>"
    """
    knows = facts.tokenizer.config_file is not None and facts.tokenizer.named
    stated = any(special.name == "pad_token_id" for special in facts.stated_ids)
    if knows and not stated and facts.tokenizer.named_id("pad_token") is None:
        yield Problem(
            "no padding token is named",
            hint="batches need one: choose an existing token, so that no row has to be added",
            file=facts.tokenizer.config_file,
        )


@rule("EMB205", Severity.ERROR, "config", "tokenizer")
def media_token_id_differs(facts: ModelFacts) -> Iterator[Problem]:
    """The configuration's image, audio or video token id is not the tokenizer's id of that token.

    The model looks for one id, the processor writes another: features are put nowhere ("image
    features and image tokens do not match") or over ordinary words.

    Fix: write the tokenizer's id into config.json.

    Before:
        config.json: "image_token_index": 64000      tokenizer: <image> is 64003
    After:
        config.json: "image_token_index": 64003
    """
    for special in facts.stated_ids:
        kind = next((m for m in MEDIA if special.name.startswith(f"{m}_token_i")), None)
        if kind is None or special.ids[0] < 0:
            continue
        expected = _media_text(facts, kind, special.ids[0])
        token_id = facts.vocabulary.id(expected) if expected is not None else None
        if expected is None or token_id is None or token_id in special.ids:
            continue
        there = facts.vocabulary.text(special.ids[0])
        yield Problem(
            f"{special.source} is {_shown(special)} "
            f"({quoted(there) if there is not None else 'no token'}), but the tokenizer's "
            f"{quoted(expected)} is {token_id}",
            hint=f'write "{special.name}": {token_id} into {special.source.partition(":")[0]}',
            file=special.source.partition(":")[0],
            ids=tuple(sorted({*special.ids, token_id})),
        )


def _media_text(facts: ModelFacts, kind: str, stated: int) -> str | None:
    """The text that the id should stand for: declared, or the one customary text that exists."""
    declared = facts.tokenizer.media_tokens.get(f"{kind}_token")
    if declared is not None:
        return declared[0]
    there = (facts.vocabulary.text(stated) or "").lower()
    if any(word in there for word in MEDIA_WORDS[kind]):
        return None
    known = [text for text in MEDIA_TEXTS[kind] if facts.vocabulary.id(text) is not None]
    return known[0] if len(known) == 1 else None


@rule("EMB206", Severity.NOTE, "tokenizer")
def chat_token_is_no_token(facts: ModelFacts) -> Iterator[Problem]:
    """The chat template writes a control mark that is no token of its own.

    The mark is split into ordinary pieces. Some models are trained so (Zephyr); in others the
    chat tokens were lost or belong to another model.

    Fix: compare the template with the one of the model it was made from.

    Before:
        chat template: <|im_start|>user      tokenizer: '<', '|', 'im', '_start', '|', '>'
    After:
        added_tokens: <|im_start|>
    """
    absent = [text for text in facts.tokenizer.chat_tokens if facts.vocabulary.id(text) is None]
    if absent:
        yield Problem(
            f"the chat template writes marks that are no tokens: {listed(absent)}",
            hint="compare the template with that of the model it was made from",
            file=facts.tokenizer.chat_file,
        )


@rule("EMB207", Severity.WARNING, "tokenizer")
def emitted_id_differs(facts: ModelFacts) -> Iterator[Problem]:
    """The post-processor or padding emits an id that is not its token's id.

    The ids in `post_processor` and `padding.pad_id` of tokenizer.json are put into every sequence
    as they are written. After the vocabulary was edited they still name the old places: the model
    sees other tokens where it expects its markers.

    Fix: correct the ids in tokenizer.json, or save the tokenizer again with the library.

    Before:
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 101]}      [CLS] is 2
    After:
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2]}
    """
    for emitted in facts.tokenizer.emitted:
        token_id = facts.vocabulary.id(emitted.text)
        if token_id is None or token_id == emitted.id:
            continue
        there = facts.vocabulary.text(emitted.id)
        shown = f" ({quoted(there)})" if there is not None else ""
        yield Problem(
            f"{emitted.where} emits {emitted.id}{shown} for {quoted(emitted.text)}, "
            f"whose id is {token_id}",
            hint=f"correct the id in {emitted.file}, or save the tokenizer again",
            file=emitted.file,
            ids=tuple(sorted((emitted.id, token_id))),
        )
