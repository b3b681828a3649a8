"""How well `kedge feature` reads feature documents, and how much it leaves out of a task's context.

    python benchmarks/scope/measure.py [dev|held_out] [--details]

The corpus has two halves with gold answers. Look at the misses of `dev` only: `held_out` says how
well the reading does on documents that nobody has looked at.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from scope import _gold  # noqa: E402
from scope._gold import Folder, Reference, Section, Task, plain  # noqa: E402

_FALLBACK = re.compile(r"always|whole|the (?:number|words)\b")  # reasons without a reference
_BRACKETS = re.compile(r"\s*[\[({][^\[({]*[\])}]\s*$|^\s*\[[^\[\]]*\]\s*")


class Given(NamedTuple):
    """A section that a scope gave; without a place it is the whole document."""

    artifact: str
    place: Section | None
    heading: str
    reason: str


class Tally(NamedTuple):
    """What one half came to; the lists hold a line for each miss."""

    folders: int
    tasks: int
    found: int
    false: list[str]
    references: int
    seen: int
    resolved: int
    wrong: list[str]
    needed: int
    lost: list[str]
    savings: dict[str, list[float]]
    missed: list[str]
    unresolved: list[str]

    @property
    def saving(self) -> float:
        return statistics.mean(value for values in self.savings.values() for value in values)

    @property
    def folder_saving(self) -> float:
        return statistics.mean(statistics.mean(values) for values in self.savings.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("half", nargs="?", choices=_gold.HALVES)
    parser.add_argument("--details", action="store_true", help="one line for each miss")
    parser.add_argument("--really", action="store_true", help="show those of held_out too")
    options = parser.parse_args()
    halves = [options.half] if options.half else list(_gold.HALVES)
    if options.details and "held_out" in halves and not options.really:
        parser.error("--details of held_out would invite tuning on it; use dev, or add --really")
    for half in halves:
        begin = time.perf_counter()
        tally = measure(half)
        report(half, tally, time.perf_counter() - begin)
        if options.details:
            print("\n".join(details(tally)))
    return 0


def report(half: str, tally: Tally, seconds: float) -> None:
    def share(part: int, whole: int) -> str:
        return f"{part:5} of {whole:4}  {part / whole if whole else 1:7.3f}"

    print(f"{half}: {tally.folders} folders, {seconds:.1f} s")
    print(f"  tasks found                 {share(tally.found, tally.tasks)}")
    print(f"  false tasks                 {len(tally.false):5}")
    print(f"  explicit references found   {share(tally.seen, tally.references)}")
    print(f"  explicit references solved  {share(tally.resolved, tally.references)}")
    print(f"  wrong sections              {len(tally.wrong):5}")
    print(f"  needed sections lost        {share(len(tally.lost), tally.needed)}")
    print(
        f"  mean saving over tasks      {tally.saving:5.3f}, over folders {tally.folder_saving:.3f}"
    )


def details(tally: Tally) -> Iterator[str]:
    for name in ("missed", "false", "unresolved", "wrong", "lost"):
        yield from (f"  {name}: {line}" for line in getattr(tally, name))


def measure(half: str) -> Tally:
    """Compare `feature tasks` of each folder and `feature scope` of each task with the gold."""
    tally = Tally(0, 0, 0, [], 0, 0, 0, [], 0, [], {}, [], [])
    with tempfile.TemporaryDirectory(prefix="kedge-scope-") as scratch:
        root = Path(scratch) / half
        shutil.copytree(_gold.CORPUS / half, root, ignore=shutil.ignore_patterns("gold.json"))
        subprocess.run(["git", "init", "--quiet", str(root)], check=True)
        for folder in _gold.folders(half):
            tally = one_folder(root, folder, tally)
    return tally


def kedge(root: Path, *args: str) -> Any:
    """The data of one command, or None where it was refused."""
    from kedge.cli import edge

    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = edge.run(["-C", str(root), "--json", *args])
    document = json.loads(out.getvalue())
    if code not in (0, 1):
        raise RuntimeError(f"kedge {' '.join(args)}: exit {code}: {document['error']}")
    return document["data"] if document["success"] else None


def one_folder(root: Path, folder: Folder, tally: Tally) -> Tally:
    name = folder.path.name
    where = folder.path.relative_to(folder.path.parent.parent.parent).as_posix()
    said = kedge(root, "feature", "tasks", where) or []
    taken: set[int] = set()
    found, more = 0, tally
    for task in folder.tasks:
        label = f"{name} {task.number}"
        match = next((i for i, out in enumerate(said) if i not in taken and same(out, task)), None)
        out: dict[str, Any] = {"references": []}
        answer = None
        if match is None:
            tally.missed.append(f"{label} {task.title!r}")
        else:
            taken.add(match)
            found += 1
            out = said[match]
            answer = kedge(root, "feature", "scope", where, str(out["number"]))
        more = one_task(folder, task, label, out, answer, more)
    extra = [out for i, out in enumerate(said) if i not in taken]
    tally.false.extend(f"{name} {out['number']} {out['title']!r}" for out in extra)
    return more._replace(
        folders=more.folders + 1, tasks=more.tasks + len(folder.tasks), found=more.found + found
    )


def one_task(
    folder: Folder, task: Task, label: str, out: dict[str, Any], answer: Any, tally: Tally
) -> Tally:
    scope = answer or {"text": "", "tokens": 1, "full_tokens": 1, "sections": []}
    given = [give(folder, section) for section in scope["sections"]]
    explicit = [ref for ref in task.references if ref.explicit and ref.section]
    seen = sum(any(names(other, ref) for other in out["references"]) for ref in explicit)
    resolved = 0
    for ref in explicit:
        if is_exact(folder, ref.section or "", given):
            resolved += 1
        else:
            tally.unresolved.append(f"{label}: {ref.raw!r} is {ref.section}")
    tally.wrong.extend(f"{label}: {line}" for line in wrong(folder, task, given))
    shown = {" ".join(row.split()) for row in scope["text"].splitlines()}
    for place in task.needed:
        if not is_given(folder, place, given):
            tally.lost.append(f"{label}: {place}")
        elif not is_shown(folder, place, shown):
            tally.lost.append(f"{label}: {place} is listed, but not in the text")
    saving = 1 - scope["tokens"] / scope["full_tokens"] if scope["full_tokens"] else 0.0
    tally.savings.setdefault(folder.path.name, []).append(saving)
    return tally._replace(
        references=tally.references + len(explicit),
        seen=tally.seen + seen,
        resolved=tally.resolved + resolved,
        needed=tally.needed + len(task.needed),
    )


def same(out: dict[str, Any], task: Task) -> bool:
    return number(str(out["number"])) == number(task.number) and (
        title(str(out["title"])) == title(task.title)
    )


def number(text: str) -> str:
    """`T-01`, `TASK-1` and `1` are one number."""
    bare = re.sub(r"^t(?:ask)?[-_ .#]*(?=\d)", "", text.strip().lower())
    return re.sub(r"(?<![0-9a-z])0+(?=\d)", "", bare)


def title(text: str) -> str:
    """A title without status marks, tags and references that stand at its end."""
    text = plain(text)
    while (shorter := _BRACKETS.sub("", text)) != text:
        text = shorter
    return text.strip(" .:-–—")


def names(out: dict[str, Any], ref: Reference) -> bool:
    """Whether a reference that was read is the gold one."""
    read, raw = key(str(out["id"])), key(str(out["raw"]))
    return read == key(ref.id) or key(ref.id) in raw or key(ref.raw) in raw


def key(text: str) -> str:
    short = re.sub(r"\b(component|step|interface|section|decision)\b", "", text.casefold())
    return re.sub(r"(?<=[a-z])0+(?=\d)", "", re.sub(r"[^a-z0-9.]", "", short))


def give(folder: Folder, section: dict[str, Any]) -> Given:
    artifact = str(section["artifact"]).rsplit("/", 1)[-1].removesuffix(".md") + ".md"
    heading = section["heading"]
    place = None
    path = folder.path / artifact
    if heading is not None and path.is_file():
        at = section["line"]
        every = _gold.headings(path)
        same = [one for one in every if plain(one.heading) == plain(str(heading))]
        rows = _gold.lines(path)
        row = rows[at - 1] if 0 < at <= len(rows) else ""
        place = min(
            same or [Section(at, at, 7, str(heading), row)], key=lambda one: abs(one.line - at)
        )
    return Given(artifact, place, str(heading or ""), str(section.get("reason") or ""))


def candidates(folder: Folder, place: str) -> list[Section]:
    return _gold.places(folder.path, place) if "#" in place else []


def is_given(folder: Folder, place: str, given: Sequence[Given]) -> bool:
    artifact = place.partition("#")[0]
    for one in given:
        if one.artifact != artifact:
            continue
        if one.place is None or any(one.place.holds(gold) for gold in candidates(folder, place)):
            return True
        if any(gold.level == 7 and is_lead(one, gold) for gold in candidates(folder, place)):
            return True
    return False


def is_exact(folder: Folder, place: str, given: Sequence[Given]) -> bool:
    """Given as itself. An item may come with the section that it stands in; the documents that are
    small enough to be given whole, spec and PRD, count as a whole."""
    artifact, _, text = place.partition("#")
    for one in given:
        if one.artifact != artifact:
            continue
        if one.place is None:
            if not text or artifact in ("spec.md", "prd.md"):
                return True
            continue
        for gold in candidates(folder, place):
            home = gold if gold.level < 7 else _gold.around(folder.path / artifact, gold)
            if one.place == home or (gold.level == 7 and is_lead(one, gold)):
                return True
    return False


def is_lead(one: Given, item: Section) -> bool:
    if one.place is None or one.place.level < 7:
        return False
    return one.place.line <= item.line <= one.place.end or plain(item.heading) in plain(one.heading)


def is_shown(folder: Folder, place: str, shown: set[str]) -> bool:
    golds = candidates(folder, place)
    return not golds or any(" ".join(gold.probe.split()) in shown for gold in golds)


def wrong(folder: Folder, task: Task, given: Sequence[Given]) -> Iterator[str]:
    """Sections given for a reference that are neither its gold, nor above or below it."""
    nowhere = [key(ref.id) for ref in task.references if ref.explicit and ref.section is None]
    for one in given:
        places = [
            place
            for place in (*(ref.section for ref in task.references), *task.needed)
            if place and place.partition("#")[0] == one.artifact
        ]
        if one.place is None or not places or _FALLBACK.match(one.reason):
            continue
        if any(name in key(one.reason) for name in nowhere):
            continue
        golds = [gold for place in places for gold in candidates(folder, place)]
        path = folder.path / one.artifact
        golds += [home for gold in golds if gold.level == 7 and (home := _gold.around(path, gold))]
        if not any(one.place.holds(gold) or gold.holds(one.place) for gold in golds):
            yield f"{one.artifact}#{one.heading} for {one.reason!r}"


if __name__ == "__main__":
    sys.exit(main())
