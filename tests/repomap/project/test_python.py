"""Python projects: stack, commands and entry points from their own settings."""

from __future__ import annotations

import pytest
from repomap.project.memory import command_tuples, look, only

CODE = "src/harbour/__init__.py src/harbour/cli.py src/harbour/tides.py tests/test_tides.py"


def test_hatchling_with_extras() -> None:
    structure = look(
        {
            "pyproject.toml": """
            [build-system]
            requires = ["hatchling"]
            build-backend = "hatchling.build"
            [project]
            name = "harbour"
            requires-python = ">=3.11,<4"
            dependencies = ["click>=8", "rich", "harbour-charts; extra == 'x'"]
            [project.optional-dependencies]
            dev = ["pytest", "mypy", "ruff"]
            [project.scripts]
            harbour = "harbour.cli:main"
            [tool.pytest.ini_options]
            testpaths = ["tests"]
            [tool.ruff]
            line-length = 100
            [tool.ruff.format]
            quote-style = "double"
            [tool.mypy]
            files = ["src"]
            """
        },
        code=CODE,
    )
    assert structure.stack == ("Python ≥3.11 (hatchling; click, rich)",)
    assert command_tuples(structure) == [
        ("install", "pip install -e '.[dev]'", "pyproject.toml"),
        ("test", "pytest", "pyproject.toml:[tool.pytest.ini_options]"),
        ("lint", "ruff check", "pyproject.toml:[tool.ruff]"),
        ("format", "ruff format", "pyproject.toml:[tool.ruff]"),
        ("typecheck", "mypy", "pyproject.toml:[tool.mypy]"),
        ("run", "harbour", "pyproject.toml"),
    ]
    assert [str(one) for one in structure.entry_points] == [
        "src/harbour/cli.py — console script `harbour`"
    ]
    assert structure.conventions == (
        "tests: test_*.py in tests/",
        "Python: ruff, line length 100",
    )
    assert structure.problems == ()


def test_uv_runs_commands_in_its_environment() -> None:
    structure = look(
        {
            "pyproject.toml": """
            [project]
            name = "harbour"
            requires-python = ">=3.12"
            dependencies = ["fastapi[standard]>=0.115", "sqlalchemy", "httpx"]
            [dependency-groups]
            dev = ["pytest>=8", {include-group = "lint"}]
            lint = ["ruff"]
            [tool.ty]
            """,
            "uv.lock": "version = 1",
            "app/main.py": "from fastapi import FastAPI\n\napp = FastAPI(title='Harbour')\n",
        },
        code="app/__init__.py app/tides.py",
    )
    assert structure.stack == ("Python ≥3.12 (uv; fastapi, sqlalchemy, httpx)",)
    assert command_tuples(structure) == [
        ("install", "uv sync", "pyproject.toml"),
        ("test", "uv run pytest", "pyproject.toml"),
        ("typecheck", "uv run ty check", "pyproject.toml:[tool.ty]"),
    ]
    assert [str(one) for one in structure.entry_points] == ["app/main.py — FastAPI application"]


def test_an_unlisted_lock_file_decides_the_manager() -> None:
    from repomap.project.memory import Memory

    from kedge.repomap.project.survey import describe

    class Hidden(Memory):
        @property
        def paths(self) -> list[str]:
            return [path for path in sorted(self.files) if not path.endswith(".lock")]

    manifest = '[project]\nname = "a"\n'
    structure = describe(Hidden({"pyproject.toml": manifest, "a.py": "", "uv.lock": ""}))
    assert only(structure, "install") == ["uv sync"]


def test_uv_workspace_with_tests_in_its_largest_package() -> None:
    structure = look(
        {
            "pyproject.toml": """
            [tool.uv.workspace]
            members = ["services/*"]
            """,
            "uv.lock": "",
            "services/api/pyproject.toml": """
            [project]
            name = "api"
            description = "The harbour's API."
            dependencies = ["django>=5"]
            [tool.pytest.ini_options]
            """,
            "services/worker/pyproject.toml": '[project]\nname = "worker"\ndependencies = '
            '["celery"]',
        },
        code="services/api/api/a.py services/api/api/b.py services/worker/worker.py",
    )
    assert structure.stack == ("Python (uv; django, celery)",)
    assert only(structure, "install") == ["uv sync"]
    assert command_tuples(structure)[1] == (
        "test",
        "cd services/api && uv run pytest",
        "services/api/pyproject.toml:[tool.pytest.ini_options]",
    )
    assert [(one.path, one.what) for one in structure.modules] == [
        ("services/api", "The harbour's API"),
        ("services/worker", None),
    ]


def test_poetry() -> None:
    structure = look(
        {
            "pyproject.toml": """
            [tool.poetry]
            name = "harbour"
            [tool.poetry.dependencies]
            python = "^3.10"
            flask = "^3.0"
            gunicorn = { version = "*", optional = true }
            [tool.poetry.group.dev.dependencies]
            pytest = "*"
            black = "*"
            [tool.poetry.scripts]
            harbour = { reference = "harbour.cli:main", type = "console" }
            [tool.black]
            line-length = 88
            [build-system]
            build-backend = "poetry.core.masonry.api"
            """,
            "poetry.lock": "",
        },
        code="harbour/__init__.py harbour/cli.py tests/test_a.py",
    )
    assert structure.stack == ("Python ≥3.10 (poetry; flask, gunicorn)",)
    assert command_tuples(structure) == [
        ("install", "poetry install", "pyproject.toml"),
        ("test", "poetry run pytest", "pyproject.toml"),
        ("format", "poetry run black .", "pyproject.toml:[tool.black]"),
        ("run", "poetry run harbour", "pyproject.toml"),
    ]
    assert "Python: black, line length 88" in structure.conventions


def test_pdm_scripts() -> None:
    structure = look(
        {
            "pyproject.toml": """
            [project]
            name = "harbour"
            [build-system]
            build-backend = "pdm.backend"
            [tool.pdm.scripts]
            test = "pytest -q"
            lint = {composite = ["ruff check", "mypy src"]}
            start = {cmd = "uvicorn harbour:app"}
            release = "python release.py"
            """
        },
        code=CODE,
    )
    assert structure.stack == ("Python (pdm)",)
    assert command_tuples(structure) == [
        ("install", "pdm install", "pyproject.toml"),
        ("test", "pdm run test", "pyproject.toml:[tool.pdm.scripts.test]"),
        ("lint", "pdm run lint", "pyproject.toml:[tool.pdm.scripts.lint]"),
        ("run", "pdm run start", "pyproject.toml:[tool.pdm.scripts.start]"),
    ]


def test_hatch_environments() -> None:
    structure = look(
        {
            "pyproject.toml": """
            [project]
            name = "harbour"
            [tool.hatch.envs.default.scripts]
            test = "pytest {args:tests}"
            cov = ["coverage run -m pytest", "coverage report"]
            [tool.hatch.envs.style.scripts]
            fmt = "ruff format"
            [tool.hatch.envs.types.scripts]
            check = "mypy src"
            """
        },
        code=CODE,
    )
    assert only(structure, "test") == ["hatch run test"]
    assert only(structure, "format") == ["hatch run style:fmt"]
    assert command_tuples(structure)[-1] == (
        "typecheck",
        "hatch run types:check",
        "pyproject.toml:[tool.hatch.envs.types.scripts.check]",
    )


def test_poe_tasks_run_in_the_managers_environment() -> None:
    structure = look(
        {
            "pyproject.toml": """
            [project]
            name = "harbour"
            [tool.uv]
            dev-dependencies = ["poethepoet"]
            [tool.poe.tasks]
            test = "pytest"
            format = { shell = "ruff format" }
            check.sequence = ["lint", "test"]
            """
        },
        code=CODE,
    )
    assert only(structure, "test") == ["uv run poe test"]
    assert only(structure, "format") == ["uv run poe format"]


def test_setup_cfg_and_tox() -> None:
    structure = look(
        {
            "setup.py": "from setuptools import setup\nsetup()\n",
            "setup.cfg": """
            [metadata]
            name = harbour
            [options]
            python_requires = >=3.9
            install_requires =
                requests>=2
                attrs
            [options.entry_points]
            console_scripts =
                harbour = harbour.cli:main
            [tool:pytest]
            addopts = -q
            [flake8]
            max-line-length = 100
            """,
            "tox.ini": """
            [tox]
            envlist =
                py311

                lint
            [testenv]
            commands = pytest {posargs}
            [testenv:lint]
            commands = flake8 src
            [testenv:docs]
            commands = sphinx-build docs out
            """,
        },
        code=CODE,
    )
    assert structure.stack == ("Python ≥3.9 (setuptools; requests)",)
    assert command_tuples(structure) == [
        ("install", "pip install -e .", "setup.cfg"),
        ("test", "pytest", "setup.cfg:[tool:pytest]"),
        ("lint", "tox -e lint", "tox.ini"),
        ("run", "harbour", "setup.cfg"),
        ("test", "tox", "tox.ini"),
        ("lint", "flake8", "setup.cfg:[flake8]"),
    ]
    assert structure.entry_points[0].path == "src/harbour/cli.py"


def test_setup_py_alone() -> None:
    structure = look(
        {
            "setup.py": """
            from setuptools import setup, find_packages
            setup(
                name="harbour",
                python_requires=">=3.8",
                install_requires=["numpy", "pandas>=2"],
                entry_points={"console_scripts": ["harbour = harbour.cli:main"]},
            )
            """
        },
        code="harbour/__init__.py harbour/cli.py test/test_cli.py",
    )
    assert structure.stack == ("Python ≥3.8 (setuptools; pandas, numpy)",)
    assert command_tuples(structure) == [
        ("install", "pip install -e .", "setup.py"),
        ("test", "python -m unittest discover", "test"),
        ("run", "harbour", "setup.py"),
    ]


def test_requirement_files_for_developers_come_first() -> None:
    structure = look(
        {
            "requirements.txt": "Django==5.1\npsycopg[binary]\n# a comment\n-r other.txt\n",
            "requirements-dev.txt": "-r requirements.txt\npytest\n",
            "requirements-docs.txt": "sphinx\n",
            "manage.py": "#!/usr/bin/env python\n",
            "harbour/wsgi.py": "application = get_wsgi_application()\n",
        },
        code="harbour/settings.py harbour/urls.py",
    )
    assert structure.stack == ("Python (django, psycopg)",)
    assert command_tuples(structure) == [
        ("install", "pip install -r requirements-dev.txt", "requirements-dev.txt"),
        ("test", "pytest", "requirements-dev.txt"),
        ("run", "python manage.py runserver", "manage.py"),
    ]
    assert [str(one) for one in structure.entry_points] == [
        "manage.py — Django's management commands",
        "harbour/wsgi.py — WSGI application",
    ]


def test_beside_a_manifest_requirements_are_for_developers() -> None:
    manifest = '[project]\nname = "a"\ndependencies = ["httpx"]\n'
    structure = look(
        {"pyproject.toml": manifest, "requirements.txt": "trio\npytest\n"}, code="a.py"
    )
    assert structure.stack == ("Python (httpx)",)
    assert only(structure, "install") == ["pip install -r requirements.txt"]


def test_django_without_pytest_is_tested_by_manage_py() -> None:
    structure = look(
        {"requirements.txt": "django", "manage.py": ""}, code="a/models.py a/test_a.py"
    )
    assert only(structure, "test") == ["python manage.py test"]


def test_pipfile() -> None:
    structure = look(
        {
            "Pipfile": """
            [packages]
            tornado = "*"
            [dev-packages]
            pytest = "*"
            [requires]
            python_version = "3.11"
            """
        },
        code="app.py tides.py",
    )
    assert structure.stack == ("Python 3.11 (pipenv; tornado)",)
    assert command_tuples(structure) == [
        ("install", "pipenv install --dev", "Pipfile"),
        ("test", "pipenv run pytest", "Pipfile"),
    ]


def test_nox() -> None:
    structure = look(
        {
            "pyproject.toml": '[project]\nname = "a"\n',
            "noxfile.py": """
            import nox

            @nox.session(python=["3.11", "3.12"])
            def tests(session):
                session.run("pytest")

            @nox.session(
                name="type-check",
            )
            def typing(session):
                session.run("mypy")
            """,
        },
        code="a/__init__.py",
    )
    assert command_tuples(structure)[1:] == [
        ("test", "nox -s tests", "noxfile.py:4"),
        ("typecheck", "nox -s type-check", "noxfile.py:10"),
    ]


@pytest.mark.parametrize(
    ("files", "test"),
    [
        ({"pixi.toml": '[tasks]\ntest = "pytest"\n', "setup.py": ""}, "pixi run test"),
        ({"tox.toml": 'env_list = ["py"]\n', "setup.py": ""}, "tox"),
        (
            {"hatch.toml": '[envs.default.scripts]\ntest = "pytest"\n', "setup.py": ""},
            "hatch run test",
        ),
        (
            {"pyproject.toml": '[tool.taskipy.tasks]\ntest = "pytest"\n', "setup.py": ""},
            "task test",
        ),
    ],
)
def test_task_runners_with_a_file_of_their_own(
    files: dict[str, str | bytes | None], test: str
) -> None:
    assert only(look(files, code="a.py"), "test") == [test]


def test_a_root_that_only_configures_tools_is_not_the_project() -> None:
    structure = look(
        {
            "pyproject.toml": "[tool.ruff]\nline-length = 90\n",
            "backend/pyproject.toml": """
            [project]
            name = "api"
            dependencies = ["litestar"]
            [tool.pytest.ini_options]
            """,
        },
        code="backend/api/__init__.py backend/api/app.py scripts/release.py",
    )
    assert structure.stack[0] == "Python (litestar) in backend/"
    assert only(structure, "test") == ["cd backend && pytest"]
    assert only(structure, "lint") == ["ruff check"]


def test_python_entry_points() -> None:
    structure = look(
        {
            "pyproject.toml": '[project]\nname = "harbour"\n',
            "src/harbour/server.py": "from flask import Flask\napp = Flask(__name__)\n",
            "src/harbour/asgi.py": "app = make()\n",
            "src/harbour/wsgi.py": "def application(environ, start): ...\n",
        },
        code="src/harbour/__init__.py src/harbour/__main__.py tools/gen/__main__.py",
    )
    assert [str(one) for one in structure.entry_points] == [
        "src/harbour/asgi.py — ASGI application",
        "src/harbour/server.py — Flask application",
        "src/harbour/__main__.py — `python -m harbour`",
    ]


def test_a_library_starts_with_its_package() -> None:
    files: dict[str, str | bytes | None] = {"pyproject.toml": '[project]\nname = "Tide-Tables"\n'}
    structure = look(files, code="src/tide_tables/__init__.py src/tide_tables/a.py")
    assert [str(one) for one in structure.entry_points] == [
        "src/tide_tables/__init__.py — package `Tide-Tables`"
    ]


def test_console_scripts_come_before_entry_points_of_frameworks() -> None:
    script = "#!/usr/bin/env python3\n"
    files: dict[str, str | bytes | None] = {"manage.py": "", "requirements.txt": "django\n"}
    scripts: dict[str, str | bytes | None] = {
        f"tools/{name}": script for name in ("run-dev", "test-all", "test-install-all")
    }
    structure = look(files | scripts, code="app/a.py")
    assert only(structure, "run") == ["tools/run-dev"]
    assert only(structure, "test")[0] == "tools/test-all"
    plain = look(files, code="app/a.py")
    assert only(plain, "run") == ["python manage.py runserver"]
