"""What stands in place of a file: Git LFS pointers and web pages, told by how they begin."""

from __future__ import annotations

import pytest

from embcalc.core.files import is_html, is_lfs_pointer, lfs_pointer_error, promised_size

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 499723\n"


def test_pointer_names_the_size_of_the_real_file() -> None:
    assert is_lfs_pointer(POINTER)
    error = lfs_pointer_error("spiece.model", POINTER)
    assert error.message == (
        "spiece.model is a Git LFS pointer, not the file itself; the real file has 499,723 bytes"
    )
    assert "git lfs pull" in str(error.hint)


@pytest.mark.parametrize("broken", [POINTER[:60], POINTER.replace(b"499723", b"many"), b""])
def test_pointer_without_a_size_says_nothing_of_it(broken: bytes) -> None:
    assert promised_size(broken) == ""


@pytest.mark.parametrize("content", [b"", b" " + POINTER, b'{"version": "https://git-lfs"}'])
def test_no_pointer(content: bytes) -> None:
    assert not is_lfs_pointer(content)


@pytest.mark.parametrize(
    "page",
    [b"<!DOCTYPE html>", b"\n  <html lang=en>", b"<head>", b'<?xml version="1.0"?><Error>'],
)
def test_pages(page: bytes) -> None:
    assert is_html(page)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"<pad>\n<s>", b"x<html>", b" " * 2000 + b"<html>"]
)
def test_no_page(content: bytes) -> None:
    assert not is_html(content)
