"""Rust: what Cargo needs to be told."""

from __future__ import annotations

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.formats import Table, items, named, table, text, texts
from kedge.repomap.project.frameworks import major, notable
from kedge.repomap.project.globs import expand
from kedge.repomap.project.parts import Findings, base, counted, join, quoted
from kedge.repomap.project.source import Project

MOST_MANIFESTS = 8
MOST_BINARIES = 8
MOST_LIBRARIES = 6


def read(project: Project) -> Findings:
    findings = Findings("rust")
    for home in project.homes("Cargo.toml"):
        path = join(home, "Cargo.toml")
        cargo = project.toml(path)
        members = expand(
            project, home, texts(table(cargo, "workspace").get("members")), "Cargo.toml"
        )
        excluded = set(texts(table(cargo, "workspace").get("exclude")))
        members = [name for name in members if name not in excluded and not is_aside(name)]
        members.sort(key=lambda name: (-project.census.files_in(name), name))
        findings.packages += members
        findings.tech(_stack_line(project, cargo, members), home)
        _add_commands(findings, project, home, cargo, members)
        _add_entries(findings, project, [home, *members])
    return findings


def _stack_line(project: Project, cargo: Table, members: list[str]) -> str:
    package = table(cargo, "package")
    shared = table(cargo, "workspace", "package")
    own = {text(package.get("name")) or ""}
    needs: dict[str, str | None] = {}
    most = 2 if table(cargo, "workspace", "dependencies") else MOST_MANIFESTS
    manifests = [cargo, *(project.toml(f"{name}/Cargo.toml") for name in members[:most])]
    for manifest in manifests:
        own.add(text(table(manifest, "package").get("name")) or "")
        for name, value in named(table(manifest, "dependencies")):
            version = value if isinstance(value, str) else table(value).get("version")
            needs[name] = needs.get(name) or major(version)
        package = package or table(manifest, "package")
    for name, value in named(table(cargo, "workspace", "dependencies")):
        version = value if isinstance(value, str) else table(value).get("version")
        needs[name] = needs.get(name) or major(version)
    edition = text(package.get("edition")) or text(shared.get("edition"))
    minimum = text(package.get("rust-version")) or text(shared.get("rust-version"))
    line = f"Rust{f' {edition}' if edition else ''}{f', ≥{minimum}' if minimum else ''}"
    tools = f"workspace of {counted(len(members), 'crate')}" if members else "cargo"
    libraries = ", ".join(notable("rust", needs, own=own))
    return f"{line} ({'; '.join(filter(None, (tools, libraries)))})"


def _add_commands(
    findings: Findings, project: Project, home: str, cargo: Table, members: list[str]
) -> None:
    path = join(home, "Cargo.toml")
    everything = " --workspace" if members and "package" in cargo else ""
    findings.command("build", f"cargo build{everything}", path, 60, home)
    findings.command("test", f"cargo test{everything}", path, 62, home)
    lints = table(cargo, "lints", "clippy") or table(cargo, "workspace", "lints", "clippy")
    clippy = project.first(home, "clippy.toml", ".clippy.toml")
    if clippy or lints:
        findings.command("lint", f"cargo clippy{everything}", clippy or path, 60, home)
    if rustfmt := project.first(home, "rustfmt.toml", ".rustfmt.toml"):
        findings.command("format", "cargo fmt", rustfmt, 60, home)
    bins = [text(table(item).get("name")) for item in items(cargo.get("bin"))]
    default = text(table(cargo, "package").get("default-run")) or (bins[0] if bins else None)
    if project.has(join(home, "src/main.rs")) or len(bins) == 1:
        findings.command("run", "cargo run", path, 56, home)
    elif default:
        findings.command("run", f"cargo run --bin {quoted(default)}", path, 54, home)


def _add_entries(findings: Findings, project: Project, crates: list[str]) -> None:
    """Binaries first, then the libraries of the largest crates."""
    binaries = [
        crate for crate in crates if project.first(crate, "src/main.rs") or crate == crates[0]
    ]
    # the program that other crates are named after, then the largest
    binaries.sort(key=lambda name: -sum(base(one).startswith(base(name)) for one in crates))
    for crate in binaries[:MOST_BINARIES]:
        cargo = project.toml(join(crate, "Cargo.toml"))
        name = text(table(cargo, "package").get("name"), 80) or crate
        for item in items(cargo.get("bin"))[:4]:
            path = text(table(item).get("path"))
            if path and project.has(join(crate, path)):
                shown = text(table(item).get("name"), 80) or name
                findings.entry(join(crate, path), f"binary `{shown}`")
        if main := project.first(crate, "src/main.rs"):
            findings.entry(main, f"binary `{name}`")
    for crate in crates[:MOST_LIBRARIES]:
        cargo = project.toml(join(crate, "Cargo.toml"))
        custom = text(table(cargo, "lib").get("path")) or "src/lib.rs"
        if library := project.first(crate, custom, "src/lib.rs"):
            name = text(table(cargo, "package").get("name"), 80) or crate
            findings.entry(library, f"crate `{name}`")
