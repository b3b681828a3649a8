"""Measure how well `kedge feature` reads feature documents, and how many tokens it saves.

    python benchmarks/scope/measure.py [dev|held_out] [--details]

The corpus has two halves with gold answers. Look only at the misses of `dev`: `held_out` shows how
kedge does on documents that nobody has looked at.
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
from scope._gold import GoldFolder, GoldReference, GoldSection, GoldTask, normalize  # noqa: E402

_FALLBACK = re.compile(r"always|whole|the (?:number|words)\b")  # reasons without a reference
_BRACKETS = re.compile(r"\s*[\[({][^\[({]*[\])}]\s*$|^\s*\[[^\[\]]*\]\s*")


class GivenSection(NamedTuple):
    """A section of a scope; without a place, the whole document."""

    artifact: str
    place: GoldSection | None
    heading: str
    reason: str


class Tally(NamedTuple):
    """The results of one half; the lists have a line for each miss."""

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
        for folder in _gold.read_folders(half):
            tally = measure_folder(root, folder, tally)
    return tally


def kedge(root: Path, *args: str) -> Any:
    """Return the data of a command, or None if it was refused."""
    from kedge.cli import edge

    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = edge.run(["-C", str(root), "--json", *args])
    document = json.loads(out.getvalue())
    if code not in (0, 1):
        raise RuntimeError(f"kedge {' '.join(args)}: exit {code}: {document['error']}")
    return document["data"] if document["success"] else None


def measure_folder(root: Path, folder: GoldFolder, tally: Tally) -> Tally:
    name = folder.path.name
    where = folder.path.relative_to(folder.path.parent.parent.parent).as_posix()
    tasks = kedge(root, "feature", "tasks", where) or []
    taken: set[int] = set()
    found, more = 0, tally
    for task in folder.tasks:
        label = f"{name} {task.number}"
        match = next(
            (i for i, out in enumerate(tasks) if i not in taken and is_same_task(out, task)), None
        )
        out: dict[str, Any] = {"references": []}
        answer = None
        if match is None:
            tally.missed.append(f"{label} {task.title!r}")
        else:
            taken.add(match)
            found += 1
            out = tasks[match]
            answer = kedge(root, "feature", "scope", where, str(out["number"]))
        more = measure_task(folder, task, label, out, answer, more)
    extra = [out for i, out in enumerate(tasks) if i not in taken]
    tally.false.extend(f"{name} {out['number']} {out['title']!r}" for out in extra)
    return more._replace(
        folders=more.folders + 1, tasks=more.tasks + len(folder.tasks), found=more.found + found
    )


def measure_task(
    folder: GoldFolder, task: GoldTask, label: str, out: dict[str, Any], answer: Any, tally: Tally
) -> Tally:
    scope = answer or {"text": "", "tokens": 1, "full_tokens": 1, "sections": []}
    given = [make_given(folder, section) for section in scope["sections"]]
    explicit = [ref for ref in task.references if ref.explicit and ref.section]
    seen = sum(any(is_reference(other, ref) for other in out["references"]) for ref in explicit)
    resolved = 0
    for ref in explicit:
        if is_exact(folder, ref.section or "", given):
            resolved += 1
        else:
            tally.unresolved.append(f"{label}: {ref.raw!r} is {ref.section}")
    tally.wrong.extend(f"{label}: {line}" for line in find_wrong(folder, task, given))
    shown = {" ".join(row.split()) for row in scope["text"].splitlines()}
    for place in task.needed:
        if not is_given(folder, place, given):
            tally.lost.append(f"{label}: {place}")
        elif not is_printed(folder, place, shown):
            tally.lost.append(f"{label}: {place} is listed, but not in the text")
    saving = 1 - scope["tokens"] / scope["full_tokens"] if scope["full_tokens"] else 0.0
    tally.savings.setdefault(folder.path.name, []).append(saving)
    return tally._replace(
        references=tally.references + len(explicit),
        seen=tally.seen + seen,
        resolved=tally.resolved + resolved,
        needed=tally.needed + len(task.needed),
    )


def is_same_task(out: dict[str, Any], task: GoldTask) -> bool:
    return normalize_number(str(out["number"])) == normalize_number(task.number) and (
        normalize_title(str(out["title"])) == normalize_title(task.title)
    )


def normalize_number(text: str) -> str:
    """Return one form for `T-01`, `TASK-1` and `1`."""
    bare = re.sub(r"^t(?:ask)?[-_ .#]*(?=\d)", "", text.strip().lower())
    return re.sub(r"(?<![0-9a-z])0+(?=\d)", "", bare)


def normalize_title(text: str) -> str:
    """Return a title without status marks, and without tags and references at its end."""
    text = normalize(text)
    while (shorter := _BRACKETS.sub("", text)) != text:
        text = shorter
    return text.strip(" .:-–—")


def is_reference(out: dict[str, Any], ref: GoldReference) -> bool:
    """True if kedge read this gold reference."""
    read, raw = key(str(out["id"])), key(str(out["raw"]))
    return read == key(ref.id) or key(ref.id) in raw or key(ref.raw) in raw


def key(text: str) -> str:
    short = re.sub(r"\b(component|step|interface|section|decision)\b", "", text.casefold())
    return re.sub(r"(?<=[a-z])0+(?=\d)", "", re.sub(r"[^a-z0-9.]", "", short))


def make_given(folder: GoldFolder, section: dict[str, Any]) -> GivenSection:
    artifact = str(section["artifact"]).rsplit("/", 1)[-1].removesuffix(".md") + ".md"
    heading = section["heading"]
    place = None
    path = folder.path / artifact
    if heading is not None and path.is_file():
        at = section["line"]
        every = _gold.find_headings(path)
        same = [one for one in every if normalize(one.heading) == normalize(str(heading))]
        rows = _gold.read_lines(path)
        row = rows[at - 1] if 0 < at <= len(rows) else ""
        place = min(
            same or [GoldSection(at, at, 7, str(heading), row)], key=lambda one: abs(one.line - at)
        )
    return GivenSection(artifact, place, str(heading or ""), str(section.get("reason") or ""))


def find_gold(folder: GoldFolder, place: str) -> list[GoldSection]:
    return _gold.find_sections(folder.path, place) if "#" in place else []


def is_given(folder: GoldFolder, place: str, given: Sequence[GivenSection]) -> bool:
    artifact = place.partition("#")[0]
    for one in given:
        if one.artifact != artifact:
            continue
        if one.place is None or any(one.place.holds(gold) for gold in find_gold(folder, place)):
            return True
        if any(gold.level == 7 and is_lead(one, gold) for gold in find_gold(folder, place)):
            return True
    return False


def is_exact(folder: GoldFolder, place: str, given: Sequence[GivenSection]) -> bool:
    """True if the scope has exactly this section.

    An item may come with its section. Spec and PRD, which are given as a whole, count as a whole.
    """
    artifact, _, text = place.partition("#")
    for one in given:
        if one.artifact != artifact:
            continue
        if one.place is None:
            if not text or artifact in ("spec.md", "prd.md"):
                return True
            continue
        for gold in find_gold(folder, place):
            home = gold if gold.level < 7 else _gold.find_holder(folder.path / artifact, gold)
            if one.place == home or (gold.level == 7 and is_lead(one, gold)):
                return True
    return False


def is_lead(one: GivenSection, item: GoldSection) -> bool:
    if one.place is None or one.place.level < 7:
        return False
    return one.place.line <= item.line <= one.place.end or normalize(item.heading) in normalize(
        one.heading
    )


def is_printed(folder: GoldFolder, place: str, shown: set[str]) -> bool:
    golds = find_gold(folder, place)
    return not golds or any(" ".join(gold.probe.split()) in shown for gold in golds)


def find_wrong(folder: GoldFolder, task: GoldTask, given: Sequence[GivenSection]) -> Iterator[str]:
    """Yield the sections given for a reference that are not its gold, nor above or below it."""
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
        golds = [gold for place in places for gold in find_gold(folder, place)]
        path = folder.path / one.artifact
        golds += [
            home for gold in golds if gold.level == 7 and (home := _gold.find_holder(path, gold))
        ]
        if not any(one.place.holds(gold) or gold.holds(one.place) for gold in golds):
            yield f"{one.artifact}#{one.heading} for {one.reason!r}"


if __name__ == "__main__":
    sys.exit(main())
