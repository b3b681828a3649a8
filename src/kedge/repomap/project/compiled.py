"""Rust, Go, C and C++: what Cargo, go and the build systems need to be told."""

from __future__ import annotations

import re

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.formats import Table, items, named, table, text, texts
from kedge.repomap.project.frameworks import major, notable
from kedge.repomap.project.globs import expand
from kedge.repomap.project.parts import Findings, join, parent
from kedge.repomap.project.source import Project


def read_rust(project: Project) -> Findings:
    findings = Findings("rust")
    for home in project.homes("Cargo.toml"):
        path = join(home, "Cargo.toml")
        cargo = project.toml(path)
        members = expand(
            project, home, texts(table(cargo, "workspace").get("members")), "Cargo.toml"
        )
        excluded = set(texts(table(cargo, "workspace").get("exclude")))
        members = [name for name in members if name not in excluded]
        findings.packages += members
        findings.tech(_rust_line(project, cargo, members), home)
        _rust_commands(findings, project, home, cargo, members)
        for crate in dict.fromkeys([home, *members]):
            _rust_entries(findings, project, crate)
    return findings


def _rust_line(project: Project, cargo: Table, members: list[str]) -> str:
    package = table(cargo, "package")
    shared = table(cargo, "workspace", "package")
    own = {text(package.get("name")) or ""}
    needs: dict[str, str | None] = {}
    manifests = [cargo, *(project.toml(f"{name}/Cargo.toml") for name in members[:12])]
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
    tools = f"workspace of {len(members)} crates" if members else "cargo"
    libraries = ", ".join(notable("rust", needs, own=own))
    return f"{line} ({'; '.join(filter(None, (tools, libraries)))})"


def _rust_commands(
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
        findings.command("run", f"cargo run --bin {default}", path, 54, home)


def _rust_entries(findings: Findings, project: Project, crate: str) -> None:
    cargo = project.toml(join(crate, "Cargo.toml"))
    name = text(table(cargo, "package").get("name"), 80) or crate
    if is_aside(crate):
        return
    for item in items(cargo.get("bin"))[:4]:
        path = text(table(item).get("path"))
        if path and project.has(join(crate, path)):
            findings.entry(join(crate, path), f"binary `{text(table(item).get('name')) or name}`")
    if main := project.first(crate, "src/main.rs"):
        findings.entry(main, f"binary `{name}`")
    custom = text(table(cargo, "lib").get("path")) or "src/lib.rs"
    if library := project.first(crate, custom, "src/lib.rs"):
        findings.entry(library, f"crate `{name}`")


def read_go(project: Project) -> Findings:
    findings = Findings("go")
    homes = project.homes("go.mod", limit=3)
    modules = [
        home
        for path in project.named("go.mod")
        if (home := parent(path)) and not is_aside(home) and project.census.weight("go", home)
    ]
    findings.packages += modules
    work = project.text("go.work") if project.has("go.work") else None
    for home in homes:
        path = join(home, "go.mod")
        text_ = project.text(path) or ""
        findings.tech(_go_line(text_, work is not None and home == homes[0]), home)
        findings.command("build", "go build ./...", path, 60, home)
        findings.command("test", "go test ./...", path, 62, home)
        if lint := project.first(
            home, ".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"
        ):
            findings.command("lint", "golangci-lint run", lint, 62, home)
        findings.command("install", "go mod download", path, 50, home)
        _go_mains(findings, project, home)
    return findings


_GO_REQUIRE = re.compile(r"^\s*(?:require\s+)?([\w.~/-]{3,200})\s+(v\d[\w.+-]{0,80})\s*(//.*)?$", re.MULTILINE)


def _go_line(go_mod: str, has_work: bool) -> str:
    version = re.search(r"^go\s+(\d+\.\d+)", go_mod, re.MULTILINE)
    module = re.search(r"^module\s+\"?([^\s\"]{1,200})", go_mod, re.MULTILINE)
    needs: dict[str, str | None] = {}
    for found in _GO_REQUIRE.finditer(go_mod):
        if "indirect" not in (found.group(3) or ""):
            needs[re.sub(r"/v\d+$", "", found.group(1))] = None
    line = f"Go{f' {version.group(1)}' if version else ''}"
    if module:
        line += f", module {module.group(1)}"
    tools = "workspace" if has_work else ""
    libraries = ", ".join(notable("go", needs, most=4))
    inside = "; ".join(filter(None, (tools, libraries)))
    return f"{line} ({inside})" if inside else line


def _go_mains(findings: Findings, project: Project, home: str) -> None:
    own = join(home, "")
    runs = 0
    for path in project.named("main.go"):
        directory = parent(path)
        if (own and not path.startswith(own)) or path.count("/") > 4 or is_aside(directory):
            continue
        if not re.search(r"^package main\b", project.head(path)[:8000], re.MULTILINE):
            continue
        name = directory.rpartition("/")[2] or "the program"
        if "internal/" in path or "hack/" in path or "tools/" in path:
            continue
        findings.entry(path, f"main package `{name}`" if directory else "main package")
        runs += 1
        if runs == 1:
            inside = directory[len(own) :] if own else directory
            target = f"./{inside}" if inside else "."
            findings.command("run", f"go run {target}", path, 52, home)
        if runs >= 6:
            break


def read_c(project: Project) -> Findings:
    findings = Findings("c")
    languages = project.census.languages("c")
    if not languages:
        return findings
    top = max(("C++", "C"), key=lambda name: (languages[name], name == "C++"))
    if "C++" in languages and languages["C++"] * 5 > sum(languages.values()):
        top = "C++" if languages["C++"] >= languages["C"] else "C and C++"
    if path := project.first("", "CMakeLists.txt"):
        findings.tech(_cmake_line(project.head(path), top))
        findings.command("build", "cmake -B build && cmake --build build", path, 58)
        if re.search(r"enable_testing|include\s*\(\s*CTest", _cmake_texts(project), re.IGNORECASE):
            findings.command("test", "ctest --test-dir build", path, 54)
    elif path := project.first("", "meson.build"):
        findings.tech(f"{top} (Meson)")
        findings.command("build", "meson setup build && meson compile -C build", path, 58)
        findings.command("test", "meson test -C build", path, 56)
    elif path := project.first("", "configure.ac", "configure.in"):
        findings.tech(f"{top} (autotools)")
        first = "./autogen.sh" if project.has("autogen.sh") else "autoreconf -fi"
        if not project.has("configure"):
            findings.command("build", f"{first} && ./configure && make", path, 58)
        else:
            findings.command("build", "./configure && make", path, 58)
        findings.command("test", "make check", path, 54)
    elif path := project.first("", "WORKSPACE", "MODULE.bazel", "WORKSPACE.bazel"):
        findings.tech(f"{top} (Bazel)")
        findings.command("build", "bazel build //...", path, 58)
        findings.command("test", "bazel test //...", path, 58)
    else:
        findings.tech(f"{top} (Make)" if project.has("Makefile", "makefile", "GNUmakefile") else top)
    for path in ("src/main.c", "src/main.cpp", "src/main.cc", "main.c", "main.cpp", "main.cc"):
        if project.has(path):
            findings.entry(path, "main program")
    return findings


def _cmake_line(cmake: str, language: str) -> str:
    version = re.search(r"cmake_minimum_required\s*\(\s*VERSION\s+(\d+\.\d+)", cmake, re.IGNORECASE)
    standard = re.search(r"CMAKE_CXX_STANDARD\s+(\d\d)|cxx_std_(\d\d)", cmake)
    if standard:
        language = f"C++{standard.group(1) or standard.group(2)}"
    packages = [name for name in re.findall(r"find_package\s*\(\s*(\w{2,40})", cmake, re.IGNORECASE)]
    known = {"Qt5": "Qt 5", "Qt6": "Qt 6", "Boost": "Boost", "OpenCV": "OpenCV", "SDL2": "SDL2"}
    shown = [known[name] for name in dict.fromkeys(packages) if name in known]
    tool = f"CMake{f' ≥{version.group(1)}' if version else ''}"
    return f"{language} ({'; '.join(filter(None, (tool, ', '.join(shown))))})"


def _cmake_texts(project: Project) -> str:
    places = ("CMakeLists.txt", "test/CMakeLists.txt", "tests/CMakeLists.txt")
    return "\n".join(project.head(path) for path in places)
