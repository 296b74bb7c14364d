"""Names that vocabularies give to rows nobody uses yet."""

from __future__ import annotations

import re

_UNUSED = re.compile(
    r"[\[<]\|?_?(unused|unused_token|reserved|reserved_special_token|reserved_token|extra_id|pad"
    r"|dummy|placeholder)[_ -]?\d+_?\|?[\]>]",
    re.IGNORECASE,
)


def is_unused_name(text: str) -> bool:
    """Say whether a token is named as spare: `[unused7]`, `<|reserved_7|>` and the like."""
    return _UNUSED.fullmatch(text) is not None
