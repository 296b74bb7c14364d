"""What the reference libraries raise over a file that they cannot use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class LibraryRefusalError(Exception):
    """A library does not take what a file holds; the message is the library's own, on one line."""


@contextmanager
def refusals() -> Iterator[None]:
    """Turn whatever a reference library raises inside into one error.

    The libraries raise bare Exceptions. A panic of their Rust code (a normalizer whose table is
    broken, a merge longer than any token) arrives as an exception that is no Exception.

    Raises:
        LibraryRefusalError: the library refused.
    """
    try:
        yield
    except Exception as error:
        raise _refusal(error) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise _refusal(error) from error


def _refusal(error: BaseException) -> LibraryRefusalError:
    return LibraryRefusalError(" ".join(str(error).split())[:300])
