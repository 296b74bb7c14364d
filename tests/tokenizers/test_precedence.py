"""Which of a tokenizer's files has its say: rules checked against transformers 4.57 and 5.24."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from embcalc.core.tokenizer_facts import TokenizerFacts
from embcalc.core.vocabulary import Vocabulary
from embcalc.tokenizers import read_tokenizer
from tests.tokenizers.folders import Content, added_token, folder, tokenizer


def facts(path: Path, **files: Content) -> TokenizerFacts:
    """Ten base tokens with side files: `facts(path, added_tokens={…})`."""
    named = {f"{name}.json": content for name, content in files.items()}
    return read_tokenizer(folder(path, {"tokenizer.json": tokenizer(10), **named}))


def vocabulary(found: TokenizerFacts) -> Vocabulary:
    assert found.vocabulary is not None
    return found.vocabulary


def entry(text: str) -> dict[str, Any]:
    return {"content": text, "special": True}


def test_added_tokens_json_appends_in_id_order(tmp_path: Path) -> None:
    found = vocabulary(facts(tmp_path, added_tokens={"<b>": 20, "<a>": 12}))
    assert (found.id("<a>"), found.id("<b>")) == (10, 11)


def test_a_taken_id_replaces_nothing(tmp_path: Path) -> None:
    found = vocabulary(facts(tmp_path, added_tokens={"<z>": 3}))
    assert (found.id("<z>"), found.text(3)) == (10, "t3")


def test_named_special_tokens_come_last(tmp_path: Path) -> None:
    config = {"pad_token": "<p>"}
    found = vocabulary(facts(tmp_path, added_tokens={"<y>": 10}, tokenizer_config=config))
    assert (found.id("<y>"), found.id("<p>")) == (10, 11)


def test_the_decoder_silences_the_older_files(tmp_path: Path) -> None:
    found = facts(
        tmp_path,
        tokenizer_config={"added_tokens_decoder": {"10": entry("<d>")}},
        added_tokens={"<y>": 11},
        special_tokens_map={"pad_token": "<p>"},
    )
    assert vocabulary(found).max_id == 10
    assert vocabulary(found).id("<p>") is vocabulary(found).id("<y>") is None
    assert [(one.file, one.text, one.declared_id) for one in found.dead_letters] == [
        ("added_tokens.json", "<y>", 11),
        ("special_tokens_map.json", "<p>", None),
    ]


def test_without_the_decoder_the_map_names_the_tokens(tmp_path: Path) -> None:
    found = facts(
        tmp_path,
        tokenizer_config={"pad_token": "t0"},
        special_tokens_map={"pad_token": {"content": "t1"}, "additional_special_tokens": ["<q>"]},
    )
    pad = found.named_id("pad_token")
    assert pad is not None
    assert (pad.text, pad.id, pad.file) == ("t1", 1, "special_tokens_map.json")
    assert vocabulary(found).id("<q>") == 10


def test_additional_and_extra_special_tokens_are_appended(tmp_path: Path) -> None:
    config = {
        "additional_special_tokens": ["<a>", entry("<b>")],
        "extra_special_tokens": {"image_token": "<image>"},
    }
    found = facts(tmp_path, tokenizer_config=config)
    assert [token.text for token in vocabulary(found).appended] == ["<a>", "<b>", "<image>"]
    assert found.media_tokens == {"image_token": ("<image>", "tokenizer_config.json")}


@pytest.mark.parametrize(
    ("settings", "size"),
    [({}, 14), ({"prefix_token": None, "eot_token": None}, 12), ({"eot_token": "t0"}, 13)],
)
def test_code_llama_adds_infill_tokens_unless_told_not_to(
    tmp_path: Path, settings: dict[str, Any], size: int
) -> None:
    config = {"tokenizer_class": "CodeLlamaTokenizer", **settings}
    assert vocabulary(facts(tmp_path, tokenizer_config=config)).size == size


def test_a_second_declaration_changes_no_id_and_keeps_the_wrong_one(tmp_path: Path) -> None:
    document = tokenizer(10, [added_token("<a>", 12)])
    config = {"added_tokens_decoder": {"10": entry("<a>"), "30": entry("t1")}}
    found = read_tokenizer(
        folder(tmp_path, {"tokenizer.json": document, "tokenizer_config.json": config})
    )
    assert [(t.text, t.id, t.declared_id, t.file) for t in vocabulary(found).added] == [
        ("<a>", 10, 12, "tokenizer.json"),
        ("t1", 1, 30, "tokenizer_config.json"),
    ]


def test_post_processors_and_padding_emit_what_they_say(tmp_path: Path) -> None:
    template = {
        "type": "TemplateProcessing",
        "special_tokens": {"[C]": {"id": "[C]", "ids": [101], "tokens": ["[C]"]}},
    }
    bert = {"type": "BertProcessing", "sep": ["[S]", 7], "cls": ["[C]", 101]}
    parts: dict[str, Any] = {
        "post_processor": {"type": "Sequence", "processors": [template, bert]},
        "padding": {"pad_id": 99, "pad_token": "<p>"},
    }
    found = read_tokenizer(folder(tmp_path, {"tokenizer.json": tokenizer(10, **parts)}))
    assert [(one.where, one.text, one.id) for one in found.emitted] == [
        ("padding.pad_id", "<p>", 99),
        ("post_processor", "[C]", 101),
        ("post_processor", "[S]", 7),
    ]


def test_other_vocabulary_files_are_compared(tmp_path: Path) -> None:
    files: dict[str, Content] = {
        "tokenizer.json": tokenizer(10),
        "vocab.json": {"t0": 0, "t1": 5, "zzz": 6},
        "vocab.txt": "\n".join(f"t{i}" for i in range(10)),
        "merges.txt": "#version: 0.2\nt 0\nt 1\nq q\n",
    }
    found = read_tokenizer(folder(tmp_path, files))
    assert [(one.file, one.count, one.entries) for one in found.siblings] == [
        ("vocab.json", 2, 3),
        ("merges.txt", 1, 3),
    ]
    assert found.siblings[0].differing == (("t1", 5, 1), ("zzz", 6, None))


def test_chat_templates_are_searched_for_marks(tmp_path: Path) -> None:
    listed = [{"name": "default", "template": "<|im_start|>{{ x }}<|im_end|>"}]
    found = facts(tmp_path, tokenizer_config={"chat_template": listed})
    assert found.chat_tokens == ("<|im_start|>", "<|im_end|>")
    jinja = read_tokenizer(folder(tmp_path, {"chat_template.jinja": "<|other|>"}))
    assert (jinja.chat_tokens, jinja.chat_file) == (("<|other|>",), "chat_template.jinja")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer_config.json", "{"),
        ("tokenizer_config.json", "[]"),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"x": {"content": "a"}}}'),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"1": {"special": true}}}'),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"-1": {"content": "a"}}}'),
        ("tokenizer_config.json", '{"added_tokens_decoder": [1]}'),
        ("special_tokens_map.json", "nonsense"),
        ("added_tokens.json", '{"<a>": -5}'),
        ("added_tokens.json", '{"<a>": 1.5}'),
        ("added_tokens.json", '{"<a>": 99999999999}'),
        ("processor_config.json", "{"),
        ("vocab.json", '{"a": "b"}'),
        ("merges.txt", b"\xff"),
        ("chat_template.jinja", b"\xff"),
    ],
)
def test_a_broken_side_file_is_a_problem_and_the_rest_is_read(
    tmp_path: Path, name: str, content: Content
) -> None:
    found = read_tokenizer(folder(tmp_path, {"tokenizer.json": tokenizer(10), name: content}))
    assert vocabulary(found).size == 10
    assert [problem.file for problem in found.problems] == [name]
    assert "\n" not in found.problems[0].message
