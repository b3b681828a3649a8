"""The index of a tree is only kept for the files that it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import git

from kedge.host import project
from kedge.repomap import build, documents
from kedge.repomap.cache import Cache
from kedge.repomap.index import Index
from kedge.repomap.listing import list_files


@pytest.mark.parametrize("change", ["none", "an edit", "a file removed", "folders swapped"])
def test_an_index_is_only_kept_if_the_files_did_not_change_meanwhile(
    repo: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    one, two, ship = repo / "one", repo / "two", repo / "ship.py"
    for folder in (one, two):
        folder.mkdir()
        (folder / "core.py").write_text(f"def of_{folder.name}(): pass\n")
    ship.write_text("def sail(): pass\n")
    git(repo, "add", "-A")
    read = documents.read_documents

    def read_meanwhile(*values: Any) -> Any:
        if change == "a file removed":
            ship.unlink()
        result = read(*values)
        if change == "an edit":
            ship.write_text("def sunk(): pass\n")
        elif change == "folders swapped":
            one.rename(repo / "none")
            two.rename(one)
            (repo / "none").rename(two)
        return result

    monkeypatch.setattr(documents, "read_documents", read_meanwhile)
    place, cache = project.find(repo), Cache(repo / ".git" / "kedge")
    listing = list_files(place)
    result = build.make_map(place, build.MapRequest("ships"), cache)
    kept = cache.load_memo("index", listing.state, Index.load)
    assert (kept is not None) == (change == "none") == result.settled
