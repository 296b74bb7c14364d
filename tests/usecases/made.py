"""Model folders as public families lay them out, with small numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embcalc.core.findings import Severity
from embcalc.core.reports.check import CheckReport
from embcalc.usecases.check_vocab import CheckOptions, check_vocab
from tests.tokenizers.folders import Content, added_token, folder, tokenizer
from tests.usecases.cases import header_only

Rows = Mapping[str, int | tuple[int, ...]]
EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"
LLAMA = {0: "<unk>", 1: "<s>", 2: "</s>"}
INFINITE = 10**30
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n"


@dataclass(frozen=True)
class Made:
    """A folder, what is asked of it, and what the answer is known to be."""

    verdict: str
    """`error`, `warning` or `fine`."""
    files: Mapping[str, Content]
    rows: Rows = field(default_factory=dict)
    """Rows of tables of width 1, or whole shapes."""
    codes: str = ""
    """Rules that have to answer."""
    weights_file: str = "model.safetensors"
    options: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Make the folder."""
        folder(path, self.files)
        if self.rows:
            shapes = {n: r if isinstance(r, tuple) else (r, 1) for n, r in self.rows.items()}
            header_only(path / self.weights_file, shapes)
        return path

    def check(self, path: Path, **options: Any) -> CheckReport:
        """Make the folder and judge it."""
        return check_vocab(str(self.write(path)), CheckOptions(**{**self.options, **options}))


def verdict(report: CheckReport) -> str:
    """The gravest severity; notes are fine."""
    found = {finding.severity for finding in report.findings}
    return next((s.value for s in Severity if s in found and s is not Severity.NOTE), "fine")


def agree(made: Made, report: CheckReport) -> None:
    """Assert that verdict and rules are as known beforehand, and that each finding helps."""
    said = [f"{f.rule} {f.message}" for f in report.findings]
    assert verdict(report) == made.verdict, said
    assert set(made.codes.split()) <= {finding.rule for finding in report.findings}, said
    assert report.ok == (made.verdict != "error")
    assert all(finding.message and finding.hint for finding in report.findings)


def config(model_type: str, vocab_size: int | None = None, **keys: Any) -> dict[str, Content]:
    """A config.json of width 1."""
    size = {} if vocab_size is None else {"vocab_size": vocab_size}
    return {"config.json": {"model_type": model_type, "hidden_size": 1, **size, **keys}}


def nested(model_type: str, text_type: str, size: int | None, **keys: Any) -> dict[str, Content]:
    """A config.json with a text configuration in it."""
    text = {"model_type": text_type, "hidden_size": 1}
    more = {} if size is None else {"vocab_size": size}
    return {"config.json": {"model_type": model_type, "text_config": {**text, **more}, **keys}}


def texts(count: int, names: Mapping[int, str] | None = None) -> dict[str, int]:
    """A base vocabulary: `t0`, `t1` … but for the names given."""
    return {(names or {}).get(i, f"t{i}"): i for i in range(count)}


def tokens(
    count: int,
    names: Mapping[int, str] | None = None,
    added: Sequence[tuple[str, int]] = (),
    **parts: Any,
) -> dict[str, Content]:
    """A tokenizer.json; named base tokens are listed as added ones too, as the library does."""
    listed = [added_token(text, i) for i, text in (names or {}).items()]
    listed += [added_token(text, i) for text, i in added]
    return {"tokenizer.json": tokenizer(texts(count, names), listed, **parts)}


def behind(first: int, *named: str) -> list[tuple[str, int]]:
    """Added tokens in a row."""
    return [(text, first + i) for i, text in enumerate(named)]


def settings(**keys: Any) -> dict[str, Content]:
    """A tokenizer_config.json."""
    return {"tokenizer_config.json": keys}


def generation(**keys: Any) -> dict[str, Content]:
    """A generation_config.json."""
    return {"generation_config.json": keys}


def lines(count: int, *first: str) -> str:
    """A vocab.txt that begins with some texts."""
    return "".join(f"{text}\n" for text in (*first, *(f"w{i}" for i in range(len(first), count))))


def pieces(count: int, names: Mapping[int, str] | None = None) -> bytes:
    """A SentencePiece model of `count` pieces; the one called unknown is marked so."""
    named = names or LLAMA
    model = b""
    for index in range(count):
        text = named.get(index, f"t{index}")
        kind = 2 if text in ("<unk>", "[UNK]") else 3 if text in ("<s>", "</s>", "<pad>") else 1
        piece = _field(1, text.encode()) + b"\x15\0\0\0\0" + bytes([0x18, kind])
        model += _field(1, piece)
    return model + _field(2, b"\x18\x02")


def _field(number: int, content: bytes) -> bytes:
    """A protobuf field of bytes, shorter than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content
