"""go test: the list of packages; every test with -v, every event with -json."""

from __future__ import annotations

import json
import re

from kedge.handoff.checks.logs.reader import LogReader
from kedge.handoff.checks.summary import PACKAGES, TESTS, ToolSummary, add_failures

_PACKAGE = re.compile(r"(ok  |FAIL|\?   )\t(\S+)(?:\t| )(.*)")
_TEST = re.compile(r" *--- (PASS|FAIL|SKIP): (\S+) \(\d[\d.]*s\)")
_RUN = re.compile(r"=== RUN +(\S+)")
_MAX_EVENT = 4096  # characters; the end of a test is a short event
_ENDS = {"pass": "PASS", "fail": "FAIL", "skip": "SKIP"}


class GoTestReader(LogReader):
    """Counts tests if the log names each one (-v, -json), and packages otherwise."""

    tool = "go test"
    adds_up = True

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._tests: dict[tuple[str, str], str] = {}
        self._packages: dict[str, str] = {}
        self._failed: list[str] = []  # names in the order of the log
        self._with_failures: set[str] = set()  # packages of these names
        self._pending: dict[str, str] = {}  # finished tests of an unfinished package
        self._running: set[str] = set()
        self._verbose = False

    def line(self, line: str) -> None:
        first = line[0]
        if first in "oF?":
            if found := _PACKAGE.fullmatch(line):
                self._package(*found.groups())
        elif first in " -":
            if "--- " in line[:80] and (found := _TEST.fullmatch(line)):
                self._test(found[1], found[2])
        elif first == "=":
            if found := _RUN.fullmatch(line):
                self._verbose = True
                self._running.add(found[1])
        elif first == "{" and '"Action":"' in line and len(line) < _MAX_EVENT:
            self._event(line)

    def _test(self, result: str, name: str) -> None:
        # With -v every test is announced; anything else was printed by a test.
        if not self._verbose or name in self._running:
            self._running.discard(name)
            self._pending[name] = result

    def _package(self, word: str, package: str, rest: str) -> None:
        failed = [name for name, result in self._pending.items() if result == "FAIL"]
        if word == "ok  " and failed:
            return  # printed by a test: a package with a failed test is not ok
        if word == "FAIL":
            self._packages[package] = "FAIL"
            names = [f"{package}.{name}" for name in failed]
            self._failed += names or [f"{package} {rest if rest.startswith('[') else '[failed]'}"]
        elif word == "?   " or "[no tests to run]" in rest:
            self._packages[package] = "SKIP"
        else:
            self._packages[package] = "PASS"
        for name, result in self._pending.items():
            self._tests[package, name] = result
        self._pending = {}
        self._running.clear()

    def _event(self, line: str) -> None:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        result = _ENDS.get(str(event.get("Action")))
        package, test = event.get("Package"), event.get("Test")
        if result is None or not isinstance(package, str):
            return
        if isinstance(test, str):
            self._verbose = True
            self._tests[package, test] = result
            if result == "FAIL":
                self._failed.append(f"{package}.{test}")
                self._with_failures.add(package)
            return
        if result == "FAIL" and package not in self._with_failures:
            why = "[build failed]" if "FailedBuild" in event else "[failed]"
            self._failed.append(f"{package} {why}")
        self._packages[package] = result

    def summary(self) -> ToolSummary | None:
        if not self._packages and not self._tests:
            return None
        by_test = self._verbose
        results = [*(self._tests if by_test else self._packages).values()]
        broken = sum(name.endswith("]") and " [" in name for name in self._failed)
        summary = ToolSummary(
            self.tool,
            TESTS if by_test else PACKAGES,
            passed=results.count("PASS"),
            failed=results.count("FAIL"),
            skipped=results.count("SKIP"),
            errors=broken if by_test else 0,
        )
        return add_failures(summary, dict.fromkeys(self._failed), self.root)
