"""From an address to files: a local path, a hub repository, any other address."""

from embcalc.sources.locate import Located, locate

__all__ = ["Located", "locate"]
