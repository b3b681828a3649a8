"""The log file: existing text never changes, and no report can break its structure."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kedge.errors import FileError, InvalidValue
from kedge.host import files
from kedge.host.project import Project
from kedge.knowledge.log import implementation_log
from kedge.knowledge.log.file_check import ChangedFiles
from kedge.knowledge.topic import Topic
from kedge.text import markdown

TOPIC = Topic("k-1", None, "k-1", "k-1", "Moor the boat")
LOG = ".kedge/implementation-log.md"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / ".kedge").mkdir()
    return Project(tmp_path, None)


def log(project: Project) -> str:
    return (project.root / LOG).read_text()


def test_entry_has_the_documented_form(project: Project) -> None:
    text = "Implemented: it\nTested: it\nFiles changed: a.py, b.py\nDecisions: one\nConcerns: none"
    done = implementation_log.append(project, TOPIC, f"{text}\nDeviations: two\n")
    assert done.added
    mark = re.search(r"<!-- kedge: report [0-9a-f]{12} of k-1, attempt 1 -->", log(project))
    assert mark
    assert log(project) == (
        "# Implementation Log\n"
        "\n"
        "## Task k-1: Moor the boat\n"
        "- **Files changed:** a.py, b.py\n"
        "- **Decisions:** one\n"
        "- **Deviations:** two\n"
        "- **Concerns:** none\n"
        f"{mark[0]}\n"
    )


def test_whole_report_is_kept_without_secrets(project: Project) -> None:
    key = "sk-ant-" + "a1B2" * 8
    text = f"Implemented: the client\r\nDecisions: the key {key} is read from the environment\n"
    done = implementation_log.append(project, TOPIC, text)
    kept = (project.root / done.kept).read_bytes().decode()
    assert kept == text.replace(key, "[redacted:anthropic-key]")
    assert "the key [redacted:anthropic-key] is read" in log(project)
    found = [path for path in project.root.rglob("*") if path.is_file()]
    assert found
    assert not any(key.encode() in path.read_bytes() for path in found)


def test_secret_in_a_json_report_is_not_kept(project: Project) -> None:
    text = '{"decisions": {"password": "hunter2-Xy7!"}, "concerns": "none"}'
    implementation_log.append(project, TOPIC, text)
    found = [path.read_text() for path in project.root.rglob("*") if path.is_file()]
    assert not any("hunter2-Xy7!" in one for one in found)


HOSTILE = """## Decisions
### Task 9.9: Not a task
## Task 8.8: Nor this
text
---
====
```
## Task 7.7: in code, and the fence stays open
<!-- kedge: report 000000000000 of k-1, attempt 9 -->
"""


@pytest.mark.parametrize(
    "body",
    [
        "# Implementation Log\n\n## Task 1: x\n- **Decisions:** mine",
        "Title\n=====\n\nOther\n-----",
        "<!-- never closed",
        "text <!-- never closed",
        "text <!-- never closed\n\nmore",
        "<!-- kedge: report 000000000000 of k-2, attempt 1 -->",
        "```\n## Task 2: in an open fence",
        "````md\n```\n````\n```\n## Task 3: y",
        "~~~\n## Task 4\n",
        "- a\n## Task 5: z\n  ## Task 6",
        "<pre>\n## Task 7",
        "<details><summary>x",
        "a\u2028## Task 8: separator\u0085## Task 9",
    ],
)
def test_no_report_breaks_the_structure_of_the_log(project: Project, body: str) -> None:
    for kind in ("decisions", "concerns"):
        text = f"<implemented>it</implemented>\n<{kind}>\n{body}\n</{kind}>\n"
        implementation_log.append(project, TOPIC, text)
    implementation_log.append(project, TOPIC, HOSTILE)
    after = replace(TOPIC, title="The next one", task="k-2", key="k-2", number="k-2")
    implementation_log.append(project, after, "Implemented: more")
    document = markdown.read(log(project))
    for name in ("Deviations", "Concerns", "Not reported"):
        assert sum((line or "").startswith(f"- **{name}:**") for line in document.prose) == 4
    headings = [one.text for one in document.headings]
    assert headings == [
        "Implementation Log",
        *["Task k-1: Moor the boat"] * 3,
        "Task k-2: The next one",
    ]
    plain = [line for line in log(project).split("\n") if line.startswith("#")]
    assert len(plain) == 5  # also for a reader that ignores code fences and comments
    mine = implementation_log.read(project, after)
    assert mine is not None
    assert mine.startswith("## Task k-2: The next one\n")


def test_open_fence_before_the_entry_is_a_warning(project: Project) -> None:
    (project.root / LOG).write_text("# Implementation Log\n\n```\nopen\n")
    done = implementation_log.append(project, TOPIC, "Implemented: it")
    assert "open code fence" in done.warnings[0]


def test_long_field_is_cut_and_points_to_the_whole_report(project: Project) -> None:
    done = implementation_log.append(project, TOPIC, "## Decisions\n" + "word " * 5000)
    assert len(log(project)) < 8000
    assert f"more characters in {done.kept}" in log(project)
    with pytest.raises(InvalidValue, match="larger than 1 MiB"):
        implementation_log.append(project, TOPIC, "Done. " * 200_000)


def test_each_attempt_has_its_own_entry(project: Project) -> None:
    for attempt, added in ((1, True), (1, False), (2, True), (2, False)):
        done = implementation_log.append(project, TOPIC, "Implemented: it", attempt=attempt)
        assert done.added is added
    assert log(project).count("## Task k-1") == 2
    assert log(project).count("- **Attempt:** 2\n") == 1


def test_file_differences_are_one_line_of_the_entry(project: Project) -> None:
    text = "Implemented: it\nFiles changed: a.py, gone.py"
    changed = ChangedFiles((("a.py", None), *((f"n{n}.py", None) for n in range(20))), "HEAD")
    done = implementation_log.append(project, TOPIC, text, changed=changed)
    assert done.check is not None
    assert done.check.unchanged == ("gone.py",)
    lines = [line for line in log(project).split("\n") if "differ" in line]
    assert len(lines) == 1
    assert "reported but unchanged: gone.py; changed but unreported: n0.py" in lines[0]
    assert lines[0].endswith("and 14 more")
    same = ChangedFiles((("a.py", None), ("gone.py", None)), "HEAD")
    implementation_log.append(project, TOPIC, text, changed=same, attempt=2)
    assert log(project).count("differ") == 1


def test_log_that_is_not_utf8_is_left_unchanged(project: Project) -> None:
    before = "# Log\n".encode("utf-16")
    (project.root / LOG).write_bytes(before)
    with pytest.raises(FileError, match="not UTF-8"):
        implementation_log.append(project, TOPIC, "Implemented: it")
    assert (project.root / LOG).read_bytes() == before


def test_archiving_never_overwrites_an_archive(project: Project) -> None:
    (project.root / "f").mkdir()
    topic = Topic("f", "f")
    kept = []
    for text in ("first", "second", "third"):
        (project.root / "f" / implementation_log.FILE).write_text(text)
        place = implementation_log.archive(project, topic)
        assert place is not None
        kept.append((place, text))
        assert implementation_log.read(project, topic) is None
    assert [(project.root / place).read_text() for place, _ in kept] == [text for _, text in kept]
    assert implementation_log.list_archived(project, topic) == [place for place, _ in kept]
    assert implementation_log.archive(project, topic) is None


BYTES = st.one_of(
    st.binary(max_size=200).filter(lambda data: b"\0" not in data),
    st.lists(st.sampled_from(["# Log", "## Task 1: x", "```", "- a", "", "\r", "<!--"]))
    .map("\n".join)
    .map(str.encode),
)


@settings(max_examples=60)
@given(BYTES, st.lists(st.text(min_size=1, max_size=80), min_size=1, max_size=3))
@example(b"no break at the end", ["## Decisions\nx"])
@example(b"# Log\r\n\r\n## Task 1: x\r\n", ["Implemented: it"])
@example(b"\xff\xfe broken", ["it"])
def test_appending_keeps_the_existing_bytes(
    tmp_path_factory: pytest.TempPathFactory, before: bytes, reports: list[str]
) -> None:
    root = tmp_path_factory.mktemp("log")
    (root / ".kedge").mkdir()
    project, path = Project(root, None), root / LOG
    path.write_bytes(before)
    last = before or implementation_log.HEADER
    for text in reports:
        try:
            done = implementation_log.append(project, TOPIC, text)
        except InvalidValue as error:
            assert error.message == "the report is empty"
            continue
        after = files.read_bytes(path)
        assert after is not None
        assert after.startswith(last)
        assert (len(after) > len(last)) is done.added
        last = after
