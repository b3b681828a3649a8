"""The rules that read limits, as patterns over the words of a clause.

In the text that they match, EDIT stands for any verb of changing and EDITED for its participle.
A pattern ends where an object begins; the rule's function reads the object and adds the limits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from kedge.drift.language import acts, objects
from kedge.drift.language.acts import CHANGES, Order, read_order
from kedge.drift.language.clauses import MARKS, ends_well, is_order, needs_asking, part_start
from kedge.drift.language.objects import Objects, find_paths, low, read_exceptions, read_objects
from kedge.drift.language.reading import Collector
from kedge.drift.language.vocabulary import BASE, DOING, DONE
from kedge.drift.limits.paths import is_path, role
from kedge.text.prose import Sentence, Word

_KEPT = (
    r"(?:exactly |completely |entirely |just )?(?:alone|untouched|unchanged|unmodified|intact|as-is"
    r"|be|stable|frozen|as is|as (?:it|they) (?:is|are)|the way (?:it|they) (?:is|are)"
    r"|the same(?= $| please| and| but| \W)) "
)
_PARTS = {
    "WORK": "(?:(?:your|the|all|any|this|my) )*(?:changes|edits|work|diff|scope|task|fix|EDIT)",
    " BE": "(?: should| must| has to| is| are)*(?: be)?",
    "IN": "(?:to|in|inside|within|under|on)",
    "ONLY": "(?:only|solely|exclusively)",
    "BUT": "(?:but|except|other than)",
}
_CHANGED = r"(?:should|may|must|can|is to|are to) (?:EDIT|be EDITED) "
_STATES = (
    r"(?:mustn't|shouldn't|can't|mayn't|isn't to|aren't to) (?:be \w+|EDIT) "
    r"|(?:is|are) (?:strictly )?(?:off-limits|off limits|frozen|untouchable|read-only|forbidden"
    r"|out of scope|out of bounds) "
    r"|(?:(?:must|should|has to|have to|needs to|shall) )?(?:stays?|remains?|be left|be kept) "
    + _KEPT
)
_WIDE = frozenset(("wide",))
_SPELLED = {word: "EDITED" for word, families in DONE.items() if "edit" in families} | {
    word: "EDIT" for word, families in BASE.items() if "edit" in families
}


def spell(words: Sequence[Word]) -> str:
    """The words as the rules match them, each followed by a space."""
    return "".join(
        f"{_SPELLED.get(each.low) or each.low.replace(' ', '_') if each.kind != 'quote' else '_'} "
        for each in words
    )


class Clause:
    """A place in a sentence where a rule matched, and the place after the match."""

    def __init__(self, found: Collector, sentence: Sentence, at: int, end: int) -> None:
        self.found, self.sentence, self.words = found, sentence, sentence.words
        self.at, self.end = at, end

    def forbid(self, about: Objects, kind: str, *subject: str) -> int:
        return self.found.forbid(self.sentence, self.at, ((kind, subject),), about)

    def match(self, pattern: str, at: int) -> int:
        """Return the end of a pattern that matches at a place, or 0."""
        match = re.match(pattern, spell(self.words[at : at + 12]))
        return at + match[0].count(" ") if match else 0

    def put(self, order: Order | None) -> int:
        """Forbid what an order tells, if it ends in a way that leaves it an order."""
        kinds = acts.name_kinds(order) if order else ()
        if order is None or not kinds:
            return 0
        about, kind = order.about, kinds[0][0]
        paths = (*kinds[0][1], *about.outside)
        sure = bool(paths) and all(is_path(each) or each == "it" for each in paths)
        ask = needs_asking(self.words, about.end)
        after, place = low(self.words, about.end), find_paths(self.words[about.end + 1 :][:2])
        on = kind == "no_new_dependencies" and (after == "on" or (after == "to" and place))
        on = on or (kind == "no_tool" and after == "with")
        if not (ask or on or about.exceptions or ends_well(self.words, about.end, sure=sure)):
            return 0
        bare = not (about.heads or about.flags & _WIDE)
        if kind == "read_only" and self.found.is_changing and bare:
            return 0  # "don't fix it" is about something else then
        return self.found.forbid(self.sentence, self.at, kinds, about, ask=ask)

    def tell(self, forms: acts.Forms = BASE) -> int:
        """For "don't touch X"."""
        words, order = self.words, read_order(self.words, self.end, forms)
        end = self.put(order)
        joint = order.about.end if order and end else -2
        if low(words, joint) in ("or", "nor") and low(words, joint + 1) in forms:
            return Clause(self.found, self.sentence, self.at, joint + 1).tell(forms) or end
        return end

    def exclude(self) -> int:
        """For "without touching X", "avoid new dependencies", "neither commit nor push"."""
        return self.tell({**BASE, **DOING}) or self.rule_out()

    def rule_out(self) -> int:
        """For "no new dependencies", "no changes to X", "no files should be deleted"."""
        words, start = self.words, self.end
        core = objects.read_phrase(words, start, places=False)
        rest = tuple(head for head in core.heads[:-1] if head != "code")
        if core.heads[-1:] and core.heads[-1] in CHANGES:
            about = acts.read_changes(words, core.end - 1) or core
            if rest:  # "no schema changes"
                about = Objects((" ".join(rest),) if role(rest[-1]) else (), rest, end=core.end)
            wide = _WIDE & about.flags and not about.subjects and "code" not in core.heads
            return self.put(Order(("edit",), about)) if not (wide and self.found.is_changing) else 0
        if low(words, start) in DOING:  # "no touching of X"
            return self.tell(DOING)
        about = read_objects(words, start)
        end = self.match(
            r"(?:(?:should|may|must|can) (?:be )?)?(?:EDIT|[a-z]+ed|EDITED) ", about.end
        )
        families = tuple(DONE.get(low(words, end - 1), ("edit",))) if end else ()
        if families or ("other" in about.flags and low(words, about.end) in (*MARKS, "")):
            return self.put(Order(families or ("edit",), about._replace(end=end or about.end)))
        bare = "new" in about.flags or "wide" not in about.flags or about.heads == ("code",)
        named = bare and not about.outside and ends_well(words, about.end, sure=False)
        kinds = acts.name_nouns(about) if named else ()
        return self.found.forbid(self.sentence, self.at, kinds, about)

    def keep(self, mode: str = "") -> int:
        """For "leave X alone"; `mode` is "off" for "hands off X"."""
        about = read_objects(self.words, self.end)
        end = max(about.end, self.end) if mode else self.match(_KEPT, about.end)
        return self.stay_unchanged(about, end)

    def stay_unchanged(self, about: Objects, end: int) -> int:
        free, last = read_exceptions(self.words, end)
        about = about._replace(exceptions=(*about.exceptions, *free), end=max(end, last))
        unclear = "vague" in about.flags and about.subjects
        rest = about.heads == ("code",) and self.found.is_changing
        if not end or unclear or (rest and not about.subjects):
            return 0
        return self.put(Order(("edit",), about))

    def state(self) -> int:
        """For "X must not be changed", "X is off limits", "only X may change"."""
        words, at = self.words, self.at
        only, nothing = (low(words, at) == each for each in ("only", "nothing"))
        about = read_objects(words, at + only)
        if only or nothing:
            end = self.match(r"(?:should|may|must|can|is to|are to) (?:EDIT|be \w+) ", about.end)
            families = tuple(DONE.get(low(words, end - 1), ("edit",))) if end else ()
            subject = about.outside or about.exceptions or about.subjects
            if not subject and nothing and end == at + 4 and "other" not in about.flags:
                free = "edit" in families and self.found.is_changing
                return 0 if free else self.put(Order(families, Objects(flags=_WIDE, end=end)))
            kind = "no_touch" if nothing and about.subjects else "only_under"
            clean = about._replace(exceptions=(), end=end)
            return self.forbid(clean, kind, *subject) if "edit" in families and subject else 0
        end = self.match(_STATES, about.end)
        if not end or about.is_empty:
            return 0
        be = low(words, end - 2) == "be" and low(words, end - 1) not in ("untouched", "unchanged")
        done = DONE.get(low(words, end - 1), ()) if be else ("edit",)
        if "edit" in done:
            return self.stay_unchanged(about, end)
        return self.put(Order(tuple(done), about._replace(end=end))) if about.subjects else 0

    def confine(self, mode: str = "") -> int:
        """The work stays in what follows, if all of it can be resolved.

        `mode` is "exact" for "stay in X", "alone" for "Only X.".
        """
        words, start, about = self.words, self.end, read_objects(self.words, self.end)
        subject, after = about.subjects, low(words, about.end)
        if not subject and about.flags & {"wide", "pronoun"} and not about.outside:
            near = range(start, min(start + 6, len(words)))
            colon = next((spot for spot in near if words[spot].low == ":"), len(words))
            subject = find_paths(words[colon:])
            about = about._replace(end=len(words) if subject else about.end)
        sure = all(is_path(each) or (each[-1] == "/" and mode == "exact") for each in subject)
        if mode == "alone":
            whole = len(words) - about.end < 2 or after == ";"
            fits = whole and part_start(words, self.at) == self.at and (sure or self.at == 0)
        else:
            fits = ends_well(words, about.end, sure=sure) and (sure or mode != "exact")
        if not subject or "vague" in about.flags or not fits:
            return 0
        return self.forbid(about, "only_under", *subject)

    def confine_request(self) -> int:
        """For "nothing else": the files of the sentence, or else those of the whole request."""
        names, after = find_paths(self.words[: self.at]), low(self.words, self.end)
        closes = not after or after in MARKS or after == "please" or self.match(_CHANGED, self.end)
        exact = {"just", "only"} & {word.low for word in self.words[: self.at]}
        tests = () if exact or not names else ("tests",)
        end = Objects(end=len(self.words))
        return self.forbid(end, "only_under", *names, *tests) if closes else 0

    def target(self) -> int:
        """For "only deploy to staging", "deploy to staging only", "use only the bucket X"."""
        words, lead = self.words, self.words[self.at : self.end]
        at = self.end + (low(words, self.end) in acts.PLACES)
        end = at + 1 + (low(words, at + 1) in acts.PLACES)
        only = {low(words, end), *(word.low for word in lead)} & {"only", "just"}
        named = at > self.end and (low(words, end) in MARKS or end >= len(words))
        sure = at < len(words) and (named or acts.is_target(words[at]))
        if not only or not sure or (end == self.end + 1 and "use" in {word.low for word in lead}):
            return 0
        return self.forbid(Objects(end=end + 1), "only_target", words[at].text)

    def label(self) -> int:
        """For "Off limits: X", "Files you must not change: X"."""
        start = self.end + (low(self.words, self.end) in DOING)
        about = read_objects(self.words, start)
        subject = about.subjects or find_paths(self.words[start : start + 12])
        return self.forbid(about, "no_touch", *subject) if subject else 0

    def ask(self) -> int:
        """For "ask before deleting X", "before touching X, check with me"."""
        words = self.words
        order = read_order(words, self.end, {**DOING, **BASE})
        told = words[self.at].low not in ("if", "before") or re.search(
            r" (?:ask|check with|confirm with) (?:first|me|us|\.) ", spell(words[self.end :])
        )
        if order is None or not told:
            return 0
        kinds = acts.name_kinds(order)
        return self.found.forbid(self.sentence, self.at, kinds, order.about, ask=True)

    def replace_tool(self) -> int:
        """For "use yarn, not npm"."""
        heads = read_objects(self.words, self.end, exceptions=False).heads
        known = bool(heads) and set(heads) <= acts.PROGRAMS
        return self.forbid(Objects(end=self.end + 1), "no_tool", *heads) if known else 0

    def phrase(self, kind: str) -> int:
        """A rule whose words say it all."""
        free = kind == "read_only" and self.found.is_changing
        return 0 if free else self.forbid(Objects(end=self.end), kind)


# A method of Clause with its mode, or a kind of limit, and what comes before the object, in which
# the names of _PARTS stand for those.
_PATTERNS = """
label (?:(?:files|things) )?(?:you )?(?:mustn't|mayn't|shouldn't|don't) EDIT :
label (?:off[ -]limits|out of scope|not in scope|(?:things to )?leave alone|non-goals?|frozen) :
label (?:the )?following(?: files)? (?:(?:must|should) (?:stay|remain) un\\w+|mustn't EDIT) :
label (?:the )?following(?: files)? are off[ -]limits :|do nothing to
tell (?:(?:i|we) )?don't want(?: you)? to|(?:you|we) (?:mustn't|shouldn't|can't|mayn't)
tell mustn't|shouldn't|(?:you )?(?:don't|never)(?: , [a-z ]{1,30} ,)?(?: you)?(?: dare)?
tell (?:careful|sure|try|you're|you) not(?: allowed)? to|you aren't(?: allowed| supposed)? to
tell (?:you|please) not|under no (?:circumstances?|conditions?)(?: (?:may|should) you)?
rule_out (?:i|we) don't want(?: any)?|(?:there (?:should|must) be |make |making )?(?:no|zero)
exclude without|avoid|refrain from|stop|hold off on|mind not|neither
keep leave|keep|leaving|keeping
keep:off (?:(?:keep your )?hands off|(?:stay|keep|steer) (?:away|clear|out|off))(?: of| from)?
no_branch stay on (?:this|the|the current) branch|work on the current branch only
target (?:only )?(?:deploy|publish|release|upload|push)(?: only)? to(?: the)?
target (?:only use|use only|use just)(?: the)?
confine (?:(?:just|only) )?EDIT (?:just|ONLY)|ONLY EDIT(?: in| under| inside)?
confine (?:we )?only (?:allowed to EDIT|want you to EDIT|want changes IN)|EDIT nothing BUT
confine (?:ONLY work|work ONLY) (?:in|on|inside|within)
confine (?:only )?make (?:(?:your|any|all) )?(?:changes|edits)(?: only)? (?:in|to)
confine the only (?:file|files|thing) you (?:should|may|can|must) EDIT (?:is|are)
confine (?:limit|restrict|confine|keep) (?:yourself|WORK)(?: limited| local)? IN(?: one file :)?
confine (?:you're|WORK BE) (?:limited|\\w+ined|restricted|only be made) IN
confine:exact stick to|(?:WORK (?:\\w+ )?)?(?:stays?|remain|belong|work) (?:in|inside|within)
confine:exact (?:(?:nothing|no files?|no changes) )?outside(?: of)?|nothing BUT
confine_request (?:nothing|nowhere) (?:else|more)
confine:alone only(?: under| in| inside| within)?
ask (?:ask|check|confirm)(?: with)?(?: me| us)?(?: for \\w+ \\w+)?(?: first)? before(?: you)?
ask before(?: you)?|if you (?:need|want|have)(?: to)?
replace_tool (?:we )?use [\\w-]+(?: for \\w+)?(?: ,)? (?:not|never|instead of|rather than)
no_tests skip (?:the )?tests?(?= [.,!]| $| for | please )
no_commit (?:i'll|i will) (?:do the )?commit
read_only (?:just|only) (?:explain|describe|summari[sz]e|analy[sz]e|investigate|review|outline)
read_only (?:just|only) (?:propose|suggest|brainstorm|diagnose|answer|discuss|plan|tell me|audit)
read_only (?:review|explain|plan|answer|analysis) only(?= [.,:;!] | please | $)|read-only please
read_only this is a read-only|treat (?:the )?(?:repo|repository|codebase) as read-only
"""
_INSIDE = re.compile(
    r"\b(?:only (?:the )?(?:stdlib|standard library)|(?:stdlib|library) only) "
    r"|(?:^|: |\b(?:in|under|inside|within|to) (?:the )?)(?P<path>\S+) only (?:[.,;!] |$)"
)


@cache
def _list_rules() -> list[tuple[str, re.Pattern[str]]]:
    lines: dict[str, list[str]] = {}
    for line in _PATTERNS.strip().splitlines():
        name, _, pattern = line.partition(" ")
        for part, meaning in _PARTS.items():
            pattern = pattern.replace(part, meaning)
        lines.setdefault(name, []).append(pattern)
    return [(name, re.compile(f"(?:{'|'.join(patterns)}) ")) for name, patterns in lines.items()]


def match_inside(found: Collector, sentence: Sentence) -> None:
    """For "Scope: src/a only", "do this in plugins/slack only", "use only the standard library"."""
    text = spell(sentence.words)
    match = _INSIDE.search(text)
    if match and is_order(sentence, 0):
        at = text[: max(0, match.start("path"))].count(" ")
        paths = find_paths(sentence.words[at : at + 1]) if match["path"] else ()
        if paths or not match["path"]:
            kind = "only_under" if paths else "no_new_dependencies"
            Clause(found, sentence, at, at).forbid(Objects(end=at + 1), kind, *paths)


def match_rules(found: Collector, sentence: Sentence, at: int) -> int:
    """Apply the first rule that matches at a place; return the end of what it read, or 0."""
    text = spell(sentence.words[at : at + 14])
    for name, pattern in _list_rules():
        match = pattern.match(text)
        if match:
            clause = Clause(found, sentence, at, at + match[0].count(" "))
            method, _, mode = name.partition(":")
            act = getattr(clause, method, None)
            end: int = act(*(mode and [mode])) if act else clause.phrase(name)
            if end:
                return end
    return 0
