"""Orders: which verbs the agent is told, and what they are about."""

from __future__ import annotations

from kedge.drift.language.addressing import MARKS, low
from kedge.drift.language.phrases import Things, things
from kedge.drift.language.roles import word_set
from kedge.drift.language.subjects import is_path, stands_for_paths
from kedge.drift.language.vocabulary import ADVERBS, BASE, DOING
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.language.prose import Word

_CHANGES = word_set("changes change edits edit modifications modification adjustments")

PROGRAMS = word_set(
    """npm npx yarn pnpm bun node deno pip pip3 pipx uv poetry conda python python3 cargo go gem
    bundle composer sed awk perl grep find curl wget git gh docker kubectl helm terraform make
    cmake sudo apt apt-get brew ssh rsync rm mv cp mvn gradle ruby rails rake php psql mysql
    sqlite3 redis aws gcloud az vim nano tee cat echo bash sh zsh powershell jq xargs chmod chown
    kill pkill killall ansible vagrant heroku vercel netlify prettier eslint black ruff mypy
    pytest jest"""
)
# of these, the ones that are verbs or nouns of the language, too
_WORDS = word_set("go find make kill node echo cat black task gem composer bundle redis")


class Order(NamedTuple):
    """Verbs by family, and where what they are about begins."""

    families: tuple[str, ...]
    end: int
    command: str = ""  # a program's name as a verb: "npm install"
    whole: bool = False  # "make changes": all that may follow is where


def order(words: Sequence[Word], at: int, forms: dict[str, list[str]]) -> Order | None:
    """The verbs that begin at a place, in the given form."""
    families: list[str] = []
    place = at + (low(words, at) == ":")
    count = len(words)
    wanted = forms
    while place < count:
        word = words[place].low
        after = low(words, place + 1)
        found, end = _phrase(words, place)
        if not found and (
            words[place].kind == "code" or (word in PROGRAMS - _WORDS and word not in wanted)
        ):
            return _command(words, place) if not families else None
        if found:
            families.append(found)
        elif word in wanted and not (
            word in ("start", "starting", "begin") and (after in DOING or after == "to")
        ):
            families.extend(wanted[word])
            end = place + 1
        elif word in ("do", "doing", "perform") and after in ("a", "any"):
            place += 2
            continue
        elif word in ADVERBS or (word == "you" and (after == "dare" or after in wanted)):
            place += 2 if after == "dare" else 1
            if wanted is BASE and word in ("bother", "start", "go", "begin"):
                wanted = {**BASE, **DOING}
            if place - at > 8:
                return None
            continue
        elif word in ("under", ",") and "circumstances" in {
            low(words, place + 2),
            low(words, place + 3),
        }:
            place += 3 + (word == ",")
            place += low(words, place) == ","
            continue
        else:
            break
        place = end
        joint = low(words, place)
        if joint in (",", "or", "and", "nor", "/"):
            ahead = place + 1 + (low(words, place + 1) in ("or", "and", "nor", "even", "to"))
            more = low(words, ahead) in wanted or bool(_phrase(words, ahead)[0])
            if more and (ahead > place + 1 or joint != "," or _listed(words, ahead, wanted)):
                place = ahead
                continue
        break
    if not families:
        return None
    whole = families == ["edit"] and words[place - 1].low in (
        *_CHANGES,
        "to",
        "on",
        "with",
        "anything",
        "something",
    )
    return Order(tuple(dict.fromkeys(families)), place, whole=whole)


def _listed(words: Sequence[Word], at: int, forms: dict[str, list[str]]) -> bool:
    """Whether a verb after a comma is one of a list: "don't move, rename or delete X"; in "don't
    rebase, merge main" it is an order of its own."""
    if low(words, at + 1) in (*MARKS, "") and low(words, at + 1) != ",":
        return True
    near = words[at + 1 : at + 6]
    for spot, word in enumerate(near):
        if word.low in ("or", "nor", "and"):
            return spot + 1 < len(near) and near[spot + 1].low in forms
        if word.low not in forms and word.low != ",":
            return False
    return False


def _phrase(words: Sequence[Word], at: int) -> tuple[str, int]:
    """Verbs of more than one word: their family, and where they end."""
    verb, after = low(words, at), low(words, at + 1)
    if verb in ("make", "making", "do", "doing", "apply", "perform", "made", "making"):
        for place in range(at + 1, min(at + 6, len(words))):
            if words[place].low in _CHANGES:
                return "edit", place + 1 + (low(words, place + 1) in ("to", "on"))
            if words[place].low in ("it", "this", "them") and low(words, place + 1) == "to":
                return "edit", place + 2
            if words[place].low in ("to", "in", "it", "sure", "the") or words[place].kind != "word":
                break
        if after in ("anything", "nothing", "something"):
            return "edit", at + 2 + (low(words, at + 2) in ("to", "with"))
    pair = f"{verb} {after}"
    if pair in _PAIRS:
        return _PAIRS[pair], at + 2
    if verb in ("mark", "marking"):
        marks = [low(words, spot) for spot in range(at + 1, at + 6)]
        if {"skipped", "skip", "xfail", "ignored", "pending"} & set(marks):
            return "weaken", at + 1
    undone = verb in ("do", "doing") and after in ("it", "that", "this", "so")
    if undone and low(words, at + 2) in (*MARKS, "", "yet"):
        return "implement", at + 2
    if verb in ("leave", "leaving", "exit") and is_path(after):
        return "outside", at + 1
    if verb in ("search", "searching", "access", "accessing", "surf", "use", "using", "go", "going",
                "query", "hit", "hitting", "call", "calling", "fetch", "fetching"):  # fmt: skip
        nouns = {low(words, place) for place in range(at + 1, at + 5)}
        if nouns & {"web", "internet", "online", "network"} or {"external", "apis"} <= nouns:
            return "network", at + 1
    return "", at


_PAIRS = {
    "mess with": "edit", "messing with": "edit", "tamper with": "edit", "tampering with": "edit",
    "fiddle with": "edit", "mess around": "edit", "write to": "edit", "writing to": "edit",
    "kick off": "run", "kicking off": "run", "spin up": "run", "spinning up": "run",
    "fire up": "run", "start up": "run", "starting up": "run", "pull in": "add",
    "pulling in": "add", "bring in": "add", "bringing in": "add", "comment out": "weaken",
    "commenting out": "weaken", "check out": "switch", "checking out": "switch",
    "take on": "add", "taking on": "add", "depend on": "add",
    "go near": "edit", "step outside": "outside", "go outside": "outside",
    "force push": "force-push", "force pushing": "force-push", "clean up": "refactor",
}  # fmt: skip


def _command(words: Sequence[Word], at: int) -> Order | None:
    """For "don't npm install", "do not `git push`": a program as a verb."""
    if words[at].kind == "code":
        text = words[at].text
        return Order(("command",), at + 1, text) if text.split()[0] in PROGRAMS else None
    end = at
    while end < len(words) and end < at + 4 and words[end].kind == "word":
        if words[end].low in ("or", "and", "on", "in", "for", "yet", "anything", "please"):
            break
        end += 1
    return Order(("command",), end, " ".join(word.low for word in words[at:end]))


def about(words: Sequence[Word], found: Order) -> Things:
    """What the verbs are about; a place alone stands for all that is in it."""
    if low(words, found.end) in ("in", "under", "inside", "within", "outside"):
        beyond = things(words, found.end)
        if beyond.outside:
            return beyond
        inner = things(words, found.end + 1)
        return (
            inner
            if any(is_path(each) or each.endswith("/") for each in inner.subjects)
            else (Things(end=found.end))
        )
    named = things(words, found.end)
    if low(words, found.end) == ":":
        listed = things(words, found.end + 1)
        named = listed if any(map(stands_for_paths, listed.subjects)) else named
    if found.whole and named.empty:
        return Things(heads=("anything",), everything=True, end=found.end)
    return named
