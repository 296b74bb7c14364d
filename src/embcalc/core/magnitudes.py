"""How large weights are."""

SWAPPED_SCALE = 30.0
"""Ratio of the median norms of head and table from which they may be swapped or scaled."""
SMALLEST, LARGEST = 1e-8, 1e4
"""Magnitudes between which nearly all weights of any trained model lie."""
