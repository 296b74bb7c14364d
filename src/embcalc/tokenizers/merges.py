"""Merges of a BPE tokenizer whose tokens the vocabulary does not have: `tokenizers` refuses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

import msgspec

from embcalc.core.findings import Problem
from embcalc.core.tokenizer_facts import Merges
from embcalc.core.wording import SHOWN, listed, quoted

BLOCK = 1 << 20
"""Bytes of JSON made out at once: in memory a list of merges is ten times as long."""
SAMPLE = 1 << 14
"""Bytes looked at from either end of a list of more than one block, unless all are wanted."""
COMMENT = "#version"
"""What a line of the old notation begins with that is no merge."""
_HINT = "take vocabulary and merges from one model, or save the tokenizer again"

Merge = str | tuple[str, str]


def sampled(merges: Merges | None) -> bool:
    """Whether a list is so long that only its ends are looked at, unless all is wanted.

    One that is all on one line cannot be cut.
    """
    if merges is None or len(merges.json) <= BLOCK:
        return False
    return b"\n" in bytes(merges.json[:SAMPLE])


def unloadable_merges(
    merges: Merges | None, base: Mapping[str, int], file: str, *, every: bool
) -> Iterator[Problem]:
    """Name the merges that `tokenizers` refuses, in one problem.

    Both tokens of a merge, and the one that becomes of them, have to be in the base vocabulary;
    added tokens do not count. Two notations are known, "a b" and ["a", "b"], never mixed.

    Args:
        merges: None for a tokenizer that has none.
        base: text to id.
        file: for the message.
        every: look at all of them, however many.
    """
    if merges is None:
        return
    begin = bytes(merges.json[:64])
    paired = begin[1:].lstrip()[:1] == b"["
    kind = list[tuple[str, str]] if paired else list[str]
    blocks = _ends if sampled(merges) and not every else _blocks
    try:
        looked: Iterator[Merge] = chain.from_iterable(
            msgspec.json.decode(block, type=kind)
            for block in blocks(merges.json, b"],\n" if paired else b'",\n')
        )
        wrong = _wrong(looked, base, len(merges.prefix.encode()))
        shown = list(islice(wrong, SHOWN))
        total = len(shown) + sum(1 for _ in wrong)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        yield Problem(f"tokenizers refuses the merges of {file}: {error}", _HINT, file)
        return
    if total:
        yield Problem(
            f"tokenizers refuses {total:,} of the merges of {file}: {listed(shown, total)}",
            _HINT,
            file,
        )


def _blocks(json: memoryview, end: bytes) -> Iterator[bytes]:
    """A list as several shorter ones, cut behind lines that end so: no text contains a line end."""
    at = 1 if bytes(json[:1]) == b"[" else 0
    while at + BLOCK < len(json):
        block = bytes(json[at : at + BLOCK])
        cut = block.rfind(end)
        if cut < 0:
            break
        yield b"[%b]" % block[: cut + 1]
        at += cut + len(end)
    yield b"[" * (at > 0) + bytes(json[at:])


def _ends(json: memoryview, end: bytes) -> Iterator[bytes]:
    """The first and the last lines of a list."""
    first, last = bytes(json[1:SAMPLE]), bytes(json[-SAMPLE:])
    cuts = first.rfind(end), last.find(end)
    if min(cuts) >= 0:
        yield b"[%b]" % first[: cuts[0] + 1]
        yield b"[" + last[cuts[1] + len(end) :]


def _wrong(merges: Iterable[Merge], base: Mapping[str, int], skipped: int) -> Iterator[str]:
    """What is wrong with each merge that is refused; `skipped` are the bytes of the prefix."""
    for merge in merges:
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if len(parts) == 2:
            left, right = parts
            joined = _joined(left, right, skipped)
            if left in base and right in base and joined is not None and joined in base:
                continue
        if not (isinstance(merge, str) and merge.startswith(COMMENT)):
            yield _told(parts, base, skipped)


def _told(parts: Sequence[str], base: Mapping[str, int], skipped: int) -> str:
    if len(parts) != 2:
        return f"{quoted(' '.join(parts))} is not two tokens"
    left, right = parts
    missing = next((text for text in parts if text not in base), _joined(left, right, skipped))
    reason = f"{quoted(right)} is too short" if missing is None else f"no {quoted(missing)}"
    return f"{quoted(left)} + {quoted(right)} ({reason})"


def _joined(left: str, right: str, skipped: int) -> str | None:
    """What becomes of two tokens; None where the second is shorter than its prefix."""
    if not skipped:
        return left + right
    rest = right.encode()
    return left + rest[skipped:].decode("utf-8", "replace") if len(rest) >= skipped else None
