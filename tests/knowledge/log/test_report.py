"""Parsing implementers' reports in every form, and checking the files they name."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.knowledge.log import report
from kedge.knowledge.log.file_check import ChangedFiles, check_files
from kedge.knowledge.log.headings import match_fields
from kedge.knowledge.log.paths import paths_in_text

REPORTS = Path(__file__).parent / "reports"
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads((REPORTS / "expected.toml").read_text())
TEXTS = ("implemented", "tested", "decisions", "deviations", "concerns")


@pytest.mark.parametrize("name", sorted(path.stem for path in REPORTS.glob("*.md")))
def test_report_fields_are_parsed_from_every_form(name: str) -> None:
    expected = EXPECTED[name]
    found = report.parse_report((REPORTS / f"{name}.md").read_bytes().decode())
    assert {one: getattr(found, one) for one in TEXTS} == {
        one: expected.get(one, report.NONE) for one in TEXTS
    }
    assert found.self_review == expected.get("self_review")
    assert list(found.files) == expected["files"]
    assert list(found.missing) == expected.get("missing", [])
    assert found.partial == bool(expected.get("missing"))


def test_every_report_in_the_corpus_has_an_expectation() -> None:
    assert {path.stem for path in REPORTS.glob("*.md")} == {*EXPECTED}
    assert len(EXPECTED) >= 30


@pytest.mark.parametrize(
    ("label", "fields"),
    [
        ("What I implemented", ("implemented",)),
        ("Implementation Decisions", ("decisions",)),
        ("filesChanged", ("files",)),
        ("files-changed", ("files",)),
        ("2) FILES CHANGED / MODIFIED:", ("files",)),
        ("Deviations from the plan/design", ("deviations",)),
        ("Changes from plan", ("deviations",)),
        ("Issues found during self-review", ("self_review",)),
        ("Any issues or concerns", ("concerns",)),
        ("What I did not test", ("concerns",)),
        ("Test results", ("tested",)),
        ("How to test", ("other",)),
        ("Decisions and deviations", ("decisions", "deviations")),
        ("I decided to rewrite the parser", ()),
        ("The lock", ()),
    ],
)
def test_headings_are_matched_to_fields(label: str, fields: tuple[str, ...]) -> None:
    assert match_fields(label) == fields


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("- `src/a.py`: uses `json.loads` and `config.toml`", ["src/a.py"]),
        ("- src/a.py (new), src/b.py — added", ["src/a.py", "src/b.py"]),
        ("Modified: src/a.py, src/b.py", ["src/a.py", "src/b.py"]),
        ("R100 old/a.py -> new/a.py", ["old/a.py", "new/a.py"]),
        (" src/{old => new}/c.py | 12 +++---", ["src/new/c.py"]),
        ("- app/[id]/page.tsx, app/(group)/x.tsx", ["app/[id]/page.tsx", "app/(group)/x.tsx"]),
        ("| `cli/x.py` | uses `core/y.py` | +3 |", ["cli/x.py"]),
        ("- [src/a.ts](https://example.org/src/a.ts)", ["src/a.ts"]),
        ("- package.json / package-lock.json", ["package.json", "package-lock.json"]),
        ("- Makefile: a target", ["Makefile"]),
        ("- src/a.py:10-20 changed", ["src/a.py"]),
        ("Node.js and/or https://example.org/a.html, version 1.2.3, n/a", []),
        ("3 files changed, 84 insertions(+)", []),
        ("- none", []),
    ],
)
def test_paths_in_a_line_are_found(line: str, files: list[str]) -> None:
    assert list(paths_in_text(line, listed=True)) == files


def test_reported_names_match_paths_suffixes_folders_and_globs() -> None:
    paths = ("src/a.py", "src/deep/b.py", "lib/c.py", "docs/x.md", "new/name.py")
    changed = ChangedFiles((*((path, None) for path in paths), ("to.py", "from.py")), "HEAD")
    reported = ["./src/a.py", "deep/b.py", "/top/lib/c.py", "docs/", "src/gone.py", "from.py"]
    found = check_files(reported, changed, Path("/top"))
    assert found.unchanged == ("src/gone.py",)
    assert found.unreported == ("new/name.py",)
    assert not check_files(["*.py", "docs/*"], changed, Path("/top")).differs


def test_bookkeeping_files_need_not_be_reported() -> None:
    bookkeeping = (".kedge/ledger/x.jsonl", "docs/features/014-x/tasks.md", "tasks/a.task.yaml")
    found = check_files(
        [], ChangedFiles(tuple((path, None) for path in bookkeeping), "HEAD"), Path("/top")
    )
    assert not found.differs


@pytest.mark.parametrize("text", ["", " \n\t\n", "---\n", "{}", "…", "```\n```"])
def test_report_without_words_is_empty(text: str) -> None:
    assert report.parse_report(text).empty


LINES = st.sampled_from(
    [
        *(
            "## Decisions",
            "**Files changed:**",
            "Concerns: none",
            "- a.py",
            "```",
            "~~~md",
            "| a | b |",
        ),
        *(
            "|---|---|",
            "> ## Tested",
            "<concerns>",
            "</concerns>",
            "<!-- ",
            "-->",
            "none",
            "",
            "    ",
        ),
        *(
            '{"decisions": ["x"],',
            '"files": {"a": 1}}',
            "===",
            "---",
            "1. **Deviations** — x",
            "\r",
        ),
        *("No concerns.", "# Implementation report", "\u2028## Tested", "\x00", "- [x] `b/c.ts`"),
    ]
)
TEXT = st.one_of(
    st.text(max_size=400),
    st.lists(st.one_of(LINES, st.text(max_size=40)), max_size=25).map("\n".join),
)


@given(TEXT)
def test_any_text_parses_as_a_report_and_is_kept_unchanged(text: str) -> None:
    found = report.parse_report(text)
    assert found.text == text
    for name in TEXTS:
        getattr(found, name).encode()  # it can be written as UTF-8
    assert {*found.missing} <= {*TEXTS, "files"}


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["decisions", "filesChanged", "concerns", "report", "path", "\ud800"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(JSON, st.booleans())
def test_any_json_parses_as_a_report(value: Any, fenced: bool) -> None:
    text = json.dumps(value)
    found = report.parse_report(f"Done.\n```json\n{text}\n```\n" if fenced else text)
    assert all(isinstance(path, str) for path in found.files)
    for name in TEXTS:
        getattr(found, name).encode()


@given(st.lists(st.sampled_from(["decisions", "deviations", "concerns"]), unique=True))
def test_fields_without_a_heading_are_listed_as_missing(names: list[str]) -> None:
    text = "".join(f"### {name.title()}\nwords about {name}\n\n" for name in names)
    found = report.parse_report(f"## Implemented\nIt.\n{text}")
    for name in ("decisions", "deviations", "concerns"):
        there = name in names
        assert getattr(found, name) == (f"words about {name}" if there else report.NONE)
        assert (name in found.missing) is not there
