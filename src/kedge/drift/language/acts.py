"""The verbs that a clause tells, and which kinds of limit their opposites make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from kedge.drift.language.objects import Objects, is_named_path, low, read_objects
from kedge.drift.language.vocabulary import BASE, DOING
from kedge.drift.limits.paths import is_path, role
from kedge.drift.limits.roles import word_set
from kedge.host.record import NamedTuple
from kedge.text.prose import Word

Kinds = tuple[tuple[str, tuple[str, ...]], ...]
Forms = Mapping[str, Sequence[str]]

PROGRAMS = word_set(
    """npm npx yarn pnpm bun node deno pip pip3 pipx uv poetry conda python python3 cargo gem
    composer sed awk perl grep curl wget git gh docker kubectl helm terraform cmake sudo apt
    apt-get brew ssh rsync rm mv cp mvn gradle ruby rails rake php psql mysql sqlite3 aws gcloud
    bash zsh powershell jq xargs chmod chown pkill ansible vagrant heroku vercel netlify prettier
    eslint black isort gofmt rustfmt ruff mypy pytest jest subagents subagent websearch webfetch"""
)
DEPENDENCIES = word_set(
    "dependency dependencies dep deps package packages library libraries lib libs crate crates gems"
)
CHANGES = word_set("changes change edits edit modifications modification")
_FORMATTERS = word_set("isort prettier black gofmt rustfmt formatter formatters autoformatter")
_ADVERBS = word_set(
    """ever even just actually please directly manually simply also then now accidentally again
    yourself really at all try attempt go bother yet dare to any going you start"""
)
_TAIL_ADVERBS = word_set("or and on in for yet anything please here commands at again directly")
_API = word_set("api apis interface interfaces signature signatures exports")
_API_WORDS = _API | word_set(
    "public exported external existing current function functions method methods names module"
)
_RUNS = {
    "tests": "tests", "test": "tests", "suite": "tests", "specs": "tests", "build": "build",
    "server": "server", "app": "server", "application": "server", "migrations": "migrations",
    "migration": "migrations", "container": "docker", "containers": "docker", "linter": "lint",
    "lint": "lint", "benchmarks": "benchmarks", "deployment": "deploy", "script": "it",
    "scripts": "it",
}  # fmt: skip
_PHRASES = {
    "mess with": "edit", "messing with": "edit", "go near": "edit", "look at": "read",
    "looking at": "read", "pull in": "add", "pulling in": "add", "kick off": "run",
    "comment out": "weaken", "force push": "force-push", "check out": "switch",
    "go beyond": "outside", "go outside": "outside", "stray from": "outside",
}  # fmt: skip
_SENT = """anything changes change it them this that code work everything commits commit stuff
    branch branches tags tag files file secrets history main master mine version release working
    tree local remote origin"""
# families, what may be the only nouns of the object ("+" for one of several, "-" for none needed),
# and the limit that the opposite makes
_TABLE = tuple(
    (word_set(families), word_set(nouns), kind, subject)
    for families, nouns, kind, subject in (
        ("merge", "pr prs mr", "no_vcs", "gh pr merge"),
        ("push", "main", "no_push", "main"), ("push", "master", "no_push", "master"),
        ("commit", f"- {_SENT}", "no_commit", ""), ("push", f"- {_SENT}", "no_push", ""),
        ("stage", f"- {_SENT}", "no_vcs", "add"),
        ("merge rebase stash squash amend tag discard reset", f"- {_SENT}", "no_vcs", "="),
        ("force-push", "- +", "no_vcs", "force push"), ("switch", "branches", "no_branch", ""),
        ("switch", "branch", "no_branch", ""),
        ("branch", "- branch", "no_branch", ""), ("deploy", "- anything it", "no_run", "deploy"),
        ("implement", "- anything it code", "read_only", ""), ("create", "code", "read_only", ""),
        ("download", "- anything", "no_network", ""),
        ("network", "+ web internet network net online websites", "no_network", ""),
        ("add create read", "pr prs mr pull request requests", "no_pr", ""),
        ("add create", "branch branches", "no_branch", ""),
        ("add create", "commit commits", "no_commit", ""),
        ("add create", "network http web requests calls", "no_network", ""),
        ("add create", "files file modules module folders folder scripts", "no_new_files", ""),
        ("add create", "documentation docs markdown summaries summary documents readme files file",
         "no_new_files", "docs"),
        ("weaken", "+ test tests spec specs assertions", "keep_tests", ""),
        ("delete", "+ assertions asserts", "keep_tests", ""),
        ("format", "- anything it file files code", "no_format", ""),
        ("refactor", "- anything it code", "no_refactor", ""),
        ("install", "- + anything tools more", "no_install", ""),
        ("none", "implementation", "read_only", ""), ("none", "code", "read_only", ""),
        ("none", "commits commit", "no_commit", ""), ("none", "pushes push", "no_push", ""),
        ("none", "force pushes push", "no_vcs", "force push"), ("none", "renames", "no_rename", ""),
        ("none", "deletions deletion", "no_delete", ""),
        ("none", "network internet connection access", "no_network", ""),
    )
)  # fmt: skip


class Order(NamedTuple):
    """Verbs by family, and their object."""

    families: tuple[str, ...]
    about: Objects
    command: str = ""  # a program's name as a verb: "npm install"


def read_order(words: Sequence[Word], at: int, forms: Forms) -> Order | None:
    """Read one or more verbs at a place, with their object."""
    spot = at + (low(words, at) == ":")
    if low(words, spot) == "under" and low(words, spot + 2).startswith("circumstance"):
        spot += 3
    making = spot + (low(words, spot) == "please")
    if low(words, making) in ("make", "making", "do", "doing", "apply"):
        some = word_set("any a no some further more code other")
        about = read_changes(words, next(s for s in count(making + 1) if low(words, s) not in some))
        if about is not None:
            return Order(("edit",), about)
    families: list[str] = []
    while spot < len(words):
        word, after = words[spot].low, low(words, spot + 1)
        phrase = _PHRASES.get(f"{word} {after}")
        if phrase or (word in forms and not (word.startswith("start") and after in DOING)):
            families += [phrase] if phrase else forms[word]
            spot += 1 + bool(phrase)
        elif families:
            break
        elif words[spot].kind == "code" or word in PROGRAMS:
            return _read_command(words, spot)
        elif word in _ADVERBS and spot - at < 6:
            forms = {**BASE, **DOING} if word in ("go", "bother", "start") else forms
            spot += 1
            continue
        else:
            return None
        joint = spot
        while low(words, joint) in (",", "or", "and", "nor", "/"):
            joint += 1
        verb = (
            low(words, joint) in forms or f"{low(words, joint)} {low(words, joint + 1)}" in _PHRASES
        )
        if not verb or not _lists_verbs(words, spot, joint, forms):
            break
        spot = joint
    skipped = {"push": ("to", "on", "onto"), "edit": ("in", "under", ":")}
    skip = low(words, spot) in skipped.get("".join(families[:1]), (":",))
    about = read_objects(words, spot + skip)
    to = about.end if "wide" in about.flags or about.is_empty else len(words)
    target = read_objects(words, to + 1) if low(words, to) == "to" else Objects()
    if families == ["add"] and target.subjects:  # "don't add anything to go.mod"
        return Order(("edit",), target)
    return Order(tuple(dict.fromkeys(families)), about) if families else None


def _lists_verbs(words: Sequence[Word], at: int, joint: int, forms: Forms) -> bool:
    """True for "rename or delete", "rename, move or delete"; false for "commit, fix the bug"."""
    after = low(words, joint + 1)
    if {"or", "nor", "/"} & {word.low for word in words[at:joint]}:
        return True
    if low(words, at) == ",":
        return after in ("or", "nor", "") or (after == "," and low(words, joint + 2) in forms)
    return joint > at and after in ("", ".", "yet")


def _read_command(words: Sequence[Word], at: int) -> Order | None:
    """Read a program as a verb: "don't npm install", "never `git push -f`"."""
    end = at + 1
    if words[at].kind == "code":
        known = words[at].text.split()[:1] and words[at].text.split()[0].lower() in PROGRAMS
        return Order(("command",), Objects(end=end), words[at].text) if known else None
    while end < min(at + 3, len(words)) and words[end].kind == "word":
        if words[end].low in _TAIL_ADVERBS:
            break
        end += 1
    command = " ".join(each.low for each in words[at:end])
    return Order(("command",), Objects(end=end + (low(words, end) == "anything")), command)


def read_changes(words: Sequence[Word], at: int) -> Objects | None:
    """Read what "changes to X" are about; all files where no place follows."""
    after = low(words, at + 1)
    if low(words, at) not in CHANGES:
        return None
    if after in ("to", "in", "on", "at", "into", "outside"):
        return read_objects(words, at + 2 - (after == "outside"))
    return Objects(flags=frozenset(("wide",)), heads=("changes",), end=at + 1)


def name_kinds(order: Order) -> Kinds:
    """The kinds of limit, each with its subject, that the order's opposite makes."""
    if order.command:
        return _name_command(order.command)
    found = [kind for family in order.families for kind in _name_family(family, order.about)]
    return tuple(dict.fromkeys(found))


def name_nouns(about: Objects) -> Kinds:
    """The kinds of limit that "no …" makes with a noun."""
    heads = set(about.heads)
    tools = [head for head in about.heads if head in PROGRAMS]
    if tools and not heads - PROGRAMS - {"commands", "packages"}:
        return _one("no_new_dependencies") if "packages" in heads else _one("no_tool", *tools)
    made = "new" in about.flags or not heads & {"file", "files"}
    return _look_up("none", about) or (
        _name_family("add", about._replace(subjects=())) if made else ()
    )


def is_api(heads: Sequence[str]) -> bool:
    """True if nouns name what a module offers to others."""
    return bool(_API & set(heads)) and set(heads) <= _API_WORDS


def is_target(word: Word) -> bool:
    """True if a word names a place to deploy to."""
    known = word_set("staging production prod dev development test sandbox preview qa uat local")
    return word.low in known or (
        word.kind == "code" and not is_named_path(word) and " " not in word.text
    )


def _one(kind: str, *subjects: str) -> Kinds:
    return ((kind, subjects),)


def _look_up(family: str, about: Objects) -> Kinds:
    heads = set(about.heads)
    for families, nouns, kind, subject in _TABLE:
        if family not in families:
            continue
        plain = not heads and ("vague" not in about.flags or "+" in nouns)
        if (plain and "-" in nouns) or (
            heads and (heads <= nouns or ("+" in nouns and heads & nouns))
        ):
            return _one(kind, *([family if subject == "=" else subject] if subject else ()))
    return ()


def _name_command(command: str) -> Kinds:
    name, *more = command.split()
    name = name.lower()
    if not more:
        return _one("no_format") if name in _FORMATTERS else _one("no_tool", name)
    if more[0] in ("install", "i", "add") and name != "git":
        return _one("no_install")
    if name == "git" and more[0] == "push":
        return _one("no_vcs", "force push") if {"--force", "-f"} & set(more) else _one("no_push")
    if name == "git" and more[0] == "commit":
        return _one("no_vcs", "amend") if "--amend" in more else _one("no_commit")
    return _one("no_run", " ".join((name, *more)))


def _name_family(family: str, about: Objects) -> Kinds:
    heads, subjects = set(about.heads), about.subjects
    known = _look_up(family, about)
    paths = tuple(each for each in subjects if is_path(each))
    if family == "edit":
        return _name_edit(about)
    if family in ("run", "use"):
        return _name_run(about, family)
    if family in ("add", "create", "install", "upgrade") and heads & DEPENDENCIES:
        if family in ("install", "upgrade"):
            return (
                *(_one("no_new_dependencies") if family == "upgrade" else ()),
                *_one("no_install"),
            )
        return _one("no_new_dependencies") if not heads & {"same", "manager", "lock"} else ()
    if family in ("add", "create") and heads and role(about.heads[-1]) == "tests":
        kinds = word_set("tests test specs spec unit integration e2e cases files file")
        return _one("no_tests") if heads <= kinds else ()
    if family in ("add", "create") and paths:
        return _one("no_new_files" if family == "create" else "no_touch", *paths)
    if family in ("read", "outside") and not known:
        kind = "no_read" if family == "read" else "only_under"
        return _one(kind, *subjects) if subjects and not about.outside else ()
    if family in ("delete", "rename") and not known:
        subjects = subjects or (("it",) if "pronoun" in about.flags else ())
        return _one(f"no_{family}", *subjects) if subjects or "wide" in about.flags else ()
    if family == "commit" and paths:
        return _one("no_commit", *paths)
    if family == "break":
        return _one("keep_api") if is_api(about.heads) else ()
    return known or (_one(f"no_{family}") if family in ("format", "refactor") and subjects else ())


def _name_edit(about: Objects) -> Kinds:
    heads, flags = set(about.heads), about.flags
    if is_api(about.heads):
        return _one("keep_api")
    if heads and heads <= DEPENDENCIES:
        return (*_one("no_new_dependencies"), *_one("no_install"))
    if about.outside or "other" in flags:
        return _one("only_under", *about.outside)
    if "wide" in flags and not about.subjects:
        return _one("only_under", *about.exceptions) if about.exceptions else _one("read_only")
    if about.subjects:
        return _one("no_touch", *about.subjects)
    if heads & word_set("formatting indentation whitespace"):
        return _one("no_format")
    if "history" in heads:
        return _one("no_vcs", "amend", "rebase", "force push")
    if {"file", "names"} <= heads:
        return _one("no_rename")
    return _one("no_touch", "it") if about.is_empty or "pronoun" in flags else ()


def _name_run(about: Objects, family: str) -> Kinds:
    heads = list(about.heads)
    if not heads or family == "use":
        first = heads[0].split()[0] if heads else ""
        if heads and set(heads) & DEPENDENCIES and "new" in about.flags:
            return _one("no_new_dependencies")
        if first not in PROGRAMS:
            return _one("no_run", "it") if "pronoun" in about.flags and family == "run" else ()
        if (len(heads) == 1 and " " not in heads[0]) or set(heads) <= PROGRAMS:
            return _one("no_tool", *heads)
    if _FORMATTERS & {part for head in heads for part in head.split("/")}:
        return _one("no_format")
    if heads[0].split()[0] in PROGRAMS:
        commands = [head for head in heads if " " in head] or [" ".join(heads[:3])]
        return tuple(kind for command in commands for kind in _name_command(command))
    paths = [subject for subject in about.subjects if is_path(subject)]
    kinds = [each for each in heads if each in ("integration", "e2e", "unit", "slow")]
    what = _RUNS.get(heads[-1], "")
    if paths or (what and len(heads) <= 2 + (what == "tests")):
        return _one(
            "no_run", *(paths or [f"{kinds[0]} tests" if kinds and what == "tests" else what])
        )
    anything = word_set("commands command anything any code programs")
    return _one("no_run") if set(heads) <= anything else ()
