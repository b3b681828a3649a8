"""The words by which prompts are read: verbs by what they do, and words that carry nothing."""

from __future__ import annotations

from kedge.drift.limits.roles import word_set

# What an agent does, as families of verbs; a verb such as "start" is in more than one.
_FAMILIES = """edit: touch edit change modify alter update rewrite overwrite adjust tweak patch
edit: adapt revise; implement: implement code fix start; read: read open cat view inspect; break
delete: delete remove rm erase drop; discard: discard revert undo; upgrade: upgrade bump downgrade
rename: rename move relocate; commit: commit auto-commit; switch: switch checkout
run: run execute launch invoke trigger start; deploy: deploy publish release; add: add introduce
create: create write generate produce make; format: format reformat auto-format autoformat
refactor: refactor restructure; weaken: weaken skip disable xfail; network: browse access
push; force-push; amend; rebase; merge; stash; reset; squash; stage; tag; branch; install; download
use: use spawn"""
_DOUBLED = word_set("run commit auto-commit drop tag skip format reformat auto-format reset")
_PARTICIPLES = {"rewrite": "rewritten", "overwrite": "overwritten", "write": "written",
                "make": "made", "read": "read", "break": "broken", "run": "run"}  # fmt: skip


def _list_forms() -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]:
    base: dict[str, list[str]] = {}
    doing: dict[str, list[str]] = {}
    done: dict[str, list[str]] = {}
    for line in _FAMILIES.replace("\n", "; ").split("; "):
        family, _, verbs = line.partition(": ")
        for verb in verbs.split() or [family]:
            stem = verb + verb[-1] if verb in _DOUBLED else verb.removesuffix("e")
            past = f"{verb[:-1]}ied" if verb.endswith("fy") else f"{stem}ed"
            base.setdefault(verb, []).append(family)
            doing.setdefault(f"{stem}ing", []).append(family)
            done.setdefault(_PARTICIPLES.get(verb, past), []).append(family)
    return base, doing, done


BASE, DOING, DONE = _list_forms()  # word -> families

# before an order, without making it anything but an order
FILLER = word_set("""please just also and but so then ok okay again still really kindly though
    however oh no yes yeah yep well remember note important nb ps btw hey hi hello thanks thank
    great good nice cool alright right sure perfect fine actually instead plus additionally finally
    first second third next now today here always anyway sorry reminder warning lastly afterwards
    otherwise therefore simply strictly absolutely definitely fyi obviously""")

GOING_ON = word_set("""yes y yeah yep yup ok okay sure please do it go on ahead continue proceed
    carry keep going resume next good great perfect nice thanks thank you looks look lgtm sounds
    fine right correct exactly that this is was the idea a an all of them for now then and let's
    lets try again retry commit push pushed pr create open merge rebase pull main branch origin
    draft force with lease everything changes change we have so far option first second third last
    one two three 1 2 3 4 5 6 7 8 9 0 run start finish finished done stop wait no nope not to yes,
    me i think agree agreed makes sense cool awesome alright works approved approve up my your
    current new out off based update parent capture too also at same time just both either""")

# a request for a change begins with one of these
_UNCHANGING = word_set("""touch read open cat view inspect run execute launch invoke trigger start
    browse access break weaken xfail code tag branch stage""")
CHANGING = BASE.keys() - _UNCHANGING | word_set("""replace convert migrate port extract split
    improve optimise optimize simplify speed clean handle support restore rework address resolve
    correct repair enable hide build integrate extend reduce increase set put wire hook inject strip
    sort lint document translate apply do finish complete ensure allow prevent avoid turn reorganise
    reorganize unify separate expose inline configure give let get redesign style align render
    validate parse cache log track store save include exclude ignore throw catch wrap mock stub
    cover test polish debug setup prepare draft append insert limit restrict cap shorten scale tidy
    swap define import export pin lock mark type""")

# a request may also begin with one of these, its verb follows
POLITE = word_set("can could would will please you")
ASKING = POLITE | word_set("""should we i i'd let's lets need want pls do shouldn't don't it the
    there this that maybe""")

# words with which a question or a request for an answer begins
LOOKING = word_set("""why what what's how where when which who whose is are was were does did do has
    have had can could would should will explain describe tell show summarise summarize analyse
    analyze investigate review list check look find see compare read understand wondering question
    clarify think discuss outline propose suggest brainstorm research diagnose inspect examine
    evaluate assess verify confirm walk give isn't aren't doesn't don't""")
