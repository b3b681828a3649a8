"""The ecosystem of JavaScript and TypeScript: package managers, workspaces and Deno."""

from __future__ import annotations

import json
from typing import Any

import pytest
from repomap.project.memory import command_tuples, look, only

APP = {
    "name": "harbour-web",
    "engines": {"node": ">=20.0.0"},
    "dependencies": {"react": "^19.1.0", "zod": "3.2.1"},
    "devDependencies": {"vite": "~6.0.1", "vitest": "^3", "typescript": "5"},
    "scripts": {
        "dev": "vite",
        "build": "tsc -b && vite build",
        "test": "vitest run",
        "lint": "eslint .",
        "format": "prettier --write .",
        "typecheck": "tsc --noEmit",
        "prepare": "husky",
        "release": "node release.js",
        "preview": "vite preview",
    },
}


def test_scripts_of_a_package() -> None:
    structure = look(
        {"package.json": json.dumps(APP), "index.html": ""}, code="src/main.tsx src/a.ts"
    )
    assert structure.stack == ("TypeScript, Node ≥20 (npm; react 19, vite 6, zod 3, vitest 3)",)
    assert command_tuples(structure) == [
        ("install", "npm install", "package.json"),
        ("build", "npm run build", "package.json:scripts.build"),
        ("test", "npm test", "package.json:scripts.test"),
        ("lint", "npm run lint", "package.json:scripts.lint"),
        ("format", "npm run format", "package.json:scripts.format"),
        ("typecheck", "npm run typecheck", "package.json:scripts.typecheck"),
        ("run", "npm run dev", "package.json:scripts.dev"),
    ]
    assert [str(one) for one in structure.entry_points] == [
        "src/main.tsx — main module of harbour-web",
        "index.html — page of the web app",
    ]


@pytest.mark.parametrize(
    ("files", "manager", "test", "build"),
    [
        ({"package-lock.json": "{}"}, "npm", "npm test", "npm run build"),
        ({"pnpm-lock.yaml": ""}, "pnpm", "pnpm test", "pnpm run build"),
        ({"yarn.lock": ""}, "yarn", "yarn test", "yarn build"),
        ({"bun.lock": ""}, "bun", "bun run test", "bun run build"),
    ],
)
def test_the_lock_file_decides_the_package_manager(
    files: dict[str, str | bytes | None], manager: str, test: str, build: str
) -> None:
    structure = look(files | {"package.json": json.dumps(APP)}, code="src/a.ts")
    assert only(structure, "install") == [f"{manager} install"]
    assert only(structure, "test") == [test]
    assert only(structure, "build") == [build]


def test_a_declared_package_manager_wins() -> None:
    package = APP | {"packageManager": "pnpm@9.1.0+sha256.abc"}
    structure = look({"package.json": json.dumps(package), "yarn.lock": ""}, code="src/a.ts")
    assert only(structure, "install") == ["pnpm install"]


def test_stubs_and_strange_names_are_not_commands() -> None:
    scripts = {
        "test": 'echo "Error: no test specified" && exit 1',
        "lint; curl evil": "eslint .",
        "build": "echo nothing to build",
        "start": "node server.js",
    }
    structure = look({"package.json": json.dumps({"scripts": scripts})}, code="server.js")
    assert command_tuples(structure) == [("run", "npm start", "package.json:scripts.start")]


def test_a_vague_script_is_classified_by_its_body() -> None:
    scripts = {
        "test:code": "eslint --max-warnings=0 .",
        "verify-types": "tsc --noEmit -p .",
        "check": "jest && eslint .",
        "clean": "tsc -b --clean",
        "fix": "prettier --write . && eslint --fix .",
    }
    structure = look({"package.json": json.dumps({"scripts": scripts})}, code="a.js")
    assert command_tuples(structure) == [
        ("test", "npm run check", "package.json:scripts.check"),
        ("lint", "npm run test:code", "package.json:scripts.test:code"),
        ("format", "npm run fix", "package.json:scripts.fix"),
        ("typecheck", "npm run verify-types", "package.json:scripts.verify-types"),
    ]


def test_the_script_that_ci_runs_is_preferred() -> None:
    scripts = {"test": "run-s test-unit test-e2e", "test-unit": "vitest run"}
    files: dict[str, str | bytes | None] = {"package.json": json.dumps({"scripts": scripts})}
    assert only(look(files, code="a.js"), "test") == ["npm test"]
    files[".github/workflows/ci.yml"] = """
    jobs:
      test:
        steps:
          - run: npm run test-unit
    """
    assert only(look(files, code="a.js"), "test") == ["npm run test-unit"]


WORKSPACES: list[dict[str, str | bytes | None]] = [
    {"package.json": json.dumps({"workspaces": ["packages/*", "!packages/old"]})},
    {
        "package.json": json.dumps(
            {"workspaces": {"packages": ["./packages/{core,cli}", "packages/c*"]}}
        )
    },
    {"package.json": "{}", "pnpm-workspace.yaml": "packages:\n  - 'packages/**'\n  - '!**/old'\n"},
    {"package.json": "{}", "lerna.json": '{"packages": ["packages/c*"]}'},
]


@pytest.mark.parametrize("files", WORKSPACES)
def test_packages_of_a_workspace(files: dict[str, str | bytes | None]) -> None:
    core = {"name": "@harbour/core", "description": "Tides and berths.", "main": "./dist/index.js"}
    cli = {
        "name": "@harbour/cli",
        "bin": {"harbour": "./dist/bin.js"},
        "dependencies": {"@harbour/core": "workspace:*", "express": "^5.0.0"},
    }
    structure = look(
        files
        | {
            "packages/core/package.json": json.dumps(core),
            "packages/cli/package.json": json.dumps(cli),
            "packages/cli/README.md": "# cli\n\nThe **command line** of the harbour. And more.\n",
        },
        code="packages/core/src/index.ts packages/core/src/a.ts packages/core/src/b.ts "
        "packages/cli/src/bin.ts packages/cli/src/c.ts packages/core/test/a.test.ts",
    )
    assert "workspace of 2 packages" in structure.stack[0]
    assert "express 5" in structure.stack[0]
    assert "@harbour" not in structure.stack[0]
    assert [(one.path, one.files, one.what) for one in structure.modules[:2]] == [
        ("packages/core", 3, "Tides and berths"),
        ("packages/cli", 2, "The command line of the harbour"),
    ]
    assert {str(one) for one in structure.entry_points} == {
        "packages/core/src/index.ts — main module of @harbour/core",
        "packages/cli/src/bin.ts — command `harbour`",
    }


@pytest.mark.parametrize(("file", "tool"), [("turbo.json", "turbo"), ("nx.json", "nx")])
def test_builders_of_monorepos(file: str, tool: str) -> None:
    package = {"workspaces": ["apps/*"], "devDependencies": {"next": "15.0.0"}}
    structure = look(
        {"package.json": json.dumps(package), file: "{}", "apps/web/package.json": "{}"},
        code="apps/web/app/page.tsx",
    )
    assert structure.stack == (f"TypeScript (npm workspace of 1 package, {tool}; next 15)",)
    assert structure.entry_points[0].path == "apps/web/app/page.tsx"


def test_a_web_app_in_a_directory_of_its_own() -> None:
    package = {"scripts": {"test": "jest"}, "dependencies": {"vue": "3"}}
    structure = look(
        {"web app/package.json": json.dumps(package), "web app/yarn.lock": ""},
        code="'nothing'",
    )
    assert structure.stack == ()
    files: dict[str, str | bytes | None] = {
        "web app/package.json": json.dumps(package),
        "web app/yarn.lock": "",
        "web app/src/main.ts": "",
    }
    structure = look(files)
    assert structure.stack == ("TypeScript (yarn; vue 3) in web app/",)
    assert command_tuples(structure) == [
        ("install", "cd 'web app' && yarn install", "web app/package.json"),
        ("test", "cd 'web app' && yarn test", "web app/package.json:scripts.test"),
    ]


def test_deno() -> None:
    structure = look(
        {
            "deno.jsonc": """
            {
              // the tasks
              "tasks": {"dev": "deno run -A main.ts", "test": {"command": "deno test -A"}},
              "workspace": ["./path", "./fs"],
            }
            """,
            "path/deno.json": "{}",
            "fs/deno.json": "{}",
            "fs/README.md": "# fs\n\nFiles of the harbour. More.\n",
            "fs/mod.ts": "",
        },
        code="path/mod.ts path/join.ts path/join_test.ts main.ts",
    )
    assert structure.stack == ("TypeScript (Deno workspace of 2 packages)",)
    assert command_tuples(structure) == [
        ("test", "deno task test", "deno.jsonc:tasks.test"),
        ("lint", "deno lint", "deno.jsonc"),
        ("format", "deno fmt", "deno.jsonc"),
        ("run", "deno task dev", "deno.jsonc:tasks.dev"),
    ]
    assert [(one.path, one.what) for one in structure.modules] == [
        ("path", None),
        ("fs", "Files of the harbour"),
    ]


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        ({"exports": {".": {"types": "./types/a.d.ts", "default": "./src/a.js"}}}, "src/a.js"),
        ({"exports": {".": {"worker": "./src/b.js", "import": "./src/a.js"}}}, "src/a.js"),
        ({"main": "types/a.d.ts"}, "src/index.js"),
        # build output is not an entry point
        ({"main": "priv/static/a.cjs.js"}, "src/index.js"),
    ],
)
def test_a_package_starts_with_a_source(package: dict[str, Any], expected: str) -> None:
    code = "src/a.js src/b.js src/index.js types/a.d.ts priv/static/a.cjs.js"
    structure = look({"package.json": json.dumps({"name": "a"} | package)}, code=code)
    assert [one.path for one in structure.entry_points] == [expected]


def test_a_script_for_a_part_is_not_the_main_command() -> None:
    scripts = {"test:eslint-rules": "jest rules", "lint:tools-types": "tsc --noEmit"}
    assert (
        command_tuples(look({"package.json": json.dumps({"scripts": scripts})}, code="a.ts")) == []
    )
