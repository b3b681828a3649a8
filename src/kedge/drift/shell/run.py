"""Walks through a command as a shell would, and notes what each program would do."""

from __future__ import annotations

from posixpath import basename

from kedge.drift.shell import wrappers
from kedge.drift.shell.call import Call
from kedge.drift.shell.effects import Found
from kedge.drift.shell.expand import fields, single
from kedge.drift.shell.parse import parse
from kedge.drift.shell.paths import places
from kedge.drift.shell.programs import find_reader
from kedge.drift.shell.syntax import Block, Part, Redirect, Simple, TooMuch
from kedge.drift.shell.values import (
    ANYTHING,
    MOST_VALUES,
    NOTHING,
    UNKNOWN,
    Output,
    State,
    Value,
    printed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.shell.paths import Places
    from kedge.drift.shell.syntax import Node, Word

MOST_STEPS = 2000
MOST_ROUNDS = 40  # of one loop
DEEPEST = 48
_LONGEST_VALUE = 20_000  # characters of a variable


def read_command(command: str, found: Found, *, root: str, cwd: str) -> None:
    """Note all that a command does; never raises."""
    run = Run(found, places(root))
    state = State(run.places.absolute(cwd or ".", run.places.root))
    try:
        run.text(command, state)
    except TooMuch as reason:
        found.add("unclear", f"the command is {reason}: the rest is not read")
    except RecursionError:
        found.add("unclear", "the command is nested too deep: the rest is not read")


class Run:
    """What is shared by all the shells of one command."""

    __slots__ = ("found", "level", "places", "steps")

    def __init__(self, found: Found, places: Places) -> None:
        self.found = found
        self.places = places
        self.level = 0
        self.steps = 0

    def text(self, source: str, state: State, stdin: Output = NOTHING) -> Output:
        """Commands as text, as `bash -c` and `eval` get them."""
        block, problems = parse(source, self.level)
        for problem in problems[:3]:
            self.found.add("unclear", problem)
        return self.node(block, state, stdin)

    def node(self, node: Node, state: State, stdin: Output = NOTHING) -> Output:
        """What a node prints; its effects are noted and the state is changed."""
        self.level += 1
        if self.level > DEEPEST:
            raise TooMuch(f"nested more than {DEEPEST} deep")
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooMuch(f"more than {MOST_STEPS} steps")
        try:
            if isinstance(node, Simple):
                return self._simple(node, state, stdin)
            return self._block(node, state, stdin)
        finally:
            self.level -= 1

    def printed(self, block: Block, state: State) -> Output:
        """What `$(…)` prints; it runs in a shell of its own."""
        return self.node(block, state.copy())

    def directory(self, value: Value, state: State) -> str | None:
        """Where `cd` goes to."""
        if not value.known or value.glob:
            return None
        return self.places.absolute(value.text or ".", state.cwd)

    def _block(self, block: Block, state: State, stdin: Output) -> Output:
        files: list[tuple[Redirect, Value]] = []
        if block.redirects:
            stdin, files = self._redirects(block.redirects, state, stdin)
        if block.kind in ("subshell", "background"):
            state = state.copy()
        if block.kind == "function":
            state.functions[block.name] = block
            return NOTHING
        if block.kind == "pipe":
            result = self._pipe(block, state, stdin)
        elif block.kind == "chain":
            result = self._chain(block, state, stdin)
        elif block.kind == "for":
            result = self._for(block, state, stdin)
        elif block.kind == "while":
            result = self._while(block, state, stdin)
        else:
            result = self._all(block.nodes, state, stdin)
        return self._store(files, result, state) if files else result

    def _all(self, nodes: Sequence[Node], state: State, stdin: Output) -> Output:
        results = [self.node(node, state, stdin) for node in nodes]
        return _together(results) if len(results) != 1 else results[0]

    def _pipe(self, block: Block, state: State, stdin: Output) -> Output:
        for node in block.nodes:
            stdin = self.node(node, state.copy(), stdin)
        return stdin

    def _chain(self, block: Block, state: State, stdin: Output) -> Output:
        results = []
        checks = 0
        for place, node in enumerate(block.nodes):
            otherwise = place > 0 and block.name[place - 1] == "|"
            if otherwise and _does_nothing(node):
                self.found.ignore_checks(checks)
            cwd = state.cwd
            checks = self.found.count("checks") if not otherwise else checks
            results.append(self.node(node, state, stdin))
            if otherwise:
                state.cwd = cwd
        return _together(results)

    def _for(self, block: Block, state: State, stdin: Output) -> Output:
        if block.words is None:
            values: list[Value] = list(state.params) or [Value(UNKNOWN)]
        else:
            values = [v for word in block.words for v in fields(word, state, self.printed)]
        if not block.name:
            values = [Value(UNKNOWN)]
        return self._rounds(block, state, values, block.name, stdin)

    def _rounds(
        self, block: Block, state: State, values: list[Value], name: str, stdin: Output
    ) -> Output:
        if len(values) > MOST_ROUNDS:
            self.found.add("unclear", f"a loop over {len(values)} words: not all are read")
        results = []
        for value in values[:MOST_ROUNDS]:
            state.variables[name] = (value,)
            results.append(self._all(block.nodes, state, stdin))
        return _together(results)

    def _while(self, block: Block, state: State, stdin: Output) -> Output:
        lines = stdin.lines() if stdin is not NOTHING else ()
        rounds = lines[:MOST_ROUNDS] or (Value(UNKNOWN),)
        return _together([self._all(block.nodes, state, Output((line,))) for line in rounds])

    def _simple(self, node: Simple, state: State, stdin: Output) -> Output:
        argv: list[Value] = []
        for word in node.words:
            argv += fields(word, state, self.printed)
        files: list[tuple[Redirect, Value]] = []
        if node.redirects:
            stdin, files = self._redirects(node.redirects, state, stdin)
        for name, words in node.assigns:
            values = self._assigned(words, state)
            if not argv or argv[0].text in wrappers.DECLARES:
                state.variables[name] = values
        result = self.program(argv, state, stdin) if argv else NOTHING
        return self._store(files, result, state) if files else result

    def _assigned(self, words: Sequence[Word], state: State) -> tuple[Value, ...]:
        if len(words) == 1:
            value = single(words[0], state, self.printed)
            return (value if len(value.text) <= _LONGEST_VALUE else Value(UNKNOWN),)
        values = [value for word in words for value in fields(word, state, self.printed)]
        return tuple(values[:MOST_VALUES])

    def _redirects(
        self, redirects: Sequence[Redirect], state: State, stdin: Output
    ) -> tuple[Output, list[tuple[Redirect, Value]]]:
        """What the command reads, and the files that it prints to."""
        files = []
        for each in redirects:
            target = each.target
            process = target[0] if isinstance(target, tuple) and len(target) == 1 else None
            if isinstance(process, Part) and process.kind == "process" and process.body:
                if each.op == "<":
                    stdin = self.printed(process.body, state)
                continue
            value = single(target, state, self.printed)
            if each.op in ("<<", "<<<"):
                stdin = printed(value.text + ("\n" if each.op == "<<<" else ""))
            elif each.op == "<&" or (each.op == ">&" and _is_descriptor(value.text)):
                continue
            elif each.op in ("<", "<>"):
                Call(self, state, each.op, [], NOTHING).read(value)
                stdin = ANYTHING
            else:
                files.append((each, value))
        return stdin, files

    def _store(
        self, files: Sequence[tuple[Redirect, Value]], result: Output, state: State
    ) -> Output:
        for each, value in files:
            output = each.fd in ("", "1")
            text = result.text if output else None
            Call(self, state, each.op, [], NOTHING).put(value, text, ">>" not in each.op)
            if output:
                result = NOTHING
        return result

    def program(self, argv: list[Value], state: State, stdin: Output) -> Output:
        """One program with its words, wrappers taken off."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooMuch(f"more than {MOST_STEPS} steps")
        for _ in range(20):
            typed = argv[0].text
            if UNKNOWN in typed:
                self.found.plain = False
                self.found.add("unclear", f"{argv[0].shown}: a program that is not known")
                return ANYTHING
            if typed in state.functions:
                return self._function(state.functions[typed], argv, state, stdin)
            name = program_name(typed)
            call = Call(self, state, name, argv[1:], stdin, typed)
            inner = wrappers.unwrapped(call)
            if inner is None:
                return find_reader(name)(call)
            if not inner:
                return ANYTHING
            argv = inner
        return ANYTHING

    def _function(self, block: Block, argv: list[Value], state: State, stdin: Output) -> Output:
        params, state.params = state.params, tuple(argv[1:])
        result = self._all(block.nodes, state, stdin)
        state.params = params
        return result


def program_name(typed: str) -> str:
    """The name that a program is known by: `python3.11`, `/usr/bin/python` are `python`."""
    name = basename(typed)
    for known in ("python", "pip", "ruby", "perl", "node"):
        if name.startswith(known) and name[len(known) :].replace(".", "").isdigit():
            return known
    return wrappers.ALIASES.get(name, name)


def _is_descriptor(text: str) -> bool:
    return text.isdigit() or text == "-"


def _together(results: Sequence[Output]) -> Output:
    results = [result for result in results if result is not NOTHING]
    if not results:
        return NOTHING
    if len(results) == 1:
        return results[0]
    known = [result.values for result in results if result.values is not None]
    values = tuple(value for each in known for value in each)
    texts = [result.text for result in results]
    text = "".join(t for t in texts if t is not None) if None not in texts else None
    return Output(values if len(known) == len(results) else None, text)


def _does_nothing(node: Node) -> bool:
    """`true`, `:` and `exit 0`, which make a failure look like success."""
    if not isinstance(node, Simple):
        return False
    return node.words in (["true"], [":"], ["exit", "0"], ["return", "0"])
