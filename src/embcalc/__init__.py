"""Calculator and inspector for the embedding layer of language models."""

__version__ = "0.1.0"
