"""Readers: from tokenizer files to the ids that encoding really emits."""

from embcalc.tokenizers.read import read_vocabulary

__all__ = ["read_vocabulary"]
