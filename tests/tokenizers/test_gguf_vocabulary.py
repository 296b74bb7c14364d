from __future__ import annotations

from pathlib import Path

import pytest

from embcalc.core.findings import Severity
from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers import read_tokenizer
from embcalc.usecases.check_vocab import CheckOptions, check_vocab
from tests.tokenizers.folders import folder

gguf = pytest.importorskip("gguf")
TEXTS = ["<unk>", "<s>", "▁a", "<|x|>", "[PAD4]"]


def written(path: Path, *, tokens: list[str] | None, model: str = "llama") -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    if tokens is not None:
        writer.add_token_list(tokens)
        writer.add_token_types([2, 3, 1, 4, 5][: len(tokens)])
    writer.add_bos_token_id(1)
    writer.add_pad_token_id(9)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def read(path: Path) -> Vocabulary:
    vocabulary = read_tokenizer(folder(path, {}), "m.gguf").vocabulary
    assert vocabulary is not None
    return vocabulary


def test_tokens_of_the_metadata(tmp_path: Path) -> None:
    written(tmp_path / "m.gguf", tokens=TEXTS)
    vocabulary = read(tmp_path)
    assert [vocabulary.text(i) for i in range(5)] == TEXTS
    assert (vocabulary.size, set(vocabulary.special_ids)) == (5, {1})
    assert set(vocabulary.added_ids) == {1, 3}
    assert vocabulary.form is TextForm.SENTENCEPIECE


def test_special_ids_are_stated_by_the_file(tmp_path: Path) -> None:
    written(tmp_path / "m.gguf", tokens=TEXTS, model="gpt2")
    facts = read_tokenizer(folder(tmp_path, {}))
    assert [(one.name, one.ids) for one in facts.stated] == [
        ("bos_token_id", (1,)),
        ("pad_token_id", (9,)),
    ]
    bos = facts.named_id("bos_token")
    assert bos is not None
    assert (bos.text, bos.id) == ("<s>", 1)
    assert facts.vocabulary is not None
    assert facts.vocabulary.form is TextForm.BYTE_LEVEL


def test_a_text_that_stands_twice(tmp_path: Path) -> None:
    written(tmp_path / "m.gguf", tokens=["a", "b", "a"])
    facts = read_tokenizer(folder(tmp_path, {}))
    assert [(one.text, one.ids) for one in facts.duplicates] == [("a", (0, 2))]
    assert facts.vocabulary is not None
    assert facts.vocabulary.max_id == 2


@pytest.mark.parametrize("content", [None, b"GGUF\x03\x00", b"nonsense"])
def test_a_file_without_a_vocabulary_is_a_problem(tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        written(tmp_path / "m.gguf", tokens=None)
    else:
        (tmp_path / "m.gguf").write_bytes(content)
    facts = read_tokenizer(folder(tmp_path, {}))
    assert facts.vocabulary is None
    assert len(facts.problems) == 1


def test_the_error_is_raised_where_the_vocabulary_alone_is_wanted(tmp_path: Path) -> None:
    from embcalc.tokenizers import read_vocabulary

    written(tmp_path / "m.gguf", tokens=None)
    with pytest.raises(TokenizerError, match="holds no vocabulary"):
        read_vocabulary(folder(tmp_path, {}))


@pytest.mark.parametrize(
    ("tokens", "severity"), [(TEXTS, Severity.NOTE), (None, Severity.ERROR)], ids=["some", "none"]
)
def test_a_file_of_a_vocabulary_alone_is_fine(
    tokens: list[str] | None, severity: Severity, tmp_path: Path
) -> None:
    written(tmp_path / "m.gguf", tokens=tokens)
    report = check_vocab(str(tmp_path / "m.gguf"), CheckOptions(select=("EMB606",)))
    assert [finding.severity for finding in report.findings] == [severity]
