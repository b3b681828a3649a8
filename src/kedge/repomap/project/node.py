"""JavaScript and TypeScript: npm, yarn, pnpm, bun and their workspaces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from kedge.host.text import count_noun
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
from kedge.repomap.project.parts import Findings, format_stack, join
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
_BUILDERS = {"turbo.json": "turbo", "nx.json": "nx", "lerna.json": "lerna"}
_NEEDS = ("dependencies", "devDependencies", "peerDependencies")
# scripts that the package manager runs itself
_LIFECYCLE_NAMES = """prepare install preinstall postinstall prepack postpack prepublish
prepublishOnly preversion version postversion"""
_LIFECYCLE = frozenset(_LIFECYCLE_NAMES.split())


@dataclass
class NodePackage:
    """A package.json and the members of its workspace."""

    project: ProjectFiles
    home: str
    manager: str
    members: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    @property
    def path(self) -> str:
        return join(self.home, "package.json")

    @property
    def package(self) -> Table:
        return self.project.json(self.path)

    def at(self, name: str) -> str:
        return join(self.home, name)

    def targets(self) -> Iterator[Target]:
        """The scripts that are meant to be called."""
        for name, body in printable_items(self.package.get("scripts")):
            if name not in _LIFECYCLE and (line := as_text(body, 2000)):
                yield Target(name, tuple(line.split(" && ")), f"{self.path}:scripts.{name}")


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
    if package.get("workspaces") or project.has("pnpm-workspace.yaml", "lerna.json"):
        return False
    below = project.below("package.json", family="node")
    inside = sum(project.census.weight("node", home) for home in below)
    return inside * 2 > project.census.weight("node")


def _open(project: ProjectFiles, home: str) -> NodePackage:
    node = NodePackage(project, home, _manager(project, home))
    members = expand(project, home, _patterns(node), "package.json")
    node.members = [name for name in members if not is_aside(name)]
    for place in (home, *_largest(node, 40)):
        name = as_text(project.json(join(place, "package.json")).get("name"))
        node.names.add(name or "")
    return node


def _manager(project: ProjectFiles, home: str) -> str:
    package = project.json(join(home, "package.json"))
    declared = as_text(package.get("packageManager")) or ""
    name = declared.partition("@")[0]
    if name in ("npm", "pnpm", "yarn", "bun"):
        return name
    # the lock file of a workspace is in the root
    for where in dict.fromkeys((home, "")):
        for lock, manager in _LOCKS:
            if project.exists(join(where, lock)):
                return manager
    return "npm"


def _patterns(node: NodePackage) -> list[str]:
    declared = node.package.get("workspaces")
    patterns = as_texts(
        declared if isinstance(declared, list) else as_table(declared).get("packages")
    )
    if node.project.has(path := node.at("pnpm-workspace.yaml")):
        patterns += as_texts(as_list(as_table(node.project.yaml(path)).get("packages")))
    if node.project.has(path := node.at("lerna.json")) and not patterns:
        patterns += as_texts(as_list(node.project.json(path).get("packages"))) or ["packages/*"]
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
    script = "TypeScript" if is_typed else "JavaScript"
    return format_stack(f"{script}, Node" if engine else script, engine, tools, shown)


def run_script(manager: str, name: str) -> str:
    """The command by which the package manager runs a script."""
    is_short = manager == "yarn" or (manager != "bun" and name in ("test", "start"))
    return f"{manager} {name}" if is_short else f"{manager} run {name}"


def _add_commands(findings: Findings, node: NodePackage) -> None:
    if any(node.package.get(kind) for kind in _NEEDS) or node.members:
        findings.add_command("install", f"{node.manager} install", node.path, 66, node.home)
    _add_scripts(findings, node, 84)
    for member in _largest(node, 1):
        # in case the root has no commands
        _add_scripts(findings, NodePackage(node.project, member, node.manager), 58)


def _add_scripts(findings: Findings, node: NodePackage, score: int) -> None:
    call = partial(run_script, node.manager)
    add_targets(findings, node.targets(), call, score, node.home)
