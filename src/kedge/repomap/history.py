"""What git's past says of files: which change often, which change together, and about what."""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kedge.errors import GitError
from kedge.host.git import Repo
from kedge.repomap import terms
from kedge.repomap.search import bm25

COMMITS = 4000
_AGE = 400  # commits after which a change counts half
_FEW = 10  # files in a commit: of more, each counts for less
_WIDE = 20  # a commit of more files says little of each
_TOGETHER = 12
_PARTNERS = 8
_SUBJECTS = 200
_MOST = 8  # times that a word counts for one file

Commits = Sequence[tuple[str, list[str]]]  # subject and paths, newest first


@dataclass(slots=True)
class History:
    """`paths` that the last commits changed, and by their number: `churn`, which falls with age,
    `partners` as (path, share), and for each word the subjects of how many commits had it."""

    paths: list[str]
    churn: list[float]
    partners: list[list[tuple[int, float]]]
    said: dict[str, bytes]
    lengths: list[int]
    recent: list[str]

    def about(
        self, query: Mapping[str, float], b: float, number: Mapping[str, int]
    ) -> dict[int, float]:
        """How relevant the subjects of each file's commits are, by the caller's numbers."""
        rows: dict[str, dict[int, int]] = {}
        for term in query:
            entries = array("I", self.said.get(term, b""))
            row = {number.get(self.paths[entry >> 8], -1): entry & 0xFF for entry in entries}
            row.pop(-1, None)
            rows[term] = row
        own = {number[path]: at for at, path in enumerate(self.paths) if path in number}
        total = sum(self.lengths[at] for at in own.values())
        return bm25(rows, query, b, len(number), total, lambda one: self.lengths[own[one]])

    def dump(self) -> bytes:
        values = (self.paths, self.churn, self.partners, self.said, self.lengths, self.recent)
        return marshal.dumps(values)

    @classmethod
    def load(cls, data: bytes) -> History:
        return cls(*marshal.loads(data))  # noqa: S302 - our own


def log(repo: Repo | None) -> list[tuple[str, list[str]]]:
    """Subject and paths of the last commits, newest first; nothing where git has none."""
    if repo is None:
        return []
    try:
        out = repo.git(
            *["log", f"--max-count={COMMITS}", "--no-merges", "--no-renames", "--name-only", "-z"],
            "--format=%x01%s%x02",
        )
    except GitError:
        return []  # no commit yet
    commits = []
    for record in out.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        subject, _, rest = record.partition("\x02")
        commits.append((subject, [path for path in rest.strip("\n\0").split("\0") if path]))
    return commits


def build(commits: Commits) -> History:
    number: dict[str, int] = {}
    changes = [
        (subject, [number.setdefault(path, len(number)) for path in paths])
        for subject, paths in commits
    ]
    churn = [0.0] * len(number)
    said: dict[str, dict[int, int]] = {}
    together: list[dict[int, float]] = [{} for _ in number]
    for age, (subject, files) in enumerate(changes):
        weight = _AGE / (_AGE + age) * min(1.0, _FEW / (len(files) or 1))
        for file in files:
            churn[file] += weight
        if not files or len(files) > _WIDE:
            continue
        for term in terms.of_text(subject):
            row = said.setdefault(term, {})
            for file in files:
                row[file] = row.get(file, 0) + 1
        if 2 <= len(files) <= _TOGETHER:
            share = 1 / (len(files) - 1)
            for one in files:
                near = together[one]
                for other in files:
                    if other != one:
                        near[other] = near.get(other, 0.0) + share
    lengths = [0] * len(number)
    for row in said.values():
        for file, count in row.items():
            row[file] = min(count, _MOST)
            lengths[file] += row[file]
    return History(
        list(number),
        churn,
        [_partners(row) for row in together],
        {
            term: array("I", [file << 8 | count for file, count in row.items()]).tobytes()
            for term, row in said.items()
        },
        lengths,
        [subject for subject, _ in commits[:_SUBJECTS]],
    )


def _partners(row: Mapping[int, float]) -> list[tuple[int, float]]:
    total = sum(row.values()) + 2
    best = sorted(row.items(), key=lambda pair: (-pair[1], pair[0]))[:_PARTNERS]
    return [(other, weight / total) for other, weight in best]
