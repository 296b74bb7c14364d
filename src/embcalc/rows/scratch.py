"""Memory of a thread for results that it needs for a moment, block after block."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_held = threading.local()


def scratch(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """An array of this thread, its numbers left as they are.

    The next call in the same thread for the same dtype gives the same memory again. New memory for
    each block would come from the system whenever the allocator has not kept enough, and its pages
    be zeroed: that took longer than the arithmetic.
    """
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    array: NDArray[Any] | None = getattr(_held, kind.name, None)
    if array is None or array.size < count:
        array = np.empty(count, kind)
        setattr(_held, kind.name, array)
    return array[:count].reshape(shape)
