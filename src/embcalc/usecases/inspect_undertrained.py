"""Which ordinary tokens lie where untrained rows lie."""

from __future__ import annotations

import numpy as np

from embcalc.core.reports.inspect import PERCENTILES, Candidate, Undertrained
from embcalc.core.tables import Role
from embcalc.rows.kernels import Floats
from embcalc.rows.references import References
from embcalc.rows.undertrained import MIN_REFERENCES, Ranking, confidence, distances, rank
from embcalc.tokenizers.reach import Reach
from embcalc.usecases.inspect_scan import ScannedTable, TableContext

_TIED = ("tied", "tied-stored-twice")
_APART = ("special", "byte", "undecodable")


def find_undertrained(
    context: TableContext, scanned: ScannedTable, head: ScannedTable | None, verdict: str
) -> Undertrained | None:
    """Rank the tokens of the token table; None where rows have no tokens.

    Args:
        context: of the checkpoint.
        scanned: the token table.
        head: the output head, where one is stored.
        verdict: of tying; decides the indicator.
    """
    if scanned.vocabulary is None or scanned.references is None:
        return None
    if scanned.table.role is not Role.TOKEN or not scanned.scan.usable.any():
        return None
    config = context.model.config
    tied = verdict in _TIED or (verdict == "no-head" and config is not None and bool(config.tied))
    by_cosine = tied and scanned.direction is not None
    scores = _distances(scanned) if by_cosine else scanned.scan.norms
    ordinary = scanned.categories == "ordinary"
    references = scanned.references.rows
    ordinary[references] = False
    ranking = rank(scores, ordinary, references)
    reach = Reach(context.model.tokenizer_folder, scanned.vocabulary)
    second = None if by_cosine or head is None or head.direction is None else _distances(head)
    return Undertrained(
        indicator="cosine" if by_cosine else "norm",
        reason=_reason(scanned.references, tied=tied, by_cosine=by_cosine),
        confidence=confidence(ranking, len(references)),
        reference_count=len(references),
        signs=scanned.references.signs(),
        candidates=_candidates(scanned, ranking, second, reach, context.top),
        apart=_apart(scanned, ranking, second, reach, context.top),
        threshold=ranking.threshold,
        suspects=ranking.suspects,
        distances=_percentiles(scores[ranking.ordinary]),
    )


def _distances(scanned: ScannedTable) -> Floats:
    return distances(scanned.scan.projections[:, 0], scanned.scan.norms)


def _percentiles(scores: Floats) -> dict[int, float]:
    if len(scores) == 0:
        return {}
    return dict(zip(PERCENTILES, map(float, np.percentile(scores, PERCENTILES)), strict=True))


def _reason(references: References, *, tied: bool, by_cosine: bool) -> str:
    count = len(references.rows)
    if by_cosine:
        return "a tied table: untrained rows are all pushed the same way, so direction tells them"
    if tied:
        return (
            f"only {count} reference rows (at least {MIN_REFERENCES} are needed), so the cosine "
            "to them, which a tied table wants, cannot be given"
        )
    return "an untied table: input rows that training passes by keep or lose their initial length"


def _candidates(
    scanned: ScannedTable, ranking: Ranking, second: Floats | None, reach: Reach, top: int
) -> tuple[Candidate, ...]:
    """The lowest ordinary tokens that some text encodes to."""
    found: list[Candidate] = []
    for row in ranking.lowest.tolist():
        if len(found) == top:
            break
        if reach.encodes_to(row) is not False:
            found.append(_candidate(scanned, ranking, second, row, "ordinary"))
    return tuple(found)


def _apart(
    scanned: ScannedTable, ranking: Ranking, second: Floats | None, reach: Reach, top: int
) -> tuple[Candidate, ...]:
    """Rows as low as the candidates that are no ordinary tokens."""
    limit = ranking.threshold if ranking.threshold is not None else np.inf
    low = np.flatnonzero(np.isin(scanned.categories, _APART) & (ranking.scores <= limit))
    rows = [(row, str(scanned.categories[row])) for row in low.tolist()]
    lowest = ranking.lowest.tolist()[: 10 * top]
    rows += [(row, "unreachable") for row in lowest if reach.encodes_to(row) is False]
    rows.sort(key=lambda item: ranking.scores[item[0]])
    return tuple(_candidate(scanned, ranking, second, row, kind) for row, kind in rows[:top])


def _candidate(
    scanned: ScannedTable, ranking: Ranking, second: Floats | None, row: int, category: str
) -> Candidate:
    return Candidate(
        row=row,
        token=scanned.tokens[row] if scanned.tokens else None,
        score=float(ranking.scores[row]),
        category=category,
        second=None if second is None or row >= len(second) else float(second[row]),
    )
