"""Make sessions from the history of repositories, to measure drift detection on unknown work.

    python benchmarks/drift/commits.py OUT REPOSITORY…

In `aligned` sessions, a commit's message is the prompt and its hunks are the edits, with reads,
searches and test runs in between. `swapped` sessions have the message of another commit of the same
repository; `spliced` ones end with the edits of another commit. The same repositories and the same
seed give the same sessions; OUT is a directory that `measure.py` reads.

With `--back N`, the sessions are made from the last N commits of the main line, and OUT/trees gets
a checkout of the commit before them for `measure.py --trees OUT/trees`: a map that knows none of
the work that is judged. With `--short`, the prompt is the subject of a commit, of 5 to 15 words.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_COMMITS = 400  # of one repository that are looked at
_SESSIONS = 40  # of each set that one repository gives
_HUNKS = range(4, 45)
_FEW_HUNKS = range(2, 46)  # a short message asks for little
_TRAILER = re.compile(
    r"^[A-Z][\w-]+-by: |^(?:Change-Id|Cc|PiperOrigin-RevId): |^Merge ", re.MULTILINE
)
_NUMBER = re.compile(
    r"\s*\(?(?:(?:fixes|closes|resolves|refs?|see|pr)\s*:?\s*)?#\d+\)?\.?", re.IGNORECASE
)
_CHORE = re.compile(
    r"\bbump|\brelease\b|^v?\d+\.\d+|dependabot|pre-commit autoupdate|^merge ", re.IGNORECASE
)
_KIND = re.compile(r"^[a-z]+(?:\([^)]{1,40}\))?!?: ")
_SHORT = range(5, 16)  # words
_RUNS = ("pytest -q", "npm test", "go test ./...", "cargo test", "rake test", "make check")

Event = dict[str, Any]


class Edit(NamedTuple):
    path: str
    removed: str
    added: str
    whole: bool = False  # the file is made
    old: str = ""  # what the file was called before


class Commit(NamedTuple):
    id: str
    message: str
    edits: tuple[Edit, ...]

    @property
    def paths(self) -> set[str]:
        return {edit.path for edit in self.edits}


def commits(
    repository: Path, fewest: int, *, short: bool = False, after: str = ""
) -> Iterator[Commit]:
    """The commits that could be one request: told in so many words, no chore, not huge."""
    command = ["git", f"--git-dir={repository}", "log", "--no-merges", "-M40", "-U3", "-p",
               f"-{_COMMITS * 5}", "--format=%x00%h%x01%B%x02",
               f"{after}..HEAD" if after else "HEAD"]  # fmt: skip
    run = subprocess.run(command, check=False, capture_output=True)
    parts = run.stdout.decode("utf-8", "replace").split("\0")[1:]
    if run.returncode:
        parts = parts[:-1]  # a partial clone ends where a file is missing
    for part in parts:
        name, _, rest = part.partition("\x01")
        message, _, diff = rest.partition("\x02")
        message = _message(message)
        if short:
            message = message.partition("\n")[0]
        told = len(message.split())
        wanted = told in _SHORT if short else told >= fewest
        edits = tuple(dict.fromkeys(_edits(diff))) if wanted else ()
        if len(edits) in (_FEW_HUNKS if short else _HUNKS) and not _CHORE.search(
            message.partition("\n")[0]
        ):
            yield Commit(name, message, edits)


def _message(text: str) -> str:
    lines = [line for line in text.strip().split("\n") if not _TRAILER.match(line)]
    return _NUMBER.sub("", _KIND.sub("", "\n".join(lines).strip()))[:3_000].strip()


def _edits(diff: str) -> Iterator[Edit]:
    for file in diff.split("\ndiff --git ")[1:]:
        head, *hunks = re.split(r"^@@ .*$", file, flags=re.MULTILINE)
        path = head.partition(" b/")[2].partition("\n")[0]
        moved = re.search(r"^rename from (.*)$", head, re.MULTILINE)
        if moved:
            yield Edit(path, "", "", old=moved[1])
        for hunk in hunks if path else ():
            lines = hunk.strip("\n").split("\n")
            old = "\n".join(line[1:] for line in lines if line[:1] in " -")
            new = "\n".join(line[1:] for line in lines if line[:1] in " +")
            yield Edit(path, old, new, "\nnew file mode" in head)


def steps(commit: Commit, rng: random.Random) -> list[Event]:
    """The actions of an agent that makes the commit."""
    paths = list(dict.fromkeys(edit.path for edit in commit.edits))
    rng.shuffle(paths)
    paths.sort(key=lambda path: "test" in path, reverse=rng.random() < 0.3)
    found: list[Event] = []
    for path in paths:
        mine = [edit for edit in commit.edits if edit.path == path]
        if rng.random() < 0.3:
            words = re.findall(r"[A-Za-z_]{5,}", mine[0].removed or mine[0].added) or ["TODO"]
            found.append(_action("Grep", pattern=rng.choice(words)))
        if not mine[0].whole:
            found.append(_action("Read", file_path=path))
        patch = rng.random() < 0.15
        for edit in mine:
            found.append(_call(edit, patch))
        if rng.random() < 0.4:
            found.append(_action("Bash", command=rng.choice(_RUNS)))
    return found


def _call(edit: Edit, patch: bool) -> Event:
    if edit.old:
        return _action("Bash", command=f"git mv '{edit.old}' '{edit.path}'")
    if edit.whole:
        return _action("Write", file_path=edit.path, content=edit.added)
    if not edit.added:
        return _action("Bash", command=f"git rm -q '{edit.path}'")
    if patch:
        lines = [f"-{line}" for line in edit.removed.split("\n")]
        lines += [f"+{line}" for line in edit.added.split("\n")]
        body = "\n".join(["*** Begin Patch", f"*** Update File: {edit.path}", "@@", *lines])
        return _action("apply_patch", input=f"{body}\n*** End Patch")
    return _action("Edit", file_path=edit.path, old_string=edit.removed, new_string=edit.added)


def _action(tool: str, **given: str) -> Event:
    return {"type": "action", "tool": tool, "input": given}


def case(set_: str, name: str, parts: list[Event], drift_from: int | None = None) -> Event:
    events: list[Event] = []
    for part in parts:
        if part["type"] == "action":
            number = f"a{sum(each['type'] == 'action' for each in events)}"
            events += [{**part, "id": number}, {"type": "result", "id": number, "ok": True}]
        else:
            events.append(part)
    source = name.rpartition("-")[0]
    expect = {"drift_from": drift_from}
    return {"id": f"{set_}/{name}", "source": source, "events": events, "expect": expect}


def _name(repository: Path) -> str:
    return next(part for part in reversed(repository.parts) if part not in ("repo", ".git"))


def check_out(repository: Path, back: int, trees: Path) -> str:
    """Check out the commit so many commits back on the main line, and return its id."""
    git = ["git", f"--git-dir={repository}"]
    line = [*git, "rev-list", "--first-parent", "-1", f"--skip={back}", "HEAD"]
    base = subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()
    tree = trees / _name(repository)
    if not tree.exists():
        clone = ["git", "clone", "-q", "--shared", "--no-checkout", str(repository), str(tree)]
        subprocess.run(clone, check=True)
        subprocess.run(["git", "-C", str(tree), "checkout", "-q", "--detach", base], check=True)
    return base


def sessions(
    repository: Path, fewest: int, rng: random.Random, *, short: bool = False, after: str = ""
) -> dict[str, list[Event]]:
    """The three sets that a repository gives."""
    name = _name(repository)
    found: dict[str, list[Event]] = {"aligned": [], "swapped": [], "spliced": []}
    known = list(commits(repository, fewest, short=short, after=after))[:_COMMITS]
    rng.shuffle(known)
    count = min(_SESSIONS, len(known) // 2)
    for one, other in zip(known[:count], known[count:], strict=False):
        asked = [{"type": "prompt", "text": one.message}]
        mine = steps(one, rng)
        found["aligned"].append(case("aligned", f"{name}-{one.id}", asked + mine))
        if one.paths & other.paths:
            continue
        theirs = steps(other, rng)
        label = f"{name}-{one.id}+{other.id}"
        found["swapped"].append(case("swapped", label, asked + theirs))
        spliced = asked + mine + theirs
        found["spliced"].append(case("spliced", label, spliced, len(mine)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("repositories", nargs="+", type=Path, help="git directories")
    parser.add_argument("--words", type=int, default=5, help="that a message has at least")
    parser.add_argument("--short", action="store_true", help="use subjects of 5 to 15 words")
    parser.add_argument("--back", type=int, default=0, help="commits since the checkout")
    parser.add_argument("--seed", default="0")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sets: dict[str, list[Event]] = {}
    for repository in options.repositories:
        rng = random.Random(f"{options.seed} {_name(repository)}")
        after = check_out(repository, options.back, options.out / "trees") if options.back else ""
        made = sessions(repository, options.words, rng, short=options.short, after=after)
        for name, cases in made.items():
            sets.setdefault(name, []).extend(cases)
    for name, cases in sets.items():
        lines = "".join(json.dumps(each) + "\n" for each in cases)
        path = options.out / f"{name}.commits.jsonl.gz"
        path.write_bytes(gzip.compress(lines.encode(), mtime=0))
        print(f"{name}: {len(cases)}")


if __name__ == "__main__":
    main()
