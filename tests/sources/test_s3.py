"""s3:// against an S3-compatible server on loopback."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from embcalc.checkpoints import open_checkpoint
from embcalc.errors import SourceError
from embcalc.sources import locate
from embcalc.sources.traffic import TRAFFIC

moto = pytest.importorskip("moto.server", reason="moto is not installed (group s3)")
pytest.importorskip("s3fs", reason="s3fs is not installed (group s3)")
# Both speak of what their own dependencies will drop some day.
pytestmark = pytest.mark.filterwarnings("ignore")


VARIABLES = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "NO_PROXY": "127.0.0.1",
}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A model of 10 MB under s3://models/tiny, and its folder on this machine."""
    import s3fs

    folder = tmp_path_factory.mktemp("s3")
    table = np.random.default_rng(1).normal(size=(5000, 500)).astype(np.float32)
    save_file({"wte.weight": table}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"vocab_size": 5000}')
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for key, value in VARIABLES.items():
            patch.setenv(key, value)
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        s3fs.S3FileSystem.clear_instance_cache()
        system = s3fs.S3FileSystem()
        system.mkdir("models")
        for path in folder.iterdir():
            system.put_file(str(path), f"models/tiny/{path.name}")
        yield folder
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def test_reads_the_same_rows_as_from_disk(bucket: Path) -> None:
    TRAFFIC.reset()
    for address in ("s3://models/tiny", "s3://models/tiny/model.safetensors"):
        found = locate(address)
        checkpoint = open_checkpoint(found.folder, found.file)
        got = b"".join(block.values.tobytes() for block in checkpoint.blocks("wte.weight"))
        assert got == (bucket / "model.safetensors").read_bytes()[-len(got) :]
        assert len(got) == 10_000_000
    assert locate("s3://models/tiny").folder.names() == ("config.json", "model.safetensors")
    assert 20_000_000 < TRAFFIC.read < 20_200_000


@pytest.mark.parametrize("address", ["s3://models/nope", "s3://no-such-bucket/x"])
def test_what_is_not_there_is_named(bucket: Path, address: str) -> None:
    with pytest.raises(SourceError, match=re.escape(address)) as caught:
        locate(address)
    assert caught.value.hint


def test_without_credentials(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(SourceError) as caught:
        locate("s3://models/tiny")
    assert "credentials" in f"{caught.value.message} {caught.value.hint}"
