"""Git's history: which files change often, which change together, and what commits say of them."""

from __future__ import annotations

import marshal
from array import array
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from kedge.host.git import Repo
from kedge.host.redact import redact
from kedge.repomap.search import find_matches
from kedge.repomap.upkeep import find_upkeep, is_record
from kedge.text.bm25 import score_documents

COMMITS = 2500
_AGE = 400  # a change counts half after this many commits
_FEW = 10  # in a commit of more files, each counts less
_WIDE = 20  # the subject of a commit of more files is ignored
_TOGETHER = 12
_PARTNERS = 8
_MOST = 8  # times that a word counts for one file at most

Commits = Sequence[tuple[str, list[str]]]  # subject and paths, newest first


@dataclass(frozen=True, slots=True)
class History:
    """The last commits, newest first: for each a line of `subjects`, and a slice of `files`, which
    has indexes of `paths`."""

    paths: list[str]
    subjects: str
    starts: array[int]
    files: array[int]
    words: array[int]  # number of words in the subjects of each file's commits
    changes: array[float]  # how often each file changed, without upkeep; older ones count less

    def recent_subjects(self, most: int) -> list[str]:
        """The subjects of the last commits."""
        return self.subjects.split("\n", most + 1)[1 : most + 1]

    def score_subjects(
        self, query: Mapping[str, float], b: float, own: Sequence[int], others: Iterable[int]
    ) -> dict[int, float]:
        """Score the subjects of each file's commits for a query (BM25).

        Files are the caller's numbers: `own` has the number of each of `paths`, or -1, and `others`
        are all numbers.
        """
        lengths = dict.fromkeys(others, 0)
        lengths.update(zip(own, self.words, strict=True))
        lengths.pop(-1, None)
        lower = self.subjects.lower()
        rows = {}
        for term in query:
            row: dict[int, int] = {}
            commit = before = 0
            for place in find_matches(self.subjects, lower, term):
                commit += lower.count("\n", before, place)
                before = place
                files = self.files[self.starts[commit - 1] : self.starts[commit]]
                for file in files if len(files) <= _WIDE else ():
                    row[own[file]] = min(row.get(own[file], 0) + 1, _MOST)
            row.pop(-1, None)
            rows[term] = row
        return score_documents(rows, query, lengths, b=b)

    def find_partners(
        self, wanted: Collection[str], most: int = _PARTNERS
    ) -> dict[str, list[tuple[str, float]]]:
        """The files that change together with each of these, with the share of its changes."""
        asked = {at for at, path in enumerate(self.paths) if path in wanted}
        rows: dict[int, dict[int, float]] = {at: {} for at in asked}
        starts, data = self.starts, self.files.tobytes()
        for one, row in rows.items():
            for commit in dict.fromkeys(bisect(starts, place) for place in _places(data, one)):
                files = self.files[starts[commit - 1] : starts[commit]]
                if 2 <= len(files) <= _TOGETHER:
                    share = 1 / (len(files) - 1)
                    for other in files:
                        if other != one:
                            row[other] = row.get(other, 0.0) + share
        return {self.paths[one]: self._partners(row, most) for one, row in rows.items()}

    def _partners(self, row: Mapping[int, float], most: int) -> list[tuple[str, float]]:
        total = sum(row.values()) + 2
        best = sorted(row.items(), key=lambda pair: (-pair[1], self.paths[pair[0]]))[:most]
        return [(self.paths[other], weight / total) for other, weight in best]

    def dump(self) -> bytes:
        paths = "\0".join(self.paths).encode("utf-8", "surrogateescape")
        arrays = (self.starts, self.files, self.words, self.changes)
        return marshal.dumps((paths, self.subjects, *(one.tobytes() for one in arrays)))

    @classmethod
    def load(cls, data: bytes | memoryview) -> History:
        paths, subjects, starts, files, words, changes = marshal.loads(data)  # noqa: S302 - our own
        named = paths.decode("utf-8", "surrogateescape").split("\0") if paths else []
        whole = (array("I", starts), array("I", files), array("I", words))
        return cls(named, subjects, *whole, array("d", changes))


def _places(data: bytes, number: int) -> Iterator[int]:
    """The indexes of a number in an array, by a byte search: much faster than a loop."""
    needle = array("I", [number]).tobytes()
    at = data.find(needle)
    while at >= 0:
        if at % len(needle) == 0:
            yield at // len(needle)
        at = data.find(needle, at + 1)


def read_log(repo: Repo) -> list[tuple[str, list[str]]]:
    """Subject and paths of the last commits, newest first."""
    out = repo.git(
        *["log", f"--max-count={COMMITS}", "--no-merges", "--no-renames", "--name-only", "-z"],
        "--format=%x01%s%x02",
    )
    commits = []
    for record in out.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        subject, _, rest = record.partition("\x02")
        commits.append((redact(subject), [path for path in rest.strip("\n\0").split("\0") if path]))
    return commits


def build_history(commits: Commits) -> History:
    number: defaultdict[str, int] = defaultdict(count().__next__)
    starts, files = [0], list[int]()
    words, changes = list[int](), list[float]()
    upkeep = find_upkeep(commits)
    for age, (subject, paths) in enumerate(commits):
        own = [number[path] for path in paths]
        files += own
        starts.append(len(files))
        words += [0] * (len(number) - len(words))
        changes += [0.0] * (len(number) - len(changes))
        weight = _AGE / (_AGE + age) * min(1.0, _FEW / (len(own) or 1))
        length = subject.count(" ") + 1 if len(own) <= _WIDE else 0
        for file in own:
            changes[file] += 0.0 if upkeep[age] else weight
            words[file] += length
    for path, file in number.items():
        if is_record(path):
            changes[file] = 0.0
    lines = [subject.replace("\n", " ") for subject, _ in commits]
    text = "\n".join(("", *lines, "")).encode("ascii", "replace").decode()
    whole = (array("I", starts), array("I", files), array("I", words))
    return History(list(number), text, *whole, array("d", changes))
