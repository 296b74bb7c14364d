"""Sizes beyond which a number is a slip of the hand or an attack."""

LARGEST_ROWS = 2**32
"""Of a table."""
LARGEST_WIDTH = 2**24
"""Of a row."""
LARGEST_COUNT = 2**40
"""Of tokens in a batch, of ranks."""
