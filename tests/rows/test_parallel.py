"""Shares of a table, done by threads."""

from __future__ import annotations

import time
from threading import Event, get_ident

import pytest

from embcalc.rows.parallel import SHARE_BYTES, Meter, in_threads, shares


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 100])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_shares_cover_each_row_once_in_order(rows: int, workers: int) -> None:
    parts = shares(rows, SHARE_BYTES // 8, workers)
    assert [row for part in parts for row in part] == list(range(rows))
    assert all(len(part) <= 8 for part in parts) or workers == 1


def test_one_thread_reads_in_one_go() -> None:
    assert shares(100, SHARE_BYTES, 1) == [range(100)]


def test_rows_wider_than_a_share_and_rows_of_nothing() -> None:
    assert shares(3, 2 * SHARE_BYTES, 2) == [range(1), range(1, 2), range(2, 3)]
    assert shares(3, 0, 2) == [range(3)]


@pytest.mark.parametrize("workers", [1, 3])
def test_results_keep_the_order_of_the_parts(workers: int) -> None:
    def work(part: int) -> int:
        time.sleep(0.002 * (part % 3))
        return part * part

    assert in_threads(work, range(20), workers) == [part * part for part in range(20)]


def test_nothing_to_do() -> None:
    assert in_threads(lambda part: part, [], 2) == []


def test_one_part_stays_in_its_thread() -> None:
    assert in_threads(lambda _: get_ident(), [0], 4) == [get_ident()]


def test_a_failure_gives_up_what_has_not_begun() -> None:
    begun: list[int] = []
    failed = Event()

    def work(part: int) -> None:
        begun.append(part)
        if part == 0:
            failed.set()
            raise OSError("gone")
        failed.wait(5)
        time.sleep(0.01)

    with pytest.raises(OSError, match="gone"):
        in_threads(work, range(1000), 2)
    assert len(begun) < 1000


def test_a_failure_stops_what_runs_before_it_is_waited_for() -> None:
    stopped = Event()

    def work(part: int) -> None:
        if part == 0:
            raise OSError("gone")
        assert stopped.wait(30)

    with pytest.raises(OSError, match="gone"):
        in_threads(work, range(2), 2, stopped.set)


def test_a_meter_adds_up_and_ends_at_the_whole() -> None:
    told: list[tuple[str, int, int]] = []
    meter = Meter("rows", 4, 400, lambda *said: told.append(said))
    in_threads(meter.add, [1, 1, 1, 1], 2)
    assert told == [("rows", done, 400) for done in (100, 200, 300, 400)]


def test_a_meter_of_no_rows() -> None:
    told: list[tuple[str, int, int]] = []
    Meter("rows", 0, 0, lambda *said: told.append(said)).add(0)
    assert told == [("rows", 0, 0)]
