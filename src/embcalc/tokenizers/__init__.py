"""Readers: from tokenizer files to the ids that encoding really emits."""

from embcalc.tokenizers.formats import is_tokenizer_file
from embcalc.tokenizers.read import read_tokenizer, read_vocabulary

__all__ = ["is_tokenizer_file", "read_tokenizer", "read_vocabulary"]
