from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embcalc.errors import SourceError
from embcalc.sources import ranged, retry
from embcalc.sources.local import LocalFile
from embcalc.sources.prefetch import WORKERS, side_by_side
from embcalc.sources.ranged import PIECE, RangedFile, warm
from embcalc.sources.retry import Patience, TransientError, persistently

CONTENT = bytes(range(251)) * 40_000


class Origin:
    """Bytes in memory, served in odd chunks, with failures on order."""

    label = "memory"

    def __init__(self, content: bytes = CONTENT, *, parallel: bool = True, cut: int = 0) -> None:
        self.content = content
        self.parallel = parallel
        self.cut = cut
        """Bytes after which each attempt ends early; 0 for never."""
        self.asked: list[tuple[int, int]] = []

    def size(self) -> int:
        return len(self.content)

    def chunks(self, start: int, length: int) -> Iterator[bytes]:
        self.asked.append((start, length))
        given = length if not self.cut else min(length, self.cut)
        for at in range(start, start + given, 1009):
            yield self.content[at : min(at + 1009, start + given)]


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)


QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUIET
@given(st.lists(st.tuples(st.integers(0, 60_000), st.none() | st.integers(0, 70_000)), max_size=12))
def test_reads_are_slices_in_any_order(reads: list[tuple[int, int | None]]) -> None:
    content = CONTENT[:50_000]
    file = RangedFile(Origin(content), "x")
    for start, length in reads:
        stop = None if length is None else start + length
        assert file.read(start, length) == content[start:stop]


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("block", [1000, 262_144, PIECE + 1])
@pytest.mark.parametrize(
    ("start", "length"), [(0, len(CONTENT)), (777, 9_000_000), (5, 10), (3, 0)]
)
def test_streams_are_blocks_of_the_range(
    start: int, length: int, block: int, parallel: bool
) -> None:
    origin = Origin(parallel=parallel)
    blocks = [bytes(piece) for piece in RangedFile(origin, "x").stream(start, length, block)]
    assert b"".join(blocks) == CONTENT[start : start + length]
    assert all(len(piece) == block for piece in blocks[:-1])
    assert sum(asked for _, asked in origin.asked) == length


def test_a_header_takes_one_request() -> None:
    origin = Origin()
    file = RangedFile(origin, "x")
    assert file.read(0, 8) + file.read(8, 9000) == CONTENT[:9008]
    assert origin.asked == [(0, ranged.READ_AHEAD)]


def test_a_long_header_takes_two_and_nothing_twice() -> None:
    origin = Origin()
    file = RangedFile(origin, "x")
    assert file.read(0, 8) + file.read(8, 900_000) == CONTENT[:900_008]
    assert origin.asked == [(0, 16_384), (16_384, 900_008 - 16_384)]


def test_small_reads_in_a_row_fetch_ahead_more_and_more() -> None:
    origin = Origin()
    file = RangedFile(origin, "x")
    got = b"".join(file.read(at, 1000) for at in range(0, 2_000_000, 1000))
    assert got == CONTENT[:2_000_000]
    assert len(origin.asked) < 12


def test_jumps_fetch_little() -> None:
    origin = Origin()
    file = RangedFile(origin, "x")
    for at in range(0, 5_000_000, 500_000):
        file.read(at, 8)
    assert {length for _, length in origin.asked} == {ranged.READ_AHEAD}


@pytest.mark.parametrize("parallel", [True, False])
def test_cut_connections_are_resumed(parallel: bool) -> None:
    origin = Origin(parallel=parallel, cut=300_000)
    pieces = RangedFile(origin, "x").stream(100, 10_000_000, 65_536)
    assert b"".join(map(bytes, pieces)) == CONTENT[100:10_000_100]
    assert len(origin.asked) > 10_000_000 / 300_000


def test_connections_that_bring_almost_nothing_end() -> None:
    with pytest.raises(SourceError, match="broke at byte"):
        RangedFile(Origin(cut=1), "x").read(0, 5000)


def test_past_the_end() -> None:
    file = RangedFile(Origin(b"abc"), "x")
    assert file.read(2, 10) == b"c"
    assert file.read(3) == file.read(50, 5) == b""
    with pytest.raises(SourceError, match="ends at byte 3; 4 are needed"):
        next(file.stream(1, 3, 2))


def test_the_order_is_kept_whoever_is_faster() -> None:
    def fetch(start: int, length: int, _stop: threading.Event) -> bytes:
        time.sleep(0.02 if start % 2 else 0.0)
        return bytes([start]) * length

    assert list(side_by_side(fetch, [(n, 2) for n in range(20)])) == [
        bytes([n]) * 2 for n in range(20)
    ]


def test_no_more_is_fetched_than_is_asked_for() -> None:
    begun: list[int] = []

    def fetch(start: int, _length: int, _stop: threading.Event) -> bytes:
        begun.append(start)
        return b"x"

    pieces = side_by_side(fetch, ((n, 1) for n in range(1000)))
    next(pieces)
    time.sleep(0.05)
    assert len(begun) <= WORKERS
    pieces.close()


def test_an_error_of_a_thread_is_raised_in_its_turn() -> None:
    def fetch(start: int, _length: int, _stop: threading.Event) -> bytes:
        if start == 3:
            raise SourceError("three")
        return b"x"

    pieces = side_by_side(fetch, [(n, 1) for n in range(9)])
    assert [next(pieces) for _ in range(3)] == [b"x"] * 3
    with pytest.raises(SourceError, match="three"):
        next(pieces)


def test_threads_stop_when_nobody_listens() -> None:
    stops: list[threading.Event] = []

    def fetch(start: int, _length: int, stop: threading.Event) -> bytes:
        stops.append(stop)
        if start > 0:
            stop.wait(10)
        return b"x"

    pieces = side_by_side(fetch, [(n, 1) for n in range(50)])
    next(pieces)
    pieces.close()
    assert stops[0].is_set()
    for thread in threading.enumerate():
        if thread.name.startswith("embcalc-fetch"):
            thread.join(5)
            assert not thread.is_alive()


def test_a_stopped_fetch_ends_early() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(SourceError, match="stopped"):
        RangedFile(Origin(), "x")._fetch(0, 100_000, stop)


def test_heads_are_fetched_side_by_side() -> None:
    together = threading.Barrier(4, timeout=5)

    class Slow(Origin):
        def chunks(self, start: int, length: int) -> Iterator[bytes]:
            together.wait()
            yield from super().chunks(start, length)

    origins = [Slow() for _ in range(4)]
    files = [RangedFile(origin, str(number)) for number, origin in enumerate(origins)]
    warm([*files, LocalFile(Path(__file__), "not remote")])
    assert [file.read(0, 100) for file in files] == [CONTENT[:100]] * 4
    assert [len(origin.asked) for origin in origins] == [1] * 4


def test_a_head_that_fails_is_told_when_it_is_read() -> None:
    class Broken(Origin):
        def chunks(self, start: int, length: int) -> Iterator[bytes]:
            self.asked.append((start, length))
            raise SourceError("gated")

    origin = Broken()
    file = RangedFile(origin, "x")
    warm([file])
    with pytest.raises(SourceError, match="gated"):
        file.read(0, 8)
    assert len(origin.asked) == 1


def test_head_tail_and_place_are_held_at_once() -> None:
    origin = Origin()
    file = RangedFile(origin, "x")
    for at in (0, len(CONTENT) - 100, 5_000_000, 10, len(CONTENT) - 50, 5_000_100, 0):
        assert file.read(at, 40) == CONTENT[at : at + 40]
    assert len(origin.asked) == 3


def test_waits_double_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.5)
    waits: list[float] = []

    def fail() -> None:
        raise TransientError("x")

    with pytest.raises(TransientError):
        persistently(fail, Patience(tries=9, sleep=waits.append))
    assert waits == [0.5, 1, 2, 4, 8, 8, 8, 8]


def test_a_server_may_ask_for_a_short_wait_only() -> None:
    waits: list[float] = []
    Patience(sleep=waits.append).after(TransientError("x", wait=5))
    assert waits == [5]
    with pytest.raises(TransientError):
        Patience(sleep=waits.append).after(TransientError("x", wait=60))


def test_large_reads_take_parallel_pieces() -> None:
    origin = Origin()
    assert RangedFile(origin, "x").read(3, 9_000_000) == CONTENT[3:9_000_003]
    assert sorted(origin.asked) == [
        (3, PIECE), (3 + PIECE, PIECE), (3 + 2 * PIECE, 9_000_000 - 2 * PIECE)
    ]  # fmt: skip
