"""What the map knows about files, as the engine asks for it: in hooks, and in past sessions."""

from __future__ import annotations

from kedge.drift import expected_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Mapping

    from kedge.host.project import Project
    from kedge.repomap.neighbours import Neighbours
    from kedge.repomap.rank import Ranker


class StoredMap:
    """The map as it was stored for a session; nothing is computed."""

    def __init__(self, db: sqlite3.Connection, neighbours: Neighbours, session: str) -> None:
        self._db = db
        self._neighbours = neighbours
        self._session = session
        self._scope: expected_scope.ExpectedScope | None = None

    @property
    def lacks(self) -> tuple[str, ...]:
        return self._neighbours.lacks

    @property
    def leaders(self) -> Collection[str]:
        return self._load().leaders

    @property
    def terms(self) -> Mapping[str, float]:
        return self._load().terms

    def expect(self, goal: str) -> None:
        """Do nothing: the files are ranked aside."""

    def has_path(self, path: str) -> bool:  # noqa: ARG002 - the same for every map
        """Return True: hooks ask the working tree."""
        return True

    def near(self, path: str) -> Collection[str]:
        return self._neighbours.near(path)

    def relevance(self, path: str) -> float | None:
        return self._load().relevance(path)

    def _load(self) -> expected_scope.ExpectedScope:
        if self._scope is None:
            self._scope = expected_scope.load(self._db, self._session)
        return self._scope


class RankedMap:
    """A map that ranks its files for each goal at once, for sessions of the past."""

    def __init__(self, ranker: Ranker, neighbours: Neighbours) -> None:
        self._ranker = ranker
        self._neighbours = neighbours
        self._scope = expected_scope.ExpectedScope()

    @property
    def lacks(self) -> tuple[str, ...]:
        return self._neighbours.lacks

    @property
    def leaders(self) -> Collection[str]:
        return self._scope.leaders

    @property
    def terms(self) -> Mapping[str, float]:
        return self._scope.terms

    def expect(self, goal: str) -> None:
        ranker = self._ranker
        self._scope = self._scope.merge(ranker.find_relevance(goal), ranker.weigh_terms(goal))

    def has_path(self, path: str) -> bool:
        return path.rstrip("/") in self._ranker.known_paths

    def near(self, path: str) -> Collection[str]:
        return self._neighbours.near(path)

    def relevance(self, path: str) -> float | None:
        return self._scope.relevance(path)


class MapSource:
    """Opens the map of a project once, and gives each past session its own view of it."""

    def __init__(self, project: Project) -> None:
        from contextlib import closing

        from kedge.repomap.build import open_ranker
        from kedge.repomap.cache import Cache
        from kedge.repomap.neighbours import Neighbours
        from kedge.store import sqlite

        with closing(Cache(project.home())) as cache:
            self._ranker = open_ranker(project, cache)
        self._db = sqlite.connect(project.home())[0]
        self._neighbours = Neighbours(self._db, str(project.root))

    def open_session(self) -> RankedMap:
        return RankedMap(self._ranker, self._neighbours)

    def close(self) -> None:
        self._db.close()
