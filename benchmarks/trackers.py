"""Read and write the specs and trackers of real repositories, and count what kedge gets of them.

    python benchmarks/trackers.py DIR…

Each DIR is a repository with `specs/`, `.kiro/specs/` or a `tasks.json` of Taskmaster; it is only
read. What is in the files is counted by a few regular expressions of this script's own, and
compared with what kedge finds: "refs" are pairs of a task and a story or requirement in its text,
"needs" are dependencies. For the write, some tasks are closed, or reopened if they are done, each
in a copy. The lines that changed are compared without box and status: "other" counts those that
differ in anything else.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from kedge.errors import KedgeError  # noqa: E402
from kedge.features.criteria import find_criterion  # noqa: E402
from kedge.features.feature import Feature, load_feature  # noqa: E402
from kedge.features.feature_tasks import FeatureTask  # noqa: E402
from kedge.features.folders import list_features, shorten_name  # noqa: E402
from kedge.features.layouts import KIRO, SPEC_KIT, Layout  # noqa: E402
from kedge.features.references import SPEC  # noqa: E402
from kedge.features.resolve import resolve_reference  # noqa: E402
from kedge.host.project import Project  # noqa: E402
from kedge.model.ids import TaskId  # noqa: E402
from kedge.model.task import Status, Task  # noqa: E402
from kedge.tasks.backend import Backend  # noqa: E402
from kedge.tasks.board import Board  # noqa: E402
from kedge.tasks.feature_docs import FeatureDocs  # noqa: E402
from kedge.tasks.task_master.backend import FILE, OLD_FILE, TaskMaster, is_present  # noqa: E402

MOST_WRITES = 12  # tasks of a repository whose state is written
LINE = {
    "spec_kit": re.compile(r"[ \t]*[-*] \[.\][ \t]+\**(?P<number>T[0-9]+[A-Za-z]?)\b(?P<rest>.*)"),
    "kiro": re.compile(r"[ \t]*[-*] \[.\]\*?[ \t]+(?P<number>[0-9]+(?:\.[0-9]+)*)\b(?P<rest>.*)"),
}
NEEDS = re.compile(
    r"\((?:depends on|requires|after|blocked by)[: ]+(?P<list>T[0-9][^()]*)\)", re.IGNORECASE
)
REQUIREMENTS = re.compile(r"Requirements?:?\**:? *(?P<list>[0-9][0-9., ]*)", re.IGNORECASE)
STATE = re.compile(r"\[[ xX~-]\]|\"status\"[ \t]*:[ \t]*\"[^\"]*\"")
COLUMNS = ("tasks", "found", "refs", "resolved", "needs", "linked", "writes", "lines", "other")


def main() -> None:
    if not sys.argv[1:]:
        print("trackers: give directories of repositories with spec-kit, Kiro or Taskmaster")
    rows: dict[str, list[tuple[str, Counter[str]]]] = {}
    for name in sys.argv[1:]:
        root = Path(name).resolve()
        for tracker, counts in measure(root):
            rows.setdefault(tracker, []).append((root.name, counts))
    for tracker, found in rows.items():
        total = sum((counts for _, counts in found), Counter[str]())
        print(f"{tracker}: {len(found)} repositories")
        print(f"  {'':44}" + "".join(f"{column:>9}" for column in COLUMNS))
        for label, counts in (*found, ("all", total)):
            print(f"  {label[:44]:44}" + "".join(f"{counts[column]:9}" for column in COLUMNS))


def measure(root: Path) -> Iterator[tuple[str, Counter[str]]]:
    """Yield each tracker of a repository, with its counts."""
    project = Project(root, None)
    for layout in (SPEC_KIT, KIRO):
        features = [*load_features(project, layout)]
        if features:
            backend = FeatureDocs(root, layout)
            tasks = backend.read().tasks
            counts = count_documents(features, layout, tasks)
            counts += write(root, [layout.directory], tasks, layout)
            yield layout.name, counts
    if is_present(root):
        backend_ = TaskMaster(root)
        tasks = backend_.read().tasks
        yield "task_master", count_json(backend_.path, tasks) + write(root, [FILE, OLD_FILE], tasks)


def load_features(project: Project, layout: Layout) -> Iterator[Feature]:
    for path in list_features(project, [layout]):
        try:
            yield load_feature(project, path)
        except KedgeError as error:
            print(f"{project.root.name}: {error.message}", file=sys.stderr)


def count_documents(
    features: Iterable[Feature], layout: Layout, tasks: Iterable[Task]
) -> Counter[str]:
    """Count tasks, references and dependencies in the text of features, and as kedge has them."""
    needs = {task.id: task.depends_on for task in tasks}
    counts = Counter[str]()
    for feature in features:
        refs, waits, numbers = set(), set(), list[str]()
        for line in strip_code(feature.tasks_text or ""):
            if box := LINE[layout.name].match(line):
                numbers.append(box["number"])
            elif layout is SPEC_KIT or not numbers:
                continue
            if layout is SPEC_KIT:
                refs |= {(numbers[-1], story) for story in re.findall(r"\[US([0-9]+)\]", line)}
                for found in NEEDS.finditer(line):
                    waits |= {(numbers[-1], one) for one in re.findall(r"T[0-9]+", found["list"])}
            else:
                named = re.findall(r"[0-9]+(?:\.[0-9]+)*", " ".join(REQUIREMENTS.findall(line)))
                refs |= {(numbers[-1], one) for one in named}
        seen = {task.number: task for task in feature.tasks}
        resolved = {number: set(list_resolved(feature, task)) for number, task in seen.items()}
        lead = shorten_name(feature.name) if layout is KIRO else feature.name.partition("-")[0]
        linked = {number: needs.get(TaskId(f"{lead}-{number}"), ()) for number in seen}
        counts["tasks"] += len(set(numbers))
        counts["found"] += len(set(numbers) & set(seen))
        counts["refs"] += len(refs)
        counts["resolved"] += sum(one in resolved.get(number, ()) for number, one in refs)
        counts["needs"] += len(waits)
        counts["linked"] += sum(f"{lead}-{one}" in linked.get(number, ()) for number, one in waits)
    return counts


def list_resolved(feature: Feature, task: FeatureTask) -> Iterator[str]:
    """Yield the numbers of stories, requirements and criteria that kedge finds for a task."""
    spec = feature.artifacts.get(SPEC)
    for one in task.references:
        if spec is None or one.type != SPEC or one.key is None:
            continue
        is_criterion = feature.layout is KIRO and one.key.parent is not None
        if find_criterion(spec, one.key) if is_criterion else resolve_reference(one, spec).passages:
            yield one.key.number


def count_json(path: Path, tasks: Iterable[Task]) -> Counter[str]:
    data = json.loads(path.read_text("utf-8-sig"))
    lists = [data] if isinstance(data.get("tasks"), list) else data.values()
    native = [one for each in lists if isinstance(each, dict) for one in each.get("tasks", ())]
    parts = [part for one in native for part in one.get("subtasks") or ()]
    parts += [part for one in parts for part in one.get("subtasks") or ()]
    known = {task.id for task in tasks}
    return Counter(
        tasks=len(native) + len(parts),
        found=len(known),
        needs=sum(len(one.get("dependencies") or ()) for one in (*native, *parts)),
        linked=sum(need in known for task in tasks for need in task.depends_on),
    )


def write(
    root: Path, places: Iterable[str], tasks: Iterable[Task], layout: Layout | None = None
) -> Counter[str]:
    """Close, or reopen, some tasks in copies of the files, and count what changed there."""
    counts = Counter[str]()
    single = [task for task in tasks if task.type != "epic"]
    step = max(1, len(single) // MOST_WRITES)
    for task in single[::step][:MOST_WRITES]:
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch)
            for place in places:
                if (root / place).is_dir():
                    shutil.copytree(root / place, copy / place)
                elif (root / place).exists():
                    (copy / place).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(root / place, copy / place)
            before = read_files(copy)
            backend: Backend = FeatureDocs(copy, layout) if layout else TaskMaster(copy)
            board = Board(backend)
            try:
                board.reopen(task.id) if task.status is Status.DONE else board.close(task.id)
            except KedgeError as error:
                counts["refused"] += 1
                print(f"{root.name}: {task.id}: {error.message}", file=sys.stderr)
                continue
            counts["writes"] += 1
            for path, after in read_files(copy).items():
                if after != before.get(path):
                    lines, other = compare(before[path], after)
                    counts["lines"] += lines
                    counts["other"] += other
    return counts


def compare(before: str, after: str) -> tuple[int, int]:
    """Return the number of lines that changed, and of those that changed in more than a state."""
    one, two = before.split("\n"), after.split("\n")
    lines = other = 0
    for kind, a, b, c, d in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if kind != "equal":
            lines += max(b - a, d - c)
            masked = [STATE.sub("", line) for line in one[a:b]]
            other += masked != [STATE.sub("", line) for line in two[c:d]]
    return lines, other


def read_files(root: Path) -> dict[str, str]:
    paths = (path for path in sorted(root.rglob("*")) if path.suffix in (".md", ".json"))
    kept = (path for path in paths if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes().decode("latin-1") for path in kept}


def strip_code(text: str) -> Iterator[str]:
    inside = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield line


if __name__ == "__main__":
    main()
