"""Citations: the right section with its lines and hash, or the reason why there is none."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import in_time

from kedge.errors import ConfigError, FileError, InvalidValue, KedgeError
from kedge.handoff.standards.citations import (
    Citation,
    Citations,
    find_citations,
    find_stale,
)
from kedge.handoff.standards.first_sentence import find_first_sentence, strip_markup
from kedge.handoff.standards.sections import SectionIndex
from kedge.host.project import Project

BACKEND = """\
---
title: Backend
---

# Backend

General words. More.

## Handler Constraints

```markdown
## Layering
```

Handlers stay **below** 75 lines, e.g. by [services](services.md#x). They are thin.

### Errors

Errors are typed.

## Layering

Layers
------

### Errors

Only down.
"""


@pytest.fixture
def project(repo: Path) -> Project:
    _write(repo, "standards/backend.md", BACKEND)
    return Project(repo, None)


def _write(root: Path, name: str, content: str | bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _map(project: Project, text: str, name: str = ".kedge/standards.toml") -> None:
    _write(project.root, name, text)


def _names(found: Citations) -> list[str]:
    return [f"{one.file}#{one.section}" for one in found.items]


def _one(project: Project, cite: object) -> Citation:
    found = find_citations(project, None, "P2", [cite])
    assert found.missing == ()
    (one,) = found.items
    return one


def _why(project: Project, cite: object) -> str:
    found = find_citations(project, None, "P2", [cite])
    assert found.items == ()
    (why,) = found.missing
    return why


def _sed(project: Project, one: Citation) -> str:
    first, last = one.line_span.replace("L", "").split("-")
    argv = ["sed", "-n", f"{first},{last}p", one.file]
    done = subprocess.run(argv, cwd=project.root, capture_output=True, check=True)
    return done.stdout.decode()


def test_a_citation_matches_the_file(project: Project) -> None:
    one = _one(project, "standards/backend.md#Handler Constraints")
    assert one == Citation(
        file="standards/backend.md",
        section="handler-constraints",
        heading="Handler Constraints",
        requirement="Handlers stay below 75 lines, e.g. by services.",
        line_span="L9-L19",
        content_sha=one.content_sha,
    )
    text = _sed(project, one)
    assert text.startswith("## Handler Constraints\n")
    assert text.endswith("Errors are typed.\n")
    assert hashlib.sha256(text.encode()).hexdigest() == one.content_sha


def test_headings_are_found_by_text_then_slug_then_ignoring_case(project: Project) -> None:
    _write(project.root, "a.md", "# Set Up\n\n# set-up\n\n# Äpfel `List<T>` *x*\n\n# SET-Up\n")
    assert _one(project, "a.md#set-up").line_span == "L3-L3"
    assert _one(project, "a.md#Set Up").line_span == "L1-L1"
    assert _one(project, "a.md#set up").line_span == "L1-L1"
    assert _one(project, "a.md#SET-UP-2".lower()).line_span == "L7-L7"
    for name in ("Äpfel `List<T>` *x*", "Äpfel List<T> x", "äpfel-listt-x", "ÄPFEL LIST<T> X"):
        assert _one(project, f"a.md#{name}").line_span == "L5-L5"


def test_ambiguous_and_missing_headings_are_reported(project: Project) -> None:
    assert _why(project, "standards/backend.md#Errors") == (
        "standards/backend.md#Errors: 2 headings have that text: #errors, #errors-1"
    )
    assert _one(project, "standards/backend.md#errors-1").requirement == "Only down."
    assert _why(project, "standards/backend.md#Handler Constrants") == (
        "standards/backend.md#Handler Constrants: no such heading;"
        " the most similar is 'Handler Constraints'"
    )
    assert _why(project, "standards/backend.md#Zzz").endswith("#Zzz: no such heading")
    assert _why(project, "standards/none.md#x") == "standards/none.md#x: no such file"
    # in a fence it is not a heading, and with an underline it is one
    assert _one(project, "standards/backend.md#Layering").line_span == "L21-L21"
    assert _one(project, "standards/backend.md#layers").line_span == "L23-L28"


def test_a_whole_file_is_cited_without_a_heading(project: Project) -> None:
    one = _one(project, "standards/backend.md")
    assert (one.section, one.heading, one.line_span) == ("", "Backend", "L1-L28")
    assert one.requirement == "General words."
    assert hashlib.sha256(BACKEND.encode()).hexdigest() == one.content_sha


def test_the_mapping_selects_citations_by_area_and_priority(project: Project) -> None:
    _map(
        project,
        """
        [[standards]]
        area = ["backend", "Shared"]
        priority = ["P0", "P1"]
        cite = ["standards/backend.md#Handler Constraints", "standards/backend.md#Layers"]

        [[standards]]
        area = "*"
        cite = ["standards/backend.md#errors", "standards/backend.md#layers"]

        [[standards]]
        priority = "P0"
        cite = [{ file = "standards/backend.md", section = "Layering", requirement = "Keep it." }]
        """,
    )
    file = "standards/backend.md#"
    every = [f"{file}errors", f"{file}layers"]
    assert _names(find_citations(project, "backend", "P1")) == [
        f"{file}handler-constraints", f"{file}layers", f"{file}errors",
    ]  # fmt: skip
    assert _names(find_citations(project, "backend", "P2")) == every
    assert _names(find_citations(project, None, "P1")) == every
    assert _names(find_citations(project, "mobile", "P0")) == [*every, f"{file}layering"]
    assert find_citations(project, "mobile", "P0").items[-1].requirement == "Keep it."
    assert len(find_citations(project, "shared", "p0").items) == 4
    assert find_citations(project, None, "P1").sources == (".kedge/standards.toml",)


def test_the_tasks_own_citations_come_first_and_win(project: Project) -> None:
    _map(project, '[[standards]]\ncite = ["standards/backend.md#Layers"]\n')
    _map(
        project,
        '[[standards]]\ncite = "standards/backend.md#Handler Constraints"\n',
        "standards/citations.toml",
    )
    own = {"file": "standards/backend.md", "section": "layers", "requirement": "Own words."}
    found = find_citations(project, "x", "P1", ["standards/backend.md#Layering", own])
    assert [one.section for one in found.items] == ["layering", "layers", "handler-constraints"]
    assert found.items[1].requirement == "Own words."
    assert found.sources == (".kedge/standards.toml", "standards/citations.toml")
    assert found == find_citations(project, "x", "P1", ["standards/backend.md#Layering", own])


def test_without_a_mapping_nothing_is_cited(project: Project) -> None:
    assert find_citations(project, "backend", "P0") == Citations((), (), ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[standards]\n", ".kedge/standards.toml:1: "),
        ("[standards]\na = 1\n", "only [[standards]] tables"),
        ('[[standard]]\ncite = "a.md"\n', "only [[standards]] tables"),
        ('[[standards]]\ncites = ["a.md"]\n', "number 1 is not valid"),
        ("[[standards]]\ncite = 3\n", "a citation is not valid"),
        ('[[standards]]\ncite = ["#Heading"]\n', "a citation is not valid"),
        ('[[standards]]\ncite = [{file = "a.md", heading = "x"}]\n', "is not valid"),
        ('[[standards]]\narea = 1\ncite = ["a.md"]\n', "area must be a string"),
        ("[[standards]]\ncite = [" + "[" * 50_000 + "\n", "nested too deeply"),
    ],
)
def test_an_invalid_mapping_is_refused(project: Project, text: str, says: str) -> None:
    _map(project, text)
    with pytest.raises(ConfigError) as caught:
        find_citations(project, "x", "P1")
    assert says in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_mapping_that_is_not_utf_8_is_refused(project: Project) -> None:
    _write(
        project.root, ".kedge/standards.toml", '# é\n[[standards]]\ncite="a.md"'.encode("latin1")
    )
    with pytest.raises(ConfigError, match=r"standards\.toml:1: it is not UTF-8"):
        find_citations(project, "x", "P1")


@pytest.mark.parametrize(
    "cite", ["../out.md", "a/../../out.md", "/etc/passwd", "a\0b", "link.md", "up/x.md"]
)
def test_no_citation_leaves_the_repository(project: Project, tmp_path: Path, cite: str) -> None:
    (tmp_path / "out.md").write_text("# Secret\n")
    (project.root / "link.md").symlink_to(tmp_path / "out.md")
    (project.root / "up").symlink_to(tmp_path)
    with pytest.raises((InvalidValue, FileError)) as caught:
        find_citations(project, "x", "P1", [f"{cite}#Secret"])
    assert caught.value.hint
    with pytest.raises((InvalidValue, FileError)):
        find_stale(project, [Citation(cite, "secret", "Secret", "", "L1-L1", "0" * 64)])


def test_gits_own_files_are_not_cited(project: Project) -> None:
    for name in (".git/config", ".GIT/config"):
        with pytest.raises(FileError, match="belongs to git"):
            find_citations(project, "x", "P1", [name])


def test_unreadable_cited_files_are_reported(project: Project) -> None:
    _write(project.root, "latin.md", "# T\n\né\n".encode("latin1"))
    _write(project.root, "nul.md", b"# T\n\0\n")
    _write(project.root, "big.md", b"# T\n" + b"x" * (9 << 20))
    (project.root / "dir.md").mkdir()
    found = find_citations(
        project, "x", "P1", ["latin.md#T", "nul.md#T", "big.md#T", "dir.md", "a.md/b.md"]
    )
    assert found.items == ()
    assert found.missing == (
        "latin.md#T: latin.md:3: it is not UTF-8",
        "nul.md#T: nul.md:2: it contains a NUL",
        "big.md#T: big.md has more than 8 MiB",
        "dir.md: dir.md is not a file",
        "a.md/b.md: no such file",
    )


def test_line_endings_and_a_byte_order_mark_do_not_change_the_hash(project: Project) -> None:
    plain_one = _one(project, "standards/backend.md#Handler Constraints")
    crlf = BACKEND.replace("\n", "  \r\n").encode()
    _write(project.root, "standards/backend.md", b"\xef\xbb\xbf" + crlf.rstrip())
    assert _one(project, "standards/backend.md#Handler Constraints") == plain_one
    assert find_stale(project, [plain_one]) == []


def test_a_section_that_only_moved_is_not_stale(project: Project) -> None:
    old = _one(project, "standards/backend.md#Handler Constraints")
    _write(project.root, "standards/backend.md", "Intro.\n\n" + BACKEND.split("---\n\n")[1])
    assert find_stale(project, [old]) == []
    moved = _one(project, "standards/backend.md#Handler Constraints")
    assert moved == replace(old, line_span="L7-L17")
    assert _sed(project, moved).startswith("## Handler Constraints\n")


def test_a_section_whose_slug_another_heading_took_is_not_stale(project: Project) -> None:
    old = _one(project, "standards/backend.md#errors-1")
    text = BACKEND.replace("# Backend\n", "# Backend\n\n## Errors\n\nOther.\n", 1)
    _write(project.root, "standards/backend.md", text)
    assert find_stale(project, [old]) == []
    assert _one(project, "standards/backend.md#errors-2").content_sha == old.content_sha


def test_a_changed_or_missing_section_is_stale(project: Project) -> None:
    names = ("Handler Constraints", "Layers", "errors-1")
    held = [_one(project, f"standards/backend.md#{name}") for name in names]
    held.append(_one(project, "standards/backend.md"))
    text = BACKEND.replace("75", "90").replace("Layers\n-----", "Floors\n-----")
    _write(project.root, "standards/backend.md", text)
    assert [(one.section, one.why) for one in find_stale(project, held)] == [
        ("handler-constraints", "its text has changed"),
        ("layers", "the heading is gone"),
        ("", "its text has changed"),
    ]
    (project.root / "standards/backend.md").unlink()
    assert {one.why for one in find_stale(project, held)} == {"no such file"}
    assert len(find_stale(project, held)) == 4


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("One. Two.", "One."),
        ("Use Python 3.11, i.e. a new one! Yes.", "Use Python 3.11, i.e. a new one!"),
        ("Wrapped\nover lines\n\nNext.", "Wrapped over lines"),
        ("- [x] **Must** hold\n- other", "Must hold"),
        ("> [!NOTE]\n> Said `a_b.c()`. So", "Said a_b.c()."),
        ("| a | b |\n|---|---|\n\nText.", "Text."),
        ("![badge](x.svg)\n\n<br>\n\n---\n\nIs it? Yes.", "Is it?"),
        ("[ref]: http://x\n\nSee [the *ref*][ref].", "See the ref."),
        ("日本語。次。", "日本語。"),
        ("*one* __two__ ~~three~~ snake_case 2 * 3 \\*", "one two three snake_case 2 * 3 *"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_first_sentence(lines: str, sentence: str) -> None:
    assert find_first_sentence(lines.split("\n")) == sentence


def test_a_requirement_is_short(project: Project) -> None:
    _write(project.root, "a.md", f"# A\n\n{'word ' * 100}end.\n\n# {'B' * 400}\n")
    long = _one(project, "a.md#A").requirement
    assert len(long) <= 140
    assert long.endswith("word…")
    bare = _one(project, f"a.md#{'B' * 400}")
    assert bare.requirement == "B" * 139 + "…"
    assert bare.heading == "B" * 400


HEADINGS = st.lists(st.text(alphabet="ab-1 #`_é?", max_size=6), max_size=30)


@given(HEADINGS)
def test_slugs_are_unique_and_find_their_section(headings: list[str]) -> None:
    sections = SectionIndex("\n\n".join(f"# {text}\n\nx" for text in headings))
    slugs = [section.slug for section in sections.all]
    assert len(set(slugs)) == len(slugs)
    assert all(slugs)
    for section in sections.all:
        assert sections.find_by_slug(section.slug) == section
        found = sections.find(section.slug)
        texts = [other for other in sections.all if other.heading == section.slug]
        assert found.section in ([section] if not texts else [*texts, None])


def test_repeated_slugs_are_numbered_as_on_github() -> None:
    text = "# a\n\n# a\n\n# a-1\n\n# a\n\n# ?\n\n# !\n"
    slugs = [section.slug for section in SectionIndex(text).all]
    assert slugs == ["a", "a-1", "a-1-1", "a-2", "section", "section-1"]


@given(st.text(max_size=200))
def test_stripping_markup_never_fails(text: str) -> None:
    shown = strip_markup(text)
    assert "\n" not in shown
    assert shown == shown.strip()


@given(st.text(alphabet=st.sampled_from("# ab\n\r\t-=`~>|<!*_[]()."), max_size=300), st.data())
def test_any_document_can_be_cited(text: str, data: st.DataObject) -> None:
    sections = SectionIndex(text)
    for section in sections.all:
        assert 1 <= section.first <= section.last <= text.count("\n") + 1
        assert len(sections.sentence(section)) <= 140
        assert sections.find_by_content(sections.sha(section)) is not None
    assert sections.find(data.draw(st.text(max_size=5))).why or sections.all


_END = "\n# B\n\nText.\n"
_LEVELS = "".join(f"{'#' * level} A\n" for level in range(1, 7))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a heading of 1 MB", "# " + "[x](" * 250_000 + _END),
        ("the same heading", "# A\n" * 30_000 + _END),
        ("other headings", "".join(f"# A{n}\n" for n in range(30_000)) + _END),
        ("six deep", (_LEVELS + "x\n\n") * 5_000 + _END),
        (
            "slugs in the way",
            "".join(f"# a-{n}\n" for n in range(15_000)) + "# a\n" * 15_000 + _END,
        ),
        ("a line of 1 MB", "# B\n\nText. " + "*_`[<" * 200_000),
    ],
    ids=lambda value: value if len(value) < 30 else "",
)
def test_hostile_documents_take_bounded_time(project: Project, name: str, text: str) -> None:
    _write(project.root, "a.md", text)
    with in_time(8):
        found = find_citations(
            project, None, "P1", ["a.md#B", *(f"a.md#nothing {n}" for n in range(50))]
        )
        assert [one.requirement for one in found.items] == ["Text."]
        assert len(found.missing) == 50
        _write(project.root, "a.md", text.replace("# B\n", "# B\n\nNot the same.\n"))
        assert len(find_stale(project, [*found.items] * 50)) == 50


def test_a_heading_that_is_too_long_is_not_cited(project: Project) -> None:
    _write(project.root, "a.md", f"# {'long ' * 200}\n\nText.\n")
    with_text = _why(project, "a.md#" + "long " * 200)
    assert "no such heading" in with_text
    assert len(with_text) < 500
    assert _one(project, "a.md").requirement == "Text."


def test_too_many_citations_are_refused(project: Project) -> None:
    with pytest.raises(ConfigError, match="201 sections"):
        find_citations(project, None, "P1", [f"a.md#h{n}" for n in range(201)])


@given(st.text(max_size=60))
def test_any_mapping_is_used_or_refused(project: Project, text: str) -> None:
    _map(project, text.encode(errors="replace").decode())
    try:
        find_citations(project, "x", "P1")
    except KedgeError as error:
        assert "\n" not in error.message
