from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.inspect import Histogram

_BAR = 30
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bars(histogram: Histogram, fresh_norm: float, width: int = _BAR) -> Iterator[str]:
    """One line a bin: its range, a bar, its count and share."""
    most, total = max(histogram.counts), sum(histogram.counts)
    edges = _labels(histogram.edges)
    label = max(map(len, edges))
    columns = len(f"{most:,}")
    for index, count in enumerate(histogram.counts):
        low, high = histogram.edges[index], histogram.edges[index + 1]
        mark = " ← untrained" if low <= fresh_norm < high else ""
        bar = _bar(count, most, width)
        yield (
            f"  {edges[index]:>{label}} – {edges[index + 1]:>{label}} {bar:<{width}} "
            f"{count:>{columns},} {count / total:>6.1%}{mark}"
        ).rstrip()


def _bar(count: int, most: int, width: int) -> str:
    eighths = round(count / most * width * 8)
    if count and not eighths:
        eighths = 1
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _labels(edges: tuple[float, ...]) -> list[str]:
    """The fewest digits that tell neighbouring edges apart."""
    for digits in range(2, 12):
        labels = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(labels)) == len(labels):
            return [f"{float(label):.{digits}g}" for label in labels]
    return [f"{edge:.12g}" for edge in edges]
