"""The verbs that a clause tells, and which kinds of limit their opposites make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count

from kedge.drift.language.objects import Objects, is_named_path, low, read_objects
from kedge.drift.language.vocabulary import BASE, DOING
from kedge.drift.limits.paths import is_path
from kedge.drift.limits.roles import word_set
from kedge.host.record import NamedTuple
from kedge.text.prose import Word

Kinds = tuple[tuple[str, tuple[str, ...]], ...]
Forms = Mapping[str, Sequence[str]]

PROGRAMS = word_set("""npm npx yarn pnpm bun node deno pip pip3 pipx uv poetry conda python python3
    cargo gem composer sed awk perl grep curl wget git gh docker kubectl helm terraform cmake sudo
    apt apt-get brew ssh rsync rm mv cp mvn gradle ruby rails rake php psql mysql sqlite3 aws gcloud
    bash jq ansible prettier eslint black isort gofmt rustfmt ruff mypy pytest jest subagents
    subagent websearch webfetch""")
DEPENDENCIES = word_set("""dependency dependencies dep deps package packages library libraries lib
    libs crate crates gems""")
CHANGES = word_set("changes change edits edit modifications modification")
_FORMATTERS = word_set("isort prettier black gofmt rustfmt formatter formatters autoformatter")
_ADVERBS = word_set("""ever even just actually please directly manually simply also then now
    accidentally again yourself really at all try attempt go bother yet dare to any going you start
    under circumstances""")
_TAIL_ADVERBS = word_set("or and on in for yet anything please here commands at again directly")
_API = word_set("api apis interface interfaces signature signatures exports")
_API_WORDS = _API | word_set("""public pub fn func exported external existing current function
    functions method methods names module""")
_TARGETS = word_set("staging production prod dev development test sandbox preview qa uat local")
PLACES = word_set("""environment env cluster namespace bucket zone host server database project
    account region context stage""")
_PHRASES = {
    "mess with": "edit", "messing with": "edit", "go near": "edit", "look at": "read",
    "looking at": "read", "pull in": "add", "pulling in": "add", "kick off": "run",
    "comment out": "weaken", "force push": "force-push", "check out": "switch",
    "go beyond": "outside", "go outside": "outside", "stray from": "outside",
}  # fmt: skip
# Families of verbs | the nouns that their object may have, with "-" also none, with "+" also
# others, with "&" all of them | the limit that the opposite makes, = for the family. SENT stands
# for what git handles.
_TABLE = """
merge|pr prs mr|no_vcs gh_pr_merge; push|main|no_push main; push|master|no_push master
commit|- SENT|no_commit; push|- SENT|no_push; stage|- SENT|no_vcs add
merge rebase stash squash amend tag discard reset|- SENT|no_vcs =
force-push|- +|no_vcs force_push; switch branch|branch branches|no_branch
deploy|- anything it|no_run deploy; implement|- anything it code|read_only; create|code|read_only
download|- anything|no_network; use network|network internet web net online websites|no_network
add create read|pr prs mr pull request requests|no_pr; add create|branch branches|no_branch
add create|commit commits|no_commit; add create|network http web requests calls|no_network
add create|files file modules module folders folder scripts|no_new_files
add create|tests test specs spec unit integration e2e cases files|no_tests
add create|documentation docs markdown summaries summary documents readme files|no_new_files docs
weaken|+ test tests spec specs assertions|keep_tests; delete|+ assertions asserts|keep_tests
format|- anything it file files code|no_format; refactor|- anything it code|no_refactor
install|- + anything tools more packages dependencies libraries|no_install
edit|+ formatting indentation whitespace|no_format; edit|& file names|no_rename
edit|git history|no_vcs amend rebase force_push
run|+ formatter formatters prettier black isort black/isort|no_format
run|test tests suite specs|no_run tests; run|integration test tests suite|no_run integration_tests
run|e2e test tests suite|no_run e2e_tests; run|unit test tests suite|no_run unit_tests
run|dev build builds|no_run build; run|dev server app application|no_run server
run|database db migrations migration|no_run migrations
run|docker container containers|no_run docker; run|lint linter linters|no_run lint
run|benchmark benchmarks|no_run benchmarks; run|script scripts it|no_run it
run|commands command anything code programs|no_run; none|implementation|read_only
none|code|read_only; none|commits commit|no_commit; none|pushes push|no_push
none|force pushes push|no_vcs force_push; none|renames|no_rename
none|deletions deletion|no_delete; none|network internet connection access|no_network
"""
_SENT = """anything changes change it them this that code work everything commits commit stuff
    branch branches tags tag files file secrets history main master mine version release working
    tree local remote origin"""


class Order(NamedTuple):
    """Verbs by family, and their object."""

    families: tuple[str, ...]
    about: Objects
    command: str = ""  # a program's name as a verb: "npm install"


@cache
def _list_rows() -> list[tuple[frozenset[str], frozenset[str], list[str]]]:
    rows = _TABLE.replace("SENT", " ".join(_SENT.split())).strip().replace("\n", "; ").split("; ")
    parts = (row.split("|") for row in rows)
    return [(word_set(verbs), word_set(nouns), limit.split()) for verbs, nouns, limit in parts]


def read_order(words: Sequence[Word], at: int, forms: Forms) -> Order | None:
    """Read one or more verbs at a place, with their object."""
    spot = at + (low(words, at) == ":")
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
        first, second = low(words, joint), low(words, joint + 1)
        verb = first in forms or f"{first} {second}" in _PHRASES
        if not verb or not _lists_verbs(words, spot, joint, forms):
            break
        spot = joint
    skipped = {"push": ("to", "on", "onto"), "switch": ("to",), "edit": ("in", "under", "of", ":")}
    skip = low(words, spot) in skipped.get("".join(families[:1]), (":",))
    about = read_objects(words, spot + skip)
    to = about.end if "wide" in about.flags or about.is_empty else len(words)
    target = read_objects(words, to + 1) if low(words, to) == "to" else Objects()
    if families == ["add"] and target.subjects:  # "don't add anything to go.mod"
        return Order(("edit",), target)
    return Order(tuple(dict.fromkeys(families)), about) if families else None


def _lists_verbs(words: Sequence[Word], at: int, joint: int, forms: Forms) -> bool:
    """True for "rename or delete", "rename, move or delete"; false for "commit, fix the bug"."""
    after, joints = low(words, joint + 1), {word.low for word in words[at:joint]}
    if joints == {","}:
        return after in ("or", "nor", "") or (after == "," and low(words, joint + 2) in forms)
    return bool({"or", "nor", "/"} & joints) or (bool(joints) and after in ("", ".", "yet"))


def _read_command(words: Sequence[Word], at: int) -> Order | None:
    """Read a program as a verb: "don't npm install", "never `git push -f`"."""
    text, end = words[at].text, at + 1
    if words[at].kind != "code":
        while end < at + 3 and low(words, end).isalpha() and low(words, end) not in _TAIL_ADVERBS:
            end += 1
        text = " ".join(each.low for each in words[at:end])
    known = text.split()[:1] and text.split()[0].lower() in PROGRAMS
    end += low(words, end) == "anything"
    return Order(("command",), Objects(end=end), text) if known else None


def read_changes(words: Sequence[Word], at: int) -> Objects | None:
    """Read what "changes to X" are about; all files where no place follows."""
    after = low(words, at + 1)
    if low(words, at) not in CHANGES:
        return None
    if after in ("to", "too", "in", "on", "at", "into", "outside"):
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
    return _look_up("none", about) or _name_family("add", about._replace(subjects=()))


def is_api(heads: Sequence[str]) -> bool:
    """True if nouns name what a module offers to others."""
    return bool(_API & set(heads)) and set(heads) <= _API_WORDS


def is_target(word: Word) -> bool:
    """True if a word names a place to deploy to."""
    name = word.kind == "code" or (word.kind == "word" and "-" in word.text.strip("-"))
    named = name and not is_named_path(word) and " " not in word.text
    return word.low in _TARGETS or named


def _one(kind: str, *subjects: str) -> Kinds:
    return ((kind, subjects),)


def _look_up(family: str, about: Objects) -> Kinds:
    heads = set(about.heads) - {"test"} if "suite" in about.heads else set(about.heads)
    for families, nouns, (kind, *subject) in _list_rows():
        none = "-" in nouns and not heads and ("vague" not in about.flags or "+" in nouns)
        some = heads and (heads <= nouns or ("+" in nouns and heads & nouns))
        some = heads | {"&"} == nouns if "&" in nouns else some
        if family in families and (none or some):
            return _one(kind, *(each.replace("=", family).replace("_", " ") for each in subject))
    return ()


def _name_command(command: str) -> Kinds:
    name, *more = command.split()
    name = name.lower()
    if not more:
        return _one("no_format") if name in _FORMATTERS else _one("no_tool", name)
    if more[0] in ("install", "i", "add") and name != "git":
        return _one("no_install")
    act = "force push" if {"--force", "-f"} & set(more) else "amend" if "--amend" in more else ""
    if name == "git" and more[0] in ("push", "commit"):
        return _one("no_vcs", act) if act else _one(f"no_{more[0]}")
    return _one("no_run", " ".join((name, *more)))


def _name_family(family: str, about: Objects) -> Kinds:
    heads, subjects, flags = set(about.heads), about.subjects, about.flags
    paths = tuple(each for each in subjects if is_path(each))
    deps = heads & DEPENDENCIES and not heads & {"same", "manager", "lock"}
    if family in ("edit", "break") and is_api(about.heads):
        return _one("keep_api")
    if deps and (family in ("add", "create") or (family == "use" and "new" in flags)):
        return _one("no_new_dependencies")
    if deps and (family == "upgrade" or (family == "edit" and heads <= DEPENDENCIES)):
        return (*_one("no_new_dependencies"), *_one("no_install"))
    known = _look_up(family, about)
    if paths and not known and family in ("commit", "run", "create", "add"):
        kinds = {"create": "no_new_files", "add": "no_touch"}
        return _one(kinds.get(family, f"no_{family}"), *paths)
    if family in ("run", "use") and heads:
        return known or _name_program(list(about.heads), family)
    if family in ("format", "refactor") and subjects:
        return _one(f"no_{family}")
    if known or family not in ("edit", "read", "outside", "delete", "rename", "run"):
        return known
    if family == "edit":
        if about.outside or "other" in flags:
            return _one("only_under", *about.outside)
        if "wide" in flags and not subjects:
            return _one("only_under", *about.exceptions) if about.exceptions else _one("read_only")
    kind = {"edit": "no_touch", "outside": "only_under"}.get(family, f"no_{family}")
    if not subjects and ("pronoun" in flags or (about.is_empty and family == "edit")):
        subjects = ("it",)
    every = "wide" in flags and family in ("delete", "rename")
    return _one(kind, *subjects) if (subjects and not about.outside) or every else ()


def _name_program(heads: list[str], family: str) -> Kinds:
    if heads[0].split()[0] not in PROGRAMS:
        return ()
    if family == "use" and " " not in heads[0] and set(heads) <= PROGRAMS:
        return _one("no_tool", *heads)
    commands = [head for head in heads if " " in head] or [" ".join(heads[:3])]
    return tuple(kind for command in commands for kind in _name_command(command))
