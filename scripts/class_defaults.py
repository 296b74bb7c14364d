"""Write src/embcalc/data/class_defaults.json: what each configuration class takes by default.

Needs `transformers` and `torch` (neither is a dependency of embcalc):

    pip install transformers==5.24.0 && python scripts/class_defaults.py

Side tables are found by building each text model twice on torch's meta device, the second time
with a recognisable number under each key that may size a table.
"""

from __future__ import annotations

import importlib
import inspect
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "src" / "embcalc" / "data" / "class_defaults.json"
PROBES = {
    "max_position_embeddings": 331,
    "n_positions": 337,
    "max_target_positions": 347,
    "max_encoder_position_embeddings": 349,
    "max_decoder_position_embeddings": 353,
    "type_vocab_size": 17,
}
SMALL = dict.fromkeys(
    ("num_hidden_layers", "encoder_layers", "decoder_layers", "n_layer", "num_layers", "n_layers"),
    1,
)
NARROW = dict.fromkeys(("embedding_size", "word_embed_proj_dim"), 96)
"""Sets a factorised width apart from the model's."""
SECONDS_A_CLASS = 40
SPEAKS_AUDIO = ("musicgen", "musicgen_melody")
"""Classes whose decoder has codebooks for a vocabulary."""
SHIFTED = "create_position_ids_from_input_ids"
"""Classes with this function count positions from the padding id + 1."""

Found = dict[str, tuple[tuple[int, ...], bool]]


def main() -> None:
    """Write the table, one class a line."""
    from transformers import CONFIG_MAPPING
    from transformers.utils import logging

    logging.set_verbosity_error()
    signal.signal(signal.SIGALRM, _too_slow)
    lines = []
    for model_type in sorted(CONFIG_MAPPING):
        record = _record(model_type, CONFIG_MAPPING[model_type])
        if record is not None:
            lines.append(f"{json.dumps(model_type)}: {json.dumps(record)}")
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _too_slow(*_: object) -> None:
    raise TimeoutError


def _record(model_type: str, config_class: Any) -> dict[str, Any] | None:
    try:
        config = config_class()
    except Exception as error:
        print(f"{model_type}: {type(error).__name__}", file=sys.stderr)
        return None
    record: dict[str, Any] = {}
    for key in ("vocab_size", "hidden_size"):
        value = getattr(config, key, None)
        if isinstance(value, int):
            record[key] = value
    if isinstance(getattr(config, "tie_word_embeddings", None), bool):
        record["tied"] = config.tie_word_embeddings
    ids = {
        name: getattr(config, name)
        for name in _id_names()
        if getattr(config, name, None) is not None
    }
    if ids:
        record["special_ids"] = ids
    record.update(_text(config))
    record.update(_per_layer(config))
    if "vocab_size" in record:
        record.update(_side_tables(model_type, config_class))
    return record


def _id_names() -> tuple[str, ...]:
    kinds = ("pad", "bos", "eos", "image", "audio", "video", "decoder_start")
    return (*(f"{kind}_token_id" for kind in kinds), "image_token_index")


def _text(config: Any) -> dict[str, Any]:
    try:
        text = config.get_text_config(decoder=True)
    except ValueError:
        return {}
    if text.model_type == config.model_type or config.model_type in SPEAKS_AUDIO:
        return {}
    if not isinstance(getattr(text, "vocab_size", None), int):
        return {}
    return {"text": [text.model_type, text.vocab_size]}


def _per_layer(config: Any) -> dict[str, Any]:
    rows = getattr(config, "vocab_size_per_layer_input", None)
    width = getattr(config, "hidden_size_per_layer_input", None)
    if not rows or not width:
        return {}
    return {"per_layer": [rows, width, config.num_hidden_layers]}


def _side_tables(model_type: str, config_class: Any) -> dict[str, Any]:
    signal.alarm(SECONDS_A_CLASS)
    try:
        build = _builder(config_class)
        plain, _, _ = build({})
        config = config_class()
        probes = {key: value for key, value in PROBES.items() if hasattr(config, key)}
        probed, width, module = build(probes)
    except Exception as error:
        print(f"{model_type}: no tables, {type(error).__name__}: {error}"[:120], file=sys.stderr)
        return {}
    finally:
        signal.alarm(0)
    shift = SHIFTED in inspect.getsource(sys.modules[module])
    tables = list(_changed(plain, probed, probes, config, width))
    if shift:
        tables = [[*row, row[0] == "position"] for row in tables]
    return {"side_tables": tables} if tables else {}


def _builder(config_class: Any) -> Callable[[dict[str, int]], tuple[Found, int, str]]:
    import torch

    def build(overrides: dict[str, int]) -> tuple[Found, int, str]:
        config = config_class()
        for key, value in {**SMALL, **NARROW, **overrides}.items():
            if hasattr(config, key):
                # Some classes compute the depth, and need no help to be small.
                with suppress(NotImplementedError, AttributeError):
                    setattr(config, key, value)
        if getattr(config, "layer_types", None):
            config.layer_types = config.layer_types[:1]
        with torch.device("meta"):
            model = _model(config)
        found = {
            name: (tuple(parameter.shape), parameter.requires_grad)
            for name, parameter in model.named_parameters()
            if parameter.dim() == 2 and ("embed" in name or "pos_emb" in name or "wpe" in name)
        }
        return found, model.get_input_embeddings().weight.shape[1], type(model).__module__

    return build


def _model(config: Any) -> Any:
    from transformers import AutoModel

    try:
        return AutoModel.from_config(config)
    except ValueError:
        module = importlib.import_module(
            type(config).__module__.replace("configuration_", "modeling_")
        )
        candidates: list[Any] = [item for _, item in inspect.getmembers(module, inspect.isclass)]
        for candidate in candidates:
            if getattr(candidate, "config_class", None) is type(config):
                try:
                    return candidate(config)
                except Exception:
                    continue
        raise


def _changed(
    plain: Found, probed: Found, probes: dict[str, int], config: Any, width: int
) -> Iterator[list[Any]]:
    """One row a table, see SideDefault in core/class_defaults.py.

    `[role, key, default, extra rows, whether as wide as the token table]`; `_side_tables` adds
    whether positions count from the padding id + 1.
    """
    for name, (shape, trained) in probed.items():
        if plain.get(name, (None,))[0] == shape or not trained or "visual" in name:
            continue
        for key, value in probes.items():
            extra = shape[0] - value
            if 0 <= extra <= 2 and shape[1] in (width, getattr(config, "hidden_size", width)):
                role = "token_type" if key == "type_vocab_size" else "position"
                yield [role, key, getattr(config, key), extra, shape[1] == width]
                break


if __name__ == "__main__":
    main()
