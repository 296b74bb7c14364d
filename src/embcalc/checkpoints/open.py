from __future__ import annotations

from embcalc.checkpoints.base import Checkpoint
from embcalc.checkpoints.safetensors import SafetensorsCheckpoint
from embcalc.core.files import Folder
from embcalc.errors import CheckpointError


def open_checkpoint(folder: Folder, file: str | None = None) -> Checkpoint:
    """Open the checkpoint of a folder, or the one file of it that is named.

    Raises:
        CheckpointError: there is none, or it is broken.
        SourceError: it cannot be read.
    """
    if file is None:
        candidates = [name for name in folder.names() if name.endswith(".safetensors")]
        if not candidates:
            listing = ", ".join(folder.names()[:8]) or "nothing"
            raise CheckpointError(f"no checkpoint in {folder.label}", hint=f"it holds: {listing}")
        file = candidates[0]
    return SafetensorsCheckpoint(folder.open(file))
