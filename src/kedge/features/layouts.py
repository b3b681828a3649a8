"""Where documents of features are, and in which form: kedge's own, spec-kit's and Kiro's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kedge.features.references import DESIGN, PLAN, PRD, SPEC

_DOCUMENTS = {
    DESIGN: ("design.md",),
    PLAN: ("plan.md",),
    SPEC: ("spec.md", "requirements.md"),
    PRD: ("prd.md",),
}


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to keep the documents of features: `<directory>/<feature>/tasks.md` and others.

    `name` is the backend's. The document of the first existing name counts for each type.
    """

    name: str
    directory: str
    example: str  # what adds a task
    documents: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _DOCUMENTS)
    is_numbered: bool = True  # features are `<number>-<name>`, and go by their number
    is_foreign: bool = False  # another tool's: tasks are boxes, and a state leaves nothing else
    has_stories: bool = False  # a task belongs to a user story of the spec
    has_criteria: bool = False  # a task refers to requirements, whose criteria are its own
    has_groups: bool = False  # a task with subtasks is done with them, and nobody claims it
    gives_spec: bool = False  # a task gets all of the spec, whatever it refers to
    progress: str | None = None  # what the box of a task in progress holds

    @property
    def specs(self) -> tuple[str, ...]:
        return self.documents[SPEC]

    @property
    def titles(self) -> tuple[str, ...]:
        """The documents that may have the feature's title."""
        return (*self.documents[SPEC], *self.documents.get(PRD, ()))


FEATURE_DOCS = Layout(
    "feature_docs", "docs/features", "a heading such as '### Task 1.1: Title'", gives_spec=True
)
SPEC_KIT = Layout(
    "spec_kit",
    "specs",
    "a line such as '- [ ] T001 Title'",
    {DESIGN: ("data-model.md",), PLAN: ("plan.md",), SPEC: ("spec.md",)},
    is_foreign=True,
    has_stories=True,
)
KIRO = Layout(
    "kiro",
    ".kiro/specs",
    "a line such as '- [ ] 1.1 Title'",
    {DESIGN: ("design.md",), SPEC: ("requirements.md", "bugfix.md")},
    is_numbered=False,
    is_foreign=True,
    has_criteria=True,
    has_groups=True,
    progress="-",
)
LAYOUTS = (FEATURE_DOCS, SPEC_KIT, KIRO)
NAMES = tuple(layout.name for layout in LAYOUTS)


def find_layout(root: Path, folder: Path) -> Layout:
    """Return the layout of a feature's folder, by the directory it is in."""
    try:
        above = folder.relative_to(root).parent.as_posix()
    except ValueError:
        return FEATURE_DOCS
    return next((layout for layout in LAYOUTS if layout.directory == above), FEATURE_DOCS)


def get_layout(backend: str) -> Layout | None:
    """Return the layout of a backend; None if its tasks are not in documents."""
    return next((layout for layout in LAYOUTS if layout.name == backend), None)
