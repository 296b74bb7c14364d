"""Calculator and inspector for the embedding layer of language models.

Each command that reads a model is a function of the same name that returns its report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embcalc.api import estimate
    from embcalc.errors import EmbcalcError
    from embcalc.usecases.check import check
    from embcalc.usecases.check_vocab import CheckOptions, check_vocab
    from embcalc.usecases.diff import diff
    from embcalc.usecases.inspect import InspectOptions, inspect
    from embcalc.usecases.lookup import lookup
    from embcalc.usecases.neighbors import neighbors

__version__ = "0.1.0"
__all__ = [
    "CheckOptions",
    "EmbcalcError",
    "InspectOptions",
    "__version__",
    "check",
    "check_vocab",
    "diff",
    "estimate",
    "inspect",
    "lookup",
    "neighbors",
]
_MODULES = {
    "CheckOptions": "usecases.check_vocab",
    "EmbcalcError": "errors",
    "InspectOptions": "usecases.inspect",
    "check": "usecases.check",
    "check_vocab": "usecases.check_vocab",
    "diff": "usecases.diff",
    "estimate": "api",
    "inspect": "usecases.inspect",
    "lookup": "usecases.lookup",
    "neighbors": "usecases.neighbors",
}
"""Public name → the module that defines it."""


def __getattr__(name: str) -> object:
    """Load the public names when they are first asked for: importing embcalc stays cheap."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"embcalc.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """The public names, too."""
    return sorted({*globals(), *__all__})
