"""Calculator and inspector for the embedding layer of language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embcalc.api import estimate

__version__ = "0.1.0"
__all__ = ["__version__", "estimate"]


def __getattr__(name: str) -> object:
    """Load the public functions when they are first asked for: importing embcalc stays cheap."""
    if name in __all__:
        from embcalc import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
