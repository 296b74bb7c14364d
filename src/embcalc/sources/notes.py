"""What a source noticed and survived, told on stderr."""

from __future__ import annotations

import logging

_log = logging.getLogger("embcalc")


def note(text: str) -> None:
    """Tell the user: a warning of the logger `embcalc`, which Python prints to stderr.

    Whatever would act on a terminal is escaped, because servers have a say in the text.
    """
    _log.warning("note: %s", "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text))
