"""The files that the map expects for a session's goals, and how much each term of a goal says.

The ranking takes longer than a hook may, so it is made aside, kept with the session, and read by
the hooks that follow.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from kedge.host.project import Project

_MOST = 4_000  # files that are kept
_LEADERS = 10
_TERMS = 200  # that are kept
_UNIT = 1_000  # relevance is kept as an integer


class ExpectedScope:
    """The relevance of files, as text: `path<tab>relevance`, the most relevant file first.

    `terms` are those of the goals, each with its weight: one that is rare in the project says more.
    """

    def __init__(self, text: str = "", terms: Mapping[str, float] | None = None) -> None:
        self.text = text
        self.terms = terms or {}

    @property
    def leaders(self) -> list[str]:
        """The most relevant files that have to do with the goals."""
        lines = (line.partition("\t") for line in self.text.split("\n", _LEADERS)[:_LEADERS])
        return [path for path, _, value in lines if path and int(value) > 0]

    def relevance(self, path: str) -> float | None:
        """Return the relevance of a file; of a new one, the average in its directory.

        In a new directory, it is the average below the next one that is known. None for new files
        at the root.
        """
        found = self._find(f"{path}\t")
        folder = path.rpartition("/")[0]
        if not found and folder:
            found = self._find(f"{folder}/")
        while not found and folder:
            found = self._find(f"{folder}/", below=True)
            folder = folder.rpartition("/")[0]
        return sum(found) / len(found) if found else None

    def merge(
        self, relevance: Mapping[str, float], terms: Mapping[str, float] | None = None
    ) -> ExpectedScope:
        """Return the scope with another goal's: a file counts as what it is to either."""
        known = {path: round(value * _UNIT) for path, value in relevance.items()}
        for line in self.text.splitlines():
            path, _, value = line.partition("\t")
            known[path] = max(int(value), known.get(path, -_UNIT))
        best = sorted(known.items(), key=lambda item: (-item[1], item[0]))[:_MOST]
        text = "\n".join(f"{path}\t{value}" for path, value in best)
        weights = {term: round(weight * _UNIT) / _UNIT for term, weight in (terms or {}).items()}
        return ExpectedScope(text, dict([*self.terms.items(), *weights.items()][-_TERMS:]))

    def _find(self, start: str, *, below: bool = False) -> list[float]:
        """Return the relevance of the files with this path, or of those in this directory."""
        values = []
        at = 0 if self.text.startswith(start) else self.text.find(f"\n{start}") + 1
        while at or self.text.startswith(start):
            rest, _, value = self.text[at : self._end(at)].partition("\t")
            if below or "/" not in rest[len(start) :]:
                values.append(int(value) / _UNIT)
            at = self.text.find(f"\n{start}", at) + 1
            if not at:
                break
        return values

    def _end(self, at: int) -> int | None:
        end = self.text.find("\n", at)
        return end if end >= 0 else None


def load(db: sqlite3.Connection, session: str) -> ExpectedScope:
    """Return what was kept for a session."""
    query = "SELECT files, terms FROM session_scope WHERE session = ?"
    files, terms = db.execute(query, (session,)).fetchone() or ("", "")
    weights = (line.partition("\t") for line in terms.splitlines())
    return ExpectedScope(files, {term: int(value) / _UNIT for term, _, value in weights})


def save(project: Project, session: str) -> None:
    """Rank the project's files for the current goal of a session, and keep the result.

    One process at a time does this for a session. It holds no lock on the database meanwhile.
    """
    from contextlib import closing

    from kedge.repomap.build import open_ranker
    from kedge.repomap.cache import Cache
    from kedge.store import sessions, sqlite

    with closing(sqlite.connect(project.home())[0]) as db:
        row = sessions.get(db, session)
        query = "SELECT goal FROM session_scope WHERE session = ?"
        ranked = [goal for (goal,) in db.execute(query, (session,))]
        known = load(db, session)
    if row is None or not row["goal"] or row["goal"] in ranked:
        return
    with closing(Cache(project.home())) as cache:
        ranker = open_ranker(project, cache)
        goal = row["goal"]
        scope = known.merge(ranker.find_relevance(goal), ranker.weigh_terms(goal))
    terms = "\n".join(f"{term}\t{round(weight * _UNIT)}" for term, weight in scope.terms.items())
    values = (session, goal, scope.text, terms)
    with closing(sqlite.connect(project.home())[0]) as db:
        db.execute("INSERT OR REPLACE INTO session_scope VALUES (?, ?, ?, ?)", values)
