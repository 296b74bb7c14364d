"""Readers: from files to tensor headers and row blocks."""

from embcalc.checkpoints.base import Checkpoint, RowBlock
from embcalc.checkpoints.open import Wanted, open_checkpoint

__all__ = ["Checkpoint", "RowBlock", "Wanted", "open_checkpoint"]
