"""How config.json spells things: nested text configurations, old key names, whole numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from embcalc.core.class_defaults import class_defaults
from embcalc.core.findings import Problem, Severity
from embcalc.errors import ConfigError

TEXT_KEYS = (
    "text_config",
    "language_config",
    "language",
    "llm_config",
    "thinker_config",
    "language_model",
    "llm",
    "decoder",
    "generator",
)
"""Keys under which models of several parts keep their text model, the likeliest first."""
TEXT_KEYS_OF = {
    "musicgen": ("text_encoder",),
    "musicgen_melody": ("text_encoder",),
    "dia": ("encoder_config",),
    "bark": ("semantic_config",),
    "seamless_m4t": (),
}
"""Classes whose decoder speaks audio: their text model lies elsewhere."""
VOCABULARY_KEYS = (
    "vocab_size",
    "padded_vocab_size",
    "text_vocab_size",
    "tgt_vocab_size",
    "input_vocab_size",
    "n_vocab",
    "n_words",
)
HIDDEN_KEYS = (
    "hidden_size",
    "d_model",
    "n_embd",
    "n_embed",
    "dim",
    "emb_dim",
    "embedding_dim",
    "d_embed",
    "n_text_state",
)
LESSER_HIDDEN_KEYS = ("embedding_size", "hidden_dim")
"""They mean the model's width only where nothing else does."""
FACTORISED_KEYS = ("word_embed_proj_dim", "input_embedding_size", "embedding_size")
"""Widths of a token table that is narrower or wider than the model."""
TIE_KEY = "tie_word_embeddings"

DEEPEST = 3
"""Levels of nesting that are followed: two are known (`thinker_config.text_config`)."""


@dataclass(frozen=True, slots=True)
class Level:
    """One mapping of a nested configuration and the way to it."""

    document: Mapping[str, Any]
    path: str
    """`config.json:` or `config.json:text_config.`."""
    wrong: list[Problem] | None = field(default=None, compare=False, repr=False)
    """Where values of a wrong type are noted, to count as unknown; None raises them."""

    @property
    def model_type(self) -> str | None:
        """The class that the level names."""
        value = self.document.get("model_type")
        return value if isinstance(value, str) and value else None

    def whole(self, key: str, limit: int) -> int | None:
        """A positive whole number, or None where the key is absent or null.

        Raises:
            ConfigError: the value is something else, or beyond `limit`, and wrong values are
                not noted.
        """
        value = self.document.get(key)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(key, ", not a whole number")
            return None
        if not 0 < value <= limit:
            self.refuse(key, f": it must be between 1 and {limit:,}")
            return None
        return value

    def first_whole(self, keys: Iterable[str], limit: int) -> tuple[int, str] | None:
        """The first of several spellings that is there: its value and its full path."""
        for key in keys:
            value = self.whole(key, limit)
            if value is not None:
                return value, f"{self.path}{key}"
        return None

    def boolean(self, key: str) -> bool | None:
        """A true or false, also written as 1 or 0; None where the key is absent or null.

        Raises:
            ConfigError: the value is something else, and wrong values are not noted.
        """
        value = self.document.get(key)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        self.refuse(key, ", neither true nor false")
        return None

    def refuse(self, key: str, why: str, severity: Severity | None = None) -> None:
        """Note, or raise, that a value cannot be used.

        Args:
            key: of this level.
            why: how the sentence goes on behind the value.
            severity: where it is no error.

        Raises:
            ConfigError: wrong values are not noted.
        """
        message = f"{self.path}{key} is {_shown(self.document[key])}{why}"
        if self.wrong is None:
            raise ConfigError(message, hint="correct it in the file")
        if all(known.message != message for known in self.wrong):
            file = self.path.partition(":")[0]
            self.wrong.append(Problem(message, "correct it in the file", file, severity=severity))

    def refused(self, keys: Iterable[str]) -> str | None:
        """What was noted about one of some keys; None for nothing."""
        begins = tuple(f"{self.path}{key} is " for key in keys)
        noted = (problem.message for problem in self.wrong or ())
        return next((message for message in noted if message.startswith(begins)), None)


def levels(
    document: Mapping[str, Any], file: str, wrong: list[Problem] | None = None
) -> tuple[Level, ...]:
    """The configuration and the text configurations nested in it, the outermost first."""
    return tuple(_descend(Level(document, f"{file}:", wrong), DEEPEST))


def _descend(level: Level, depth: int) -> Iterator[Level]:
    yield level
    if not depth:
        return
    keys = TEXT_KEYS_OF.get(level.model_type or "", TEXT_KEYS)
    for key in keys:
        nested = level.document.get(key)
        if isinstance(nested, Mapping):
            inner = tuple(_descend(Level(nested, f"{level.path}{key}.", level.wrong), depth - 1))
            if any(_speaks_text(item) for item in inner):
                yield from inner
                return


def _speaks_text(level: Level) -> bool:
    if any(level.document.get(key) is not None for key in (*VOCABULARY_KEYS, *HIDDEN_KEYS)):
        return True
    defaults = class_defaults(level.model_type)
    return defaults is not None and (defaults.vocab_size or defaults.text_vocab_size) is not None


def _shown(value: object) -> str:
    """A JSON value as the file has it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."
