"""How numbers of less than a byte lie in bytes, where that is an assumption."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from embcalc.core.findings import Problem, Severity
from embcalc.core.tables import EmbeddingTable


def assumed_packing(tables: Iterable[EmbeddingTable]) -> Iterator[Problem]:
    """Say what is assumed where no specification says how a format's bits lie in bytes.

    The format's own library gives 6-bit numbers a width and no layout ("not prescribed" in the
    OCP MX specification). 4-bit ones lie as torch packs them.
    """
    table = next((table for table in tables if table.tensor.dtype.name.startswith("F6_")), None)
    if table is not None:
        yield Problem(
            f"{table.name} is {table.tensor.dtype}: read as four numbers in three bytes, the first"
            " in the lowest bits",
            hint="no specification fixes the order: if the norms look odd, the writer packs"
            " otherwise",
            file=table.tensor.file,
            severity=Severity.NOTE,
        )
