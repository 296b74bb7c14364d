"""Readers: from tokenizer files to the ids that encoding really emits."""

from embcalc.tokenizers.read import read_tokenizer, read_vocabulary

__all__ = ["read_tokenizer", "read_vocabulary"]
