"""The structure of a repository: modules, key files, conventions, and what is promised of all."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from repomap.memory import Memory, look, only

from kedge.repomap.project.commits import commit_style
from kedge.repomap.structure import KINDS, Structure, describe


def paths(structure: Structure) -> list[str]:
    return [one.path for one in structure.modules]


def test_nothing_at_all() -> None:
    assert describe(Memory({})) == Structure()
    assert describe(Memory({"LICENSE": "…", "a.bin": b"\x00"})) == Structure()


def test_the_package_with_all_the_code_is_shown_by_its_parts() -> None:
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
    assert len(sizes) == 30
    assert sizes == sorted(sizes, reverse=True)


def test_a_collection_of_many_parts_stays_one_module() -> None:
    code = [f"app/integrations/i{number}/a.py" for number in range(80)]
    code += [f"app/core/c{number}.py" for number in range(5)]
    structure = look({"app/integrations/__init__.py": ""}, code=" ".join(code))
    assert paths(structure) == ["app/integrations", "app/core"]


def test_bundled_projects_are_not_the_product() -> None:
    code = "src/a.c src/b.c deps/lua/l.c deps/lua/m.c deps/zlib/z.c"
    assert paths(look({"Makefile": "all:\n\tcc\n"}, code=code)) == ["src"]
    # a package that is called deps has code of its own
    assert paths(look({}, code="deps/deps.go deps/inner/a.go x/x.go")) == ["deps", "x"]


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
        ("# Tides\n\n```\nmake\n```\n\nThen follow the prompts.\n", None),
        ("x" * 200_000, None),
        ("word " * 60, "word " * 22 + "word…"),
        ("A line with \x1b[31m colour and \u202e tricks in it.\n", None),
    ],
)
def test_the_first_sentence_of_a_readme(readme: str, expected: str | None) -> None:
    structure = look({"tides/README.md": readme}, code="tides/a.lua tides/b.lua")
    assert structure.modules[0].what == expected


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


def test_migrations_of_every_app_are_no_key_file() -> None:
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
        "JS/TS: biome, line length 110",
        "JS/TS: prettier, line length 90, no semicolons, single quotes",
        "JS/TS: eslint (eslint.config.js)",
        "tests: *.test.ts in __tests__/ beside the code",
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
    ],
)
def test_where_tests_live(code: str, expected: str) -> None:
    assert f"tests: {expected}" in look({}, code=code).conventions


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
    told = look({}, subjects=subjects.split("|")).conventions
    assert told == ((f"commits: {expected}",) if expected else ())


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


def test_the_same_files_give_the_same_structure_whatever_the_hash_seed() -> None:
    program = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from repomap.test_structure import EVERYTHING, CODE, look\n"
        "print(ascii(look(EVERYTHING, code=CODE)))"
    )
    from pathlib import Path

    root = Path(__file__).parents[2]
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


def test_only_what_is_needed_is_read() -> None:
    source = Memory(EVERYTHING | dict.fromkeys(CODE.split(), ""))
    describe(source)
    assert len(source.reads) == len(set(source.reads))
    assert not [path for path in source.reads if path.startswith("web/src")]
    assert len(source.reads) < 60


def test_importing_it_imports_no_yaml() -> None:
    program = "import sys, kedge.repomap.structure; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
