"""Errors that a user can act on: the command line prints message and hint, two lines."""

from __future__ import annotations


class EmbcalcError(Exception):
    """Something embcalc was asked to do and cannot.

    Args:
        message: what is wrong, and where; one line.
        hint: what to do about it; one line, or None where there is nothing to say.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(EmbcalcError):
    """Options that contradict each other, or a value out of its range."""


class SourceError(EmbcalcError):
    """An address that leads to no readable file: local, hub or remote."""


class UnreachableError(SourceError):
    """A place that does not answer now; it may on another day."""


class CheckpointError(EmbcalcError):
    """A checkpoint that cannot be read as what it claims to be."""


class TokenizerError(EmbcalcError):
    """A tokenizer file that cannot be read."""


class ConfigError(EmbcalcError):
    """A config.json that cannot be read, or that says too little."""


class LfsPointerError(TokenizerError, ConfigError):
    """A Git LFS pointer in place of a file."""


class MissingExtraError(EmbcalcError):
    """A feature whose optional package is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the optional package group '{extra}'",
            hint=f"pip install 'embcalc[{extra}]'",
        )
