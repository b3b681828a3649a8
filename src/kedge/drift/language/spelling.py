"""Words as the rules compare them: "do not" as one word, without typing errors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from kedge.drift.language.vocabulary import BASE, CHANGING, DOING, DONE, FILLER, LOOKING
from kedge.drift.limits.roles import word_set
from kedge.text.prose import Word
from kedge.text.typos import TypoTable

_HELPERS = ("do", "must", "should", "can", "may", "did", "is", "are")
_NEGATED = {verb: f"{verb.removesuffix('n')}n't" for verb in _HELPERS} | {"shall": "mustn't"}
_NEGATIONS = {negated.replace("'", ""): negated for negated in _NEGATED.values()}
_SHORT = {"w/o": "without", "cannot": "can't", "donot": "don't", "pls": "please", "plz": "please",
          "pull-request": "pr", "pull-requests": "prs"}  # fmt: skip
_VERBS = word_set("""touch edit change modify update overwrite rewrite delete remove rename commit
    push install create refactor reformat deploy merge rebase amend open read move switch reset""")
_KNOWN = word_set("""don't mustn't shouldn't should never without avoid nothing refrain only leave
    alone untouched unchanged outside except anything everything other files folder directory tests
    docs documentation config migrations schema lockfile changes edits dependencies dependency
    packages libraries restrict confine yourself keep hands limits please under exactly generated
    readme frozen allowed limited inside within branch branches introduce modifications until module
    library""")
# words of their own that look like a known word with an error
_OTHERS = word_set("""newer fever sever lever void couch torch tough charge charged charges charging
    chance along clone weave heave lease excerpt expect noting bother mother ether fires tiles flies
    miles texts rests crate holder colder folded treated exits emits exit emit exiting exited hand
    handy hangs director directors remote remotes scheme migration undef pleased verge rushed
    rushing file won't wont dos doc util modulo branched modification limiter package packaged fixes
    older ever generates modifies modifier committer committee filed fills treating hanging lone
    mere mend codify redactor rewrote overwrote preformatted dunder red stitch rest preset
    reader""")


@cache
def _table() -> TypoTable:
    stems = tuple(verb[:-1] for verb in _VERBS)
    forms = (form for form in (*DOING, *DONE) if form.startswith(stems))
    return TypoTable({*_KNOWN, *_VERBS, *forms}, {*_OTHERS, *BASE, *CHANGING, *FILLER, *LOOKING})


@cache
def correct(word: str) -> str:
    """Return the known word that this is with one typing error, else the word itself."""
    if word in ("nto", "ont", "teh", "hte"):
        return "the" if "e" in word else "not"
    return _NEGATIONS.get(word.replace("'", "")) or _table().correct(word)


def normalise(words: Sequence[Word]) -> tuple[Word, ...]:
    """Return the words with corrected spelling, a verb and its "not" in one."""
    found: list[Word] = []
    for word in words:
        low = word.low
        if word.kind == "word":
            low = _SHORT.get(low) or correct(low.replace("´", "'").replace("`", "'"))
        if low == "not" and found and found[-1].low in _NEGATED:
            last = found.pop()
            text = f"{last.text} {word.text}"
            found.append(Word(text, _NEGATED[last.low], last.start, word.end, "word"))
        else:
            found.append(word if low == word.low else word._replace(low=low))
    return tuple(found)
