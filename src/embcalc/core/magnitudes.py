"""How large weights are."""

SMALLEST, LARGEST = 1e-8, 1e4
"""Magnitudes between which nearly all weights of any trained model lie."""
