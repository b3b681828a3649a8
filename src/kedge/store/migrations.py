"""The database's schema as an ordered list of named steps, each applied once.

Hook path: types are imported for type checkers only.
"""

from __future__ import annotations

from kedge.host import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    Step = Callable[[sqlite3.Connection], None]


def map_cache(db: sqlite3.Connection) -> None:
    """Symbols by file content, indexes of trees, and finished maps."""
    db.execute("CREATE TABLE map_symbols (key BLOB PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID")
    db.execute(
        "CREATE TABLE map_memo (key BLOB PRIMARY KEY, kind TEXT NOT NULL, used INTEGER NOT NULL,"
        " data BLOB NOT NULL)"
    )


def anchors(db: sqlite3.Connection) -> None:
    """Digests of the sources of each agent's last anchor, so that a later one can show changes."""
    db.execute(
        "CREATE TABLE anchor (key TEXT NOT NULL, source TEXT NOT NULL, digest TEXT NOT NULL,"
        " given_at TEXT NOT NULL, PRIMARY KEY (key, source)) WITHOUT ROWID"
    )


def sessions(db: sqlite3.Connection) -> None:
    """Sessions of agents: charters, steps with their verdicts, drift events, guard errors.

    Lists and objects are JSON. `engine` is the state that the session's next event needs.
    """
    db.execute(
        "CREATE TABLE session (id TEXT PRIMARY KEY, agent TEXT NOT NULL, project TEXT NOT NULL,"
        " task TEXT, policy TEXT NOT NULL, goal TEXT NOT NULL DEFAULT '',"
        " scope TEXT NOT NULL DEFAULT '[]', constraints TEXT NOT NULL DEFAULT '[]',"
        " keywords TEXT NOT NULL DEFAULT '[]', score REAL NOT NULL DEFAULT 10,"
        " course TEXT NOT NULL DEFAULT 'NORMAL', escalation INTEGER NOT NULL DEFAULT 0,"
        " steps INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT 'active',"
        " transcript TEXT NOT NULL DEFAULT '', needs_review INTEGER NOT NULL DEFAULT 0,"
        " started_at TEXT NOT NULL, checked_at TEXT NOT NULL, ended_at TEXT,"
        " engine TEXT NOT NULL DEFAULT '', summary TEXT)"
    )
    db.execute(
        "CREATE TABLE charter (session TEXT NOT NULL, revision INTEGER NOT NULL, at TEXT NOT NULL,"
        " said TEXT NOT NULL, goal TEXT NOT NULL, constraints TEXT NOT NULL, scope TEXT NOT NULL,"
        " PRIMARY KEY (session, revision)) WITHOUT ROWID"
    )
    db.execute(
        "CREATE TABLE step (number INTEGER PRIMARY KEY, session TEXT NOT NULL, id TEXT NOT NULL,"
        " position INTEGER NOT NULL, subagent TEXT NOT NULL, tool TEXT NOT NULL,"
        " action_type TEXT NOT NULL, files TEXT NOT NULL, folders TEXT NOT NULL,"
        " command TEXT NOT NULL, reasoning TEXT NOT NULL, drift_score INTEGER NOT NULL,"
        " drift_type TEXT NOT NULL, level TEXT NOT NULL, rules TEXT NOT NULL,"
        " lacks TEXT NOT NULL DEFAULT '[]', recalled TEXT NOT NULL, decision TEXT NOT NULL,"
        " correction_given TEXT NOT NULL, changes INTEGER NOT NULL,"
        " is_key_decision INTEGER NOT NULL, is_validated INTEGER NOT NULL,"
        " keywords TEXT NOT NULL, ok INTEGER, at TEXT NOT NULL, UNIQUE (session, id))"
    )
    db.execute("CREATE INDEX step_decisions ON step (number) WHERE is_key_decision")
    db.execute(
        "CREATE TABLE step_term (kind TEXT NOT NULL, term TEXT NOT NULL, step INTEGER NOT NULL,"
        " PRIMARY KEY (kind, term, step)) WITHOUT ROWID"
    )
    db.execute(
        "CREATE TABLE drift_event (number INTEGER PRIMARY KEY, session TEXT NOT NULL,"
        " step TEXT NOT NULL, at TEXT NOT NULL, score INTEGER NOT NULL, level TEXT NOT NULL,"
        " before TEXT NOT NULL, after TEXT NOT NULL, escalation INTEGER NOT NULL,"
        " evidence TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX drift_event_session ON drift_event (session)")
    db.execute(
        "CREATE TABLE guard_error (number INTEGER PRIMARY KEY, at TEXT NOT NULL,"
        " agent TEXT NOT NULL, session TEXT NOT NULL, event TEXT NOT NULL, kedge TEXT NOT NULL,"
        " error TEXT NOT NULL)"
    )


def map_neighbours(db: sqlite3.Connection) -> None:
    """For each file, the files near it, in the trees that maps were built from."""
    db.execute(
        "CREATE TABLE map_tree (number INTEGER PRIMARY KEY, version TEXT NOT NULL,"
        " repo TEXT NOT NULL, place TEXT NOT NULL, past TEXT NOT NULL, state TEXT NOT NULL,"
        " made INTEGER NOT NULL, UNIQUE (repo, place, past))"
    )
    db.execute(
        "CREATE TABLE map_near (tree INTEGER NOT NULL, file BLOB NOT NULL, data BLOB NOT NULL,"
        " PRIMARY KEY (tree, file)) WITHOUT ROWID"
    )


def limits(db: sqlite3.Connection) -> None:
    """What the user ruled out is called a limit."""
    db.execute("ALTER TABLE session RENAME COLUMN constraints TO limits")
    db.execute("ALTER TABLE charter RENAME COLUMN constraints TO limits")


def expected_scope(db: sqlite3.Connection) -> None:
    """The files that the map expects for a session's goals, one per line with its relevance."""
    db.execute(
        "CREATE TABLE session_scope (session TEXT PRIMARY KEY, goal TEXT NOT NULL,"
        " files TEXT NOT NULL) WITHOUT ROWID"
    )


def bindings(db: sqlite3.Connection) -> None:
    """How a session is bound to its task, and the work tree where a task was last claimed."""
    db.execute("ALTER TABLE session ADD COLUMN bound TEXT NOT NULL DEFAULT ''")
    db.execute(
        "CREATE TABLE claim (task TEXT PRIMARY KEY, project TEXT NOT NULL, actor TEXT NOT NULL,"
        " at TEXT NOT NULL) WITHOUT ROWID"
    )


def limit_records(db: sqlite3.Connection) -> None:
    """When each limit of a session came and was lifted; what a step asked the user about.

    `content` is the limit as JSON, `asked` pairs of a limit's id, or of a rule, and its evidence.
    """
    db.execute(
        "CREATE TABLE session_limit (number INTEGER PRIMARY KEY, session TEXT NOT NULL,"
        " id TEXT NOT NULL, content TEXT NOT NULL, since TEXT NOT NULL, lifted TEXT)"
    )
    db.execute("CREATE INDEX session_limit_session ON session_limit (session)")
    db.execute("ALTER TABLE step ADD COLUMN asked TEXT NOT NULL DEFAULT '[]'")


def unread_messages(db: sqlite3.Connection) -> None:
    """Messages of the user that were noted and not read yet; `turn` counts what may change a goal:
    messages, and changes of the session's task."""
    db.execute("ALTER TABLE session ADD COLUMN unread TEXT NOT NULL DEFAULT '[]'")
    db.execute("ALTER TABLE session ADD COLUMN turn INTEGER NOT NULL DEFAULT 0")


def session_process(db: sqlite3.Connection) -> None:
    """The process of a session's agent, as `host.agent_process` describes it."""
    db.execute("ALTER TABLE session ADD COLUMN process TEXT NOT NULL DEFAULT ''")


def goal_terms(db: sqlite3.Connection) -> None:
    """The terms of a session's goals, each with its weight, beside the files expected for them."""
    db.execute("ALTER TABLE session_scope ADD COLUMN terms TEXT NOT NULL DEFAULT ''")


def acts(db: sqlite3.Connection) -> None:
    """What people did through the dashboard."""
    db.execute(
        "CREATE TABLE act (number INTEGER PRIMARY KEY, at TEXT NOT NULL, actor TEXT NOT NULL,"
        " kind TEXT NOT NULL, target TEXT NOT NULL, note TEXT NOT NULL)"
    )


def step_positions(db: sqlite3.Connection) -> None:
    """The order of a session's steps, for its last ones and for a page of them."""
    db.execute("CREATE INDEX step_position ON step (session, position)")


STEPS: tuple[Step, ...] = (
    map_cache,
    anchors,
    sessions,
    map_neighbours,
    limits,
    expected_scope,
    bindings,
    limit_records,
    unread_messages,
    session_process,
    goal_terms,
    acts,
    step_positions,
)


def migrate(db: sqlite3.Connection) -> None:
    """Apply the missing steps. Safe for several processes at once: one applies them."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version >= len(STEPS):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute(
            "CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)"
        )
        applied = {name for (name,) in db.execute("SELECT name FROM migration")}
        for step in STEPS:
            if step.__name__ not in applied:
                step(db)
                db.execute("INSERT INTO migration VALUES (?, ?)", (step.__name__, clock.now()))
        db.execute(f"PRAGMA user_version = {len(STEPS)}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
