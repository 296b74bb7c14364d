"""JSON text that is exact, readable and harmless on a terminal."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_ACTIVE = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)
"""Characters that JSON allows raw and that act on a terminal, or that UTF-8 cannot encode."""


def dumps(document: dict[str, Any]) -> str:
    """Write a document; floats that are not finite become null.

    Raises:
        TypeError: a value is no JSON type (a bug).
    """
    text = json.dumps(_finite(document), ensure_ascii=False, indent=1, allow_nan=False)
    return _ACTIVE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _finite(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
