"""Task runners, scripts and continuous integration."""

from __future__ import annotations

import pytest
from repomap.project.memory import command_tuples, look, only

GO: dict[str, str | bytes | None] = {"go.mod": "module example.com/tide\n\ngo 1.24\n"}
CODE = "tide.go berth.go"


def test_makefile_targets_with_their_lines() -> None:
    structure = look(
        GO
        | {
            "Makefile": """
            .PHONY: all build test lint fmt help
            VERSION := 1.0
            GOFLAGS ?= -v

            all: lint test

            build: VERSION += dev
            build: deps ## build it
            ifeq ($(OS),Windows_NT)
                go build -o tide.exe ./...
            else
                go build -o tide ./...
            endif

            # runs everything
            test:
                @go test ./...

            lint fmt-check:
                -golangci-lint run

            fmt: ; gofmt -w .
            run:
                go run .
            install:
                cp tide /usr/local/bin
            deps:
                go mod download
            test-e2e:
                go test ./e2e
            %.o: %.c
                cc -c $<
            help:
                @echo test
            """
        },
        code=CODE,
    )
    assert command_tuples(structure) == [
        ("install", "make deps", "Makefile:27"),
        ("build", "make build", "Makefile:8"),
        ("test", "make test", "Makefile:16"),
        ("lint", "make lint", "Makefile:19"),
        ("format", "make fmt", "Makefile:22"),
        ("run", "make run", "Makefile:23"),
    ]


def test_a_target_is_classified_by_its_recipe() -> None:
    structure = look(
        {"Makefile": "check: unit\n\tmypy src\nunit:\n\tpytest\nflakes:\n\tflake8\n"},
        code="src/a.py src/b.py",
    )
    assert command_tuples(structure) == [
        ("test", "make unit", "Makefile:3"),
        ("lint", "make flakes", "Makefile:5"),
    ]


def test_included_makefiles() -> None:
    structure = look(
        GO
        | {
            "Makefile": "include Makefile.common\n\nbuild:\n\tgo build\n",
            "Makefile.common": "test:\n\tgo test ./...\nlint:\n\tgo vet\n",
        },
        code=CODE,
    )
    assert command_tuples(structure)[1:4] == [
        ("build", "make build", "Makefile:3"),
        ("test", "make test", "Makefile.common:1"),
        ("lint", "make lint", "Makefile.common:3"),
    ]


def test_justfile() -> None:
    structure = look(
        {
            "justfile": """
            set shell := ["bash", "-c"]
            alias t := test
            version := "1"

            # run the tests
            test *args:
                cargo test {{args}}

            [private]
            lint:
                cargo clippy
            fmt:
                cargo fmt
            deploy target:
                ./deploy {{target}}
            build profile="dev": fmt
                cargo build --profile {{profile}}
            _setup:
                true
            """
        },
        code="src/lib.rs src/a.rs",
    )
    assert command_tuples(structure) == [
        ("build", "just build", "justfile:16"),
        ("test", "just test", "justfile:6"),
        ("format", "just fmt", "justfile:12"),
    ]


def test_taskfile() -> None:
    structure = look(
        GO
        | {
            "Taskfile.yml": """
            version: '3'
            tasks:
              test:
                cmds:
                  - go test ./...
              lint: golangci-lint run
              hidden:
                internal: true
                cmds: [go build]
              checks:
                cmds:
                  - cmd: go test ./...
            """
        },
        code=CODE,
    )
    assert only(structure, "test") == ["task test"]
    assert ("lint", "task lint", "Taskfile.yml:6") in command_tuples(structure)


def test_scripts_named_by_their_purpose() -> None:
    structure = look(
        {
            "script/setup": "#!/bin/sh\n",
            "scripts/test.sh": "#!/usr/bin/env bash\n",
            "scripts/lint.sh": "no shebang",
            "scripts/install.sh": "#!/bin/sh\n",
            "bin/server": "#!/usr/bin/env python\n",
            "build.sh": "#!/bin/sh\n",
        },
        code="src/a.py src/b.py src/c.py src/d.py src/e.py",
    )
    assert command_tuples(structure) == [
        ("install", "script/setup", "script/setup"),
        ("build", "./build.sh", "build.sh"),
        ("test", "bash scripts/test.sh", "scripts/test.sh"),
        ("run", "bin/server", "bin/server"),
    ]


def test_pre_commit() -> None:
    structure = look(
        {
            ".pre-commit-config.yaml": """
            repos:
              - repo: https://example.com/ruff
                hooks:
                  - id: ruff-format
                  - id: trailing-whitespace
              - repo: local
                hooks: [{id: mypy}]
            """
        },
        code="a.py",
    )
    assert command_tuples(structure) == [
        ("lint", "pre-commit run --all-files", ".pre-commit-config.yaml")
    ]
    assert structure.conventions == ("git hooks: pre-commit (ruff-format, mypy)",)


WORKFLOW = """
name: CI
on: [push]
defaults:
  run:
    shell: bash
jobs:
  test:
    strategy: &matrix
      matrix: {python: ["3.11"]}
    steps:
      - uses: actions/checkout@v4
      - name: Install
        run: pip install -r requirements.txt -c constraints.txt
      - run: |
          set -e
          # the tests
          if [ -n "$X" ]; then
            tox -e slow
          fi
          python -m pytest \\
            --cov=harbour
          cd web && npm run test:unit
      - run: black --check --diff src
        working-directory: ./tools
      - run: mypy --python-version ${{ matrix.python }} src
      - run: npm run lint
        working-directory: web
      - run: curl -sSf https://example.com/install.sh | sh && flake8 src
      - shell: pwsh
        run: pylint src
      - run: sudo pytest -k root
      - run: ./scripts/build.sh && twine upload dist/*
"""


def test_github_workflow() -> None:
    path = ".github/workflows/ci.yml"
    structure = look(
        {path: WORKFLOW, ".github/workflows/release.yml": "jobs: {}"},
        code="src/a.py src/b.py src/c.py src/d.py web/a.js web/b.js tools/c.py tools/d.py",
    )
    assert structure.stack == ("Python", "CI: GitHub Actions")
    assert command_tuples(structure) == [
        ("install", "pip install -r requirements.txt -c constraints.txt", f"{path}:13"),
        ("build", "./scripts/build.sh", f"{path}:32"),
        ("test", "python -m pytest --cov=harbour", f"{path}:20"),
        ("lint", "flake8 src", f"{path}:28"),
        ("format", "cd tools && black src", f"{path}:23"),
        ("test", "cd web && npm run test:unit", f"{path}:22"),
        ("lint", "cd web && npm run lint", f"{path}:26"),
    ]
    assert [str(one) for one in structure.key_files] == [".github/workflows/ci.yml — CI"]


def test_formatters_are_shown_without_their_check_flags() -> None:
    lines = [
        "npx prettier --check .",
        "cargo fmt --all -- --check",
        "dotnet format --verify-no-changes",
    ]
    shown = []
    for line in lines:
        workflow = f"jobs:\n  a:\n    steps:\n      - run: {line}\n"
        shown += only(look({".github/workflows/ci.yml": workflow}, code="a.js b.rs c.cs"), "format")
    assert shown == ["npx prettier --write .", "cargo fmt --all", "dotnet format"]


def test_known_tools_are_shown_without_ci_arguments() -> None:
    workflow = """
    jobs:
      a:
        steps:
          - run: cargo fmt --check --manifest-path ${{ matrix.dir }}/Cargo.toml
          - uses: golangci/golangci-lint-action@v6
    """
    structure = look({".github/workflows/ci.yml": workflow}, code="a.go b.rs")
    assert command_tuples(structure) == [
        ("lint", "golangci-lint run", ".github/workflows/ci.yml:5"),
        ("format", "cargo fmt", ".github/workflows/ci.yml:4"),
    ]


@pytest.mark.parametrize(
    ("path", "content", "system", "line"),
    [
        (
            ".gitlab-ci.yml",
            "image: python\n.base: &base\n  before_script: [pip install .]\ntest:\n  <<: *base\n"
            "  script:\n    - pytest -q\n",
            "GitLab CI",
            7,
        ),
        (
            ".circleci/config.yml",
            "version: 2.1\njobs:\n  test:\n    steps:\n      - run: pytest -q\n      - run:\n"
            "          command: ls\n",
            "CircleCI",
            5,
        ),
        (
            "azure-pipelines.yml",
            "steps:\n- script: |\n    echo hi\n    pytest -q\n  displayName: test\n",
            "Azure Pipelines",
            4,
        ),
        (".travis.yml", "language: python\nscript:\n  - pytest -q\n", "Travis CI", 3),
    ],
)
def test_other_ci_systems(path: str, content: str, system: str, line: int) -> None:
    structure = look({path: content}, code="a.py b.py c.py")
    assert structure.stack == ("Python", f"CI: {system}")
    assert ("test", "pytest -q", f"{path}:{line}") in command_tuples(structure)
    assert str(structure.key_files[0]) == f"{path} — CI"


def test_anchors_may_be_used_twice() -> None:
    content = "a: &x\n  script: ls\nb: &x\n  script: pytest\nc:\n  <<: *x\n"
    structure = look({".gitlab-ci.yml": content}, code="a.py")
    assert structure.problems == ()
    assert only(structure, "test") == ["pytest"]


def test_docker() -> None:
    structure = look(
        {
            "Dockerfile": """
            FROM python AS build
            CMD ["ignored"]
            FROM python:3.12-slim
            ENTRYPOINT ["uvicorn"]
            CMD ["app:app", \\
                 "--port", "80"]
            """,
            "compose.yaml": "services:\n  web:\n    build: .\n  db:\n    image: postgres\n",
        },
        code="app.py b.py",
    )
    assert structure.stack == ("Python", "Docker (compose: web, db)")
    assert command_tuples(structure) == [("run", "docker compose up", "compose.yaml")]
    assert [str(one) for one in structure.entry_points] == [
        "Dockerfile — container runs `uvicorn app:app --port 80`"
    ]


def test_services_for_tests_are_not_a_run_command() -> None:
    structure = look({"compose.yml": "services:\n  db:\n    image: postgres\n"}, code="a.py")
    assert structure.stack == ("Python", "Docker (compose: db)")
    assert structure.commands == ()


def test_second_commands_do_something_else() -> None:
    structure = look(
        GO
        | {
            "Makefile": "test:\n\tgo test ./...\nlint:\n\tgolangci-lint run\n",
            ".github/workflows/ci.yml": """
            jobs:
              a:
                steps:
                  - run: make test
                  - run: go test -race ./...
                  - run: make lint-all
            """,
        },
        code=CODE,
    )
    assert only(structure, "test") == ["make test"]
    assert only(structure, "lint") == ["make lint"]


def test_makefiles_that_name_their_targets_by_variables_and_have_a_default_goal() -> None:
    makefile = """
    LINT=lintc lintlua lint
    FORMAT := format
    all: nvim
    nvim:
        cmake --build build
    $(LINT) $(FORMAT) $(UNKNOWN): | build
        cmake --build build --target $@
    dev: rocks grpcurl
    """
    structure = look({"Makefile": makefile}, code="src/a.c src/b.c")
    assert command_tuples(structure) == [
        ("build", "make", "Makefile:3"),
        ("lint", "make lint", "Makefile:6"),
        ("format", "make format", "Makefile:6"),
    ]


def test_workflows_that_build_and_test_are_read_before_others() -> None:
    def workflow(command: str) -> str:
        return f"jobs:\n  a:\n    steps:\n      - run: {command}\n"

    names = ("welcome", "docs-deploy", "codeql", "go-lint", "stale", "zz")
    files: dict[str, str | bytes | None] = {
        f".github/workflows/{name}.yml": workflow("staticcheck ./...") for name in names
    }
    ci: dict[str, str | bytes | None] = {
        ".github/workflows/ci.yml": workflow("go test -race ./...")
    }
    structure = look(GO | files | ci, code=CODE)
    assert command_tuples(structure)[-1:] == [
        ("lint", "staticcheck ./...", ".github/workflows/go-lint.yml:4"),
    ]
    assert ".github/workflows/ci.yml" in [one.path for one in structure.key_files]


PYTHON: dict[str, str | bytes | None] = {
    "pyproject.toml": '[project]\nname = "tide"\n[tool.pytest.ini_options]\n',
    "tox.ini": "[tox]\nenv_list = py\n",
}


def test_a_script_for_documents_or_releases_is_not_the_build() -> None:
    workflow = """
        jobs:
          a:
            steps:
              - run: ./docs/build.py
              - run: python -u release/build.py standalone-binaries
              - run: ./build.py
                working-directory: docs
    """
    code = "tide/a.py tide/b.py"
    assert only(look(PYTHON | {".github/workflows/ci.yml": workflow}, code=code), "build") == []
    own = workflow.replace("./docs/build.py", "./build.sh")
    found = only(look(PYTHON | {".github/workflows/ci.yml": own}, code=code), "build")
    assert found == ["./build.sh"]


@pytest.mark.parametrize(
    "guide",
    ["Run `tox` first.\n", "```console\n$ tox  # all of them\n```\n", "To test:\n\n    tox -p\n"],
)
def test_the_command_of_the_guide_for_contributors_comes_first(guide: str) -> None:
    assert only(look(PYTHON, code="tide/a.py"), "test") == ["pytest", "tox"]
    for path in ("CONTRIBUTING.md", ".github/CONTRIBUTING.md", "README.md"):
        assert only(look(PYTHON | {path: guide}, code="tide/a.py"), "test")[0] == "tox"


def test_settings_come_before_the_arguments_that_only_ci_uses() -> None:
    workflow = "jobs:\n  a:\n    steps:\n      - run: python -Wall tests/runtests.py -v2\n"
    files = PYTHON | {"pyproject.toml": "[project]\n", ".github/workflows/tests.yml": workflow}
    code = "tide/a.py tests/runtests.py scripts/tests/test_other.py"
    found = only(look(files, code=code), "test")
    assert found == ["tox", "python -Wall tests/runtests.py -v2"]
