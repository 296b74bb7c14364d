"""What an adapter folder stores of the embedding layer."""

from __future__ import annotations

from collections.abc import Mapping

from embcalc.core.facts import AdapterTables
from embcalc.core.files import Folder
from embcalc.core.tables import EmbeddingTable, Role, TensorInfo

ADAPTER_CONFIG = "adapter_config.json"
NEW_ROWS = "new_embeddings.safetensors"
"""New rows beside the base's table, as vLLM took them."""
_FILES = ("adapter_model.safetensors", "adapter_model.bin")
_HEADS = ("lm_head", "embed_out", "output_layer")


def adapter_weights(names: tuple[str, ...]) -> str | None:
    """The file of an adapter that holds its tensors."""
    return next((name for name in _FILES if name in names), None)


def adapter_tables(
    tensors: Mapping[str, TensorInfo],
    tables: tuple[EmbeddingTable, ...],
    document: object,
    *,
    new_rows: int = 0,
) -> AdapterTables:
    """Rows of whole tables that the adapter stores, else the vocabulary axis of its matrices.

    PEFT keeps `lora_embedding_A` as [r, rows] and the head's `lora_B` as [rows, r].

    Args:
        tensors: of the adapter's own file.
        tables: the embedding tables among them.
        document: adapter_config.json.
        new_rows: what `new_rows` found.
    """
    rows = {table.role: table.rows for table in reversed(tables)}
    embedding, head = rows.get(Role.TOKEN), rows.get(Role.OUTPUT)
    for name, tensor in tensors.items():
        if len(tensor.shape) != 2:
            continue
        if "lora_embedding_A" in name:
            embedding = embedding or tensor.shape[1]
        elif "lora_B" in name and any(part in name for part in _HEADS):
            head = head or tensor.shape[0]
    base = document.get("base_model_name_or_path") if isinstance(document, Mapping) else None
    return AdapterTables(
        embedding_rows=embedding,
        head_rows=head,
        extra_rows=new_rows,
        base_name=base if isinstance(base, str) else None,
    )


def new_rows(folder: Folder) -> int:
    """Rows that an adapter brings beside its base's table, in a file of their own.

    Raises:
        EmbcalcError: the file is there and cannot be read.
    """
    if NEW_ROWS not in folder.names():
        return 0
    from embcalc.checkpoints import open_checkpoint

    tensors = open_checkpoint(folder, NEW_ROWS).tensors
    return max((tensor.rows for tensor in tensors.values() if len(tensor.shape) == 2), default=0)
