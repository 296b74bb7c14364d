"""Whether the output head is the token table, from config, presence and equality together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from embcalc.core.config import ModelConfig
from embcalc.core.findings import Problem, Severity
from embcalc.core.tables import EmbeddingTable, Role

Verdict = Literal[
    "tied", "tied-stored-twice", "untied", "head-missing", "no-head", "conflict", "unknown"
]
Said = bool | None
"""Yes, no, or nothing says so."""
Equality = bool | Callable[[], bool | None] | None
"""Whether the values of both tables are equal: known, to be computed when it matters, or not
to be had."""

_WITH_HEAD = (
    "LMHeadModel",
    "ModelWithLMHead",
    "ForCausalLM",
    "ForMaskedLM",
    "ForPreTraining",
    "ForConditionalGeneration",
    "DoubleHeadsModel",
    # Named like bare models, and yet they compute logits.
    "MarianMTModel",
    "EncoderDecoderModel",
    "SeamlessM4TModel",
    "SeamlessM4Tv2Model",
    "Blip2Model",
    "RagModel",
    "BarkCausalModel",
    "Pix2StructTextModel",
    "ChatGLMModel",
)
_HEADLESS = (
    "Model",
    "ModelWithProjection",
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForQuestionAnsweringSimple",
    "ForMultipleChoice",
    "ForNextSentencePrediction",
)
_DISCRIMINATORS = ("ElectraForPreTraining", "FunnelForPreTraining", "SplinterForPreTraining")
"""Pre-trained to judge tokens or to find spans, not to predict tokens: they have no output head."""


@dataclass(frozen=True, slots=True)
class Tying:
    """A verdict with its reason."""

    verdict: Verdict
    reason: str
    """One sentence for people."""


def expects_head(
    architectures: Sequence[str], tables: int, tensors: int, config: ModelConfig | None = None
) -> bool | None:
    """Say whether a model computes logits over its vocabulary, as far as can be told.

    Args:
        architectures: class names of the config (`BertModel`, `LlamaForCausalLM`).
        tables: number of embedding tables found.
        tensors: number of all tensors.
        config: where it says how table and head are tied, that outweighs the numbers.

    Returns:
        None when nothing says so. A file of nothing but tables has no head.
    """
    if any(name in _DISCRIMINATORS for name in architectures):
        return False
    if any(name.endswith(_WITH_HEAD) for name in architectures):
        return True
    if any(name.endswith(_HEADLESS) for name in architectures):
        return False
    told = config is not None and config.tells_tying
    return False if 0 < tensors == tables and not told else None


def said_of_tying(
    config: ModelConfig | None, tables: Iterable[EmbeddingTable], container: str
) -> Said:
    """What config and container say; where a nested config says both, what fits the tables.

    Some classes go by the outer level and some by the text model's; a file that one of them
    wrote contradicts itself in its config, and no harm is done.

    Args:
        config: beside the checkpoint, or None.
        tables: as `embedding_tables` gives them.
        container: format of the checkpoint; an absent head of a GGUF file is the token table.
    """
    if config is not None and config.tied_disputed:
        return not {Role.TOKEN, Role.OUTPUT} <= {table.role for table in tables}
    said = config.tied if config else None
    return True if said is None and container == "gguf" else said


def verdict(
    config_tied: Said,
    tables: Iterable[EmbeddingTable],
    equal: Equality = None,
    *,
    has_head: bool | None = None,
    unread: str | None = None,
) -> Tying:
    """Judge from what the config says, which tables are stored, and whether they are equal.

    Args:
        config_tied: what the config (or its class default) says; None without a config.
            A container that defines an absent head as tied (GGUF) counts as True.
        tables: as `embedding_tables` gives them; the first token table and the first head count.
        equal: asked only when both are stored, apart and of one shape; None means not checked.
        has_head: False for a model that computes no logits (`expects_head`).
        unread: why a config that is there does not say whether they are tied. Without its word,
            only equality and a shared storage are beyond doubt.
    """
    listed = tuple(tables)
    token = next((table for table in listed if table.role is Role.TOKEN), None)
    head = next((table for table in listed if table.role is Role.OUTPUT), None)
    if token is None:
        judged = _without_token(config_tied, head)
    elif head is None:
        judged = _without_head(config_tied, token, has_head)
    else:
        judged = _with_both(config_tied, token, head, equal)
    if unread is None or judged.verdict == "tied-stored-twice" or _share_storage(token, head):
        return judged
    return Tying("unknown", f"{_what_is_stored(token, head)}; {unread}")


def may_lie_elsewhere(tables: Iterable[EmbeddingTable], problems: Iterable[Problem]) -> bool:
    """Whether table or head is not seen, and files are missing that may hold it."""
    roles = {table.role for table in tables}
    broken = any(problem.severity is Severity.ERROR for problem in problems)
    return broken and not {Role.TOKEN, Role.OUTPUT} <= roles


def _share_storage(token: EmbeddingTable | None, head: EmbeddingTable | None) -> bool:
    if token is None or head is None or token.tensor.storage is None:
        return False
    return token.tensor.storage == head.tensor.storage


def _what_is_stored(token: EmbeddingTable | None, head: EmbeddingTable | None) -> str:
    if token is not None and head is not None:
        return f"{token.name} and {head.name} differ"
    stored = token or head
    return f"only {stored.name} is stored" if stored else "no token table and no head were found"


def _without_token(config_tied: Said, head: EmbeddingTable | None) -> Tying:
    if head is None:
        return Tying("unknown", "no token table and no output head were found")
    if config_tied is False:
        return Tying(
            "conflict", f"config says untied, but only {head.name} is stored: no input table"
        )
    return Tying("tied", f"only {head.name} is stored: it is the input table too")


def _without_head(config_tied: Said, token: EmbeddingTable, has_head: Said) -> Tying:
    if has_head is False:
        return Tying("no-head", f"{token.name} is stored, and this model has no output head")
    if config_tied is None:
        return Tying("unknown", "no output head is stored, and no config says whether it is tied")
    if config_tied:
        return Tying("tied", f"config says tied, and {token.name} is stored without a head")
    return Tying("head-missing", "config says untied, but no output head is stored")


def _with_both(
    config_tied: Said, token: EmbeddingTable, head: EmbeddingTable, equal: Equality
) -> Tying:
    both = f"{token.name} and {head.name}"
    if _share_storage(token, head):
        return Tying("tied", f"{both} share one storage")
    if (token.rows, token.width) != (head.rows, head.width):
        shapes = f"[{token.rows}, {token.width}] and [{head.rows}, {head.width}]"
        return _different(config_tied, f"{both} have shapes {shapes}")
    same = equal() if callable(equal) else equal
    if same is None:
        return _not_compared(config_tied, both)
    if not same:
        return _different(config_tied, f"{both} hold different values")
    said = ", though config says untied" if config_tied is False else ""
    size = head.tensor.nbytes
    shown = f"{size / 1e6:,.1f} MB" if size >= 10**5 else f"{size / 1e3:,.1f} kB"
    redundant = f"{shown} are redundant"
    return Tying("tied-stored-twice", f"{both} are bit-equal{said}: {redundant}")


def _different(config_tied: Said, what: str) -> Tying:
    if config_tied:
        return Tying("conflict", f"config says tied, but {what}: loading keeps one of them")
    return Tying("untied", what)


def _not_compared(config_tied: Said, both: str) -> Tying:
    if config_tied is False:
        return Tying("untied", f"config says untied, and {both} are stored (values not compared)")
    return Tying("unknown", f"{both} are stored, and their values were not compared")
