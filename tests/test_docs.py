"""The documentation is true: the reference matches the code, and the commands run as shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import Kedge

TOP = Path(__file__).parent.parent
PAGES = [
    "docs/start/first-steps.md",
    "docs/start/what-it-does.md",
    "docs/guides/context.md",
    "docs/guides/drift.md",
    "docs/guides/handoff.md",
    "docs/guides/knowledge.md",
    "docs/guides/plugin.md",
    "docs/guides/reviews.md",
    "docs/guides/run.md",
    "docs/guides/trust.md",
]
ID = re.compile(r"\bk-[a-z0-9]{4}\b")


def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/reference", "--check"], cwd=TOP, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_mutants_are_of_modules_that_exist() -> None:
    """A mutation whose place has moved stops `make mutants`; a page that names it explains none."""
    done = subprocess.run(
        [sys.executable, "tools/mutants", "--list"], cwd=TOP, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    targets = re.findall(r'\n    "src/kedge/(\S+)": \[', (TOP / "tools/mutants").read_text())
    page = (TOP / "docs/design/mutants.md").read_text()
    explained = re.findall(r"\n## `(\S+)`", page)
    assert explained and set(explained) <= set(targets)
    for name in re.findall(r"\n- in `(\w+)`", page):
        assert any(f"def {name}(" in (TOP / "src/kedge" / at).read_text() for at in explained)


def test_relative_links_point_to_files() -> None:
    for page in [*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")]:
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.relative_to(TOP)}: {link}"


def test_the_readme_fits_one_screen() -> None:
    """What it is, how to install it, two commands, the demo's picture, where to go on."""
    text = (TOP / "README.md").read_text()
    assert len(text.splitlines()) <= 64
    for line in ("pipx install .", "uv tool install .", "pip install ."):
        assert f"\n{line}\n" in text
    assert re.findall(r"^kedge (\w+)", text, re.MULTILINE) == ["demo", "init"]
    assert "$ kedge run " in text  # the picture, which tests/demo compares with the real demo
    assert text.count("](docs/") > 10


def console(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the kedge commands of a page, each with the output that the page shows."""
    for block in re.findall(r"```console\n(.*?)```", (TOP / page).read_text(), re.DOTALL):
        command, output = "", list[str]()
        for line in [*block.splitlines(), "$ "]:
            if not line.startswith("$ "):
                output.append(line)
                continue
            if command.startswith("kedge "):
                yield command, output
            command, output = line.removeprefix("$ ").partition(" #")[0], []


@pytest.mark.parametrize("page", PAGES)
def test_commands_on_a_page_run_and_print_what_it_shows(
    repo: Path, kedge: Kedge, page: str
) -> None:
    """Generated ids differ from run to run: the page's first id stands for the first printed."""
    (repo / "prd.json").write_text('{"tasks": [{"id": "p-1", "title": "from a PRD"}]}')
    (repo / "TODO.md").write_text("- [ ] d-1: from a list\n")
    (repo / "Makefile").write_text("test:\n\ttrue\n")  # what the README's task is proven by
    generated: dict[str, str] = {}

    def replace_ids(text: str) -> str:
        return ID.sub(lambda match: generated.get(match.group(), match.group()), text)

    commands = list(console(page))
    assert commands
    for command, expected in commands:
        ran = kedge(*shlex.split(replace_ids(command))[1:])
        if expected:
            pairs = zip(ID.findall("\n".join(expected)), ID.findall(ran.out), strict=True)
            for on_page, printed in pairs:
                generated.setdefault(on_page, printed)
            lines = [line.replace("\t", "  ") for line in ran.out.splitlines()]
            assert lines == [replace_ids(line) for line in expected], command
