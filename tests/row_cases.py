"""Small models with each illness of rows that was seen in real ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

Table = NDArray[np.float32]
WIDTH = 64
TOKEN = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def trained(rows: int, width: int = WIDTH, seed: int = 1, size: float = 0.8) -> Table:
    """Rows of different lengths around `size`, in all directions: what training leaves.

    The legacy generator's numbers are the same for every numpy.
    """
    random = np.random.RandomState(seed)
    directions = random.standard_normal((rows, width))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = size * np.exp(0.15 * random.standard_normal((rows, 1)))
    return (directions * lengths).astype(np.float32)


def fresh(rows: int, width: int = WIDTH, sigma: float = 0.02, seed: int = 2) -> Table:
    """Rows as a framework initialises them."""
    normal = np.random.RandomState(seed).standard_normal((rows, width))
    return (sigma * normal).astype(np.float32)


def words(count: int) -> list[str]:
    """Plain texts for a vocabulary, `[UNK]` first."""
    return ["[UNK]", *(f"word{index}" for index in range(1, count))]


def tokenizer(base: Sequence[str], added: Sequence[str] = (), *, special: bool = True) -> Any:
    """A tokenizer.json of whole words, with added tokens behind."""
    texts = list(dict.fromkeys([*base, *added]))
    return {
        "version": "1.0",
        "added_tokens": [
            {
                "id": texts.index(text),
                "content": text,
                "special": special,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
            }
            for text in added
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {text: index for index, text in enumerate(base)},
            "unk_token": base[0],
        },
    }


def write(
    folder: Path,
    tensors: Mapping[str, NDArray[Any]],
    *,
    tokens: Any = None,
    config: Mapping[str, Any] | None = None,
    template: str | None = None,
) -> Path:
    """Write a model folder."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(tensors), folder / "model.safetensors")
    rows = next(iter(tensors.values())).shape[0]
    default = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": rows,
        "hidden_size": WIDTH,
        "tie_word_embeddings": HEAD not in tensors,
    }
    files: dict[str, Any] = {"config.json": default | dict(config or {})}
    if tokens is not None:
        files["tokenizer.json"] = tokens
    if template is not None:
        files["tokenizer_config.json"] = {"chat_template": template}
    for name, document in files.items():
        (folder / name).write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    return folder


def healthy(folder: Path) -> Path:
    return write(folder, {TOKEN: trained(300)}, tokens=tokenizer(words(300)))


def zeros_and_near_zeros(folder: Path) -> Path:
    table = trained(400)
    table[100:173] = 0
    table[200:206] *= 1e-4
    return write(folder, {TOKEN: table}, tokens=tokenizer(words(400)))


def dead_chat_tokens(folder: Path) -> Path:
    base = words(380)
    chat = ["<|im_start|>", "<|im_end|>"]
    reserved = [f"<|reserved_special_token_{index}|>" for index in range(18)]
    table = trained(400)
    table[380:] = fresh(20, sigma=1e-18)
    tokens = tokenizer(base, chat + reserved)
    return write(folder, {TOKEN: table}, tokens=tokens, template=CHATML)


def reserved_rows(folder: Path) -> Path:
    reserved = [f"<|reserved_special_token_{index}|>" for index in range(40)]
    table = trained(340)
    table[300:] = fresh(40, sigma=0.002)
    return write(folder, {TOKEN: table}, tokens=tokenizer(words(300), reserved))


def dead_tokens(folder: Path) -> Path:
    """A tenth of the ordinary tokens lies where the reserved ones lie."""
    reserved = [f"<unused{index}>" for index in range(40)]
    table = trained(640)
    middle = trained(1, seed=9)
    for rows in (slice(300, 360), slice(600, 640)):
        count = table[rows].shape[0]
        table[rows] = middle * 0.5 + fresh(count, sigma=0.01, seed=count)
    return write(folder, {TOKEN: table}, tokens=tokenizer(words(600), reserved))


def padding_rows(folder: Path) -> Path:
    table = trained(320)
    table[291:] = fresh(29, sigma=0.001)
    return write(folder, {TOKEN: table}, tokens=tokenizer(words(291)))


def added_inside_padding(folder: Path) -> Path:
    table = trained(320)
    table[291:] = fresh(29, sigma=0.001)
    tokens = tokenizer(words(291), ["<tool_call>", "<tool_result>"], special=False)
    return write(folder, {TOKEN: table}, tokens=tokens)


def added_fresh(folder: Path) -> Path:
    """Added after training, resized, never trained."""
    table = np.concatenate([trained(300), fresh(4)])
    tokens = tokenizer(words(300), ["<a>", "<b>", "<c>", "<d>"])
    return write(folder, {TOKEN: table}, tokens=tokens)


def nan_rows(folder: Path) -> Path:
    table = trained(300)
    table[[17, 40], 3] = np.nan
    table[41, 5] = np.inf
    return write(folder, {TOKEN: table}, tokens=tokenizer(words(300)))


def mean_initialised(folder: Path) -> Path:
    table = trained(300)
    added = np.repeat(table.mean(axis=0, keepdims=True), 4, axis=0)
    tokens = tokenizer(words(300), ["<a>", "<b>", "<c>", "<d>"])
    return write(folder, {TOKEN: np.concatenate([table, added])}, tokens=tokens)


def moved_padding_row(folder: Path) -> Path:
    tokens = tokenizer(["<pad>", *words(299)], ["<pad>"])
    return write(folder, {TOKEN: trained(300)}, tokens=tokens, config={"pad_token_id": 0})


def still_padding_row(folder: Path) -> Path:
    table = trained(300)
    table[0] = 0
    tokens = tokenizer(["<pad>", *words(299)], ["<pad>"])
    return write(folder, {TOKEN: table}, tokens=tokens, config={"pad_token_id": 0})


def zeroed_table(folder: Path) -> Path:
    table = np.zeros((300, WIDTH), np.float32)
    return write(folder, {TOKEN: table}, tokens=tokenizer(words(300)))


def collapsed_on_unk(folder: Path) -> Path:
    table = trained(1000)
    table[500:530] = table[0] + fresh(30, sigma=0.02)
    return write(folder, {TOKEN: table}, tokens=tokenizer(words(1000)))


def swapped_head(folder: Path) -> Path:
    tensors = {TOKEN: trained(300), HEAD: 100 * trained(300, seed=5)}
    return write(folder, tensors, tokens=tokenizer(words(300)))


def tied_but_apart(folder: Path) -> Path:
    head = trained(300)
    head[7] *= 1.5
    config = {"tie_word_embeddings": True}
    tensors = {TOKEN: trained(300), HEAD: head}
    return write(folder, tensors, tokens=tokenizer(words(300)), config=config)


def stored_twice(folder: Path) -> Path:
    tensors = {TOKEN: trained(300), HEAD: trained(300)}
    config = {"tie_word_embeddings": True}
    return write(folder, tensors, tokens=tokenizer(words(300)), config=config)


def byte_swapped(folder: Path) -> Path:
    return write(folder, {TOKEN: trained(300).byteswap()}, tokens=tokenizer(words(300)))


def untrained_table(folder: Path) -> Path:
    return write(folder, {TOKEN: fresh(300)}, tokens=tokenizer(words(300)))


def dead_dimensions(folder: Path) -> Path:
    table = trained(300)
    table[:, 5] = 0
    table[:, 9] *= 7
    return write(folder, {TOKEN: table}, tokens=tokenizer(words(300)))


def hostile_tokens(folder: Path) -> Path:
    base = words(300)
    base[1:7] = [
        "\x1b[31mred",
        "a\r\nb",
        "\u202egnirts",
        "[/INST]",
        "<script>x</script>",
        "=cmd|' /C'!A",
    ]
    base[7:9] = ["你好你好你好你好你好你好你好", "👩‍👩‍👧"]
    table = trained(300)
    table[1:9] = 0
    return write(folder, {TOKEN: table}, tokens=tokenizer(base))


CASES: dict[str, Callable[[Path], Path]] = {
    build.__name__.replace("_", "-"): build
    for build in (
        healthy,
        zeros_and_near_zeros,
        dead_chat_tokens,
        reserved_rows,
        dead_tokens,
        padding_rows,
        added_inside_padding,
        added_fresh,
        nan_rows,
        mean_initialised,
        moved_padding_row,
        still_padding_row,
        zeroed_table,
        collapsed_on_unk,
        swapped_head,
        tied_but_apart,
        stored_twice,
        byte_swapped,
        untrained_table,
        dead_dimensions,
        hostile_tokens,
    )
}
