"""Every row of every table, written to a file of the format that its name ends in."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from embcalc.core.reports.inspect import InspectReport
from embcalc.errors import MissingExtraError, UsageError
from embcalc.render.files import whole_file
from embcalc.render.row_records import RowRecord, row_records

_BATCH = 65_536
Writer = Callable[[InspectReport, BinaryIO], None]


def require_format(path: Path) -> None:
    """Refuse a file name that no writer takes, before any work is done.

    Raises:
        UsageError: the ending is unknown.
        MissingExtraError: the package that it needs is not installed.
    """
    if path.suffix.lower() not in WRITERS:
        raise UsageError(
            f"--export does not know the format of {path.name!r}",
            hint=f"end the name in one of {', '.join(WRITERS)}",
        )
    if path.suffix.lower() == ".parquet":
        _pyarrow()


def export(report: InspectReport, path: Path) -> None:
    """Write all rows: id, token, norm, flags and tensor; the whole file or nothing.

    Raises:
        UsageError: the file cannot be written, or its ending is unknown.
        MissingExtraError: parquet without pyarrow.
    """
    require_format(path)
    with whole_file(path) as stream:
        WRITERS[path.suffix.lower()](report, stream)


def _csv(report: InspectReport, stream: BinaryIO) -> None:
    from embcalc.render.csv.inspect import render

    stream.write(render(report).encode())


def _jsonl(report: InspectReport, stream: BinaryIO) -> None:
    for record in row_records(report):
        line = record._asdict() | {"norm": record.norm if math.isfinite(record.norm) else None}
        stream.write(json.dumps(line, ensure_ascii=True, allow_nan=False).encode() + b"\n")


def _npy(report: InspectReport, stream: BinaryIO) -> None:
    """A structured array; texts as fixed-width unicode, so that nothing needs pickle."""
    import numpy as np

    rows = [
        (record.id, record.token or "", record.norm, " ".join(record.flags), record.tensor)
        for record in row_records(report)
    ]
    texts = ([row[1] for row in rows], [row[3] for row in rows], [row[4] for row in rows])
    token, flags, tensor = (f"U{max(1, *map(len, column), 1)}" for column in texts)
    fields = [("id", "i8"), ("token", token), ("norm", "f8"), ("flags", flags), ("tensor", tensor)]
    np.lib.format.write_array(stream, np.array(rows, dtype=fields), allow_pickle=False)


def _parquet(report: InspectReport, stream: BinaryIO) -> None:
    arrow, parquet = _pyarrow()
    schema = arrow.schema(
        [
            ("id", arrow.int64()),
            ("token", arrow.string()),
            ("norm", arrow.float64()),
            ("flags", arrow.list_(arrow.string())),
            ("tensor", arrow.dictionary(arrow.int32(), arrow.string())),
        ]
    )
    with parquet.ParquetWriter(stream, schema) as writer:
        for records in _batches(row_records(report)):
            columns = dict(zip(RowRecord._fields, zip(*records, strict=True), strict=True))
            # Half a surrogate pair is no UTF-8; a file must still be written.
            columns["token"] = tuple(
                None if token is None else token.encode("utf-8", "backslashreplace").decode()
                for token in columns["token"]
            )
            writer.write_table(arrow.table(columns, schema=schema))


def _batches(records: Iterator[RowRecord]) -> Iterator[tuple[RowRecord, ...]]:
    while batch := tuple(islice(records, _BATCH)):
        yield batch


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("--export FILE.parquet", "parquet") from error
    return pyarrow, pyarrow.parquet


WRITERS: dict[str, Writer] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".npy": _npy,
    ".parquet": _parquet,
}
