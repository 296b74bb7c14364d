"""Files that are not what their names say."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embcalc.errors import CheckpointError, SourceError
from tests.checkpoints.conftest import opened

Write = Callable[[str, bytes], Path]
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 988097824\n"


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def tar() -> bytes:
    return bytes(257) + b"ustar\x0000" + bytes(800)


CASES = [
    ("lfs.safetensors", LFS, "is a Git LFS pointer; the real file has 988,097,824 bytes",
     "run 'git lfs pull' in its repository, or download the file itself"),
    ("lfs.bin", b"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer",
     "run 'git lfs pull' in its repository, or download the file itself"),
    ("page.safetensors", b"\n<!DOCTYPE html><html>", "is an HTML page, not a checkpoint",
     "a login or error page was saved in its place; download the file itself"),
    ("page.gguf", b"<html><body>Not found", "is an HTML page, not a checkpoint",
     "a login or error page was saved in its place; download the file itself"),
    ("pickle.safetensors", b"\x80\x02}q\x00X\x01\x00\x00\x00a", "is a PyTorch pickle, not"
     " safetensors", "rename it to end in .bin; embcalc can read it then"),
    ("zip.safetensors", archive(**{"x/data.pkl": b""}), "is a PyTorch file, not safetensors",
     "rename it to end in .bin; embcalc can read it then"),
    ("zip.bin", archive(readme=b"hello"), "is a zip archive without tensors, not PyTorch",
     "unpack or convert it first"),
    ("zeros.safetensors", bytes(5000),
     "begins with 1,024 zero bytes: its contents were never written",
     "an interrupted download leaves such files; download it again"),
    ("empty.bin", b"", "is empty (0 bytes)", "download it again"),
    ("message.safetensors", b'{"error": "Repository not found"}',
     "is a JSON text, not a checkpoint",
     "it may be an index or the message of a failed download; look into it"),
    ("text.bin", b"hello world", "is no checkpoint of a known format",
     "embcalc reads safetensors, PyTorch, GGUF, MLX and NumPy files"),
    ("g.safetensors", b"GGUF\3\0\0\0" + bytes(16), "is a GGUF file, not safetensors",
     "rename it to end in .gguf; embcalc can read it then"),
    ("s.gguf", b"\2\0\0\0\0\0\0\0{}", "is a safetensors file, not GGUF",
     "rename it to end in .safetensors; embcalc can read it then"),
    ("x.npy", b"\2\0\0\0\0\0\0\0{}", "is a safetensors file, not NumPy",
     "rename it to end in .safetensors; embcalc can read it then"),
    ("a.bin", b"\x1f\x8b\x08abc", "is a gzip archive, not PyTorch", "unpack or convert it first"),
    ("a.pt", tar(), "is a tar archive, not PyTorch", "unpack or convert it first"),
    ("a.ckpt", b"\x89HDF\r\n\x1a\n", "is an HDF5 file, not PyTorch", "unpack or convert it first"),
    ("a.pth", b"\x28\xb5\x2f\xfdabc", "is a Zstandard archive, not PyTorch",
     "unpack or convert it first"),
    ("a.npz", b"\xfd7zXZ\0", "is an xz archive, not NumPy", "unpack or convert it first"),
    ("noise.safetensors", bytes(range(7, 200)), "is no safetensors file: its first 8 bytes"
     " promise a header of 1,012,478,732,780,767,239 bytes",
     "a header has at most 100,000,000 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "what", "hint"), CASES, ids=[c[0] for c in CASES])
def test_what_a_file_really_is(
    name: str, content: bytes, what: str, hint: str, write: Write
) -> None:
    path = write(name, content)
    with pytest.raises(CheckpointError) as raised:
        opened(path)
    assert (raised.value.message, raised.value.hint) == (f"{path} {what}", hint)


def test_a_header_of_which_the_length_looks_like_a_pickle(tmp_path: Path) -> None:
    """A header of 640 bytes begins with 80 02, as pickles of protocol 2 do."""
    from safetensors.numpy import save_file

    path = tmp_path / "m.safetensors"
    for padding in range(700):
        save_file({"a": np.zeros(1)}, path, {"x": "y" * padding})
        if path.read_bytes()[:2] == b"\x80\x02":
            break
    assert path.read_bytes()[:8] == b"\x80\x02\0\0\0\0\0\0"
    assert list(opened(path).tensors) == ["a"]


def test_a_file_of_no_suffix_is_read_by_what_it_holds(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(1)}, tmp_path / "4d7a")
    assert opened(tmp_path / "4d7a").format == "safetensors"
    (tmp_path / "note").write_text("hello")
    with pytest.raises(CheckpointError, match="is no checkpoint of a known format"):
        opened(tmp_path / "note")


def test_a_dangling_link(tmp_path: Path) -> None:
    link = tmp_path / "model.safetensors"
    link.symlink_to(tmp_path / "blobs" / "4d7a")
    with pytest.raises(SourceError) as raised:
        opened(link)
    assert raised.value.message == (
        f"{link} is a link to {tmp_path}/blobs/4d7a, which does not exist"
    )
    assert raised.value.hint == "a file of the hub's cache was deleted; download the model again"
