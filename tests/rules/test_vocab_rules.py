"""Each rule of check-vocab: a folder that it finds, and one like it that is in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from embcalc.core.findings import Finding, Severity
from embcalc.rules import HEADER_RULES
from embcalc.usecases.check_vocab import CheckOptions, check_vocab
from tests.tokenizers.folders import Content, added_token, folder, tokenizer
from tests.usecases.cases import header_only

Shapes = dict[str, tuple[int, ...]]
IMAGE = "<image>"
END = {"eos_token": "t5"}
EMBED = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n"


@dataclass(frozen=True)
class Model:
    """A folder: its tensors by shape, and its files; 100 tokens unless said."""

    tensors: Shapes = field(default_factory=lambda: {EMBED: (104, 1)})
    config: dict[str, Any] | None = None
    tokens: Content | None = None
    files: dict[str, Content] = field(default_factory=dict)
    weights: str = "model.safetensors"

    def write(self, path: Path) -> Path:
        config = {"model_type": "llama", "vocab_size": 104, "tie_word_embeddings": True}
        files: dict[str, Content] = {"tokenizer.json": self.tokens or tokenizer(100)}
        if self.weights == "model.safetensors":
            files["config.json"] = {**config, **(self.config or {})}
        folder(path, {**files, **self.files})
        if self.tensors:
            header_only(path / self.weights, self.tensors)
        return path


def model(**changes: Any) -> Model:
    return Model(**changes)


def config(**keys: Any) -> Model:
    return Model(config=keys)


def tokens(*added: dict[str, Any], base: Any = 100, **parts: Any) -> Model:
    return Model(tokens=tokenizer(base, list(added), **parts))


def files(**named: Content) -> Model:
    return Model(files={f"{name}.json": content for name, content in named.items()})


def rows(count: int, **changes: Any) -> Model:
    return Model(
        tensors={EMBED: (count, 1)},
        config={"vocab_size": count, **changes.pop("config", {})},
        **changes,
    )


@dataclass(frozen=True)
class Case:
    """A model that the rule finds, and one that it does not."""

    bad: Model
    good: Model
    base: Model | None = None
    against: Model | None = None
    ids: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    """What the message has to say."""


def adapter(rows_: int, **more: tuple[int, ...]) -> Model:
    name = "base_model.model.model.embed_tokens.weight"
    return Model(
        tensors={name: (rows_, 1), **more},
        files={"adapter_config.json": {"peft_type": "LORA"}},
        weights="adapter_model.safetensors",
    )


HOLE = {f"t{i}": i for i in range(99)} | {"t100": 100}
OTHER = tokenizer({f"t{i}": i for i in range(99)} | {"other": 99})
TWO = Model(tensors={EMBED: (104, 1), HEAD: (104, 1)}, config={"tie_word_embeddings": False})
CASES: dict[str, Case] = {
    "EMB101": Case(
        rows(100, tokens=tokenizer(100, [added_token("<pad>", 100)])),
        rows(104, tokens=tokenizer(100, [added_token("<pad>", 100)])),
        ids=(100,),
        words=("'<pad>' (100, special)", "100 rows of model.embed_tokens.weight"),
    ),
    "EMB102": Case(config(vocab_size=100), config(vocab_size=104), words=("100", "104 rows")),
    "EMB103": Case(
        model(
            tensors={EMBED: (104, 1), HEAD: (100, 1)},
            config={"tie_word_embeddings": False},
        ),
        TWO,
        words=("100 rows", "has 104"),
    ),
    "EMB104": Case(
        config(eos_token_id=104), config(eos_token_id=[1, 99]), ids=(104,), words=("eos_token_id",)
    ),
    "EMB105": Case(
        tokens(padding={"pad_id": 104, "pad_token": "<pad>"}),
        tokens(padding={"pad_id": 3, "pad_token": "t3"}),
        ids=(104,),
        words=("padding.pad_id", "'<pad>'"),
    ),
    "EMB106": Case(
        tokens(added_token("<x>", 101), base=HOLE),
        tokens(added_token("<x>", 100)),
        ids=(100,),
        words=("'<x>' and 't100' (100)",),
    ),
    "EMB107": Case(tokens(base=HOLE), tokens(), ids=(99,), words=("1 id below 100", "99")),
    "EMB108": Case(rows(103), rows(104), ids=(100, 101, 102), words=("3 rows from 100",)),
    "EMB109": Case(rows(104), rows(100), ids=(100, 101, 102, 103), words=("multiple of 8",)),
    "EMB110": Case(
        rows(97, tokens=tokenizer(96, [added_token("[PAD]", 96)])),
        rows(97, tokens=tokenizer(97)),
        words=("97 rows",),
    ),
    "EMB111": Case(
        config(vocab_size=99, text_config={"vocab_size": 104, "hidden_size": 1}),
        config(vocab_size=104, text_config={"vocab_size": 104, "hidden_size": 1}),
        words=("99", "104", "text_config.vocab_size"),
    ),
    "EMB112": Case(
        config(model_type="moshi", vocab_size=103), config(), words=("104 rows", "103", "moshi")
    ),
    "EMB113": Case(
        rows(
            104,
            config={"model_type": "gemma3_text"},
            tokens=tokenizer(104, [added_token("<image_soft_token>", 104)]),
        ),
        rows(
            128,
            config={"model_type": "gemma3_text"},
            tokens=tokenizer(104, [added_token("<image_soft_token>", 104)]),
        ),
        ids=(104,),
        words=("image_soft_token",),
    ),
    "EMB114": Case(config(vocab_size=208), config(), words=("104 of 208 rows: one of 2",)),
    "EMB115": Case(tokens(added_token("<x>", 100)), tokens(), words=("100 of the base",)),
    "EMB116": Case(
        model(
            config={"model_type": "bert", "max_position_embeddings": 64},
            files={"tokenizer_config.json": {"model_max_length": 1e30}},
        ),
        model(
            config={"model_type": "bert", "max_position_embeddings": 64},
            files={"tokenizer_config.json": {"model_max_length": 64}},
        ),
        words=("infinite", "64 usable"),
    ),
    "EMB117": Case(
        config(pad_token_id="0"), config(pad_token_id=0), words=('pad_token_id is "0"',)
    ),
    "EMB118": Case(
        config(hidden_size=2),
        config(hidden_size=1),
        words=("hidden_size is 2", "model.embed_tokens.weight are 1 wide"),
    ),
    "EMB120": Case(adapter(108), adapter(104), base=Model(), words=("108", "104")),
    "EMB121": Case(rows(100), rows(104), base=Model(), words=("4 fewer",)),
    "EMB122": Case(rows(112), rows(104), base=Model(), words=("8 more",)),
    "EMB123": Case(model(tokens=OTHER), Model(), base=Model(), ids=(99,), words=("'other'",)),
    "EMB130": Case(
        model(tokens=OTHER), Model(), against=Model(), ids=(99,), words=("99 is 'other' here",)
    ),
    "EMB131": Case(
        tokens(base={"t1": 0, "t0": 1} | {f"t{i}": i for i in range(2, 100)}),
        Model(),
        against=Model(),
        ids=(0, 1),
        words=("'t1' 0 here, 1 there",),
    ),
    "EMB132": Case(
        tokens(added_token("<x>", 100)), Model(), against=Model(), ids=(100,), words=("'<x>'",)
    ),
    "EMB133": Case(rows(112), rows(104), against=Model(), words=("112 rows here", "104")),
    "EMB201": Case(
        model(config={"eos_token_id": 2}, files={"tokenizer_config.json": {"eos_token": "t5"}}),
        model(
            config={"eos_token_id": [2, 5]}, files={"tokenizer_config.json": {"eos_token": "t5"}}
        ),
        ids=(2, 5),
        words=("'t2'", "'t5' (5)"),
    ),
    "EMB202": Case(config(pad_token_id=-1), config(pad_token_id=None), ids=(-1,), words=("last",)),
    "EMB203": Case(
        config(pad_token_id=2, eos_token_id=2), config(pad_token_id=0, eos_token_id=2), ids=(2,)
    ),
    "EMB204": Case(
        files(tokenizer_config={"eos_token": "t2"}),
        files(tokenizer_config={"eos_token": "t2", "pad_token": "t0"}),
    ),
    "EMB205": Case(
        model(config={"image_token_index": 3}, tokens=tokenizer(100, [added_token(IMAGE, 9)])),
        model(config={"image_token_index": 100}, tokens=tokenizer(100, [added_token(IMAGE, 9)])),
        ids=(3, 100),
        words=("image_token_index is 3", "'<image>' is 100"),
    ),
    "EMB206": Case(
        files(tokenizer_config={"chat_template": "<|user|>"}),
        model(
            tokens=tokenizer(100, [added_token("<|user|>", 100)]),
            files={"tokenizer_config.json": {"chat_template": "<|user|>"}},
        ),
        words=("<|user|>",),
    ),
    "EMB207": Case(
        tokens(post_processor={"type": "BertProcessing", "cls": ["t3", 7], "sep": ["t4", 4]}),
        tokens(post_processor={"type": "BertProcessing", "cls": ["t3", 3], "sep": ["t4", 4]}),
        ids=(3, 7),
        words=("emits 7 ('t7') for 't3', whose id is 3",),
    ),
    "EMB301": Case(files(generation_config=POINTER), files(generation_config={})),
    "EMB302": Case(files(tokenizer_config="{"), files(tokenizer_config={}), words=("cut short",)),
    "EMB303": Case(
        tokens(added_token("<a>", 102)),
        tokens(added_token("<a>", 100)),
        ids=(100,),
        words=("'<a>' declared 102, effective 100", "transformers 4"),
    ),
    "EMB304": Case(
        files(
            tokenizer_config={"added_tokens_decoder": {}},
            added_tokens={"<x>": 100},
        ),
        files(added_tokens={"<x>": 100}),
        ids=(100,),
        words=("'<x>' 100 (no such token)",),
    ),
    "EMB305": Case(
        files(vocab={"t0": 1, "t1": 0, "x": 9}),
        files(vocab={"t0": 0}),
        words=("vocab.json", "3 of 3", "'t0' is 1, 0 in tokenizer.json", "unknown"),
    ),
    "EMB306": Case(
        tokens(base=[["a", 0], ["b", 0], ["a", 0]], kind="Unigram"),
        tokens(base=[["a", 0], ["b", 0]], kind="Unigram"),
        ids=(0, 2),
        words=("'a' at 0, 2",),
    ),
    "EMB307": Case(
        model(tokens="x", files={"vocab.txt": "a\n\nb\n"}),
        model(tokens="x", files={"vocab.txt": "a\nb\n"}),
        ids=(1,),
    ),
    "EMB308": Case(
        model(
            tokens="x",
            files={"tokenizer_config.json": {"auto_map": {"AutoTokenizer": ["a.B", None]}}},
        ),
        files(tokenizer_config={"auto_map": {"AutoTokenizer": ["a.B", None]}}),
        words=("a.B", "not run"),
    ),
    "EMB309": Case(
        tokens(decoder={"type": "ByteLvel"}),
        tokens(decoder={"type": "Fuse"}),
        words=("refuses the decoder of tokenizer.json", "ByteLvel"),
    ),
    "EMB401": Case(
        model(tensors={EMBED: (104, 1), HEAD: (96, 1)}),
        model(tensors={EMBED: (104, 1), HEAD: (104, 1)}),
        words=("104 rows", "96 rows"),
    ),
    "EMB601": Case(
        model(
            tensors={},
            files={
                "model.safetensors.index.json": {
                    "weight_map": {EMBED: "a.safetensors", HEAD: "b.safetensors"}
                },
                "a.safetensors": b"\x02" + bytes(7) + b"{}",
            },
        ),
        model(),
        words=("b.safetensors, which is absent", HEAD),
    ),
    "EMB602": Case(
        model(files={"model-2.safetensors.part": b"half"}),
        model(),
        words=("1 download did not end", "model-2.safetensors.part"),
    ),
    "EMB606": Case(
        model(tensors={"conv.weight": (3, 3)}, config={"vocab_size": 104}),
        model(tensors={EMBED: (104, 1)}),
        words=("no token table and no output head among 1 tensor",),
    ),
    "EMB603": Case(
        model(tensors={}, files={"model.safetensors": b"\xff" * 100}),
        model(),
        words=("model.safetensors",),
    ),
}


def found(code: str, one: Model, case: Case, path: Path) -> list[Finding]:
    place = one.write(path / "model")
    if one.tokens == "x":
        (place / "tokenizer.json").unlink()
    options = CheckOptions(
        base=str(case.base.write(path / "base")) if case.base else None,
        against=str(case.against.write(path / "against")) if case.against else None,
        select=(code,),
    )
    report = check_vocab(str(place), options)
    assert not report.skipped or code == "EMB401", report.skipped
    return list(report.findings)


def test_every_rule_has_a_case() -> None:
    assert sorted(CASES) == sorted(rule.code for rule in HEADER_RULES)


@pytest.mark.parametrize("code", sorted(CASES))
def test_a_rule_finds_what_it_is_for(code: str, tmp_path: Path) -> None:
    case = CASES[code]
    rule = next(rule for rule in HEADER_RULES if rule.code == code)
    findings = found(code, case.bad, case, tmp_path)
    assert findings, "nothing found"
    assert {finding.severity for finding in findings} == {rule.severity}
    message = findings[0].message
    assert all(word in message for word in case.words), message
    assert set(case.ids) <= {token_id for finding in findings for token_id in finding.ids}
    assert all(finding.hint for finding in findings)
    assert all("\n" not in finding.message for finding in findings)


@pytest.mark.parametrize("code", sorted(CASES))
def test_a_rule_leaves_the_rest_alone(code: str, tmp_path: Path) -> None:
    case = CASES[code]
    assert found(code, case.good, case, tmp_path) == []


@pytest.mark.parametrize("name", ["spiece.model", "tokenizer.model", "x.tiktoken", "tekken.json"])
def test_a_pointer_beside_the_tokenizer_that_counts(name: str, tmp_path: Path) -> None:
    place = model(files={name: POINTER}).write(tmp_path)
    report = check_vocab(str(place), CheckOptions(select=("EMB301",)))
    assert [(finding.rule, finding.file) for finding in report.findings] == [("EMB301", name)]


@pytest.mark.parametrize("name", ["spiece.model", "tokenizer.model", "below/spiece.model"])
def test_another_tokenizer_file_is_none_of_the_pointers(name: str, tmp_path: Path) -> None:
    content = POINTER if "/" in name else b"\x0a\x0e"
    place = model(files={name: content}).write(tmp_path)
    assert check_vocab(str(place), CheckOptions(select=("EMB3",))).findings == ()


BY_DESIGN: dict[str, tuple[dict[str, Any], Shapes]] = {
    "mllama": ({"model_type": "mllama", "vocab_size": 104}, {EMBED: (112, 1), HEAD: (104, 1)}),
    "moshi": ({"model_type": "moshi", "vocab_size": 104}, {EMBED: (105, 1), HEAD: (104, 1)}),
    "cpmant": ({"model_type": "cpmant", "vocab_size": 104}, {EMBED: (1128, 1), HEAD: (104, 1)}),
    "imagegpt": ({"model_type": "imagegpt", "vocab_size": 104}, {EMBED: (104, 1), HEAD: (103, 1)}),
    "marian": (
        {"model_type": "marian", "vocab_size": 104, "decoder_vocab_size": 208},
        {EMBED: (104, 1), HEAD: (208, 1)},
    ),
    "molmo": (
        {"model_type": "molmo", "vocab_size": 104, "additional_vocab_size": 128},
        {
            "model.transformer.wte.embedding": (104, 1),
            "model.transformer.wte.new_embedding": (128, 1),
        },
    ),
    "molmo2": (
        {"model_type": "molmo2", "text_config": {"vocab_size": 104, "additional_vocab_size": 128}},
        {EMBED: (232, 1), HEAD: (104, 1)},
    ),
    "idefics": (
        {"model_type": "idefics", "vocab_size": 104, "additional_vocab_size": 2},
        {EMBED: (104, 1), "model.embed_tokens.additional_embedding.weight": (2, 1)},
    ),
    "shard": ({"model_type": "llama", "vocab_size": 832}, {EMBED: (104, 1), HEAD: (104, 1)}),
}


@pytest.mark.parametrize("name", sorted(BY_DESIGN))
def test_rows_that_differ_by_design_are_no_error(name: str, tmp_path: Path) -> None:
    keys, shapes = BY_DESIGN[name]
    keys = {"tie_word_embeddings": False, **keys}
    place = model(tensors=shapes, config=keys).write(tmp_path)
    report = check_vocab(str(place))
    assert {finding.severity for finding in report.findings} <= {Severity.NOTE}, report.findings


@pytest.mark.parametrize(
    ("rows_", "used"),
    [
        (151936, 151665),
        (152064, 151646),
        (32256, 32022),
        (50304, 50277),
        (50432, 50277),
        (50400, 50257),
        (51200, 50295),
        (128100, 128001),
        (65024, 64794),
        (129280, 128815),
        (201088, 200019),
        (163840, 163607),
        (250880, 250680),
        (18000, 17964),
        (256000, 255029),
    ],
)
def test_paddings_of_published_models_are_fine(rows_: int, used: int) -> None:
    from embcalc.core.padding import rounding

    assert rounding(rows_, used)


@pytest.mark.parametrize(
    ("rows_", "used"),
    [(32001, 32000), (32064, 32000), (32102, 31102), (215672, 151643), (32003, 32001), (1000, 900)],
)
def test_lost_tokens_are_no_padding(rows_: int, used: int) -> None:
    from embcalc.core.padding import rounding

    assert rounding(rows_, used) is None


@pytest.mark.parametrize(
    ("kind", "size"), [("gpt2", 50257), ("bert", 30522), ("whisper", 51865), ("roberta", 50265)]
)
def test_published_odd_sizes_are_not_reported(
    kind: str, size: int, tmp_path: Path, run: Callable[..., Any]
) -> None:
    words = tokenizer(size - 1, [added_token("<|endoftext|>", size - 1)])
    place = rows(size, config={"model_type": kind}, tokens=words).write(tmp_path)
    assert run("check-vocab", place, "--strict").code == 0
