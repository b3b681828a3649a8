"""The kinds of limit that the opposite of an order makes: "add tests" and no_tests."""

from __future__ import annotations

from kedge.drift.language.orders import PROGRAMS
from kedge.drift.language.phrases import ALL, FILES
from kedge.drift.language.roles import word_set
from kedge.drift.language.subjects import is_path, role

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from kedge.drift.language.orders import Order
    from kedge.drift.language.phrases import Things

    Kinds: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


DEPENDENCIES = word_set(
    """dependency dependencies dep deps package packages library libraries lib libs crate crates gem
    gems requirement requirements framework frameworks plugin plugins npm pip"""
)
_PACKAGES = word_set("dependency dependencies deps packages libraries crates gems any our")
_TOOLS = word_set("tool tools software module modules binaries")
_DEEDS = word_set("operations operation commands command stuff actions things calls work")
_CODE = word_set("code anything something it implementation solution fix")
_WEB = word_set(
    """web internet network networks online net requests request calls call http apis api websites
    website urls access connection connections anything docs documentation"""
)
_RUNS = {
    "tests": "tests", "test": "tests", "suite": "tests", "specs": "tests", "pytest": "tests",
    "build": "build", "builds": "build", "compilation": "build", "server": "server",
    "servers": "server", "app": "server", "application": "server", "migrations": "migrations",
    "migration": "migrations", "script": "script", "scripts": "script", "container": "docker",
    "containers": "docker", "docker": "docker", "compose": "docker", "linter": "lint",
    "lint": "lint", "linters": "lint", "benchmarks": "benchmarks", "benchmark": "benchmarks",
    "deployment": "deploy", "deploy": "deploy", "pipeline": "deploy", "release": "deploy",
    "commands": "", "command": "", "anything": "", "code": "", "program": "", "e2e": "tests",
    "seeds": "seeds", "seeders": "seeds", "binary": "", "programs": "", "install": "install",
}  # fmt: skip
_FORMATTERS = word_set(
    "isort formatter formatters prettier black gofmt rustfmt autoformatter formatting"
)
AGENT_TOOLS = word_set("subagents subagent agents task websearch webfetch mcp bash")
_VCS = word_set("amend rebase merge stash reset squash")
_BRANCHES = word_set(
    """branch branches main master pr prs it this that anything commits changes commit history mine
    file files"""
)
_BRANCH_NAMES = word_set("main master develop trunk production staging")
_WORKED = word_set("changes work edits modifications commits anything stash state")
_TAGS = word_set("anything it release releases version versions commit commits")
_SENT = word_set(
    """anything changes change it them this that code work everything commits commit stuff branch
    tags tag files file secrets origin remote upstream github"""
)
_WRITTEN = word_set("documents summaries documentation docs markdown summary reports")
_MADE = word_set(
    """files file modules module folders folder directories documents summaries scripts
    documentation docs markdown readme"""
)


def made(order: Order, about: Things) -> Kinds:
    """What is forbidden when an order is negated, each kind with its subjects; () for nothing."""
    if order.command:
        return _of_command(order.command)
    return tuple(
        dict.fromkeys(each for family in order.families for each in _of_family(family, about))
    )


def _one(kind: str, *subjects: str) -> Kinds:
    return ((kind, subjects),)


def _of_command(command: str) -> Kinds:
    parts = command.split()
    parts[0] = parts[0].lower()
    if len(parts) == 2 and parts[1] in _DEEDS:
        return _one("no_tool", parts[0])
    if len(parts) == 1:
        return _one("no_format") if parts[0] in _FORMATTERS else _one("no_tool", parts[0])
    managers = ("npm", "yarn", "pnpm", "pip", "pip3", "brew", "apt-get", "apt", "bun")
    if parts[0] in managers and parts[1] in ("install", "i", "add"):
        return _one("no_install")
    if parts[0] == "git" and parts[1] == "push" and {"--force", "-f"} & set(parts):
        return _one("no_vcs", "force push")
    if parts[0] == "git" and parts[1] == "commit" and "--amend" in parts:
        return _one("no_vcs", "amend")
    if parts[0] == "git" and parts[1] in ("commit", "push"):
        return _one(f"no_{parts[1]}")
    return _one("no_run", " ".join(parts))


def _of_family(family: str, about: Things) -> Kinds:
    heads = set(about.heads)
    subjects = about.subjects
    plain = about.empty or about.everything or about.pronoun
    if family == "edit":
        return _of_edit(about)
    if family == "outside":
        return _one("only_under", *subjects) if subjects else ()
    if family == "implement":
        return _one("read_only") if (about.empty or heads <= _CODE) and not subjects else ()
    if family == "delete" and heads & word_set("assertions asserts"):
        return _one("keep_tests")
    if family == "delete":
        wide = about.everything or heads & word_set("files file ones")
        if about.pronoun and not subjects:
            return _one("no_delete", "it")
        return _one("no_delete", *subjects) if subjects or wide else ()
    if family in ("rename", "move"):
        wide = about.everything or about.empty or heads & word_set("files file")
        return _one("no_rename", *subjects) if subjects or wide else ()
    if family == "stage":
        return _one("no_vcs", "add") if plain or heads <= _SENT else ()
    if family == "commit":
        if subjects and all(map(is_path, subjects)):
            return _one("no_commit", *subjects)
        return _one("no_commit") if plain or heads <= _SENT else ()
    if family == "push":
        branch = sorted(heads & _BRANCH_NAMES)
        return _one("no_push", *branch) if plain or heads <= _SENT.union(branch) else ()
    if family == "discard":
        return _one("no_vcs", "discard") if plain or heads & _WORKED else ()
    if family == "tag":
        return _one("no_vcs", "tag") if plain or heads <= _TAGS else ()
    if family == "upgrade":
        return _dependencies() if heads & DEPENDENCIES else ()
    if family == "force-push":
        return _one("no_vcs", "force push")
    if family == "merge" and heads & word_set("pr prs mr mrs"):
        return _one("no_vcs", "gh pr merge", "glab mr merge")
    if family in _VCS:
        return _one("no_vcs", family) if plain or heads <= _BRANCHES else ()
    if family in ("branch", "switch"):
        return _one("no_branch") if about.empty or heads & word_set("branch branches") else ()
    if family == "run":
        return _of_run(about)
    if family == "deploy":
        return _one("no_run", "deploy") if plain else ()
    if family == "install":
        if plain or heads & (DEPENDENCIES | _TOOLS) or heads <= FILES:
            return _one("no_install")
        return _one("no_install", *subjects) if subjects else ()
    if family in ("add", "create"):
        return _of_making(family, about)
    if family == "use":
        return _of_use(about)
    if family == "format":
        return _one("no_format") if plain or subjects or heads & FILES else ()
    if family == "refactor":
        return _one("no_refactor", *subjects) if plain or subjects else ()
    if family == "weaken":
        tests = any(role(head) == "tests" for head in heads)
        return _one("keep_tests") if tests or heads & word_set("assertions asserts") else ()
    if family == "download":
        return _one("no_network")
    if family == "network":
        return _one("no_network") if about.empty or heads & _WEB else ()
    return ()


def _dependencies() -> Kinds:
    return (("no_new_dependencies", ()), ("no_install", ()))


def _of_edit(about: Things) -> Kinds:
    heads = set(about.heads)
    if heads <= _PACKAGES and heads:
        return _dependencies()
    if about.outside:
        return _one("only_under", *about.outside)
    if about.other:
        return _one("only_under")
    if about.everything:
        inner = about.exceptions
        return _one("only_under", *inner) if inner else _one("read_only")
    if heads & word_set("formatting indentation whitespace"):
        return _one("no_format")
    if "file" in heads and heads & word_set("names filenames"):
        return _one("no_rename")
    if "history" in heads:
        return _one("no_vcs", "amend", "rebase", "force push")
    if not about.subjects and (about.pronoun or about.empty):
        return _one("no_touch", "it")
    return _one("no_touch", *about.subjects) if about.subjects else ()


def _split(head: str) -> list[str]:
    """The words of a command; in "black/isort" each is one of its own."""
    parts = head.split("/")
    return parts if all(part in PROGRAMS or part in _FORMATTERS for part in parts) else head.split()


def _of_run(about: Things) -> Kinds:
    heads = [part for head in about.heads for part in _split(head)]
    if not heads:
        return _one("no_run", "it") if about.pronoun else ()
    if _FORMATTERS.intersection(heads):
        return _one("no_format")
    if heads[0] in PROGRAMS:
        starts = [spot for spot, head in enumerate(heads) if head in PROGRAMS]
        ends = [*starts[1:], len(heads)]
        commands = (heads[start:end][:3] for start, end in zip(starts, ends, strict=True))
        return tuple(kind for words in commands for kind in _of_command(" ".join(words)))
    paths = [subject for subject in about.subjects if is_path(subject)]
    if paths:
        return _one("no_run", *paths)
    for head in reversed(heads):
        what = _RUNS.get(head)
        if what == "script":
            return _one("no_run", "it")
        if what == "tests":
            kinds = [each for each in heads if each in ("integration", "e2e", "unit", "slow")]
            return _one("no_run", f"{kinds[0]} tests" if kinds else what)
        if what is not None and (what or head not in ALL or about.everything):
            return _one("no_run", *([what] if what else []))
    return ()


def _of_making(family: str, about: Things) -> Kinds:
    heads = set(about.heads)
    kinds: list[str] = []
    if heads & DEPENDENCIES and "same" not in heads:
        kinds.append("no_new_dependencies")
    elif any(role(head) == "tests" for head in heads) and "data" not in heads:
        kinds.append("no_tests")
    if heads & word_set("pr prs mr mrs pull"):
        kinds.append("no_pr")
    if heads & word_set("branch branches"):
        kinds.append("no_branch")
    if heads & word_set("commit commits"):
        kinds.append("no_commit")
    if heads & word_set("network http") or (
        heads & word_set("requests calls") and heads & word_set("api web")
    ):
        kinds.append("no_network")
    if "code" in heads and family == "create":
        kinds.append("read_only")
    if kinds:
        return tuple((kind, ()) for kind in kinds)
    paths = [each for each in about.subjects if is_path(each)]
    if family == "create" and paths:
        return _one("no_new_files", *paths)
    if heads & _WRITTEN:
        return _one("no_new_files", "docs")
    return _one("no_new_files", *about.subjects) if heads & _MADE else ()


def _of_use(about: Things) -> Kinds:
    heads = set(about.heads)
    if heads & word_set("library libraries dependencies packages") and about.new:
        return _one("no_new_dependencies")
    commands = [head for head in about.heads if " " in head and head.split()[0] in PROGRAMS]
    if commands:
        return _of_command(commands[0])
    if len(about.heads) > 1 and about.heads[0] in PROGRAMS and about.heads[1] not in PROGRAMS:
        return _of_command(" ".join(about.heads[:3]))
    tools = [head for head in about.heads if head in PROGRAMS or head in AGENT_TOOLS]
    tools += [each for each in about.subjects if " " not in each and each not in tools]
    return _one("no_tool", *tools) if tools else ()
