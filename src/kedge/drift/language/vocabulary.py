"""The words by which prompts are read: verbs by what they do, and words that carry nothing."""

from __future__ import annotations

from kedge.drift.language.roles import word_set

# What an agent does, by family. Each has its -ing and -ed forms made below.
_FAMILIES = {
    "edit": """touch edit change modify alter update rewrite overwrite adjust tweak patch adapt
        revise""",
    "implement": "implement code fix build start begin solve",
    "delete": "delete remove rm erase drop",
    "discard": "discard revert undo",
    "tag": "tag",
    "upgrade": "upgrade bump downgrade",
    "rename": "rename",
    "move": "move relocate",
    "commit": "commit auto-commit",
    "stage": "stage",
    "push": "push",
    "force-push": "force-push",
    "amend": "amend",
    "rebase": "rebase",
    "merge": "merge",
    "stash": "stash",
    "reset": "reset",
    "squash": "squash",
    "branch": "branch",
    "switch": "switch checkout",
    "run": "run execute launch invoke trigger start",
    "deploy": "deploy publish release",
    "install": "install",
    "add": "add introduce",
    "create": "create write generate produce make open",
    "use": "use",
    "format": "format reformat auto-format autoformat prettify",
    "refactor": "refactor restructure",
    "weaken": "weaken skip disable xfail loosen relax",
    "network": "browse",
    "download": "download",
}
_IRREGULAR = {
    "rewrite": "rewriting rewritten",
    "overwrite": "overwriting overwritten",
    "write": "writing written",
    "run": "running run",
    "make": "making made",
    "begin": "beginning begun",
    "build": "building built",
    "rm": "rm-ing rmed",
    "reset": "resetting reset",
    "commit": "committing committed",
    "auto-commit": "auto-committing auto-committed",
    "drop": "dropping dropped",
    "tag": "tagging tagged",
    "skip": "skipping skipped",
    "format": "formatting formatted",
    "reformat": "reformatting reformatted",
    "auto-format": "auto-formatting auto-formatted",
    "autoformat": "autoformatting autoformatted",
    "modify": "modifying modified",
    "prettify": "prettifying prettified",
    "stash": "stashing stashed",
    "checkout": "checkouting checked-out",
}


def _forms() -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]:
    base: dict[str, list[str]] = {}
    doing: dict[str, list[str]] = {}
    done: dict[str, list[str]] = {}
    for family, verbs in _FAMILIES.items():
        for verb in verbs.split():
            if verb in _IRREGULAR:
                ing, ed = _IRREGULAR[verb].split()
            else:
                stem = verb.removesuffix("e")
                ing, ed = f"{stem}ing", f"{stem}ed"
            base.setdefault(verb, []).append(family)
            doing.setdefault(ing, []).append(family)
            done.setdefault(ed, []).append(family)
    return base, doing, done


# word -> families; a verb such as "start" has more than one
BASE, DOING, DONE = _forms()

# between a verb and what it is about, or before it
ADVERBS = word_set(
    """ever even just actually please directly manually simply also then now accidentally again
    already automatically yourself really anyhow otherwise blindly silently unnecessarily
    needlessly at all to try attempt go start bother yet any auto"""
)

# before an order, without making it anything but an order
FILLER = word_set(
    """please just also and but so then ok okay again still really kindly though however oh no yes
    yeah yep well remember note important nb ps btw hey hi hello thanks thank great good nice
    cool alright right sure perfect fine actually instead plus additionally finally first second
    third next now today here always anyway hmm hm ah sorry reminder warning caveat todo lastly
    afterwards meanwhile otherwise therefore overall basically simply attention strictly
    absolutely definitely fyi and/or obviously"""
)
LEADS = word_set(
    """be careful make sure that ensure to do go ahead let's lets for in this session task step
    whatever one thing rule rules constraint constraints under any circumstances by all means
    possible both either fact try i.e. so as long provided"""
)

GOING_ON = word_set(
    """yes y yeah yep yup ok okay sure please do it go on ahead continue proceed carry keep going
    resume next good great perfect nice thanks thank you looks look lgtm sounds fine right
    correct exactly that this is was the idea a an all of them for now then and let's lets try
    again retry commit push pushed pr create open merge rebase pull main branch origin draft
    force with lease everything changes change we have so far option first second third last one
    two three 1 2 3 4 5 6 7 8 9 0 run start finish finished done stop wait no nope not to yes, me
    i think agree agreed makes sense cool awesome alright works approved approve up my your
    current new out off based update parent capture too also at same time just both either"""
)

# a request for a change begins with one of these
CHANGING = word_set(
    """add implement fix change update remove delete rename move create write make refactor replace
    convert migrate port extract split merge rewrite improve optimise optimize simplify speed
    clean handle support introduce use switch upgrade bump downgrade drop revert undo restore
    rework adjust adapt address resolve correct repair enable disable hide build generate
    integrate extend reduce increase set put wire hook inject strip sort format lint document
    translate apply do finish complete ensure allow prevent avoid turn reorganise reorganize
    restructure unify consolidate deduplicate separate expose inline rebase commit push install
    deploy release publish configure edit modify give let get redesign style align center render
    validate parse cache log track store save include exclude ignore skip throw catch wrap mock
    stub cover test tweak polish debug patch scaffold bootstrap initialise initialize setup
    prepare automate draft append insert prepend limit restrict cap shorten scale tidy swap
    define declare import export pin lock unlock mark annotate type"""
)

# a request may also begin with one of these, its verb follows
ASKING = word_set(
    """can could would will should you we i i'd let's lets need want please pls do shouldn't
    don't it the there this that maybe perhaps"""
)

POLITE = word_set("can could would will please you")

# words with which a question or a request for an answer begins
LOOKING = word_set(
    """why what what's how where when which who whose is are was were does did do has have had can
    could would should will explain describe tell show summarise summarize analyse analyze
    investigate review list check look find see compare read understand wondering question
    clarify think discuss outline propose suggest brainstorm research diagnose inspect examine
    evaluate assess verify confirm walk give isn't aren't doesn't don't"""
)

# after "just" or "only": nothing is to be changed
ANSWERING = word_set(
    """explain describe summarise summarize analyse analyze investigate review outline propose
    suggest brainstorm research diagnose answer discuss plan read explore inspect report audit
    assess evaluate think"""
)
ANSWERS = word_set(
    """explanation answer analysis review plan summary overview report investigation research
    opinion advice feedback planning analysis, question asking audit diagnosis"""
)

EXCEPTING = word_set("except excluding besides barring unless save excepting but")

# an order with one of these after it says what a program does, not what an agent may do
CONDITIONS = word_set(
    """when if whenever while once during twice thrice because on after before as where whose
    concurrently simultaneously"""
)

# after an order, without making it anything else
TAILS = word_set(
    """yet please for at anymore anywhere any here in right now until till unless except other apart
    besides but and or because since as so that which it they thanks directly manually by myself
    yourself on without first either though instead nor then i i'll we you just only is are this
    these those ever again too also while with if possible excluding thx ok at-all whatsoever
    under over around against more whatever use locally globally off today afterwards anyway"""
)

# Of noun phrases: what may stand before the noun, what ends one.
NEWNESS = word_set(
    "new additional extra another more external third-party 3rd-party outside further"
)
DETERMINERS = NEWNESS | word_set(
    """the a an any all my your our this that these those each every single of its their some
    existing other others current old actual whole entire following such unnecessary unrelated
    particular either both certain specific remaining corresponding respective second original
    also exactly already"""
)
RESTRICTING = word_set(
    """unrelated unnecessary such certain specific remaining corresponding respective particular
    following"""
)
FOLDER_WORDS = word_set(
    """folder folders directory directories dir dirs subfolder subdirectory tree package packages
    module crate path"""
)
PHRASE_ENDS = word_set(
    """in under inside within outside of from to into on at by with without for during when if
    whenever while once after before is are was were be been being must should shall may might
    can could will would has have had does do did and or nor but except unless apart besides
    aside excluding because since as so that which who whose they we you i he she yet alone
    untouched unchanged unmodified uncommitted intact gets
    please here now then until till not only just instead either
    anymore again completely entirely manually directly twice than where there's it's there it
    them isn't aren't shouldn't mustn't can't cannot won't didn't doesn't needs need stays stay
    remains remain i'll i'd don't never never, let's via like about using right too where's
    read-only frozen myself locally works fails fail breaks behaves first as-is out off up
    globally today tonight tomorrow later afterwards
    much even though although however whatsoever otherwise anyway thanks ever across around over
    against"""
)
VERBS_OF_BEING = word_set(
    """is are was were must should may can will would has have does do did needs need isn't aren't
    doesn't don't shouldn't belongs belong works fails breaks want wants said takes"""
)
