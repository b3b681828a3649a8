"""The structure of a repository: modules, key files, conventions and general promises."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from repomap.project.memory import Memory, look, only

from kedge.repomap.project.commits import commit_style
from kedge.repomap.project.parts import KINDS
from kedge.repomap.project.structure import Structure
from kedge.repomap.project.survey import describe


def paths(structure: Structure) -> list[str]:
    return [one.path for one in structure.modules]


def test_an_empty_repository() -> None:
    assert describe(Memory({})) == Structure()
    assert describe(Memory({"LICENSE": "…", "a.bin": b"\x00"})) == Structure()


def test_a_package_with_all_the_code_is_split() -> None:
    code = [f"src/harbour/tides/t{number}.py" for number in range(6)]
    code += [f"src/harbour/berths/b{number}.py" for number in range(3)]
    code += ["src/harbour/cli.py", "scripts/release.py", "docs/conf.py", "tests/tides/test_a.py"]
    structure = look(
        {
            "pyproject.toml": '[project]\nname = "harbour"\n',
            "src/harbour/__init__.py": '"""Keeps ships apart.\n\nMore.\n"""\n',
            "src/harbour/tides/__init__.py": "# a comment\n\n'''When it\nflows. And ebbs.'''\n",
        },
        code=" ".join(code),
    )
    assert [(one.path, one.files, one.what) for one in structure.modules] == [
        ("src/harbour", 12, "Keeps ships apart"),
        ("src/harbour/tides", 7, "When it flows"),
        ("src/harbour/berths", 3, None),
        ("scripts", 1, None),
    ]


def test_modules_are_few_and_ordered_by_their_code() -> None:
    code = [f"m{number:02}/f{inner}.go" for number in range(50) for inner in range(number % 7 + 1)]
    structure = look({"go.mod": "module x\n"}, code=" ".join(code))
    sizes = [one.files for one in structure.modules]
    assert len(sizes) == 16
    assert sizes == sorted(sizes, reverse=True)


def test_a_collection_of_many_parts_stays_one_module() -> None:
    code = [f"app/integrations/i{number}/a.py" for number in range(80)]
    code += [f"app/core/c{number}.py" for number in range(5)]
    structure = look({"app/integrations/__init__.py": ""}, code=" ".join(code))
    assert paths(structure) == ["app/integrations", "app/core"]


def test_bundled_projects_are_not_the_product() -> None:
    code = "src/a.c src/b.c deps/lua/l.c deps/lua/m.c deps/zlib/z.c"
    assert paths(look({"Makefile": "all:\n\tcc\n"}, code=code)) == ["src"]
    # a package named deps may be the project's own
    assert paths(look({}, code="deps/deps.go deps/inner/a.go x/x.go")) == ["deps", "x"]


def descriptions(structure: Structure) -> dict[str, str | None]:
    return {one.path: one.what for one in structure.modules}


def test_descriptions_that_repeat_the_path_or_each_other_are_dropped() -> None:
    files: dict[str, str | bytes | None] = {
        "package.json": '{"workspaces": ["packages/*"]}',
        "packages/tide-tables/package.json": '{"description": "The tide tables package"}',
        "packages/berths/package.json": '{"description": "Where ships lie."}',
        "harbourmaster/__init__.py": '"""Init file for Harbour Master."""',
    }
    for name in ("one", "two", "three"):
        text = f"Harbour, the fast framework (@{name})"
        files[f"packages/{name}/package.json"] = json.dumps({"description": text})
    code = "packages/tide-tables/a.ts packages/berths/a.ts harbourmaster/a.py"
    code += " packages/one/a.ts packages/two/a.ts packages/three/a.ts"
    found = descriptions(look(files, code=code))
    assert found.pop("packages/berths") == "Where ships lie"
    assert set(found) == {
        "harbourmaster",
        "packages/tide-tables",
        "packages/one",
        "packages/two",
        "packages/three",
    }
    assert set(found.values()) == {None}


def test_a_module_without_a_description_lists_its_parts() -> None:
    code = [f"app/models/{name}/{n}.rb" for name in ("ships", "berths") for n in "abc"]
    code += ["app/models/models/x.rb", "app/models/src/x.rb", "app/models/__x__/y.rb"]
    code += [f"app/views/{name}/a.rb" for name in ("a1", "b2", "c3", "d4", "e5")]
    code += ["app/jobs/only/a.rb", "app/jobs/a.rb", *(f"lib/{n}.rb" for n in range(9))]
    assert descriptions(look({}, code=" ".join(code))) == {
        "app/models": "berths, ships",
        "app/views": "a1, b2, c3, d4…",
        "app/jobs": None,
        "lib": None,
    }


def test_migrations_are_not_counted_as_code() -> None:
    code = [f"app/migrations/{n:04}_step.py" for n in range(50)] + ["app/a.py", "core/a.py"]
    structure = look({}, code=" ".join([*code, "core/b.py"]))
    assert [(one.path, one.files) for one in structure.modules] == [("core", 2), ("app", 1)]


README = """\
---
title: x
---
<!-- a comment
over lines -->
<h1 align="center"><img src="logo.png"></h1>

[![Build](https://example.com/b.svg)](https://example.com) ![x](y.png)

Tides
=====

> A quotation.

| a | b |
|---|---|

The **fast** [tide](https://example.com/tide) tables, e.g. for `harbours`. They are more.

```
code
```
"""


@pytest.mark.parametrize(
    ("readme", "expected"),
    [
        (README, "The fast tide tables, e.g. for `harbours`"),
        (
            "Tides\n=====\n\n.. image:: x.png\n   :alt: y\n\nTables of `the sea <https://a>`_.\n",
            "Tables of the sea",
        ),
        ("# Tides\n\n- one\n- two\n", None),
        # a paragraph may contain a line that is a link
        (
            "Tables for\n[the whole sea](https://a)\nand rivers.\n",
            "Tables for the whole sea and rivers",
        ),
        ("This directory contains the tables of [Tide].\n", "Tables of Tide"),
        ("`tides` is a table of the whole sea.\n", "Table of the whole sea"),
        ("To run the tables, type `make`.\n", None),
        ("潮汐の表を作るためのライブラリ。速いです。\n\n次。\n", "潮汐の表を作るためのライブラリ"),
        ("Таблицы приливов. Они быстрые.\n", "Таблицы приливов"),
        ("This project was bootstrapped with Create Harbour App.\n", None),
        ("# Tides\n\n```\nmake\n```\n\nThen follow the prompts.\n", None),
        ("x" * 200_000, None),
        ("word " * 60, "word " * 22 + "word…"),
        ("A line with \x1b[31m colour and \u202e tricks in it.\n", None),
    ],
)
def test_the_first_sentence_of_a_readme(readme: str, expected: str | None) -> None:
    structure = look({"tides/README.md": readme}, code="tides/a.lua tides/b.lua")
    assert structure.modules[0].what == expected


def test_examples_are_not_entry_points() -> None:
    main = "package main\n"
    structure = look(
        {
            "go.mod": "module example.com/tide\n",
            "cmd/tide/main.go": main,
            "cmd/test-app/main.go": main,
            "cmd/demo/main.go": main,
            "cmd/generate/rules/main.go": main,
            "src/main/samples/main.go": main,
        }
    )
    found = [one.path for one in structure.entry_points]
    assert found == ["cmd/tide/main.go", "src/main/samples/main.go"]


def test_key_files_in_the_order_of_their_use() -> None:
    structure = look(
        {
            "README": "",
            "README.md": "",
            "AGENTS.md": "",
            "CLAUDE.md": "",
            "docs/CONTRIBUTING.md": "",
            "ARCHITECTURE.md": "",
            "pyproject.toml": "",
            "Makefile": "test:\n\tpytest\n",
            "prisma/schema.prisma": "",
            ".github/workflows/labels.yml": "jobs: {}",
            ".github/workflows/tests.yml": "jobs: {a: {steps: [{run: pytest}]}}",
            "Dockerfile": "",
            "compose.yaml": "",
            ".env.example": "",
            "CHANGELOG.md": "",
            "alembic/versions/001_a.py": "",
            "alembic/versions/002_b.py": "",
        }
    )
    assert [str(one) for one in structure.key_files] == [
        "README.md — overview",
        "AGENTS.md — instructions for agents",
        "CLAUDE.md — instructions for agents",
        "ARCHITECTURE.md — design",
        "docs/CONTRIBUTING.md — how to contribute",
        "pyproject.toml — project settings",
        "Makefile — tasks",
        "prisma/schema.prisma — schema",
        "alembic/versions/ — migrations",
        ".github/workflows/tests.yml — CI",
        "Dockerfile — container image",
        "compose.yaml — services",
        ".env.example — environment",
        "CHANGELOG.md — changes",
    ]


def test_migrations_of_every_app_are_not_a_key_file() -> None:
    code = "a/migrations/0001_x.py a/migrations/0002_y.py"
    assert [one.path for one in look({}, code=code).key_files] == ["a/migrations/"]
    code += " b/migrations/0001_x.py b/migrations/0002_y.py"
    assert look({}, code=code).key_files == ()


def test_conventions_of_scripts() -> None:
    structure = look(
        {
            ".prettierrc": "{semi: false, singleQuote: true, printWidth: 90}",
            "eslint.config.js": "",
            "biome.json": '{"formatter": {"lineWidth": 110}, /* c */}',
            ".husky/pre-commit": "",
            ".editorconfig": "root = true\n[*]\nindent_style = space\nindent_size = 2\n"
            "[Makefile]\nindent_style = tab\n[*.{" + "a," * 40 + "}]\nindent_size = 4\n",
        },
        code="src/a.ts src/__tests__/a.test.ts src/b/__tests__/b.test.ts",
    )
    assert structure.conventions == (
        "tests: *.test.ts in __tests__/ beside the code",
        "JS/TS: biome, line length 110",
        "JS/TS: prettier, line length 90, no semicolons, single quotes",
        "indentation: * 2 spaces; Makefile tabs",
        "git hooks: husky",
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a/x.go a/x_test.go b/y.go b/y_test.go", "*_test.go beside the code"),
        ("lib/a.rb spec/a_spec.rb", "*_spec.rb in spec/"),
        (
            "p/a/lib/a.rb p/a/test/a_test.rb p/b/b.rb p/b/test/b_test.rb",
            "*_test.rb in test/ of each part",
        ),
        ("src/a.cs tests/A.Tests/ATests.cs", "*Tests.cs in tests/"),
        (
            "src/h/tasks/a.py src/h/host/b.py src/h/cli/c.py "
            "tests/tasks/test_a.py tests/host/test_b.py tests/cli/test_c.py",
            "test_*.py in tests/, mirroring src/h/",
        ),
        ("src/a.ts cypress/b.spec.ts", "*.spec.ts in cypress/"),
        ("web/a.ts web/tests/a.test.ts app/b.ts", "*.test.ts in web/tests/"),
        ("lua/a.lua spec/a_spec.lua", "*_spec.lua in spec/"),
        ("src/a.cpp tests/unit-a.cpp", "unit-*.cpp in tests/"),
        # files of any name in test directories, if none has a test name
        ("src/a.c tests/unit/a.tcl tests/unit/b.tcl", "*.tcl in tests/"),
        ("a/src/lib.rs a/tests/it.rs b/src/lib.rs b/tests/it.rs", "*.rs in tests/ of each part"),
        # test data is not a test
        ("src/a.rs src/b.rs tests/fixtures/x_test.py tests/it.rs", "*.rs in tests/"),
    ],
)
def test_locations_of_tests(code: str, expected: str) -> None:
    assert f"tests: {expected}" in look({}, code=code).conventions


def test_a_few_tests_of_another_kind_are_ignored() -> None:
    code = [f"src/f{n}.c" for n in range(100)] + [f"tests/t{n}.tcl" for n in range(30)]
    structure = look({}, code=" ".join([*code, "tests/test_a.c", "tests/test_b.c"]))
    assert structure.conventions == ("tests: *.tcl in tests/",)


def test_useful_conventions_come_first_and_trivial_ones_are_dropped() -> None:
    structure = look(
        {
            "Gemfile": "gem 'rails'\n",
            ".rubocop.yml": "",
            ".prettierrc": "semi: false",
            "eslint.config.js": "",
            ".editorconfig": "[*]\nindent_size = 2\n",
            ".clang-format": "BasedOnStyle: Google\nColumnLimit: 90\n",
        },
        code="lib/a.rb lib/b.rb lib/c.rb test/a_test.rb ext/a.c ext/b.c ext/c.c ext/d.c",
        subjects=["fix: a", "fix: b", "feat: c", "feat: d", "fix: e"],
    )
    assert structure.conventions == (
        "tests: *_test.rb in test/",
        "C/C++: clang-format, Google style, line length 90",
        "commits: Conventional Commits (`type: message`)",
        "indentation: * 2 spaces",
    )


STYLES: list[tuple[str, str | None]] = [
    ("feat: a|fix: b|docs: c|chore(deps): d|fix!: e", "Conventional Commits (`type: message`)"),
    (
        "feat(x): a|fix(y): b|docs(z): c|wip|fix(a): e",
        "Conventional Commits (`type(scope): message`)",
    ),
    ("net/http: a|tsdb: b|cmd, web: c|ui: d|Fix e", "`package: message`"),
    ("ABC-12: a|[ABC-13] b|ABC-1 c|ABC-7: d|ABC-9 e", "ticket first, such as `ABC-12`"),
    ("Fixed #1 -- a|Refs #2 -- b|Fixed #3|Refs #4|x", "issue first, such as `Fixed #123`"),
    ("✨ a|🐛 b|:memo: c|⬆️ d|🔥 e", "gitmoji (an emoji first)"),
    ("[docs] a|[core] b|[core] c|[ui] d|e", "area in brackets first (`[area] message`)"),
    ("Add a|Mend b|Drop c|Name d|Say e", None),
    ("feat: a|feat: b", None),
    ('Merge x|Bump y|Revert "z"|1.2.3|v2.0|Merge z|Bump a|v3.0.1', None),
]


@pytest.mark.parametrize(("subjects", "expected"), STYLES)
def test_commit_style(subjects: str, expected: str | None) -> None:
    assert commit_style(subjects.split("|")) == expected
    command_tuples = look({}, subjects=subjects.split("|")).conventions
    assert command_tuples == ((f"commits: {expected}",) if expected else ())


EVERYTHING: dict[str, str | bytes | None] = {
    "Makefile": "test:\n\tpytest\n",
    "pyproject.toml": '[project]\nname = "a"\ndependencies = ["flask", "rich"]\n'
    "[tool.ruff]\n[tool.mypy]\n",
    "web/package.json": json.dumps(
        {"scripts": {"test": "jest", "dev": "vite"}, "dependencies": {"vue": "3"}}
    ),
    ".pre-commit-config.yaml": "repos: []",
    "crates/a/Cargo.toml": '[package]\nname = "a"\n',
    ".github/workflows/ci.yml": "jobs: {a: {steps: [{run: make test}, {run: pytest -x}]}}",
}
CODE = " ".join(f"a/f{n}.py web/src/f{n}.ts crates/a/src/f{n}.rs" for n in range(5))


def test_the_hash_seed_does_not_matter() -> None:
    program = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from repomap.project.test_survey import EVERYTHING, CODE, look\n"
        "print(ascii(look(EVERYTHING, code=CODE)))"
    )
    from pathlib import Path

    root = Path(__file__).parents[3]
    places = [str(root / "tests"), str(root / "src")]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, *places],
            env={"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in (0, 1, 2)
    }
    assert outputs == {ascii(look(EVERYTHING, code=CODE)) + "\n"}


def test_kinds_come_in_order_and_second_choices_last() -> None:
    structure = look(EVERYTHING, code=CODE)
    kinds = [one.kind for one in structure.commands]
    firsts = list(dict.fromkeys(kinds))
    assert kinds[: len(firsts)] == firsts == [kind for kind in KINDS if kind in firsts]
    assert kinds[len(firsts) :] == ["install", "lint"]
    assert only(structure, "lint") == ["ruff check", "pre-commit run --all-files"]


def test_only_needed_files_are_read() -> None:
    source = Memory(EVERYTHING | dict.fromkeys(CODE.split(), ""))
    describe(source)
    assert len(source.reads) == len(set(source.reads))
    assert not [path for path in source.reads if path.startswith("web/src")]
    assert len(source.reads) < 60


def test_unread_files_have_no_influence() -> None:
    """A cache of the structure only needs the files that were read."""
    every = EVERYTHING | dict.fromkeys(CODE.split(), "x = 1")
    first = Memory(every)
    found = describe(first, ["feat: a"] * 5)
    read = set(first.reads)
    second = Memory({path: every[path] if path in read else None for path in every})
    assert describe(second, ["feat: a"] * 5) == found
    assert set(second.reads) == read
    assert {"uv.lock", "Makefile", "pyproject.toml"} <= read


def test_parts_that_begin_alike_are_joined() -> None:
    code = [f"make/{name}/a.rb" for name in ("ship-red", "ship-blue", "ship-grey", "tug", "buoy-1")]
    code += ["hull/a.rb", "hull/b.rb", "keel/a.rb", "keel/b.rb"]
    found = descriptions(look({"Gemfile": ""}, code=" ".join(code)))
    assert found["make"] == "buoy-1, ship-*, tug"
    code = [one for one in code if "tug" not in one and "buoy" not in one]
    assert descriptions(look({"Gemfile": ""}, code=" ".join(code)))["make"] is None
