"""Digests are stored, so they must never change."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kedge.host.digest import blob, digest


def test_stored_digests_stay_valid() -> None:
    assert digest([]) == "3345524abf6bbe1809449224b5972c41790b6cf2"
    assert digest([b"a", b"bc"]) == "5bbbdcb28976d42843fbd9673b5c868ca573a3a0"


def test_the_borders_between_parts_count() -> None:
    parts = ([b"ab", b"c"], [b"a", b"bc"], [b"abc"], [b"abc", b""], [b"1:a"], [b"a"])
    assert len({digest(one) for one in parts}) == len(parts)


def test_a_blob_has_the_id_that_git_gives_it(tmp_path: Path) -> None:
    data = b"hello\0\xff\n"
    for algorithm in ("sha1", "sha256"):
        repo = tmp_path / algorithm
        command = ["git", "init", "--quiet", f"--object-format={algorithm}", str(repo)]
        subprocess.run(command, check=True)
        done = subprocess.run(
            ["git", "hash-object", "--stdin"], input=data, cwd=repo, capture_output=True, check=True
        )
        name = done.stdout.decode().strip()
        assert blob(data, like=name) == name
