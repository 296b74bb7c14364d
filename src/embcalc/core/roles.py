"""From the names of tensors to their roles in the embedding layer.

Names are read from their end: the last one or two segments decide, whatever model they sit in.
Weak names (`head`, `output`, `embeddings`) count only right below a known parent.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import lru_cache

from embcalc.core.tables import EmbeddingTable, Role, TensorInfo
from embcalc.errors import CheckpointError

_WRAPPER_ANYWHERE = re.compile(
    r"(?<![^.])(_orig_mod|_fsdp_wrapped_module|_forward_module|_checkpoint_wrapped_module"
    r"|_fpw_module|_flat_param|base_layer|original_module|modules_to_save(\.default)?)\."
)
_WRAPPER_LEAVES = frozenset({"base_layer", "original_module", "modules_to_save", "default"})
"""Wrappers that may stand right before the name's last part."""
_WRAPPER_IN_FRONT = re.compile(
    r"^(module\.|state_dict\.|base_model\.model\.|\d+\.(auto_model|model)\.|pretrained_model\."
    r"|model_state_dict\.|model\.module\.|student\.|policy\.)"
)
_VALUES = re.compile(r"\.(weight|weight_packed)$")
_AUXILIARY = re.compile(
    r"\.(scales|biases|qweight|qzeros|g_idx|SCB|weight_format|weight_scale\w*|weight_shape"
    r"|weight_zero_point|weight_g_idx|weight_global_scale|input_scale|output_scale"
    r"|input_global_scale|weight\.(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\..*))$"
)

_PATTERNS: tuple[tuple[Role, str], ...] = (
    # Look-alikes come first: each of them contains a name that would match further down.
    (
        Role.OTHER,
        r"relative|(^|\.)rel_pos\w*$|(^|\.)distance_embedding$|(^|\.)pe_[kv]$|patch"
        r"(?!er\.embed_tokens$)(?!\w*\.position_embedding)|(^|\.)token_embd_norm$|_norm$",
    ),
    (Role.PER_LAYER, r"(^|\.)(embed_tokens_per_layer|per_layer_token_embd|ffn\.s_emb)$"),
    (
        Role.MTP_TOKEN,
        r"(^|\.)(layers\.\d+|nextn)\.embed_tokens$|(^|\.)mtp\w*\.(.*\.)?(embed_tokens|embed)$",
    ),
    (
        Role.MTP_OUTPUT,
        r"(^|\.)(layers\.\d+|nextn)\.shared_head(\.|_)head$"
        r"|(^|\.)mtp\w*\.(.*\.)?(shared_head\.head|lm_head)$",
    ),
    (
        Role.TOKEN_TYPE,
        r"(^|\.)(\w*token_type_embeddings?|token_types|segment_emb\w*|speaker_embedding"
        r"|language_embedding|num_speakers_embed|type_embeddings)$",
    ),
    (
        Role.POSITION,
        r"(^|\.)(\w*position(s|al)?_emb(edding|eddings|ed|eds|d|eds_layer|edding_table)"
        r"|embed_positions|pos_emb\w*|positions_embed|wpe|W_pos|(row|column|queries)_embedder"
        r"|level_embed)$|position(al)?_embed\w*\.\w*embeddings?$",
    ),
    (
        Role.CODEBOOK,
        r"(^|\.)(\w*hash_tok_embedding|ngram_embeddings|entity_embeddings|value_embeddings"
        r"|unit_embedding|quantize\w*\.embedding|generation_embeddings|visual_embeddings_table"
        r"|input_embeds_layers?|embed_audio_tokens|HashBucketCodepointEmbedder_\d+|codebook"
        r"|(input_embeds_layers|embed_tokens|emb)\.\d+|codebook\.embed)$",
    ),
    (Role.TOKEN_EXTRA, r"(^|\.)(new_embedding|additional_embedding)$"),
    # pi0 stores the one shared table of each Gemma under the name of its head.
    (Role.TOKEN, r"^paligemma_with_expert\.\w+\.lm_head$"),
    (
        Role.OUTPUT,
        r"(^|\.)(lm_head(\.decoder|\.out_proj|\.linear)?|embed_out|(cls\.)?predictions\.decoder"
        r"|generator_lm_head|output_projection|lm_loss|pred_layer\.proj|unembed(\.W_U)?"
        r"|word_embeddings_for_head|output_layer|head\.decoder|head\.out)$"
        r"|^((model|decoder|language_model|transformer)\.)?(output|head|proj_out|decoder)$"
        r"|(^|\.)transformer\.ff_out$",
    ),
    (
        Role.TOKEN,
        r"(^|\.)(embed_tokens|word_embeddings?|word_emb|wte(\.embedding)?|tok_emb(eddings?)?"
        r"|token_emb(eddings?)?|tokens_embed|text_token_embedding|token_emb\.emb|embed_in"
        r"|embed_text_tokens|token_embd|W_E|in_out_embed|tok_embd|shared|input_embeddings)$"
        r"|^(.*\.)?(model|transformer|backbone|rwkv|language_model|llm|text_model)"
        r"\.(embeddings?|embed|emb)$|^(embeddings?|emb|embed|encoder)$",
    ),
)
_DIGITS = re.compile(r"\d+")
_COMPILED = tuple((role, re.compile(pattern)) for role, pattern in _PATTERNS)
_HINT = re.compile(
    r"emb|wte|wpe|head|^out|shared|decoder|encoder|lm_loss|^proj|^out_proj|W_|pos|token|segment"
    r"|code|Hash|linear|rel|_out$|^\d+$"
)

_BY_MODEL: dict[str, tuple[tuple[str, Role], ...]] = {
    # Two vocabularies: the decoder's table is also the output projection.
    "fsmt": ((r"(^|\.)decoder\.embed_tokens$", Role.OUTPUT),),
    "mixformer-sequential": ((r"^layers\.\d+\.linear$", Role.OUTPUT),),
    # A module of this name holds the text and the audio table; it has no matrix of its own.
    "kyutai_speech_to_text": ((r"^(model\.)?embed_tokens$", Role.OTHER),),
    "csm": ((r"^backbone_model\.embed_tokens$", Role.OTHER),),
}
"""What a name means in one model type alone."""

_SIDE_MODEL = re.compile(
    r"(^|\.)(qformer|protein_encoder|depth_decoder|patcher|t2u_model|dit|gemma_expert|vision\w*"
    r"|visual|audio\w*|speech_encoder_model|vqmodel)\."
)
_WEAK_OUTPUT = re.compile(
    r"^((model|decoder|language_model|transformer)\.)?(output|head|proj_out|decoder)$"
    r"|^layers\.\d+\.linear$|\.ff_out$|(^|\.)output_layer$"
)


def strip_wrappers(name: str) -> tuple[str, str]:
    """Take off what training wrappers put around the names of a model.

    Returns:
        The name without them, and the wrappers as they stood in it ("" when there was none).
    """
    found = "".join(match.group(0) for match in _WRAPPER_ANYWHERE.finditer(name))
    plain = _WRAPPER_ANYWHERE.sub("", name)
    while match := _WRAPPER_IN_FRONT.match(plain):
        found = match.group(0) + found
        plain = plain[match.end() :]
    return plain, found


def role_of(name: str, model_type: str | None = None) -> Role:
    """Say what a tensor is by its name alone; `Role.OTHER` where the name says nothing."""
    # Numbers of layers and experts say nothing, and without them few names are left to judge.
    return _role_of(_DIGITS.sub("0", name), model_type)


@lru_cache(maxsize=1 << 14)
def _role_of(name: str, model_type: str | None) -> Role:
    plain, _ = strip_wrappers(name)
    if _AUXILIARY.search(plain):
        return Role.OTHER
    if plain.endswith((".bias", ".b_U")):
        return _bias_role(plain, model_type)
    plain = _VALUES.sub("", plain)
    for pattern, role in _BY_MODEL.get(model_type or "", ()):
        if re.search(pattern, plain):
            return role
    if (model_type or "").endswith(("_vision", "_vision_model")) and plain == "embeddings":
        return Role.OTHER
    return next((role for role, pattern in _COMPILED if pattern.search(plain)), Role.OTHER)


def _bias_role(plain: str, model_type: str | None) -> Role:
    stem = plain.rpartition(".")[0]
    if stem == "cls.predictions" or role_of(stem, model_type) is Role.OUTPUT:
        return Role.OUTPUT_BIAS
    return Role.OTHER


def embedding_tables(
    tensors: Mapping[str, TensorInfo],
    *,
    vocab_size: int | None = None,
    model_type: str | None = None,
    named: str | None = None,
) -> tuple[EmbeddingTable, ...]:
    """Find the embedding tables of a checkpoint.

    Args:
        tensors: all tensors by stored name.
        vocab_size: rows that the config promises; helps where names say nothing.
        model_type: `model_type` of the config; decides the few ambiguous names.
        named: the one tensor to take, whatever its name says; wrappers may be left out.

    Returns:
        Tables with two axes: the model's own token table first, its output head next, then the
        others in file order. Empty where nothing looks like one.

    Raises:
        CheckpointError: there is no tensor `named`, or it has not two axes.
    """
    if named is not None:
        return (_named(tensors, named, vocab_size, model_type),)
    # Names first: a checkpoint makes its headers out when they are asked for.
    likely = (
        tensors[name]
        for name in tensors
        if may_be_table(name) and role_of(name, model_type) is not Role.OTHER
    )
    found = [
        table
        for tensor in likely
        if len(tensor.shape) == 2 and (table := _by_name(tensor, vocab_size, model_type))
    ]
    found = _without_containers(found)
    if not any(table.role in (Role.TOKEN, Role.OUTPUT) for table in found):
        found.extend(_by_shape(tensors, {t.name for t in found}, vocab_size))
    found = _without_false_heads(found, vocab_size)
    return _in_order(found, vocab_size)


def _by_name(
    tensor: TensorInfo, vocab_size: int | None, model_type: str | None
) -> EmbeddingTable | None:
    role = role_of(tensor.name, model_type)
    if role in (Role.OTHER, Role.OUTPUT_BIAS):
        return None
    _, wrappers = strip_wrappers(tensor.name)
    return EmbeddingTable(
        role=role,
        tensor=tensor,
        note=f"wrapper '{wrappers}' stripped from the name" if wrappers else None,
        transposed=_transposed(tensor, role, vocab_size),
    )


def may_be_table(name: str) -> bool:
    """Decide cheaply for the tens of thousands of expert matrices that are none."""
    stem = name.removesuffix(".weight").removesuffix(".weight_packed")
    leaf = stem.rpartition(".")[2]
    if leaf in _WRAPPER_LEAVES:
        plain = strip_wrappers(f"{stem}.")[0].rstrip(".")
        leaf = plain.rpartition(".")[2]
    return _telling(leaf)


def part_of_table(name: str) -> bool:
    """Decide by its name whether a tensor is a table, or a part of one: its scales, its bias."""
    whole = _AUXILIARY.sub(".weight", name)
    return may_be_table(whole) and role_of(whole) is not Role.OTHER


@lru_cache(maxsize=4096)
def _telling(leaf: str) -> bool:
    return _HINT.search(leaf) is not None


def _transposed(tensor: TensorInfo, role: Role, vocab_size: int | None) -> bool:
    if tensor.name.rpartition(".")[2] == "W_U":
        return True
    if role not in (Role.TOKEN, Role.OUTPUT) or vocab_size is None:
        return False
    return tensor.shape[1] == vocab_size != tensor.shape[0]


def _without_containers(tables: list[EmbeddingTable]) -> list[EmbeddingTable]:
    """Drop `x.weight` where `x.embed_tokens.weight` exists: `x` is a module of tables."""
    parents = {
        _VALUES.sub("", table.name).rpartition(".")[0]
        for table in tables
        if table.role in (Role.TOKEN, Role.CODEBOOK)
    }
    return [table for table in tables if _VALUES.sub("", table.name) not in parents]


def _by_shape(
    tensors: Mapping[str, TensorInfo], known: set[str], vocab_size: int | None
) -> list[EmbeddingTable]:
    """Take the first matrix with an axis of `vocab_size`, and the last one as the head.

    Without a vocabulary size, a matrix that is alone in its checkpoint is the table.
    """
    if vocab_size is None:
        return _alone(tensors) if len(tensors) == 1 and not known else []
    fitting = [
        tensor
        for tensor in tensors.values()
        if len(tensor.shape) == 2
        and vocab_size in tensor.shape
        and tensor.name not in known
        and not _AUXILIARY.search(tensor.name)
    ]
    note = f"name not known; taken for its axis of {vocab_size:,}, the vocabulary size"
    return [
        EmbeddingTable(
            role=role,
            tensor=tensor,
            recognised="shape",
            note=note,
            transposed=tensor.shape[0] != vocab_size,
        )
        for role, tensor in zip((Role.TOKEN, Role.OUTPUT), fitting, strict=False)
    ]


def _alone(tensors: Mapping[str, TensorInfo]) -> list[EmbeddingTable]:
    """A name without a path says nothing; any other says that it is a part of something else."""
    note = "name not known; taken because nothing else is stored"
    return [
        EmbeddingTable(role=Role.TOKEN, tensor=tensor, recognised="shape", note=note)
        for tensor in tensors.values()
        if len(tensor.shape) == 2 and "." not in tensor.name
    ]


def _without_false_heads(
    tables: list[EmbeddingTable], vocab_size: int | None
) -> list[EmbeddingTable]:
    """Drop classifiers: `head.weight` and the like with far fewer rows than the vocabulary."""
    rows = max((t.rows for t in tables if t.role is Role.TOKEN), default=vocab_size)

    def false(table: EmbeddingTable) -> bool:
        plain = _VALUES.sub("", strip_wrappers(table.name)[0])
        if table.role is not Role.OUTPUT or not _WEAK_OUTPUT.search(plain):
            return False
        return table.recognised == "name" and (rows is None or 2 * table.rows < rows)

    return [table for table in tables if not false(table)]


def _in_order(tables: list[EmbeddingTable], vocab_size: int | None) -> tuple[EmbeddingTable, ...]:
    """Put the model's own token table first, its head next, the others behind in file order."""

    def likely(table: EmbeddingTable) -> tuple[bool, ...]:
        plain = _VALUES.sub("", strip_wrappers(table.name)[0])
        return (
            bool(_SIDE_MODEL.search(plain)),
            vocab_size is not None and table.rows != vocab_size,
            plain.rpartition(".")[2] != "shared",
        )

    tokens = sorted((t for t in tables if t.role is Role.TOKEN), key=likely)
    heads = sorted((t for t in tables if t.role is Role.OUTPUT), key=likely)
    others = [t for t in tables if t.role not in (Role.TOKEN, Role.OUTPUT)]
    return (*tokens[:1], *heads, *tokens[1:], *others)


def _named(
    tensors: Mapping[str, TensorInfo], named: str, vocab_size: int | None, model_type: str | None
) -> EmbeddingTable:
    stored = next((name for name in tensors if strip_wrappers(name)[0] == named), None)
    tensor = tensors.get(named) or (None if stored is None else tensors[stored])
    if tensor is None:
        close = difflib.get_close_matches(named, list(tensors)[:5000], n=3, cutoff=0.4)
        raise CheckpointError(
            f"--tensor: there is no tensor {named!r} among {len(tensors):,}",
            hint=f"similar names: {', '.join(close)}" if close else _some_tables(tensors),
        )
    if len(tensor.shape) != 2:
        raise CheckpointError(
            f"{tensor.name} has shape {list(tensor.shape)}: no table of row vectors",
            hint="name a tensor with two axes",
        )
    role = role_of(tensor.name, model_type)
    return EmbeddingTable(
        role=Role.TOKEN if role in (Role.OTHER, Role.OUTPUT_BIAS) else role,
        tensor=tensor,
        recognised="named",
        transposed=_transposed(tensor, Role.TOKEN, vocab_size),
    )


def _some_tables(tensors: Mapping[str, TensorInfo]) -> str:
    names = [name for name, tensor in tensors.items() if len(tensor.shape) == 2]
    if not names:
        return "no tensor here has two axes"
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"tables here: {', '.join(names[:3])}{more}"
