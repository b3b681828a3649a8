"""Signs that a check is weakened, and changes that look like it and are none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import in_time

from kedge.drift.actions import Action, Change, Effects, normalise
from kedge.drift.evidence.check_signs import Pattern
from kedge.drift.evidence.weakened_checks import find_weakened_checks

ROOT = "/r"


def edit(path: str, old: str, new: str) -> Action:
    given = {"file_path": path, "old_string": old, "new_string": new}
    return normalise("Edit", given, root=ROOT, cwd=ROOT)


def write(path: str, text: str) -> Action:
    return normalise("Write", {"file_path": path, "content": text}, root=ROOT, cwd=ROOT)


def run(command: str) -> Action:
    return normalise("Bash", {"command": command}, root=ROOT, cwd=ROOT)


def patch(*lines: str) -> Action:
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    return normalise("apply_patch", {"input": text}, root=ROOT, cwd=ROOT)


def case(action: Action, *expected: tuple[str, int], id: str) -> Any:
    return pytest.param(action, list(expected), id=id)


TEST = "def test_a():\n    assert f(1) == 2\n    assert f(2) == 3\n"
DELETED, SKIPPED, GONE = "tests deleted", "test skipped", "tests removed"

WEAKENED = [
    case(run("rm tests/test_a.py"), (DELETED, 3), id="rm a test"),
    case(run("git rm -r tests"), (DELETED, 3), id="git rm tests"),
    case(run("rm -rf pkg/x_test.go src/a.spec.ts"), (DELETED, 3), (DELETED, 3), id="rm two"),
    case(run("rm tests/data/x.json"), (DELETED, 2), id="rm data of tests"),
    case(run("mv tests/test_a.py old_a.py"), (DELETED, 3), id="move a test away"),
    case(patch("*** Delete File: tests/test_a.py"), (DELETED, 3), id="patch deletes a test"),
    case(run("rm .github/workflows/ci.yml"), ("CI removed", 3), id="rm CI"),
    case(edit("tests/test_a.py", TEST, ""), (GONE, 3), id="python test removed"),
    case(edit("tests/test_a.py", TEST, TEST.replace("def test_a", "def xtest_a")), (GONE, 3),
         id="python test renamed out"),
    case(edit("a_test.go", "func TestA(t *testing.T) {\n}", "// func TestA(t *testing.T) {\n//}"),
         (GONE, 3), id="go test commented out"),
    case(edit("a.test.ts", "it('works', () => {\n})", ""), (GONE, 3), id="js test removed"),
    case(edit("src/lib.rs", "#[test]\nfn a() { assert!(x) }", ""), (GONE, 3), id="rust test"),
    case(edit("tests/test_a.py", "def test_a():", "@pytest.mark.skip\ndef test_a():"), (SKIPPED, 3),
         id="pytest skip"),
    case(edit("tests/test_a.py", "def test_a():", "@pytest.mark.xfail(reason='x')\ndef test_a():"),
         (SKIPPED, 3), id="pytest xfail"),
    case(edit("tests/test_a.py", "    x = 1", "    pytest.skip('later')\n    x = 1"), (SKIPPED, 3),
         id="pytest.skip()"),
    case(edit("tests/test_a.py", "class TestA:", "@unittest.skip('x')\nclass TestA:"), (SKIPPED, 3),
         id="unittest skip"),
    case(edit("a.test.ts", "it('a', () => {", "it.skip('a', () => {"), (SKIPPED, 3), id="it.skip"),
    case(edit("a.test.ts", "describe('a', () => {", "describe.skip('a', () => {"), (SKIPPED, 3),
         id="describe.skip"),
    case(edit("a.spec.js", "it('a', f)", "xit('a', f)"), (SKIPPED, 3), id="xit"),
    case(edit("a.spec.js", "it('a', f)", "it.only('a', f)"), (SKIPPED, 3), id="it.only"),
    case(edit("a_test.go", "x := 1", 't.Skip("flaky")\nx := 1'), (SKIPPED, 3), id="t.Skip"),
    case(edit("src/lib.rs", "#[test]", "#[test]\n#[ignore]"), (SKIPPED, 3), id="#[ignore]"),
    case(edit("src/test/java/ATest.java", "void a() {", "@Disabled\nvoid a() {"), (SKIPPED, 3),
         id="@Disabled"),
    case(edit("ATest.kt", "fun a() {", "@Ignore\nfun a() {"), (SKIPPED, 3), id="@Ignore"),
    case(edit("spec/a_spec.rb", "it 'a' do", "xit 'a' do"), (SKIPPED, 3), id="ruby xit"),
    case(edit("tests/ATest.php", "$x = 1;", "$this->markTestSkipped();\n$x = 1;"), (SKIPPED, 3),
         id="markTestSkipped"),
    case(write("tests/test_new.py", "@pytest.mark.skip\ndef test_b():\n    assert f()\n"),
         (SKIPPED, 2), id="a test written as skipped"),
    case(edit("a_test.go", "func TestA(t *testing.T) {",
              'func TestA(t *testing.T) {\nif runtime.GOOS == "windows" {\nt.Skip("no")\n}'),
         (SKIPPED, 1), id="skipped on a platform"),
    case(edit("tests/test_a.py", "def test_a():",
              "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_a():"),
         (SKIPPED, 1), id="skipif"),
    case(edit("tests/test_a.py", TEST, "def test_a():\n    assert f(1) == 2\n"),
         ("assertions removed", 2), id="assertion removed"),
    case(edit("tests/test_a.py", TEST, "def test_a():\n    pass\n"), ("assertions removed", 2),
         id="assertions gone"),
    case(edit("a_test.go", "if a != b {\nt.Fatalf(\"x\")\n}", ""), ("assertions removed", 2),
         id="go assertion removed"),
    case(edit("a.test.ts", "expect(a).toEqual([1])", "expect(a).toBeDefined()"),
         ("assertions loosened", 2), id="toEqual to toBeDefined"),
    case(edit("tests/test_a.py", "assert f(1) == 2", "assert f(1)"), ("assertions loosened", 2),
         id="== to truth"),
    case(edit("tests/test_a.py", "self.assertEqual(a, b)", "self.assertIsNotNone(a)"),
         ("assertions loosened", 2), id="assertEqual to assertIsNotNone"),
    case(edit("tests/test_a.py", "assert f() == 1", "assert True"), ("assertions loosened", 2),
         ("empty assertion", 2), id="assert True"),
    case(run("sed -i 's/assert x == 1/pass/' tests/test_a.py"), ("assertions removed", 2),
         id="sed on assertions"),
    case(run("python - <<'E'\np = 'tests/test_a.py'\ns = open(p).read()\n"
             "s = s.replace('def test_a', '@pytest.mark.skip\\ndef test_a')\n"
             "open(p, 'w').write(s)\nE"), (SKIPPED, 3), id="skip put in by a script"),
    case(run("git commit -m x --no-verify"), ("hooks skipped", 3), id="--no-verify"),
    case(run("git commit -nm 'x'"), ("hooks skipped", 3), id="-n"),
    case(run("git push --no-verify"), ("hooks skipped", 3), id="push --no-verify"),
    case(run("git -c core.hooksPath=/dev/null commit -m x"), ("hooks skipped", 3), id="hooksPath"),
    case(run("pytest || true"), ("failure ignored", 1), id="pytest || true"),
    case(run("npm test || :"), ("failure ignored", 1), id="npm test || :"),
    case(run('pytest -k "not slow"'), ("tests left out", 1), id="-k not"),
    case(run("pytest --deselect tests/a.py::b"), ("tests left out", 1), id="--deselect"),
    case(run("pytest --ignore=tests/slow"), ("tests left out", 1), id="--ignore"),
    case(edit("src/a.py", "x = f()", "x = f()  # type: ignore"), ("check suppressed", 1),
         id="type: ignore"),
    case(edit("src/a.py", "import x", "import x  # noqa"), ("check suppressed", 1), id="noqa"),
    case(edit("src/a.ts", "f(x)", "// @ts-ignore\nf(x)"), ("check suppressed", 1), id="ts-ignore"),
    case(edit("src/a.ts", "f(x)", "// eslint-disable-next-line no-x\nf(x)"),
         ("check suppressed", 1), id="eslint-disable-next-line"),
    case(edit("src/a.ts", "f(x)", "/* eslint-disable */\nf(x)"), ("check suppressed", 2),
         id="eslint-disable for the file"),
    case(edit("src/a.go", "f()", "f() //nolint:errcheck"), ("check suppressed", 1), id="nolint"),
    case(edit("src/a.rs", "fn a() {}", "#[allow(dead_code)]\nfn a() {}"), ("check suppressed", 1),
         id="allow"),
    case(edit("pyproject.toml", "fail_under = 90", "fail_under = 80"), ("threshold lowered", 3),
         id="fail_under"),
    case(edit("pyproject.toml", 'x = "--cov-fail-under=90"', 'x = "--cov-fail-under=50"'),
         ("threshold lowered", 3), id="--cov-fail-under"),
    case(edit(".coveragerc", "fail_under = 90", ""), ("threshold removed", 2), id="no fail_under"),
    case(edit("jest.config.js", "branches: 80,", "branches: 60,"), ("threshold lowered", 3),
         id="coverageThreshold"),
    case(edit("package.json", '"lint": "eslint . --max-warnings 0"',
              '"lint": "eslint . --max-warnings 50"'), ("threshold lowered", 3), id="max-warnings"),
    case(edit("tsconfig.json", '"strict": true', '"strict": false'), ("rule turned off", 2),
         id="strict off"),
    case(edit(".eslintrc.json", '"no-x": "error"', '"no-x": "off"'), ("rule turned off", 2),
         id="eslint off"),
    case(edit("pyproject.toml", 'addopts = "-q"', "addopts = \"-q -k 'not slow'\""),
         ("tests left out", 2), id="-k not in settings"),
    case(edit(".github/workflows/ci.yml", "- run: ruff check\n- run: pytest", "- run: ruff check"),
         ("CI step removed", 3), id="CI step removed"),
    case(edit(".github/workflows/ci.yml", "- run: pytest", "- run: pytest || true"),
         ("failure ignored", 2), id="|| true in CI"),
    case(edit(".github/workflows/ci.yml", "- run: tox", "- run: tox\n  continue-on-error: true"),
         ("failure ignored", 3), id="continue-on-error"),
    case(edit("Makefile", "test:\n\tpytest", "test:\n\tpytest || true"), ("failure ignored", 2),
         id="|| true in make"),
    case(edit(".pre-commit-config.yaml", "- id: mypy\n- id: ruff", "- id: ruff"),
         ("CI step removed", 3), id="hook removed"),
]  # fmt: skip
HARMLESS = [
    case(edit("tests/test_a.py", TEST, TEST.replace("test_a", "test_b")), id="test renamed"),
    case(edit("tests/test_a.py", TEST, TEST.replace("f(", "g(")), id="test rewritten"),
    case(edit("tests/test_a.py", TEST, TEST + "\n" + TEST.replace("_a", "_b")), id="test added"),
    case(patch("*** Update File: tests/test_a.py", "-def test_a():", "-    assert f() == 1",
               "*** Add File: tests/test_b.py", "+def test_a():", "+    assert f() == 1"),
         id="test moved to another file"),
    case(patch("*** Delete File: tests/test_a.py", "*** Add File: tests/test_b.py",
               "+def test_a():", "+    assert f() == 1"), id="test file replaced"),
    case(run("mv tests/test_a.py tests/unit/test_a.py"), id="test file moved"),
    case(run("git mv a_test.go b_test.go"), id="test file renamed"),
    case(run("rm -rf tests/__pycache__ .pytest_cache tests/tmp/x.log"), id="caches removed"),
    case(run("rm src/a.py && rm -rf build"), id="no tests removed"),
    case(run("rm -rf /tmp/x/tests"), id="tests elsewhere"),
    case(edit("src/a.py", "assert x\nassert y", "assert x"), id="assertions out of tests"),
    case(edit("a_test.go", 't.Fatalf("set-up: %v", err)', ""), id="set-up of a test in Go"),
    case(edit("src/skip.py", "x = 1", "def skip(): pytest.skip('x')"), id="skip out of tests"),
    case(edit("tests/test_a.py", "@pytest.mark.skip\ndef test_a():", "def test_a():"),
         id="skip taken away"),
    case(edit("tests/test_a.py", "@pytest.mark.skip", "@pytest.mark.skip(reason='x')"),
         id="skip explained"),
    case(edit("tests/test_a.py", "x = 1", "# pytest.skip() is not used\nx = 1"), id="a comment"),
    case(edit("tests/test_ml.py", "m = 1", "m = model.fit(x)\npending = []"), id="fit, pending"),
    case(edit("tests/test_a.py", "assert f(1)", "assert f(1) == 2"), id="assertion tightened"),
    case(edit("src/a.py", "x  # type: ignore", "y  # type: ignore"), id="suppression kept"),
    case(edit("src/a.py", "x  # noqa", "x"), id="suppression taken away"),
    case(edit("pyproject.toml", "fail_under = 80", "fail_under = 90"), id="threshold raised"),
    case(edit("package.json", "--max-warnings 10", "--max-warnings 0"), id="fewer warnings"),
    case(edit("package.json", '"jest": "^29.0.0",', ""), id="dependency removed"),
    case(edit("tsconfig.json", '"target": "ES2022"', '"target": "ES2020"'), id="another target"),
    case(edit(".github/workflows/ci.yml", "- run: pytest", "- run: uv run pytest -q"),
         id="CI step rewritten"),
    case(edit("Makefile", "clean:\n\trm -f x", "clean:\n\trm -f x || true"), id="|| true on rm"),
    case(run("grep x a || true"), id="grep || true"),
    case(run("rm -f a || true; git commit -m 'do not use --no-verify'"), id="a message"),
    case(run("git commit -m '-n'"), id="-n as a message"),
    case(run("git push -n origin"), id="dry push"),
    case(run("pytest -k 'login and not_found'"), id="-k that chooses"),
    case(run("echo 'pytest || true'"), id="quoted"),
    case(run("ls; cat tests/test_a.py"), id="reading"),
]  # fmt: skip


@pytest.mark.parametrize(("action", "expected"), WEAKENED)
def test_signs_of_weakened_checks(action: Action, expected: list[tuple[str, int]]) -> None:
    found = find_weakened_checks(action)
    assert sorted((sign.rule, sign.severity) for sign in found) == sorted(expected)
    assert all(sign.evidence and len(sign.evidence) <= 160 for sign in found)


@pytest.mark.parametrize(("action", "expected"), HARMLESS)
def test_harmless_changes_have_no_signs(action: Action, expected: list[tuple[str, int]]) -> None:
    assert find_weakened_checks(action) == ()


def test_the_evidence_of_a_sign_is_its_line_and_file() -> None:
    (sign,) = find_weakened_checks(edit("a_test.go", "x := 1", 't.Skip("flaky")\nx := 1'))
    assert (sign.path, sign.evidence) == ("a_test.go", 't.Skip("flaky")')
    (sign,) = find_weakened_checks(edit("pyproject.toml", "fail_under = 90", "fail_under = 80"))
    assert sign.evidence == "fail_under = 90 -> fail_under = 80"


def test_the_most_severe_sign_comes_first() -> None:
    found = find_weakened_checks(
        edit("tests/test_a.py", TEST, "@pytest.mark.skip\nx = 1  # noqa\n")
    )
    assert [sign.severity for sign in found] == sorted((s.severity for s in found), reverse=True)


@pytest.mark.parametrize(
    "unit", ["assert ", "[", "it.", "#", "# noqa", "|| true ", "-k ", "0", ": "]
)
def test_long_lines_are_read_in_bounded_time(unit: str) -> None:
    long = unit * 20_000
    for path in ("tests/test_a.py", "package.json", ".github/workflows/ci.yml"):
        with in_time(3):
            find_weakened_checks(edit(path, long, long + "\n" + "\n".join([unit * 50] * 2_000)))


LINES = st.lists(
    st.sampled_from(
        ["def test_a():", "    assert f(1) == 2", "    assert True", "    assert f(1)", "@skip",
         "}", "x = 1  # noqa", "// nolint", "it('works', () => {", "it.only('a')", "#[test]",
         "fn a()", "\u2028// eslint-disable", "return x", "", "fail_under = 90", "fail_under = 80",
         "Σ SKIP"]
    ),
    max_size=8,
).map("\n".join)  # fmt: skip
PATHS = st.sampled_from(["src/a.py", "tests/test_a.py", "src/lib.rs", "a.test.ts", "tox.ini", ""])


@given(st.lists(st.tuples(PATHS, LINES, LINES), max_size=3))
def test_hints_never_hide_a_matching_line(
    files: list[tuple[str, str, str]],
) -> None:
    changes = tuple(Change(path, new, old) for path, old, new in files)
    action = Action("", "Edit", "edit", Effects(written=("a",)), changes=changes)
    found = find_weakened_checks(action)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Pattern, "may_be_in", lambda *_: True)
        assert find_weakened_checks(action) == found
