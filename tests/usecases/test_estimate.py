from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import embcalc
from embcalc.core.reports.estimate import EstimateReport
from embcalc.errors import ConfigError, EmbcalcError, SourceError, UsageError

Builder = Callable[..., Path]


def _table(rows: int, width: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def _shapes(report: EstimateReport) -> list[tuple[str, int, int, bool]]:
    return [(table.role.value, table.rows, table.width, table.shared) for table in report.tables]


def _config(folder: Path, **document: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_the_library_returns_the_frozen_report() -> None:
    report = embcalc.estimate(vocab_size=150_000, hidden_size=2560, precision="mixed")
    assert report.memory[0].bytes.total == 9_216_000_000
    assert report.alternative is not None
    assert report.alternative.memory[0].bytes.total == 4_608_000_000
    with pytest.raises(AttributeError):
        report.budget = None  # type: ignore[misc]


def test_the_library_takes_paths_and_several_regimes(tmp_path: Path) -> None:
    path = _config(tmp_path, model_type="llama", vocab_size=100, hidden_size=8)
    report = embcalc.estimate(path, precision=["fp32", "bf16"], freeze="token")
    assert [row.bytes.total for row in report.memory] == [800 * 4 + 800 * 16, 800 * 2 + 800 * 8]


def test_the_package_has_no_other_names() -> None:
    assert "estimate" in embcalc.__all__
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = embcalc.nothing_of_the_kind


def test_a_config_alone_and_in_a_folder(tmp_path: Path) -> None:
    path = _config(
        tmp_path, model_type="bert", vocab_size=100, hidden_size=8, max_position_embeddings=16
    )
    for address in (path, tmp_path):
        report = embcalc.estimate(address)
        assert report.model.source == "config"
        assert (report.model.tied, report.model.tied_source) == (True, "class-default")
        assert _shapes(report) == [
            ("token", 100, 8, False),
            ("output", 100, 8, True),
            ("position", 16, 8, False),
            ("token_type", 2, 8, False),
        ]
        assert report.parameters.model_total is None


def test_a_config_of_another_name(tmp_path: Path) -> None:
    path = tmp_path / "my.json"
    path.write_text('{"model_type": "gpt2", "n_embd": 4}', "utf-8")
    report = embcalc.estimate(path)
    assert report.model.hidden_size == 4
    assert "vocabulary size from class default of gpt2" in report.assumptions


@pytest.mark.parametrize(
    ("document", "shapes"),
    [
        (
            {"model_type": "mllama", "text_config": {"vocab_size": 100, "hidden_size": 8}},
            [("token", 108, 8, False), ("output", 100, 8, False)],
        ),
        (
            {
                "model_type": "fsmt",
                "src_vocab_size": 50,
                "tgt_vocab_size": 60,
                "d_model": 8,
                "max_position_embeddings": 4,
            },
            [
                ("token", 50, 8, False),
                ("token", 60, 8, False),
                ("output", 60, 8, False),
                ("position", 6, 8, False),
                ("position", 6, 8, False),
            ],
        ),
        (
            {
                "model_type": "llama",
                "vocab_size": 100,
                "hidden_size": 8,
                "architectures": ["LlamaForSequenceClassification"],
            },
            [("token", 100, 8, False)],
        ),
        (
            {"model_type": "clip_text_model", "vocab_size": 100, "hidden_size": 8},
            [("token", 100, 8, False), ("position", 77, 8, False)],
        ),
        (
            {
                "model_type": "idefics",
                "vocab_size": 100,
                "hidden_size": 8,
                "additional_vocab_size": 2,
            },
            [("token", 100, 8, False), ("output", 100, 8, False), ("token_extra", 2, 8, False)],
        ),
        (
            {
                "model_type": "albert",
                "vocab_size": 100,
                "hidden_size": 16,
                "embedding_size": 4,
                "max_position_embeddings": 8,
            },
            [
                ("token", 100, 4, False),
                ("output", 100, 4, True),
                ("position", 8, 4, False),
                ("token_type", 2, 4, False),
            ],
        ),
    ],
)
def test_tables_of_classes(
    tmp_path: Path, document: dict[str, Any], shapes: list[tuple[str, int, int, bool]]
) -> None:
    assert _shapes(embcalc.estimate(_config(tmp_path, **document))) == shapes


def test_sizes_that_a_config_lacks_come_from_flags(tmp_path: Path) -> None:
    path = _config(tmp_path, model_type="new")
    with pytest.raises(ConfigError, match="no vocabulary size"):
        embcalc.estimate(path)
    with pytest.raises(ConfigError, match="no hidden size"):
        embcalc.estimate(path, vocab_size=10)
    report = embcalc.estimate(path, vocab_size=10, hidden_size=4)
    assert _shapes(report) == [("token", 10, 4, False), ("output", 10, 4, False)]
    assert any("is unknown" in note for note in report.assumptions)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "holds a list, not a JSON object"),
        ("version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        ('{"vocab_size": "many"}', "not a whole number"),
        ('{"model_type": "canine"}', "no table by id"),
        ('{"a":' * 5000, "nested too deep"),
    ],
)
def test_a_broken_config(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "config.json").write_text(content, "utf-8")
    with pytest.raises(ConfigError, match=message) as caught:
        embcalc.estimate(tmp_path)
    assert caught.value.hint


def test_a_checkpoint_with_a_head_of_its_own(tiny_checkpoint: Builder) -> None:
    folder = tiny_checkpoint(
        {
            "model.embed_tokens.weight": _table(100, 8),
            "lm_head.weight": _table(100, 8, 1),
            "model.layers.0.mlp.weight": _table(8, 8),
        },
        config={"model_type": "llama", "vocab_size": 100, "hidden_size": 8},
    )
    report = embcalc.estimate(folder)
    assert (report.model.source, report.model.tied_source) == ("checkpoint", "checkpoint")
    assert not report.model.tied
    assert report.parameters.model_total == 1664
    assert report.parameters.share_of_model == pytest.approx(1600 / 1664)
    assert [(s.role.value, s.dtype, s.nbytes) for s in report.stored] == [
        ("token", "F32", 3200),
        ("output", "F32", 3200),
    ]


def test_a_tied_table_that_is_stored_twice_counts_once(tiny_checkpoint: Builder) -> None:
    folder = tiny_checkpoint(
        {"model.embed_tokens.weight": _table(300, 8), "lm_head.weight": _table(300, 8)},
        config={"model_type": "llama", "vocab_size": 300, "tie_word_embeddings": True},
    )
    report = embcalc.estimate(folder)
    assert report.model.tied
    assert report.parameters.total == 2400
    assert report.parameters.model_total == 2400


def test_a_head_that_differs_in_its_last_row_is_no_tied_one(tiny_checkpoint: Builder) -> None:
    head = _table(300, 8)
    head[299, 7] += 1
    folder = tiny_checkpoint(
        {"model.embed_tokens.weight": _table(300, 8), "lm_head.weight": head},
        config={"model_type": "llama", "vocab_size": 300},
    )
    assert not embcalc.estimate(folder).model.tied


def test_a_missing_head_is_the_table_when_the_config_says_so(tiny_checkpoint: Builder) -> None:
    tensors = {"transformer.wte.weight": _table(100, 8), "transformer.h.0.weight": _table(8, 8)}
    folder = tiny_checkpoint(
        tensors,
        config={"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 90},
    )
    report = embcalc.estimate(folder)
    assert report.model.tied
    assert _shapes(report) == [("token", 100, 8, False), ("output", 100, 8, True)]
    assert any("100 rows; the config says 90" in note for note in report.assumptions)


def test_a_file_without_a_config(tiny_checkpoint: Builder) -> None:
    folder = tiny_checkpoint({"wte.weight": _table(50, 4), "h.0.weight": _table(4, 4)})
    report = embcalc.estimate(folder / "model.safetensors")
    assert report.alternative is not None
    assert report.model.tied_source == "assumed"


def test_a_checkpoint_without_a_table(tiny_checkpoint: Builder) -> None:
    folder = tiny_checkpoint({"h.0.weight": _table(4, 4)})
    with pytest.raises(EmbcalcError, match="no embedding table"):
        embcalc.estimate(folder)


def test_flags_replace_what_a_model_says() -> None:
    report = embcalc.estimate("llama-3-8b", vocab_size=128_300, precision="mixed")
    added = 2 * 44 * 4096
    assert report.parameters.model_total == 8_030_261_248 + added
    assert any("--vocab-size 128,300 replaces 128,256" in note for note in report.assumptions)
    tied = embcalc.estimate("llama-3-8b", tied=True)
    assert (tied.model.tied, tied.model.tied_source) == (True, "flag")
    assert tied.parameters.model_total == 8_030_261_248 - 128_256 * 4096
    wider = embcalc.estimate("gpt2", hidden_size=1024)
    assert wider.parameters.model_total is None
    assert [table.width for table in wider.tables] == [1024] * 3
    total = embcalc.estimate("gpt2", total_params=10**9)
    assert total.parameters.share_of_model == pytest.approx(0.038597376)
    same = embcalc.estimate("gpt2", vocab_size=50_257, tied=True)
    assert not any("replaces" in note for note in same.assumptions)


def test_what_cannot_be(tmp_path: Path) -> None:
    path = _config(
        tmp_path,
        model_type="rembert",
        vocab_size=10,
        hidden_size=8,
        input_embedding_size=4,
        output_embedding_size=6,
    )
    with pytest.raises(UsageError, match="the head is 6 wide and the token table 4"):
        embcalc.estimate(path, tied=True)
    with pytest.raises(UsageError, match="less than the 16 of the tables alone"):
        embcalc.estimate(vocab_size=2, hidden_size=4, total_params=15)
    with pytest.raises(UsageError, match="more than the 2 rows"):
        embcalc.estimate(vocab_size=2, hidden_size=4, trainable_rows=3)
    with pytest.raises(UsageError, match="needs a MODEL"):
        embcalc.estimate(vocab_size=2)


def test_a_head_where_the_class_has_none(tmp_path: Path) -> None:
    path = _config(tmp_path, model_type="clip_text_model", vocab_size=10, hidden_size=4)
    report = embcalc.estimate(path, tied=False)
    assert ("output", 10, 4, False) in _shapes(report)


def test_a_class_with_a_head_whose_config_says_nothing_of_tying(tmp_path: Path) -> None:
    """The class defaults of bros name no tie_word_embeddings; its architecture is what counts."""
    sizes = {"model_type": "bros", "vocab_size": 10, "hidden_size": 4}
    assert ("output", 10, 4, False) not in _shapes(embcalc.estimate(_config(tmp_path, **sizes)))
    path = _config(tmp_path, **sizes, architectures=["BrosForCausalLM"])
    assert ("output", 10, 4, False) in _shapes(embcalc.estimate(path))


def test_unknown_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as caught:
        embcalc.estimate("bert-base-uncasd")
    assert caught.value.hint is not None
    assert "bert-base-uncased" in caught.value.hint
    with pytest.raises(SourceError) as caught:
        embcalc.estimate("zzzz")
    assert "embcalc presets" in (caught.value.hint or "")
    with pytest.raises(SourceError, match="no such file"):
        embcalc.estimate("absent.json")


def test_a_local_path_wins_over_a_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "gpt2"
    folder.mkdir()
    _config(folder, model_type="gpt2", vocab_size=7, n_embd=2)
    assert embcalc.estimate("gpt2").model.vocab_size == 7


def test_frozen_tables_and_rows() -> None:
    frozen = embcalc.estimate("gpt2", frozen=True, precision="fp32")
    assert frozen.memory[0].bytes.total == 39_383_808 * 4
    assert frozen.parameters.trainable == 0
    positions = embcalc.estimate("gpt2", freeze=["position"], precision="fp32")
    assert positions.parameters.trainable == 38_597_376
    rows = embcalc.estimate("gpt2", trainable_rows=3, precision="fp32")
    assert rows.parameters.trainable == 3 * 768
    assert rows.fine_tuning is not None
    tied = embcalc.estimate("gpt2", freeze=["token"], precision="fp32")
    assert tied.parameters.trainable == 786_432


def test_growth_reaches_the_logits() -> None:
    report = embcalc.estimate(
        "llama-2-7b", add_tokens=5, pad_to=64, batch_size=2, seq_len=10, precision="amp"
    )
    assert report.growth is not None
    assert (report.growth.new_rows, report.growth.padding_rows) == (32_064, 59)
    assert report.growth.added_parameters == 2 * 64 * 4096
    assert report.growth.added_bytes == {"amp": 2 * 64 * 4096 * 16}
    assert report.growth.added_logits_bytes == 20 * 64 * 12


def test_notes_about_what_is_assumed() -> None:
    report = embcalc.estimate(
        vocab_size=100,
        hidden_size=8,
        tied=False,
        optimizer="sparse-adam",
        batch_size=1,
        seq_len=4,
        zero_stage=1,
        budget=10**9,
    )
    text = " ".join(report.assumptions)
    assert "sparse gradient has 4 rows" in text
    assert "ZeRO shards nothing" in text
    assert "logits are not sharded" in text


@pytest.mark.real
def test_minilm(minilm: Path) -> None:
    report = embcalc.estimate(minilm, precision="fp32")
    assert report.parameters.model_total == 22_713_216
    assert report.parameters.share_of_model == pytest.approx(0.516, abs=0.001)
    assert [table.rows for table in report.tables] == [30_522, 512, 2]
