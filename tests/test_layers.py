"""Modules can be imported alone without side effects; the errors are pinned."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kedge import errors

SOURCES = Path(errors.__file__).parent

# One fork for each module, in which an audit hook records what the import does. The packages that
# kedge uses are imported before, so that a fork only pays for kedge's own modules.
_IMPORTS = """
import importlib, io, json, os, sys

HARMLESS = {"os.listdir", "os.scandir", "import", "compile", "exec", "marshal.loads"}
LOUD = ("os.", "shutil.", "socket.", "subprocess.", "tempfile.", "signal.", "sqlite3.", "urllib.")

def watch(event, args):
    if event == "open" and (args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        did.append(f"{event} {args[0]}")
    elif event.startswith(LOUD) and event not in HARMLESS:
        did.append(event)

def report(module):
    global did
    did = []
    sys.stdout = sys.stderr = io.StringIO()
    sys.addaudithook(watch)
    environment = dict(os.environ)
    try:
        importlib.import_module(module)
    except BaseException as error:
        return [f"{type(error).__name__}: {error}"]
    done, did = did, []
    if sys.stdout.getvalue():
        done.append(f"printed {sys.stdout.getvalue()!r}")
    if dict(os.environ) != environment:
        done.append("changed the environment")
    if threading.active_count() > 1:
        done.append("started a thread")
    return done

import argparse, asyncio, dataclasses, difflib, hashlib, inspect, logging, pathlib, shutil
import sqlite3, subprocess, tempfile, threading, tomllib, typing, urllib.request
import click, msgspec, rich.console, rich.table, tree_sitter, yaml

results = {}
for module in sys.argv[1:]:
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, json.dumps(report(module)).encode()[:4000])
        os._exit(0)
    os.close(writer)
    os.wait()
    results[module] = json.loads(os.read(reader, 5000) or '["ended the process"]')
    os.close(reader)
print(json.dumps(results))
"""


def _modules() -> list[str]:
    modules = []
    for path in sorted(SOURCES.rglob("*.py")):
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        modules.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return modules


@pytest.mark.long
def test_every_module_can_be_imported_alone_without_side_effects(tmp_path: Path) -> None:
    modules = _modules()
    assert {"kedge", "kedge.errors", "kedge.config", "kedge.host.git", "kedge.cli.edge"} <= {
        *modules
    }
    done = subprocess.run(
        [sys.executable, "-B", "-c", _IMPORTS, *modules],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    did = {module: what for module, what in json.loads(done.stdout).items() if what}
    assert did == {}
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_import_side_effects_are_detected(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(
        "import os, subprocess\n"
        "print('hello')\n"
        "open('made', 'w').close()\n"
        "os.environ['X'] = 'y'\n"
        "subprocess.run(['true'])\n"
    )
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    argv = [sys.executable, "-B", "-c", _IMPORTS, "busy", "broken", "json"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    did = json.loads(done.stdout)
    assert "open made" in did["busy"]
    assert "printed 'hello\\n'" in did["busy"]
    assert "changed the environment" in did["busy"]
    assert "subprocess.Popen" in did["busy"]
    assert did["broken"] == ["ModuleNotFoundError: No module named 'no_such_module'"]
    assert did["json"] == []


def test_error_codes_and_exit_codes_are_pinned() -> None:
    """Scripts rely on the codes."""
    assert {name: (kind.code, kind.exit_code) for name, kind in _errors().items()} == {
        "KedgeError": ("failed", 1),
        "UsageError": ("usage", 2),
        "Interrupted": ("interrupted", 130),
        "CheckFound": ("check-found", 4),
        "InvalidValue": ("invalid-value", 1),
        "ConfigError": ("config", 1),
        "FileError": ("file", 1),
        "LockTimeout": ("locked", 1),
        "BrokenSection": ("broken-section", 1),
        "SecretFound": ("secret", 1),
        "NotApproved": ("not-approved", 1),
        "ProgramError": ("program", 1),
        "GitError": ("git", 1),
        "NoRepository": ("no-repository", 1),
        "BareRepository": ("bare-repository", 1),
        "HandoffRefused": ("handoff", 1),
        "ContextNotFound": ("context-not-found", 1),
        "ContextExists": ("context-exists", 1),
        "BrokenContext": ("broken-context", 1),
        "NewerContext": ("newer-context", 1),
        "TaskError": ("task", 1),
        "TaskNotFound": ("task-not-found", 1),
        "TaskExists": ("task-exists", 1),
        "DependencyCycle": ("dependency-cycle", 1),
        "WrongState": ("wrong-state", 1),
        "NotProven": ("not-proven", 1),
        "ReadOnly": ("read-only", 1),
        "BrokenTasks": ("broken-tasks", 1),
    }


def test_the_error_tree_in_the_docstring_is_complete() -> None:
    drawn: dict[str, tuple[str | None, int]] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"    ([ │├└─]*)([A-Z]\w+)\b *(?:exit (\d+))?", line)
        if not match:
            continue
        depth, name = len(match.group(1)), match.group(2)
        above = [(d, n) for d, n in above if d < depth]
        parent = above[-1][1] if above else None
        code = int(match.group(3)) if match.group(3) else drawn[parent or ""][1]
        drawn[name] = (parent, code)
        above.append((depth, name))
    kinds = _errors()
    assert drawn == {
        name: (None if kind is errors.KedgeError else kind.__bases__[0].__name__, kind.exit_code)
        for name, kind in kinds.items()
    }
    codes = [kind.code for kind in kinds.values()]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in codes)


def test_an_error_carries_message_hint_and_data() -> None:
    error = errors.TaskNotFound("no task 'x'", hint="kedge task list", data={"id": "x"})
    assert (error.message, error.hint, error.data) == (
        "no task 'x'",
        "kedge task list",
        {"id": "x"},
    )
    assert str(error) == "no task 'x'"
    assert errors.KedgeError("x").hint is None


def _errors() -> dict[str, type[errors.KedgeError]]:
    return {
        name: kind
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.KedgeError) and kind.__module__ == errors.__name__
    }
