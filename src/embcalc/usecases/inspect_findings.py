"""What of a table's numbers a reader should know first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from embcalc.core.display import quoted
from embcalc.core.findings import Severity
from embcalc.core.magnitudes import SWAPPED_SCALE
from embcalc.core.reports.inspect import LISTED, Cluster, RowFinding, TableReport
from embcalc.core.tying import Tying
from embcalc.rows.health import NEAR_ZERO_RULE, OUTLIER_RULE
from embcalc.rows.neighbourhoods import least_of_cluster

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
_BY_DIRECTION = ("near-duplicate", "cluster", "near-zero", "outlier", "undertrained")
_FIRST = ("files", "slice", "values", "special-token")
_HUGE = 1e6
"""No trained table holds numbers of this size."""

Check = Callable[[TableReport], Iterator[RowFinding]]


def findings(
    tables: Sequence[TableReport], tying: Tying, files: Iterable[RowFinding] = ()
) -> tuple[RowFinding, ...]:
    """All findings by severity; within one: files first, then special tokens.

    Args:
        tables: what was found in each.
        tying: the verdict.
        files: findings about the checkpoint as a whole.
    """
    found = [*files]
    found += [finding for table in tables for finding in _about(table)]
    found += [*_about_tying(tying), *_about_scale(tables)]
    return tuple(sorted(found, key=lambda item: (_ORDER.index(item.severity), _rank(item.name))))


def _rank(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _about(table: TableReport) -> list[RowFinding]:
    found = [finding for check in CHECKS for finding in check(table)]
    if any(finding.name == "magnitude" for finding in found):
        # Rows that a few huge numbers dominate are near each other, and far from the others.
        found = [finding for finding in found if finding.name not in _BY_DIRECTION]
    return found


def _about_tying(tying: Tying) -> Iterator[RowFinding]:
    if tying.verdict in ("conflict", "head-missing"):
        hint = (
            'store the head, or set "tie_word_embeddings": true if it was tied'
            if tying.verdict == "head-missing"
            else 'set "tie_word_embeddings": false if the head was trained by itself'
        )
        yield RowFinding(name="tying", severity=Severity.ERROR, message=tying.reason, hint=hint)


def _about_scale(tables: Sequence[TableReport]) -> Iterator[RowFinding]:
    """A head whose rows are far longer than the table's: the two may have been swapped."""
    by_role = {table.role: table for table in reversed(tables)}
    token, head = by_role.get("token"), by_role.get("output")
    if token is None or head is None or token.norms is None or head.norms is None:
        return
    one, other = token.norms.percentiles[50], head.norms.percentiles[50]
    if not one or not other or 1 / SWAPPED_SCALE < other / one < SWAPPED_SCALE:
        return
    yield RowFinding(
        name="scale",
        severity=Severity.WARNING,
        message=(
            f"the median norm of {head.tensor} is {other / one:.3g} times that of {token.tensor}"
        ),
        hint="compare with the model it was made from: the two may be swapped or scaled",
        tensor=head.tensor,
    )


def _special_token(table: TableReport) -> Iterator[RowFinding]:
    for severe, severity in ((True, Severity.ERROR), (False, Severity.WARNING)):
        ill = [special for special in table.special_rows if special.severe is severe]
        if not ill:
            continue
        chat = sum(special.in_template for special in ill)
        template = f", {chat} of them written by the chat template" if chat else ""
        kinds = ", ".join(sorted({special.why for special in ill}))
        yield RowFinding(
            name="special-token",
            severity=severity,
            message=f"{_count(len(ill), 'special token')} on ill rows ({kinds}){template}",
            hint="train these rows, or copy a trained row into them, before any fine-tune that"
            " uses the tokens",
            tensor=table.tensor,
            rows=tuple(special.row for special in ill[:LISTED]),
        )


def _why_nonfinite(table: TableReport) -> str:
    if table.strange:
        return "the other numbers are wrong as well: one cause"
    if table.quantised:
        return "their scales are not finite: quantise the original again"
    return "training diverged or the file is damaged: take an earlier checkpoint"


def _nonfinite(table: TableReport) -> Iterator[RowFinding]:
    if table.nonfinite.count:
        yield RowFinding(
            name="nonfinite",
            severity=Severity.ERROR,
            message=f"{_rows(table.nonfinite.count)} with NaN or infinity",
            hint=_why_nonfinite(table),
            tensor=table.tensor,
            rows=table.nonfinite.rows,
        )


def _zero(table: TableReport) -> Iterator[RowFinding]:
    if not table.zero.count:
        return
    whole = table.zero.count == table.rows
    severity = Severity.WARNING if table.zero_on_tokens else Severity.NOTE
    yield RowFinding(
        name="zero",
        severity=Severity.ERROR if whole and table.rows > 1 else severity,
        message="every row is exactly zero" if whole else f"{_rows(table.zero.count)} exactly zero",
        hint="the table was never filled: was it saved from a meta device or a partitioned model?"
        if whole
        else None,
        tensor=table.tensor,
        rows=table.zero.rows,
    )


def _near_zero(table: TableReport) -> Iterator[RowFinding]:
    if table.near_zero.count:
        yield RowFinding(
            name="near-zero",
            severity=Severity.WARNING,
            message=f"{_rows(table.near_zero.count)} near zero ({NEAR_ZERO_RULE})",
            hint="training never reached them; their tokens act like padding",
            tensor=table.tensor,
            rows=table.near_zero.rows,
        )


def _uninitialised(table: TableReport) -> Iterator[RowFinding]:
    beyond = table.beyond
    if beyond is not None and beyond.uninitialised.count:
        yield RowFinding(
            name="uninitialised",
            severity=Severity.WARNING,
            message=f"{_count(beyond.uninitialised.count, 'added token')} never initialised"
            f" ({beyond.uninitialised_reason})",
            hint="train these rows before the tokens are used: a resize alone does not",
            tensor=table.tensor,
            rows=beyond.uninitialised.rows,
        )


def _all_equal(table: TableReport) -> bool:
    """Whether a table of more than a pair of rows holds one row over and over."""
    return table.rows > 2 and table.duplicates.count == table.rows - 1


def _duplicate(table: TableReport) -> Iterator[RowFinding]:
    count = table.duplicates.count
    if _all_equal(table):
        yield RowFinding(
            name="duplicate",
            severity=Severity.ERROR,
            message=f"all {_rows(table.rows)} are equal: no token differs from another",
            hint="the table was filled with one row or collapsed: take an earlier checkpoint",
            tensor=table.tensor,
            rows=_flat(table.duplicates.groups),
        )
    elif count:
        yield RowFinding(
            name="duplicate",
            severity=Severity.WARNING,
            message=f"{_rows(count)} equal to an earlier row",
            hint="tokens with equal rows cannot be told apart; rows added by a resize start so",
            tensor=table.tensor,
            rows=_flat(table.duplicates.groups),
        )


def _near_duplicate(table: TableReport) -> Iterator[RowFinding]:
    if table.near_duplicates is not None and table.near_duplicates.count:
        yield RowFinding(
            name="near-duplicate",
            severity=Severity.WARNING,
            message=f"{_rows(table.near_duplicates.count)} within cosine 0.9999 of an earlier row",
            tensor=table.tensor,
            rows=_flat(table.near_duplicates.groups),
        )


def _cluster(table: TableReport) -> Iterator[RowFinding]:
    for cluster in table.clusters if not _all_equal(table) else ():
        share = cluster.count / table.rows
        # Tokens among rows that nobody trained are under-trained, which is told as that.
        many = cluster.used >= max(cluster.count / 2, least_of_cluster(table.rows))
        yield RowFinding(
            name="cluster",
            severity=Severity.WARNING if many else Severity.NOTE,
            message=f"{_rows(cluster.count)} ({share:.1%}) point the same way (cosine above 0.9"
            f" to their middle); nearest to it is row {cluster.nearest}"
            + (f" {quoted(cluster.token)}" if cluster.token else "")
            + _unused(cluster),
            hint="collapsed rows say the same to the model: too little text had these tokens"
            if many
            else None,
            tensor=table.tensor,
            rows=cluster.rows,
        )


def _unused(cluster: Cluster) -> str:
    """How many rows of a cluster no text can have trained."""
    unused = cluster.count - cluster.used
    if not cluster.used:
        return ": all of them padding or reserved"
    return f"; {unused:,} of them are padding or reserved" if unused else ""


def _padding(table: TableReport) -> Iterator[RowFinding]:
    beyond = table.beyond
    if beyond is None:
        return
    if beyond.padding.count:
        yield RowFinding(
            name="padding",
            severity=Severity.NOTE,
            message=f"{_rows(beyond.padding.count)} without a token (the tokenizer has"
            f" {beyond.tokens:,}, the last id is {beyond.last_id:,})",
            tensor=table.tensor,
            rows=beyond.padding.rows,
        )
    if beyond.reserved.count:
        yield RowFinding(
            name="reserved",
            severity=Severity.NOTE,
            message=f"{_rows(beyond.reserved.count)} reserved for later by their tokens' names",
            tensor=table.tensor,
            rows=beyond.reserved.rows,
        )


def _undertrained(table: TableReport) -> Iterator[RowFinding]:
    found = table.undertrained
    if found is None or not found.suspects or found.confidence != "high":
        return
    yield RowFinding(
        name="undertrained",
        severity=Severity.NOTE,
        message=f"{_count(found.suspects, 'ordinary token')} where untrained rows lie"
        f" (by {found.indicator}; {found.reference_count:,} reference rows)",
        hint="prompts with such tokens can derail the model: filter them, or train on them",
        tensor=table.tensor,
        rows=tuple(candidate.row for candidate in found.candidates),
    )


def _outlier(table: TableReport) -> Iterator[RowFinding]:
    if table.outliers.count:
        yield RowFinding(
            name="outlier",
            severity=Severity.NOTE,
            message=f"{_rows(table.outliers.count)} with a norm far from all others"
            f" ({OUTLIER_RULE})",
            tensor=table.tensor,
            rows=table.outliers.rows,
        )


def _pad_row(table: TableReport) -> Iterator[RowFinding]:
    moved = [pad for pad in table.pad_rows if pad.norm != 0]
    if moved:
        yield RowFinding(
            name="padding-row",
            severity=Severity.NOTE,
            message="the padding row is not zero: padding that no mask hides changes results",
            tensor=table.tensor,
            rows=tuple(pad.row for pad in moved),
        )


def _fresh(table: TableReport) -> Iterator[RowFinding]:
    if table.looks_fresh:
        yield RowFinding(
            name="fresh",
            severity=Severity.WARNING if table.role in ("token", "output") else Severity.NOTE,
            message=f"the rows are distributed as fresh ones of N(0, {table.fresh_sigma:g}²):"
            " the table looks untrained",
            tensor=table.tensor,
        )


def _magnitude(table: TableReport) -> Iterator[RowFinding]:
    if table.strange or table.element_absmax >= _HUGE:
        yield RowFinding(
            name="magnitude",
            severity=Severity.ERROR,
            message=table.strange
            or f"numbers up to {table.element_absmax:.2e}: no training gives such",
            hint="convert it again from the original: bytes swapped, or packed and read as floats",
            tensor=table.tensor,
        )


def _columns(table: TableReport) -> Iterator[RowFinding]:
    dead = table.dead_columns.count
    if dead and dead < table.width:
        yield RowFinding(
            name="dead-dimension",
            severity=Severity.WARNING,
            message=f"{_count(dead, 'dimension')} of {table.width:,} are 0 in all of the"
            f" {table.column_rows:,} rows counted",
            tensor=table.tensor,
        )
    if table.outlier_columns.count:
        listed = ", ".join(map(str, table.outlier_columns.rows[:8]))
        yield RowFinding(
            name="outlier-dimension",
            severity=Severity.NOTE,
            message=f"{_count(table.outlier_columns.count, 'dimension')} over 6 times as large as"
            f" the median one: {listed}",
            tensor=table.tensor,
        )


def _flat(groups: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(row for group in groups for row in group)[:LISTED]


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' if count != 1 else ''}"


def _rows(count: int) -> str:
    return _count(count, "row")


CHECKS: tuple[Check, ...] = (
    _special_token,
    _magnitude,
    _nonfinite,
    _zero,
    _near_zero,
    _uninitialised,
    _duplicate,
    _near_duplicate,
    _cluster,
    _fresh,
    _columns,
    _undertrained,
    _padding,
    _pad_row,
    _outlier,
)
"""In the order in which findings of one severity are told."""
