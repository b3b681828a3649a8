"""The documentation is true: the reference is what the code says, and the commands run."""

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
    "README.md",
    "docs/start/first-steps.md",
    "docs/guides/context.md",
    "docs/guides/drift.md",
    "docs/guides/handoff.md",
    "docs/guides/knowledge.md",
    "docs/guides/plugin.md",
    "docs/guides/reviews.md",
    "docs/guides/run.md",
]
ID = re.compile(r"\bk-[a-z0-9]{4}\b")


def test_the_reference_is_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, "tools/reference", "--check"], cwd=TOP, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_links_lead_to_files() -> None:
    for page in [*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")]:
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.relative_to(TOP)}: {link}"


def console(page: str) -> Iterator[tuple[str, list[str]]]:
    """The kedge commands of a page, each with the output that the page shows for it."""
    for block in re.findall(r"```console\n(.*?)```", (TOP / page).read_text(), re.DOTALL):
        command, shown = "", list[str]()
        for line in [*block.splitlines(), "$ "]:
            if not line.startswith("$ "):
                shown.append(line)
                continue
            if command.startswith("kedge "):
                yield command, shown
            command, shown = line.removeprefix("$ ").partition(" #")[0], []


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_run_and_print_what_it_shows(
    repo: Path, kedge: Kedge, page: str
) -> None:
    """Ids differ from run to run: the first that a page shows stands for the first that is made."""
    (repo / "prd.json").write_text('{"tasks": [{"id": "p-1", "title": "from a PRD"}]}')
    (repo / "TODO.md").write_text("- [ ] d-1: from a list\n")
    real: dict[str, str] = {}

    def known(text: str) -> str:
        return ID.sub(lambda found: real.get(found.group(), found.group()), text)

    commands = list(console(page))
    assert commands
    for command, shown in commands:
        ran = kedge(*shlex.split(known(command))[1:])
        if shown:
            for told, said in zip(ID.findall("\n".join(shown)), ID.findall(ran.out), strict=True):
                real.setdefault(told, said)
            printed = [line.replace("\t", "  ") for line in ran.out.splitlines()]
            assert printed == [known(line) for line in shown], command
