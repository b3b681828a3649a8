"""Hostile files raise nothing, take little time, and show nothing strange."""

from __future__ import annotations

import json
from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from repomap.project.memory import Memory, look, only
from support import in_time

from kedge.repomap.project.parts import KINDS
from kedge.repomap.project.structure import Structure
from kedge.repomap.project.survey import describe

JSON_FILES_NAMES = """
package.json lerna.json turbo.json nx.json deno.json composer.json biome.json
"""
JSON_FILES = JSON_FILES_NAMES.split()
TOML_FILES_NAMES = """
pyproject.toml Cargo.toml Pipfile ruff.toml rustfmt.toml
packages/a/Cargo.toml packages/a/pyproject.toml
"""
TOML_FILES = TOML_FILES_NAMES.split()
YAML_FILES_NAMES = """
pnpm-workspace.yaml Taskfile.yml compose.yaml pubspec.yaml .pre-commit-config.yaml
.github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml azure-pipelines.yml
"""
YAML_FILES = YAML_FILES_NAMES.split()
TEXT_FILES_NAMES = """
setup.cfg setup.py requirements.txt requirements-dev.txt tox.ini noxfile.py go.mod
go.work pom.xml build.gradle settings.gradle Gemfile x.gemspec a.csproj a.sln CMakeLists.txt
meson.build configure.ac Makefile justfile Rakefile Dockerfile mix.exs mypy.ini
Package.swift build.sbt .editorconfig .prettierrc README.md pkg/README.md
.flake8 pkg/__init__.py pkg/doc.go pkg/mod.ts src/lib.rs src/main/java/App.java main.py
manage.py scripts/test.sh gradle/libs.versions.toml pkg/package-info.java .python-version
cmd/x/main.go
"""
TEXT_FILES = TEXT_FILES_NAMES.split()
CODE_NAMES = """
a.py b.js c.ts d.rs e.go f.rb g.php h.cs i.c j.ex k.dart l.swift m.scala n.kt pkg/x.py
"""
CODE = CODE_NAMES.split()


def check(structure: Structure, paths: list[str]) -> None:
    """Check the promises that hold for every structure."""
    for part in astuple(structure):
        for item in part:
            for value in [item] if isinstance(item, str) else item:
                if isinstance(value, str):
                    assert value.isprintable(), value
                    assert len(value) < 2500, value
    for command in structure.commands:
        assert command.kind in KINDS
        assert command.command == command.command.strip() != ""
        assert command.source
    assert len(structure.commands) <= 2 * len(KINDS)
    assert len({one.path for one in structure.modules}) == len(structure.modules) <= 30
    known = set(paths)
    assert all(one.path in known for one in structure.entry_points)
    assert all(problem.partition(": ")[0] in known for problem in structure.problems)


def check_files(files: dict[str, str | bytes | None]) -> Structure:
    source = Memory(files)
    structure = describe(source)
    check(structure, list(source.paths))
    assert describe(Memory(files)) == structure
    return structure


def test_broken_files_are_reported_and_the_rest_is_described() -> None:
    structure = look(
        {
            "package.json": '{"scripts": {"test": "jest"',
            "pyproject.toml": "[project\nname = 'a'",
            "Cargo.toml": "a = 1\na = 2",
            ".github/workflows/ci.yml": "jobs:\n  a: [\n",
            "compose.yaml": "a: b: c",
            "tox.ini": "no section here\n",
            "deno.json": b"\xff\xfe{\x00",
            "composer.json": None,
            "setup.cfg": "[metadata]\nname = a\n",
            "pubspec.yaml": "[" * 5000,
            "lerna.json": "[" * 200_000,
            "Pipfile": "a = " + "[" * 5000,
        },
        code="a.py a.rs b.js c.php d.dart",
    )
    assert structure.problems == (
        ".github/workflows/ci.yml: invalid YAML in line 3",
        "Cargo.toml: invalid TOML in line 2",
        "Pipfile: nested too deeply",
        "compose.yaml: invalid YAML in line 1",
        "composer.json: cannot be read",
        "deno.json: invalid JSON in line 1",
        "lerna.json: nested too deeply",
        "package.json: invalid JSON in line 1",
        "pubspec.yaml: nested too deeply",
        "pyproject.toml: invalid TOML in line 1",
        "tox.ini: invalid INI",
    )
    assert "Python (setuptools, pipenv)" in structure.stack
    assert only(structure, "build") == ["cargo build"]


def test_large_files_are_not_parsed() -> None:
    large = b'{"scripts": {"test": "jest"}, "x": "' + b"a" * 5_000_000 + b'"}'
    structure = look({"package.json": large, "README.md": b"Ships here. " * 500_000}, code="a.js")
    assert structure.problems == ("package.json: larger than 1000 kB, not read",)
    assert structure.commands == ()
    assert structure.key_files[0].path == "README.md"


def test_xml_entities_are_not_expanded() -> None:
    pom = """<?xml version="1.0"?>
    <!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd"><!ENTITY c "&b;&b;">]>
    <project><properties><java.version>&c;</java.version></properties>
    <modules><module>&b;</module></modules></project>
    """
    structure = look({"pom.xml": pom}, code="src/main/java/A.java")
    assert structure.stack == ("Java (Maven)",)


def test_yaml_aliases_cannot_be_used_to_grow() -> None:
    lines = ["a0: &a0 {x: y}"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)] + [
        "jobs: *a9",
        "services: *a9",
    ]
    with in_time(5):
        check_files(
            {".gitlab-ci.yml": "\n".join(lines), "compose.yaml": "\n".join(lines), "a.py": ""}
        )
        merged = "a: &a {" + ", ".join(f"k{n}: 1" for n in range(2000)) + "}\n"
        merged += "".join(f"b{n}: {{<<: *a}}\n" for n in range(2000))
        check_files({"Taskfile.yml": merged, "a.py": ""})
        check_files({"Taskfile.yml": "tasks: &a\n  test: *a\n", "a.py": ""})


FILLS = [
    b"\n", b" ", b"\t", b"a", b"[", b"{", b"<", b"<!--", b'"', b"'", b'\\"', b"#", b"- ", b"a: ",
    b"/**", b"\\\n", b"a.b.", b"a b: c\n", b"include 'a'\n", b"[[a]]\n", b"@task\n", b"go\n",
    b"![x](", b"<dependency>", b"\x00", b"\xff\xfe", b"task :a\n", b"&a *a ", b"${{",
]  # fmt: skip


SIZES = [50_000, pytest.param(999_000, marks=pytest.mark.long)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fill", FILLS)
def test_repeated_content_takes_linear_time(fill: bytes, size: int) -> None:
    names = JSON_FILES + TOML_FILES + YAML_FILES + TEXT_FILES + CODE
    content = fill * (size // len(fill))
    small = fill * (min(size, 255_000) // len(fill))
    files: dict[str, str | bytes | None] = {
        name: small if name in TOML_FILES + YAML_FILES else content for name in names
    }
    with in_time(20 * size / 999_000 + 0.5):
        check(describe(Memory(files)), names)


WORDS_NAMES = """
name scripts test build lint dependencies devDependencies workspaces packages bin main
exports engines node packageManager tool project poetry uv hatch envs default pdm poe tasks
tox env commands workspace members package edition bin path lib jobs steps run uses working-
directory services build script cmds cmd internal repos hooks id description require php
version optional-dependencies dependency-groups pytest ini_options ruff mypy black line-
length requires-python build-system build-backend python react vite * ** ! ./a ../.. pytest
$(x) `x`
"""
WORDS = WORDS_NAMES.split()
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(WORDS),
)
keys = st.one_of(st.sampled_from(WORDS), st.text(max_size=6))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=5)),
    max_leaves=30,
)


def as_toml(value: Any) -> str:
    """Any value as TOML on one line; unsupported types become strings."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(str(key))} = {as_toml(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    return json.dumps(str(value))


def toml_document(value: Any) -> str:
    table = value if isinstance(value, dict) else {"project": value, "tool": value}
    return "\n".join(f"{json.dumps(str(key))} = {as_toml(item)}" for key, item in table.items())


RELAXED = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@RELAXED
@given(st.dictionaries(st.sampled_from(JSON_FILES + YAML_FILES), values, max_size=6))
@example({"package.json": {"scripts": {"test": ["x"]}, "workspaces": {"packages": 3}, "bin": []}})
@example({".github/workflows/ci.yml": {"jobs": {"a": {"steps": [{"run": {"x": 1}}, None]}}}})
@example({"Taskfile.yml": {"tasks": {"test": None, "lint": [{"cmd": 3}]}}})
def test_arbitrary_json_and_yaml(documents: dict[str, Any]) -> None:
    files: dict[str, str | bytes | None] = {
        path: json.dumps(value).encode("utf-8", "replace") for path, value in documents.items()
    }
    check_files(files | dict.fromkeys(CODE, b""))


@RELAXED
@given(st.dictionaries(st.sampled_from(TOML_FILES), values, max_size=5))
@example({"pyproject.toml": {"project": 3, "tool": {"poetry": {"dependencies": []}, "pytest": 1}}})
@example({"pyproject.toml": {"tool": {"hatch": {"envs": {"x": {"scripts": [1]}}}, "tox": "a"}}})
@example({"Cargo.toml": {"workspace": {"members": "a"}, "bin": {"name": 1}, "package": []}})
def test_arbitrary_toml(documents: dict[str, Any]) -> None:
    files: dict[str, str | bytes | None] = {
        path: toml_document(value).encode("utf-8", "replace") for path, value in documents.items()
    }
    check_files(files | dict.fromkeys(CODE, b""))


SEEDS: dict[str, str] = {
    "package.json": '{"name": "a", "workspaces": ["packages/*"], "scripts": {"test": '
    '"jest && tsc"}}',
    "pyproject.toml": '[project]\nname = "a"\ndependencies = ["click>=8"]\n'
    "[tool.hatch.envs.x.scripts]\n"
    'test = "pytest"\n[tool.ruff]\nline-length = 100\n',
    "setup.cfg": "[options]\ninstall_requires =\n    a\n    b>=1\n[tool:pytest]\naddopts = -q\n",
    "Makefile": "include x.mk\n.DEFAULT:\n\tcd src && $(MAKE) $@\ntest: a b\n\t@pytest\n%: c-%\n",
    "justfile": "test *args:\n    pytest {{args}}\n[private]\nlint:\n    ruff\n",
    ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: |\n          cd x && make "
    "test\n"
    "          pytest \\\n            -q\n",
    "pom.xml": "<project><modules><module>a</module></modules><!-- x -->"
    "<java.version>8</java.version>",
    "build.gradle": "plugins {\n  id 'application'\n}\ninclude ':a', 'b'\n",
    "settings.gradle": "include ':pkg'\ninclude(\n 'src',\n)\n",
    "go.mod": "module a/b\n\ngo 1.23\n\nrequire (\n\tgithub.com/gin-gonic/gin "
    "v1.9.0 // indirect\n)\n",
    "Gemfile": "ruby '3.3'\ngem 'rails', '~> 8.0'\n",
    "mix.exs": '[app: :a, elixir: "~> 1.15"] [{:phoenix, "~> 1.7"}]',
    "Dockerfile": 'FROM a\nENTRYPOINT ["x", \\\n  "y"]\nCMD z\n',
    "README.md": "# A\n\n[![x](y)](z)\n\nA **tide** [table](x). More.\n",
    "pkg/__init__.py": '"""Tides and berths.\n\nMore."""\n',
    "noxfile.py": "@nox.session(name='a')\ndef tests(session):\n    pass\n",
    ".editorconfig": "[*]\nindent_size = 2\n",
    "Taskfile.yml": "tasks:\n  test:\n    cmds: [pytest]\n",
    "compose.yaml": "services:\n  web: &a\n    build: .\n  db: *a\n",
}


@st.composite
def mutate_files(draw: st.DrawFn) -> dict[str, str | bytes | None]:
    """Real files with pieces removed, repeated and replaced."""
    files: dict[str, str | bytes | None] = dict(SEEDS)
    for path in draw(st.lists(st.sampled_from(sorted(SEEDS)), min_size=1, max_size=6)):
        content = SEEDS[path].encode()
        for _ in range(draw(st.integers(1, 4))):
            start = draw(st.integers(0, len(content)))
            end = draw(st.integers(start, min(len(content), start + 30)))
            piece = draw(
                st.sampled_from(
                    [b"", content[start:end] * 3, b"\n", b"{", b"[", b'"', b"\xf0", b"\x00"]
                )
            )
            content = content[:start] + piece + content[end:]
        files[path] = content
    return files


@RELAXED
@given(mutate_files())
def test_mutated_files(files: dict[str, str | bytes | None]) -> None:
    check_files(files | dict.fromkeys(CODE, b""))


parts = st.one_of(
    st.sampled_from(["src", "test", "main", "a b", "$(x)", "-x"]), st.text(min_size=1, max_size=5)
)
manifests = ["package.json", "__init__.py", "Makefile", "go.mod", "a.csproj", "x.py", "main.go"]


@RELAXED
@given(
    st.lists(st.lists(parts, min_size=1, max_size=60).map("/".join), max_size=20),
    st.sampled_from(manifests),
)
def test_arbitrary_paths(directories: list[str], name: str) -> None:
    files: dict[str, str | bytes | None] = {
        f"{directory}/{name}": b'{"scripts": {"test": "x"}}' for directory in directories
    }
    structure = check_files(files | {f"{path}/a.py": b"" for path in directories})
    for command in structure.commands:
        assert "$(x) " not in command.command
