"""What stands in kedge's directory is not trusted: others may have put it there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kedge.host import daemon

GARBAGE = [
    b"",
    b"\xff\0",
    b"[" * 100_000,
    b"[1e9, 7]",
    b'[99999999999999999999, "x"]',
    b"9" * 10_000,
    b'{"proxy": true, "port": 99999999999999999999, "pid": 1}',
]


@pytest.mark.parametrize("data", [*GARBAGE, None])
def test_garbage_or_a_pipe_in_the_way_is_no_server(tmp_path: Path, data: bytes | None) -> None:
    for name in (daemon.FILE, daemon.PID, daemon.STATE):
        path = tmp_path / name
        if data is None:
            os.mkfifo(path)
        else:
            path.write_bytes(data)
    assert daemon.read(tmp_path) is None
    assert not daemon.is_on_duty(tmp_path)
    assert not daemon.is_served(tmp_path)
    assert not daemon.is_serving(tmp_path)
    daemon.relieve_dead(tmp_path)
    assert not (tmp_path / daemon.PID).exists()
