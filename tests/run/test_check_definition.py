"""Which files define a check, and that no agent may change them to get green."""

from __future__ import annotations

import json

import pytest
from run.harness import RunHarness

from kedge.run.check_definition import find_definition, find_moved

FILES = {
    "check.sh": "set -e\nsh tools/inner.sh\npython3 helper.py --x\n",
    "tools/inner.sh": "sh check.sh\n",  # a loop
    "helper.py": "import os\n",
    "Makefile": "test:\n\t./tools/run-tests\n",
    "tools/run-tests": "#!/bin/sh\ntrue\n",
    "web/package.json": json.dumps(
        {"scripts": {"test": "node ../helper.js", "lint": "sh lint.sh"}}
    ),
    "helper.js": "",
    "web/lint.sh": "",
    "a": "",
    "tests/test_a.py": "",
    "noxfile.py": "",
}


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("sh check.sh", ["check.sh", "helper.py", "tools/inner.sh"]),
        ("CI=1 timeout 60 bash -e ./tools/inner.sh", ["check.sh", "helper.py", "tools/inner.sh"]),
        ("make test", ["Makefile", "tools/run-tests"]),
        ("cd web && npm run test", ["helper.js", "web/package.json"]),
        ("grep -q two a", []),
        ("pytest tests/test_a.py", []),
        ("python -m pytest", []),
        ("sh -c 'test -f a'", []),
        ("nox -s tests", ["noxfile.py"]),
        ("sh gone.sh; sh ../outside.sh; '", []),
    ],
)
def test_the_files_that_a_check_starts(command: str, wanted: list[str]) -> None:
    assert list(find_definition([command], FILES.get)) == wanted


def test_what_counts_in_a_package_json_is_the_script() -> None:
    before = find_definition(["cd web && npm test"], FILES.get)
    scripts = {"test": "node ../helper.js", "lint": "true"}
    other = json.dumps({"scripts": scripts, "dependencies": {"left-pad": "1"}})
    assert (
        find_moved(
            before,
            find_definition(["cd web && npm test"], {**FILES, "web/package.json": other}.get),
        )
        == []
    )
    scripts["pretest"] = "exit 0"
    third = json.dumps({"scripts": scripts})
    assert find_moved(
        before, find_definition(["cd web && npm test"], {**FILES, "web/package.json": third}.get)
    ) == ["web/package.json"]


def test_a_file_that_goes_before_the_definition_is_part_of_it() -> None:
    before = find_definition(["make test"], FILES.get)
    after = find_definition(["make test"], {**FILES, "GNUmakefile": "test:\n\ttrue\n"}.get)
    assert find_moved(before, after) == ["GNUmakefile"]
    made = find_definition(["sh new.sh"], {**FILES, "new.sh": "true\n"}.get)
    assert find_moved(find_definition(["sh new.sh"], FILES.get), made) == []


def test_a_rewritten_check_is_not_done(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"check.sh": "true\n", "no": "x"}})
    ran = harness.run("--attempts", "1", code=1)
    assert harness.outcomes("t1") == ["out-of-scope"]
    assert "it changed what defines the checks: check.sh" in ran.out


def test_a_target_that_a_check_calls_is_guarded(harness: RunHarness) -> None:
    (harness.root / "Makefile").write_text("test:\n\tsh check.sh\n")
    harness.task("Make it ok", "t1", check="make test")
    harness.plays({"write": {"Makefile": "test:\n\ttrue\n"}})
    harness.run("--attempts", "1", code=1)
    assert harness.outcomes("t1") == ["out-of-scope"]


def test_a_task_may_name_the_check_as_its_scope(harness: RunHarness) -> None:
    harness.task("Write the check", "t1", "--scope", "check.sh")
    harness.plays({"write": {"check.sh": "true\n"}})
    harness.run()
    assert harness.outcomes("t1") == ["done"]


def test_a_proof_names_what_defines_the_check(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"ok": "x"}})
    ran = harness.run()
    assert "(defined by check.sh " in ran.out
