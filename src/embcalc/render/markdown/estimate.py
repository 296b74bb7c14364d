from __future__ import annotations

from collections.abc import Iterable, Iterator

from embcalc.core.reports.estimate import EstimateReport
from embcalc.render.markdown.document import escape, table
from embcalc.render.units import both_units


def render(report: EstimateReport) -> str:
    """Lay an estimate out for a design document."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: EstimateReport) -> Iterator[str]:
    variants = (report,) if report.alternative is None else (report.alternative, report)
    model = report.model
    name = f"{escape(model.name)}: " if model.name else ""
    yield f"## {name}vocabulary {model.vocab_size:,} x hidden size {model.hidden_size:,}"
    for variant in variants:
        yield ""
        yield from _tables(variant)
        yield ""
        yield from _memory(variant)
    for section in (_growth, _batch, _ranks, _budget):
        for variant in variants:
            lines = list(section(variant))
            if lines:
                yield ""
                yield from lines
    if report.explanations:
        yield ""
        yield from _bullets(
            f"{item.name}: {item.formula} = {item.filled} ({item.source})"
            for item in report.explanations
        )
    if report.assumptions:
        yield ""
        yield from _bullets(report.assumptions)


def _kind(report: EstimateReport) -> str:
    return "tied" if report.model.tied else "untied"


def _bullets(texts: Iterable[str]) -> Iterator[str]:
    return (f"- {escape(text)}" for text in texts)


def _tables(report: EstimateReport) -> Iterator[str]:
    counts = report.parameters
    yield f"### Tables, {_kind(report)}"
    yield ""
    rows = [
        [
            item.role.value.replace("_", " "),
            f"{item.rows:,}",
            f"{item.width:,}",
            "shared" if item.shared else f"{item.parameters:,}",
            "shared" if item.shared else f"{item.trainable_parameters:,}",
        ]
        for item in report.tables
    ]
    rows.append(["**all**", "", "", f"**{counts.total:,}**", f"**{counts.trainable:,}**"])
    yield from table(["table", "rows", "width", "parameters", "trainable"], rows, "lrrrr")
    if counts.model_total is not None and counts.share_of_model is not None:
        yield ""
        yield f"{counts.share_of_model:.1%} of {counts.model_total:,} parameters."


def _memory(report: EstimateReport) -> Iterator[str]:
    yield f"### Training memory, {_kind(report)}, {report.memory[0].optimizer}"
    yield ""
    heading = ["regime", "B/param", "weights", "gradients", "master", "optimizer state", "total"]
    rows = []
    for row in report.memory:
        size = row.bytes
        parts = (size.weights, size.gradients, size.master_weights, size.optimizer_state)
        cells = [f"{part:,}" for part in parts]
        rows.append(
            [
                row.regime.name,
                f"{row.bytes_per_parameter:.4g}",
                *cells,
                f"{size.total:,} B = {both_units(size.total)}",
            ]
        )
    yield from table(heading, rows, "lrrrrrr")


def _growth(report: EstimateReport) -> Iterator[str]:
    grown = report.growth
    if grown is None:
        return
    yield f"### Growth, {_kind(report)}"
    yield ""
    yield (
        f"{grown.old_rows:,} -> {grown.new_rows:,} rows ({grown.padding_rows:,} padding), "
        f"{grown.added_parameters:,} parameters more."
    )
    yield ""
    rows = [
        [name, both_units(size), both_units(grown.total_bytes[name])]
        for name, size in grown.added_bytes.items()
    ]
    yield from table(["regime", "added", "total afterwards"], rows, "lrr")


def _batch(report: EstimateReport) -> Iterator[str]:
    batch = report.activations
    if batch is None or report.alternative is not None:
        return
    yield f"### Batch of {batch.batch.size:,} x {batch.batch.length:,} tokens"
    yield ""
    rows = [
        ["input ids", both_units(batch.input_ids_bytes)],
        [f"lookup output ({batch.regime})", both_units(batch.lookup_output_bytes)],
        [
            f"logits at peak ({batch.loss.value}, {batch.regime})",
            both_units(batch.logits_peak_bytes),
        ],
        ["one-hot instead (fp32)", both_units(batch.one_hot_bytes)],
        ["operations of the one-hot product", f"{batch.one_hot_flops:,}"],
    ]
    yield from table(["", "size"], rows, "lr")


def _ranks(report: EstimateReport) -> Iterator[str]:
    ranks = report.per_rank
    if ranks is None:
        return
    yield f"### On the fullest rank, {_kind(report)}, {ranks.padded_rows:,} rows after padding"
    yield ""
    rows = [[name, f"{size:,}", both_units(size)] for name, size in ranks.bytes.items()]
    yield from table(["regime", "bytes", "size"], rows, "lrr")


def _budget(report: EstimateReport) -> Iterator[str]:
    budget = report.budget
    if budget is None:
        return
    yield f"### Budget {both_units(budget.bytes)}, {_kind(report)}"
    yield ""
    tokens = budget.largest_batch_tokens or {}
    rows = [
        [
            name,
            both_units(size),
            "yes" if budget.fits[name] else "no",
            f"{budget.largest_vocab_size[name]:,}",
            f"{tokens[name]:,}" if name in tokens else "",
        ]
        for name, size in budget.needs.items()
    ]
    heading = ["regime", "needs", "fits", "largest vocabulary", "largest B x T"]
    yield from table(heading, rows, "lrlrr")
