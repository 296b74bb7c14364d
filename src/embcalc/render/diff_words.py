"""What the numbers of a comparison mean, in words that text and Markdown share."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, isnan

from embcalc.core.reports.diff import AddedRows, ChangedRow, TableDiff


def verdicts(compared: TableDiff) -> Iterator[str]:
    """Whether a table was trained or frozen; one line each."""
    both = compared.identical_rows + compared.changed_rows
    if not compared.comparable:
        yield "rows of different widths: not compared"
    elif not both:
        yield "not one row is in both"
    elif compared.frozen:
        yield f"frozen: not one of the {both:,} rows in both was changed"
    elif compared.identical_rows == 0:
        yield "trained: every row was changed"
    else:
        share = compared.changed_rows / both
        yield (
            f"{share:.1%} of the rows in both were changed; the others are identical to the last "
            "bit"
        )
    if compared.nonfinite_rows:
        rows = "row holds" if compared.nonfinite_rows == 1 else "rows hold"
        yield f"{compared.nonfinite_rows:,} changed {rows} a number that is not finite"


def added_rows(added: AddedRows) -> str:
    """What rows that only B has look like."""
    kinds = [
        (added.at_mean, "at the mean of A's rows, as a resize leaves them: not trained since"),
        (added.zero, "all zeros: not trained since"),
        (added.repeated, "equal to another added row"),
        (added.elsewhere, "elsewhere: trained, or begun at random"),
    ]
    said = "; ".join(f"{count:,} {what}" for count, what in kinds if count)
    return f"of {added.count:,} added rows {said}"


def delta_norm(row: ChangedRow) -> str:
    """Norm of a difference."""
    return f"{row.delta_norm:.4g}" if isfinite(row.delta_norm) else "not finite"


def cosine(row: ChangedRow) -> str:
    """Cosine between the row of A and that of B."""
    return "-" if isnan(row.cosine) else f"{row.cosine:.4f}"
