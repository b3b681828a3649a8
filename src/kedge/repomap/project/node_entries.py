"""Entry points of JavaScript and TypeScript packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.formats import as_table, as_text, printable_items
from kedge.repomap.project.parts import Findings, base, join, parent
from kedge.repomap.project.project_files import ProjectFiles

_STARTS = (
    "src/main.tsx", "src/main.ts", "src/main.jsx", "src/main.js", "src/index.tsx", "src/index.ts",
    "src/index.jsx", "src/index.js", "src/server.ts", "src/server.js", "src/app.ts", "src/app.js",
    "app/layout.tsx", "src/app/layout.tsx", "app/page.tsx", "pages/_app.tsx", "pages/index.tsx",
    "src/pages/_app.tsx",
    "src/routes/+layout.svelte", "app.vue", "app/app.vue", "server.js", "server.ts", "index.tsx",
    "app.js", "index.ts", "index.js", "main.ts", "main.js",
)  # fmt: skip
# build output
_BUILT = frozenset({"build", "dist", "out", "static"})


def add_entries(findings: Findings, project: ProjectFiles, homes: Iterable[str]) -> None:
    """Add the commands and main modules of packages."""
    for home in dict.fromkeys(homes):
        package = project.json(join(home, "package.json"))
        name = as_text(package.get("name"), 80)
        bins = package.get("bin")
        pairs = list(printable_items(bins)) or ([(base(name or ""), bins)] if name else [])
        for command, target in pairs[:4]:
            if path := _source_file(project, home, target):
                findings.add_entry(path, f"command `{command}`")
        exported = package.get("exports")
        main = exported if isinstance(exported, str) else as_table(exported).get(".")
        for target in (package.get("source"), *_leaves(main), package.get("main")):
            if path := _source_file(project, home, target):
                findings.add_entry(path, f"main module of {name}" if name else "main module")
                break
        else:
            if path := project.first(home, *_STARTS):
                findings.add_entry(path, f"main module of {name}" if name else "main module")


def _leaves(value: object, depth: int = 0) -> Iterator[object]:
    if isinstance(value, dict) and depth < 4:
        known = [name for name in ("import", "default") if name in value]
        for name in dict.fromkeys([*known, *list(value)[:10]]):
            if name != "types":
                yield from _leaves(value[name], depth + 1)
    elif isinstance(value, str):
        yield value


def _source_file(project: ProjectFiles, home: str, target: object) -> str | None:
    """The file that a package names, or the source file that it is built from."""
    plain = (as_text(target) or "").removeprefix("./")
    if not plain or plain.startswith(("/", "../")) or plain.endswith(".d.ts"):
        return None
    stem = re.sub(r"(?:\.d)?\.[cm]?[jt]sx?$", "", plain)
    inner = stem.partition("/")[2] if "/" in stem else stem
    candidates = [plain]
    for where in (stem, f"src/{inner}", f"src/{base(stem)}"):
        candidates += [f"{where}.{ending}" for ending in ("ts", "tsx", "js", "mjs", "jsx")]
    candidates += [f"{stem}/index.ts", f"{stem}/index.js"]
    sources = [path for path in candidates if _BUILT.isdisjoint(path.split("/"))]
    return project.first(home, *sources)


def add_page(findings: Findings, project: ProjectFiles) -> None:
    for path in project.find_named("index.html")[:20]:
        home = parent(path)
        if home.count("/") < 2 and not is_aside(home) and project.has(join(home, "package.json")):
            findings.add_entry(path, "page of the web app")
            return
