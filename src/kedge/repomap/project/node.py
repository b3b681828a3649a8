"""JavaScript and TypeScript: npm, yarn, pnpm, bun and their workspaces, and Deno."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kedge.repomap.project.formats import Table, items, named, table, text, texts
from kedge.repomap.project.frameworks import at_least, major, notable
from kedge.repomap.project.globs import expand
from kedge.repomap.project.parts import Findings, base, join
from kedge.repomap.project.source import Project
from kedge.repomap.project.targets import Target, add_targets

_LOCKS = (
    ("pnpm-lock.yaml", "pnpm"),
    ("pnpm-workspace.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
)
_BUILDERS = {"turbo.json": "turbo", "nx.json": "nx", "lerna.json": "lerna", "rush.json": "rush"}
_NEEDS = ("dependencies", "devDependencies", "peerDependencies")
# run by the package manager itself at its own times
_LIFECYCLE = frozenset(
    ["prepare", "install", "preinstall", "postinstall", "prepack", "postpack", "prepublish", "prepublishOnly", "preversion", "version", "postversion"]
)


@dataclass(slots=True)
class Node:
    """One package.json with what belongs to it."""

    project: Project
    home: str
    package: Table
    manager: str
    members: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def at(self, name: str) -> str:
        return join(self.home, name)

    @property
    def scripts(self) -> Iterator[tuple[str, str]]:
        for name, body in named(self.package.get("scripts")):
            if name not in _LIFECYCLE and (line := text(body, 2000)):
                yield name, line


def read(project: Project) -> Findings:
    findings = Findings("node")
    homes = project.homes("package.json")
    if homes == [""] and _only_tools(project):
        homes += project.below("package.json", family="node")[:3]
    for home in homes:
        node = _open(project, home)
        findings.packages += node.members
        if line := _stack_line(node):
            findings.tech(line, home)
        _add_commands(findings, node)
        _add_entries(findings, node)
    _add_deno(findings, project)
    for path in project.named("index.html")[:1]:
        if path.count("/") <= 2 and project.has(join(path.rpartition("/")[0], "package.json")):
            findings.entry(path, "page of the web app")
    return findings


def _only_tools(project: Project) -> bool:
    """Whether the root's package.json serves the repository, not code of its own."""
    package = project.json("package.json")
    if package.get("workspaces") or project.has("pnpm-workspace.yaml", "lerna.json", "rush.json"):
        return False
    below = project.below("package.json", family="node")
    inside = sum(project.census.weight("node", home) for home in below)
    return inside * 2 > project.census.weight("node")


def _open(project: Project, home: str) -> Node:
    package = project.json(join(home, "package.json"))
    node = Node(project, home, package, _manager(project, home, package))
    node.members = expand(project, home, _patterns(node), "package.json")
    for member in _largest(node, 40):
        if name := text(project.json(f"{member}/package.json").get("name")):
            node.names.add(name)
    node.names.add(text(package.get("name")) or "")
    return node


def _manager(project: Project, home: str, package: Table) -> str:
    declared = text(package.get("packageManager")) or ""
    name = declared.partition("@")[0]
    if name in ("npm", "pnpm", "yarn", "bun"):
        return name
    # a package of a workspace has the lock file of the root
    for where in dict.fromkeys((home, "")):
        for lock, manager in _LOCKS:
            if project.has(join(where, lock)):
                return manager
    return "npm"


def _patterns(node: Node) -> list[str]:
    declared = node.package.get("workspaces")
    patterns = texts(declared if isinstance(declared, list) else table(declared).get("packages"))
    if node.project.has(path := node.at("pnpm-workspace.yaml")):
        patterns += texts(items(table(node.project.yaml(path)).get("packages")))
    if node.project.has(path := node.at("lerna.json")) and not patterns:
        patterns += texts(items(node.project.json(path).get("packages"))) or ["packages/*"]
    if node.project.has(node.at("rush.json")) and not patterns:
        for entry in items(node.project.json(node.at("rush.json")).get("projects"))[:200]:
            patterns += texts(items([table(entry).get("projectFolder")]))
    return patterns


def _largest(node: Node, most: int) -> list[str]:
    census = node.project.census
    return sorted(node.members, key=lambda name: (-census.files_in(name), name))[:most]


def _stack_line(node: Node) -> str | None:
    census = node.project.census
    languages = census.languages("node", node.home)
    script = max(
        ("TypeScript", "JavaScript"), key=lambda name: (languages[name], name == "TypeScript")
    )
    if not languages:
        return None
    needs: dict[str, str | None] = {}
    packages = [node.package]
    packages += [node.project.json(f"{name}/package.json") for name in _largest(node, 12)]
    for package in packages:
        for kind in _NEEDS:
            for name, version in named(package.get(kind)):
                needs[name] = needs.get(name) or major(version)
    shown = notable("node", needs, own=node.names)
    tools = [node.manager]
    if node.members:
        tools[0] += f" workspace of {len(node.members)} packages"
    tools += [
        tool
        for file, tool in _BUILDERS.items()
        if node.project.has(node.at(file)) and tool not in " ".join(shown)
    ]
    engine = at_least(table(node.package, "engines").get("node"))
    inside = "; ".join(filter(None, (", ".join(tools), ", ".join(shown))))
    return f"{script}{f', Node {engine}' if engine else ''} ({inside})"


def caller(manager: str, name: str) -> str:
    """How the manager runs a script of the package."""
    if manager == "npm":
        return f"npm {name}" if name in ("test", "start") else f"npm run {name}"
    if manager == "pnpm":
        return f"pnpm {name}" if name in ("test", "start") else f"pnpm run {name}"
    return f"bun run {name}" if manager == "bun" else f"yarn {name}"


def _add_commands(findings: Findings, node: Node) -> None:
    path = node.at("package.json")
    if any(node.package.get(kind) for kind in _NEEDS) or node.members:
        findings.command("install", f"{node.manager} install", path, 66, node.home)
    targets = [
        Target(name, tuple(body.split(" && ")), f"{path}:scripts.{name}")
        for name, body in node.scripts
    ]
    add_targets(findings, targets, lambda name: caller(node.manager, name), 84, node.home)
    for member in _largest(node, 1):
        _add_main_member(findings, node, member)
    named_scripts = {name for name, _ in node.scripts}
    if "test" not in named_scripts and node.manager == "bun" and _has_tests(node):
        findings.command("test", "bun test", path, 60, node.home)


def _add_main_member(findings: Findings, node: Node, member: str) -> None:
    """The largest package of a workspace may have what its root lacks."""
    package = node.project.json(f"{member}/package.json")
    inner = Node(node.project, member, package, node.manager)
    targets = [
        Target(name, tuple(body.split(" && ")), f"{member}/package.json:scripts.{name}")
        for name, body in inner.scripts
    ]
    add_targets(findings, targets, lambda name: caller(node.manager, name), 58, member)


def _has_tests(node: Node) -> bool:
    return any(
        re.search(r"[._](?:test|spec)\.[jt]sx?$", path)
        for path in node.project.paths
        if path.startswith(node.at(""))
    )


def _add_entries(findings: Findings, node: Node) -> None:
    for home in dict.fromkeys([node.home, *_largest(node, 6)]):
        package = node.project.json(join(home, "package.json"))
        name = text(package.get("name"), 80)
        bins = package.get("bin")
        pairs = list(named(bins)) or ([(base(name or ""), bins)] if name else [])
        for command, target in pairs[:4]:
            if path := _source_file(node.project, home, target):
                findings.entry(path, f"command `{command}`")
        exported = package.get("exports")
        main = exported if isinstance(exported, str) else table(exported).get(".")
        for target in (package.get("source"), *_leaves(main), package.get("main")):
            if path := _source_file(node.project, home, target):
                findings.entry(path, f"main module of {name}" if name else "main module")
                break
        else:
            if path := _conventional(node.project, home):
                findings.entry(path, f"main module of {name}" if name else "main module")


def _leaves(value: object, depth: int = 0) -> Iterator[object]:
    if isinstance(value, dict) and depth < 4:
        for item in list(value.values())[:10]:
            yield from _leaves(item, depth + 1)
    elif isinstance(value, str):
        yield value


def _source_file(project: Project, home: str, target: object) -> str | None:
    """The file that a package names, or the source that its build makes it from."""
    plain = (text(target) or "").removeprefix("./")
    if not plain or plain.startswith(("/", "../")):
        return None
    stem = re.sub(r"(?:\.d)?\.[cm]?[jt]sx?$", "", plain)
    inner = stem.partition("/")[2] if "/" in stem else stem
    candidates = [plain]
    for where in (stem, f"src/{inner}", f"src/{base(stem)}"):
        candidates += [f"{where}.{ending}" for ending in ("ts", "tsx", "js", "mjs", "jsx")]
    candidates += [f"{stem}/index.ts", f"{stem}/index.js"]
    return project.first(home, *candidates)


_STARTS = (
    "src/main.tsx", "src/main.ts", "src/main.jsx", "src/main.js", "src/index.tsx", "src/index.ts",
    "src/index.jsx", "src/index.js", "src/server.ts", "src/server.js", "src/app.ts", "src/app.js",
    "app/layout.tsx", "src/app/layout.tsx", "app/page.tsx", "pages/_app.tsx", "pages/index.tsx",
    "src/routes/+layout.svelte", "app.vue", "app/app.vue", "server.js", "server.ts", "index.tsx",
    "app.js", "index.ts", "index.js", "main.ts", "main.js",
)  # fmt: skip


def _conventional(project: Project, home: str) -> str | None:
    return project.first(home, *_STARTS)


def _add_deno(findings: Findings, project: Project) -> None:
    path = project.first("", "deno.json", "deno.jsonc")
    if path is None:
        return
    config = project.json(path)
    members = texts(config.get("workspace"))
    members = members or texts(table(config, "workspace").get("members"))
    found = expand(project, "", members, "deno.json") + expand(project, "", members, "deno.jsonc")
    findings.packages += sorted(found)
    if not project.has("package.json"):
        note = f"Deno workspace of {len(found)} packages" if found else "Deno"
        languages = project.census.languages("node")
        script = "JavaScript" if languages["JavaScript"] > languages["TypeScript"] else "TypeScript"
        findings.tech(f"{script} ({note})")
    targets = [
        Target(name, tuple(texts(body) or texts(table(body).get("command"))), f"{path}:tasks.{name}")
        for name, body in named(config.get("tasks"))
    ]
    add_targets(findings, targets, lambda name: f"deno task {name}", 84)
    if any(re.search(r"[._]test\.[jt]sx?$", name) for name in project.names):
        findings.command("test", "deno test", path, 56)
    findings.command("lint", "deno lint", path, 52)
    findings.command("format", "deno fmt", path, 52)
