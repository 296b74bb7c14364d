"""Model folders made from the numbers of public vocabulary reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "vocab_cases.json").read_text("utf-8")
)
"""One report each: its numbers, the verdict in words, and what `check-vocab` should say
(`expect`), or why the numbers do not decide it (`undecidable`)."""


def header_only(path: Path, tensors: Mapping[str, tuple[int, ...]]) -> None:
    """Write a safetensors file whose tensors are holes in the file: real shapes, no bytes."""
    entries, at = {}, 0
    for name, shape in tensors.items():
        size = 2
        for axis in shape:
            size *= axis
        entries[name] = {"dtype": "F16", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header)
        stream.truncate(8 + len(header) + at)


def write_json(path: Path, document: object) -> None:
    path.write_bytes(msgspec.json.encode(document))


@dataclass(frozen=True)
class Built:
    """A case as a command line."""

    folder: Path
    options: tuple[str, ...]


def build(case: Mapping[str, Any], root: Path) -> Built:
    """Make the folders of one case."""
    folder = root / "model"
    options: list[str] = []
    if case.get("adapter"):
        _adapter(case, folder)
    else:
        _model(case, folder)
    for name in ("base", "against"):
        if name in case:
            other = {"tokens": case.get("tokens"), "model_type": case.get("model_type")}
            if name == "base":
                other = {}
            elif "added" in case:
                other["added"] = case["added"]
            _model({**other, **case[name]}, root / name)
            options += [f"--{name}", str(root / name)]
    return Built(folder, tuple(options))


def _model(case: Mapping[str, Any], folder: Path) -> None:
    folder.mkdir()
    write_json(folder / "config.json", _config(case))
    tensors = {}
    if "rows" in case:
        tensors["model.embed_tokens.weight"] = (case["rows"], 1)
    head = case.get("head", case.get("decoder_rows"))
    if head is not None and "rows" in case:
        tensors["lm_head.weight"] = (head, 1)
    if tensors:
        header_only(folder / "model.safetensors", tensors)
    _texts(case, folder)


def _config(case: Mapping[str, Any]) -> dict[str, Any]:
    own = {"model_type": case.get("model_type"), **case.get("config", {})}
    if case.get("nested"):
        text = {"hidden_size": 1}
        if "vocab_size" in case:
            text["vocab_size"] = case["vocab_size"]
        return {**own, "text_config": text}
    if "vocab_size" in case:
        own["vocab_size"] = case["vocab_size"]
    return {key: value for key, value in own.items() if value is not None}


def _adapter(case: Mapping[str, Any], folder: Path) -> None:
    folder.mkdir()
    write_json(folder / "adapter_config.json", {"peft_type": "LORA", "r": 1})
    tensors = {"base_model.model.model.layers.0.q_proj.lora_A.weight": (1, 1)}
    if "rows" in case:
        tensors["base_model.model.model.embed_tokens.weight"] = (case["rows"], 1)
    if "head" in case:
        tensors["base_model.model.lm_head.weight"] = (case["head"], 1)
    header_only(folder / "adapter_model.safetensors", tensors)
    if "new_rows" in case:
        new = {"input_embeddings": (case["new_rows"], 1)}
        header_only(folder / "new_embeddings.safetensors", new)
    _texts(case, folder)


def _texts(case: Mapping[str, Any], folder: Path) -> None:
    if case.get("pointer"):
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 499723\n"
        (folder / case["pointer"]).write_text(pointer)
    if case.get("tokens") is not None or case.get("max_id") is not None:
        write_json(folder / "tokenizer.json", _tokenizer(case))
    if "generation" in case:
        write_json(folder / "generation_config.json", case["generation"])
    files = dict(case.get("files", {}))
    if "named" in case:
        own = _own_texts(case)
        named = {f"{name}_token": own.get(i, f"t{i}") for name, i in case["named"].items()}
        files["tokenizer_config.json"] = {**files.get("tokenizer_config.json", {}), **named}
    for name, document in files.items():
        write_json(folder / name, document)


def _own_texts(case: Mapping[str, Any]) -> dict[int, str]:
    """Ids whose text is not simply their number."""
    texts = {i: text for text, i in case.get("added", {}).items()}
    return texts | {int(i): text for i, text in case.get("renamed", {}).items()}


@cache
def _entries() -> list[str]:
    """Members of a vocabulary, made once: the cases have up to 262,145 of them each."""
    return [f'"t{i}":{i}' for i in range(270_000)]


def _vocab(count: int, largest: int, own: Mapping[int, str]) -> msgspec.Raw:
    """`count` texts in the order of their ids, the last of them at `largest`."""
    members = _entries()[:count]
    members[-1] = f'"t{largest}":{largest}'
    for i, text in own.items():
        if i < count - 1 or i == largest:
            members[min(i, count - 1)] = f"{json.dumps(text)}:{i}"
    return msgspec.Raw(f"{{{','.join(members)}}}".encode())


def _tokenizer(case: Mapping[str, Any]) -> dict[str, Any]:
    """A base vocabulary, and the texts of `added` behind it where they come last."""
    tokens: Any = case.get("tokens")
    largest: Any = case.get("max_id")
    count: int = largest + 1 if tokens is None else tokens
    largest = count - 1 if largest is None else largest
    added = sorted(case.get("added", {}).items(), key=lambda item: item[1])
    appended = [item for item in added if count - len(added) <= item[1] < count]
    base = count - len(appended) if largest + 1 == count else count
    last = largest if largest + 1 > count else base - 1
    listed = [{"id": i, "content": text, "special": True} for text, i in appended]
    declared = case.get("declared", {})
    listed += [{"id": i, "content": text, "special": True} for text, i in declared.items()]
    vocab = _vocab(base, last, _own_texts(case))
    return {"added_tokens": listed, "model": {"type": "BPE", "vocab": vocab, "merges": []}}
