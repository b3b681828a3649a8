"""Rust: Cargo packages and workspaces."""

from __future__ import annotations

from shlex import quote

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
from kedge.repomap.project.frameworks import major_version, select_notable
from kedge.repomap.project.globs import expand
from kedge.repomap.project.parts import Findings, base, format_stack, join
from kedge.repomap.project.project_files import ProjectFiles

MOST_MANIFESTS = 8
MOST_BINARIES = 8
MOST_LIBRARIES = 6


def read(project: ProjectFiles) -> Findings:
    findings = Findings("rust")
    for home in project.homes("Cargo.toml"):
        path = join(home, "Cargo.toml")
        cargo = project.toml(path)
        members = expand(
            project, home, as_texts(as_table(cargo, "workspace").get("members")), "Cargo.toml"
        )
        excluded = set(as_texts(as_table(cargo, "workspace").get("exclude")))
        members = [name for name in members if name not in excluded and not is_aside(name)]
        members.sort(key=lambda name: (-project.census.files_in(name), name))
        findings.packages += members
        findings.add_tech(_stack_line(project, cargo, members), home)
        _add_commands(findings, project, home, cargo, members)
        _add_entries(findings, project, [home, *members])
    return findings


def _stack_line(project: ProjectFiles, cargo: Table, members: list[str]) -> str:
    package = as_table(cargo, "package")
    shared = as_table(cargo, "workspace", "package")
    own = {as_text(package.get("name")) or ""}
    needs: dict[str, str | None] = {}
    most = 2 if as_table(cargo, "workspace", "dependencies") else MOST_MANIFESTS
    manifests = [cargo, *(project.toml(f"{name}/Cargo.toml") for name in members[:most])]
    for manifest in manifests:
        own.add(as_text(as_table(manifest, "package").get("name")) or "")
        package = package or as_table(manifest, "package")
    for manifest in (*manifests, as_table(cargo, "workspace")):
        for name, value in printable_items(as_table(manifest, "dependencies")):
            version = value if isinstance(value, str) else as_table(value).get("version")
            needs[name] = needs.get(name) or major_version(version)
    edition = as_text(package.get("edition")) or as_text(shared.get("edition"))
    minimum = as_text(package.get("rust-version")) or as_text(shared.get("rust-version"))
    line = f"Rust{f' {edition}' if edition else ''}{f', ≥{minimum}' if minimum else ''}"
    tool = f"workspace of {count_noun(len(members), 'crate')}" if members else "cargo"
    return format_stack(line, None, [tool], select_notable("rust", needs, own=own))


def _add_commands(
    findings: Findings, project: ProjectFiles, home: str, cargo: Table, members: list[str]
) -> None:
    path = join(home, "Cargo.toml")
    everything = " --workspace" if members and "package" in cargo else ""
    findings.add_command("build", f"cargo build{everything}", path, 60, home)
    findings.add_command("test", f"cargo test{everything}", path, 62, home)
    lints = as_table(cargo, "lints", "clippy") or as_table(cargo, "workspace", "lints", "clippy")
    clippy = project.first(home, "clippy.toml", ".clippy.toml")
    if clippy or lints:
        findings.add_command("lint", f"cargo clippy{everything}", clippy or path, 60, home)
    if rustfmt := project.first(home, "rustfmt.toml", ".rustfmt.toml"):
        findings.add_command("format", "cargo fmt", rustfmt, 60, home)
    bins = [as_text(as_table(item).get("name")) for item in as_list(cargo.get("bin"))]
    default = as_text(as_table(cargo, "package").get("default-run")) or (bins[0] if bins else None)
    if project.has(join(home, "src/main.rs")) or len(bins) == 1:
        findings.add_command("run", "cargo run", path, 56, home)
    elif default:
        findings.add_command("run", f"cargo run --bin {quote(default)}", path, 54, home)


def _add_entries(findings: Findings, project: ProjectFiles, crates: list[str]) -> None:
    """Add the binaries, then the libraries of the largest crates."""
    binaries = [
        crate for crate in crates if project.first(crate, "src/main.rs") or crate == crates[0]
    ]
    # the program that other crates share a name with, then the largest
    binaries.sort(key=lambda name: -sum(base(one).startswith(base(name)) for one in crates))
    for crate in binaries[:MOST_BINARIES]:
        cargo = project.toml(join(crate, "Cargo.toml"))
        name = as_text(as_table(cargo, "package").get("name"), 80) or crate
        for item in as_list(cargo.get("bin"))[:4]:
            path = as_text(as_table(item).get("path"))
            if path and project.has(join(crate, path)):
                shown = as_text(as_table(item).get("name"), 80) or name
                findings.add_entry(join(crate, path), f"binary `{shown}`")
        if main := project.first(crate, "src/main.rs"):
            findings.add_entry(main, f"binary `{name}`")
    for crate in crates[:MOST_LIBRARIES]:
        cargo = project.toml(join(crate, "Cargo.toml"))
        custom = as_text(as_table(cargo, "lib").get("path")) or "src/lib.rs"
        if library := project.first(crate, custom, "src/lib.rs"):
            name = as_text(as_table(cargo, "package").get("name"), 80) or crate
            findings.add_entry(library, f"crate `{name}`")
