"""JavaScript and TypeScript: npm, yarn, pnpm, bun and their workspaces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.formats import (
    Table,
    as_list,
    as_table,
    as_text,
    as_texts,
    printable_items,
)
from kedge.repomap.project.frameworks import lowest_version, major_version, select_notable
from kedge.repomap.project.globs import expand
from kedge.repomap.project.node_entries import add_entries, add_page
from kedge.repomap.project.parts import Findings, count_noun, join
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.targets import Target, add_targets

_LOCKS = (
    ("pnpm-lock.yaml", "pnpm"),
    ("pnpm-workspace.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    (".yarnrc.yml", "yarn"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
)
_BUILDERS = {"turbo.json": "turbo", "nx.json": "nx", "lerna.json": "lerna", "rush.json": "rush"}
_NEEDS = ("dependencies", "devDependencies", "peerDependencies")
# scripts that the package manager runs itself
_LIFECYCLE = frozenset(
    [
        "prepare",
        "install",
        "preinstall",
        "postinstall",
        "prepack",
        "postpack",
        "prepublish",
        "prepublishOnly",
        "preversion",
        "version",
        "postversion",
    ]
)


class NodePackage:
    """A package.json and the members of its workspace."""

    def __init__(self, project: ProjectFiles, home: str, package: Table, manager: str) -> None:
        self.project = project
        self.home = home
        self.package = package
        self.manager = manager
        self.members: list[str] = []
        self.names: set[str] = set()

    def at(self, name: str) -> str:
        return join(self.home, name)

    @property
    def scripts(self) -> Iterator[tuple[str, str]]:
        for name, body in printable_items(self.package.get("scripts")):
            if name not in _LIFECYCLE and (line := as_text(body, 2000)):
                yield name, line


def read(project: ProjectFiles) -> Findings:
    findings = Findings("node")
    homes = project.homes("package.json")
    if homes == [""] and _only_tools(project):
        homes += project.below("package.json", family="node")[:3]
    nodes = [_open(project, home) for home in homes]
    listed = [node for node in nodes if _libraries(node)] or nodes[:1]
    for node in nodes:
        findings.packages += node.members
        if node in listed and project.census.weight("node", node.home):
            findings.add_tech(_stack_line(node), node.home)
        _add_commands(findings, node)
        add_entries(findings, project, [node.home, *_largest(node, 6)])
    add_page(findings, project)
    return findings


def _only_tools(project: ProjectFiles) -> bool:
    """True if the root's package.json is only for tools of the repository."""
    package = project.json("package.json")
    if package.get("workspaces") or project.has("pnpm-workspace.yaml", "lerna.json", "rush.json"):
        return False
    below = project.below("package.json", family="node")
    inside = sum(project.census.weight("node", home) for home in below)
    return inside * 2 > project.census.weight("node")


def _open(project: ProjectFiles, home: str) -> NodePackage:
    package = project.json(join(home, "package.json"))
    node = NodePackage(project, home, package, _manager(project, home, package))
    members = expand(project, home, _patterns(node), "package.json")
    node.members = [name for name in members if not is_aside(name)]
    for member in _largest(node, 40):
        if name := as_text(project.json(f"{member}/package.json").get("name")):
            node.names.add(name)
    node.names.add(as_text(package.get("name")) or "")
    return node


def _manager(project: ProjectFiles, home: str, package: Table) -> str:
    declared = as_text(package.get("packageManager")) or ""
    name = declared.partition("@")[0]
    if name in ("npm", "pnpm", "yarn", "bun"):
        return name
    # the lock file of a workspace is in the root
    for where in dict.fromkeys((home, "")):
        for lock, manager in _LOCKS:
            if project.exists(join(where, lock)):
                return manager
    # the lock file may be too large to be read
    wanted = as_table(package, "engines").keys() & {"pnpm", "yarn", "bun"}
    called = [
        name
        for name in ("pnpm", "yarn", "bun")
        if any(
            f"{name} " in line
            for _, body in printable_items(package.get("scripts"))
            for line in as_texts(body)
        )
    ]
    return next(iter([*sorted(wanted), *called]), "npm")


def _patterns(node: NodePackage) -> list[str]:
    declared = node.package.get("workspaces")
    patterns = as_texts(
        declared if isinstance(declared, list) else as_table(declared).get("packages")
    )
    if node.project.has(path := node.at("pnpm-workspace.yaml")):
        patterns += as_texts(as_list(as_table(node.project.yaml(path)).get("packages")))
    if node.project.has(path := node.at("lerna.json")) and not patterns:
        patterns += as_texts(as_list(node.project.json(path).get("packages"))) or ["packages/*"]
    if node.project.has(node.at("rush.json")) and not patterns:
        for entry in as_list(node.project.json(node.at("rush.json")).get("projects"))[:200]:
            patterns += as_texts(as_list([as_table(entry).get("projectFolder")]))
    return patterns


def _largest(node: NodePackage, most: int) -> list[str]:
    census = node.project.census
    return sorted(node.members, key=lambda name: (-census.files_in(name), name))[:most]


def _libraries(node: NodePackage) -> list[str]:
    needs: dict[str, str | None] = {}
    packages = [node.package]
    packages += [node.project.json(f"{name}/package.json") for name in _largest(node, 12)]
    for package in packages:
        for kind in _NEEDS:
            for name, version in printable_items(package.get(kind)):
                needs[name] = needs.get(name) or major_version(version)
    own = [name for name, _ in printable_items(node.package.get("dependencies"))]
    return select_notable("node", needs, own=node.names, first=own)


def _stack_line(node: NodePackage) -> str:
    languages = node.project.census.languages("node", node.home)
    is_typed = languages["TypeScript"] >= languages["JavaScript"]
    shown = _libraries(node)
    tools = [node.manager]
    if node.members:
        tools[0] += f" workspace of {count_noun(len(node.members), 'package')}"
    tools += [
        tool
        for file, tool in _BUILDERS.items()
        if node.project.has(node.at(file)) and tool not in " ".join(shown)
    ]
    engine = lowest_version(as_table(node.package, "engines").get("node"))
    inside = "; ".join(filter(None, (", ".join(tools), ", ".join(shown))))
    script = "TypeScript" if is_typed else "JavaScript"
    return f"{script}{f', Node {engine}' if engine else ''} ({inside})"


def run_script(manager: str, name: str) -> str:
    """The command by which the package manager runs a script."""
    if manager == "npm":
        return f"npm {name}" if name in ("test", "start") else f"npm run {name}"
    if manager == "pnpm":
        return f"pnpm {name}" if name in ("test", "start") else f"pnpm run {name}"
    return f"bun run {name}" if manager == "bun" else f"yarn {name}"


def _add_commands(findings: Findings, node: NodePackage) -> None:
    path = node.at("package.json")
    if any(node.package.get(kind) for kind in _NEEDS) or node.members:
        findings.add_command("install", f"{node.manager} install", path, 66, node.home)
    targets = [
        Target(name, tuple(body.split(" && ")), f"{path}:scripts.{name}")
        for name, body in node.scripts
    ]
    add_targets(findings, targets, lambda name: run_script(node.manager, name), 84, node.home)
    for member in _largest(node, 1):
        _add_main_member(findings, node, member)
    named_scripts = {name for name, _ in node.scripts}
    if "test" not in named_scripts and node.manager == "bun" and _has_tests(node):
        findings.add_command("test", "bun test", path, 60, node.home)


def _add_main_member(findings: Findings, node: NodePackage, member: str) -> None:
    """Add the commands of the workspace's largest package, in case the root has none."""
    package = node.project.json(f"{member}/package.json")
    inner = NodePackage(node.project, member, package, node.manager)
    targets = [
        Target(name, tuple(body.split(" && ")), f"{member}/package.json:scripts.{name}")
        for name, body in inner.scripts
    ]
    add_targets(findings, targets, lambda name: run_script(node.manager, name), 58, member)


def _has_tests(node: NodePackage) -> bool:
    found = [name for name in node.project.names if re.search(r"[._](?:test|spec)\.[jt]sx?$", name)]
    return any(
        path.startswith(node.at("")) for name in found for path in node.project.find_named(name)
    )
