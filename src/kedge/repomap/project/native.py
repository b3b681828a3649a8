"""C and C++: CMake, Meson, autotools, Bazel and make."""

from __future__ import annotations

import re

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.parts import MAKEFILES, Findings, format_stack, parent
from kedge.repomap.project.project_files import ProjectFiles

# programs for developers, not for users
_HELPERS = frozenset({"tools", "tool", "scripts", "utils", "contrib"})


def read(project: ProjectFiles) -> Findings:
    findings = Findings("c")
    languages = project.census.languages("c")
    if not languages:
        return findings
    is_mixed = languages["C"] > languages["C++"] > languages.total() / 5
    top = "C and C++" if is_mixed else "C++" if languages["C++"] >= languages["C"] else "C"
    autotools = project.first("", "configure.ac", "configure.in")
    if autotools and project.has("Makefile.am"):
        _add_autotools(findings, project, top, autotools)
    elif path := project.first("", "CMakeLists.txt"):
        findings.add_tech(_cmake_line(project.head(path), top))
        findings.add_command("build", "cmake -B build && cmake --build build", path, 58)
        if re.search(
            r"enable_testing|include\s{0,4}\(\s{0,4}CTest", _cmake_texts(project), re.IGNORECASE
        ):
            findings.add_command("test", "ctest --test-dir build", path, 54)
    elif path := project.first("", "meson.build"):
        findings.add_tech(f"{top} (Meson)")
        findings.add_command("build", "meson setup build && meson compile -C build", path, 58)
        findings.add_command("test", "meson test -C build", path, 56)
    elif autotools:
        _add_autotools(findings, project, top, autotools)
    elif path := project.first("", "WORKSPACE", "MODULE.bazel", "WORKSPACE.bazel"):
        findings.add_tech(f"{top} (Bazel)")
        findings.add_command("build", "bazel build //...", path, 58)
        findings.add_command("test", "bazel test //...", path, 58)
    else:
        findings.bare = not project.has(*MAKEFILES)
        findings.add_tech(top if findings.bare else f"{top} (Make)")
    for path in _mains(project):
        findings.add_entry(path, "main program")
    return findings


def _mains(project: ProjectFiles) -> list[str]:
    """The files that are named like a program and have a main function."""
    endings = ("c", "cc", "cpp", "cxx")
    plain = [path for end in endings for path in project.find_named(f"main.{end}")]
    others = [path for name in ("server", "cli") for path in project.find_named(f"{name}.c")]
    others += project.find_ending("_main.c", "_main.cc")
    own = [path for path in (*plain, *others) if path.count("/") < 4 and _is_product(path)][:8]
    return [path for path in own if path in plain or " main(" in (project.text(path) or "")]


def _is_product(path: str) -> bool:
    return not is_aside(parent(path)) and path.partition("/")[0] not in _HELPERS


def _add_autotools(findings: Findings, project: ProjectFiles, top: str, path: str) -> None:
    other = " and CMake" if project.has("CMakeLists.txt") else ""
    findings.add_tech(f"{top} (autotools{other})")
    first = "./autogen.sh" if project.has("autogen.sh") else "autoreconf -fi"
    before = "" if project.has("configure") else f"{first} && "
    findings.add_command("build", f"{before}./configure && make", path, 58)
    findings.add_command("test", "make check", path, 62)


def _cmake_line(cmake: str, language: str) -> str:
    version = re.search(
        r"cmake_minimum_required\s{0,4}\(\s{0,9}VERSION\s{1,4}(\d+\.\d+)", cmake, re.IGNORECASE
    )
    standard = re.search(r"CMAKE_CXX_STANDARD\s{1,4}(\d\d)|cxx_std_(\d\d)", cmake)
    if standard:
        language = f"C++{standard.group(1) or standard.group(2)}"
    packages = re.findall(r"find_package\s{0,4}\(\s{0,4}(\w{2,40})", cmake, re.IGNORECASE)
    known = {"Qt5": "Qt 5", "Qt6": "Qt 6", "Boost": "Boost", "OpenCV": "OpenCV", "SDL2": "SDL2"}
    shown = [known[name] for name in dict.fromkeys(packages) if name in known]
    tool = f"CMake{f' ≥{version.group(1)}' if version else ''}"
    return format_stack(language, None, [tool], shown)


def _cmake_texts(project: ProjectFiles) -> str:
    places = ("CMakeLists.txt", "test/CMakeLists.txt", "tests/CMakeLists.txt")
    return "\n".join(project.head(path) for path in places)
