"""What git's past says of files: which change often, which change together, and about what."""

from __future__ import annotations

import marshal
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kedge.errors import GitError
from kedge.host.git import Repo
from kedge.repomap import terms
from kedge.repomap.corpus import Corpus

COMMITS = 4000
RECENT = 1500
_WIDE = 20  # a commit of more files says little of each
_TOGETHER = 12
_PARTNERS = 8


@dataclass(slots=True)
class History:
    """By number of file. `churn` falls with age; `partners` are (file, share) pairs."""

    churn: list[float]
    partners: list[list[tuple[int, float]]]
    subjects: Corpus
    recent: list[str]

    def dump(self) -> bytes:
        return marshal.dumps((self.churn, self.partners, self.subjects.dump(), self.recent))

    @classmethod
    def load(cls, data: bytes) -> History:
        churn, partners, subjects, recent = marshal.loads(data)  # noqa: S302 - our own
        return cls(churn, partners, Corpus.load(subjects), recent)


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
        commits.append((subject, [path for path in rest.strip("\n").split("\0") if path.strip()]))
    return commits


def build(commits: Sequence[tuple[str, list[str]]], number: Mapping[str, int]) -> History:
    size = len(number)
    churn = [0.0] * size
    said: list[Counter[str]] = [Counter() for _ in range(size)]
    together: list[dict[int, float]] = [{} for _ in range(size)]
    for age, (subject, paths) in enumerate(commits):
        files = [number[path.lstrip("\n")] for path in paths if path.lstrip("\n") in number]
        if age < RECENT:
            weight = math.exp(-age / 1000)
            for file in files:
                churn[file] += weight
        if not files or len(files) > _WIDE:
            continue
        words = terms.of_text(subject)
        for file in files:
            said[file].update(dict.fromkeys(words, 1))
        if 2 <= len(files) <= _TOGETHER:
            share = 1 / (len(files) - 1)
            for one in files:
                row = together[one]
                for other in files:
                    if other != one:
                        row[other] = row.get(other, 0.0) + share
    partners = []
    for row in together:
        total = sum(row.values()) + 2
        best = sorted(row.items(), key=lambda pair: (-pair[1], pair[0]))[:_PARTNERS]
        partners.append([(other, weight / total) for other, weight in best])
    return History(churn, partners, Corpus.build(said), [subject for subject, _ in commits[:200]])
