"""Walk through a command as a shell would, and record what each program would do."""

from __future__ import annotations

from posixpath import basename

from kedge.drift.shell import wrappers
from kedge.drift.shell.call import ProgramCall
from kedge.drift.shell.effects import EffectsBuilder
from kedge.drift.shell.expand import expand_single, expand_words
from kedge.drift.shell.parse import parse
from kedge.drift.shell.paths import project_paths
from kedge.drift.shell.programs import find_reader
from kedge.drift.shell.syntax import CommandBlock, CommandTooLarge, Redirect, Simple
from kedge.drift.shell.values import (
    ANYTHING,
    MOST_VALUES,
    NOTHING,
    UNKNOWN,
    Output,
    ShellState,
    Value,
    make_output,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kedge.drift.shell.paths import ProjectPaths
    from kedge.drift.shell.syntax import Node, Word

MOST_STEPS = 2000
MOST_ROUNDS = 40  # of one loop
DEEPEST = 48
_LONGEST_VALUE = 20_000  # characters of a variable


_NO_TEXTS: dict[str, str] = {}


def read_command(
    command: str,
    effects: EffectsBuilder,
    *,
    root: str,
    cwd: str,
    texts: Mapping[str, str] = _NO_TEXTS,
) -> None:
    """Record everything that a command does. Never raises.

    `texts` are files whose content is known, such as scripts that the session wrote.
    """
    interpreter = Interpreter(effects, project_paths(root), texts)
    paths = interpreter.paths
    state = ShellState(paths.absolute(cwd or ".", paths.root))
    try:
        interpreter.run_text(command, state)
    except CommandTooLarge as reason:
        effects.add_too_large(f"the command is {reason}: the rest is not read")
    except RecursionError:
        effects.add_too_large("the command is nested too deep: the rest is not read")


class Interpreter:
    """Runs a command without doing anything; all its shells share the effects and the limits."""

    __slots__ = ("effects", "level", "paths", "steps", "texts")

    def __init__(
        self, effects: EffectsBuilder, paths: ProjectPaths, texts: Mapping[str, str] = _NO_TEXTS
    ) -> None:
        self.effects = effects
        self.paths = paths
        self.texts = texts
        self.level = 0
        self.steps = 0

    def run_text(self, source: str, state: ShellState, stdin: Output = NOTHING) -> Output:
        """Run commands given as text, as `bash -c` and `eval` get them."""
        parsed = parse(source, self.level)
        for problem in parsed.problems[:3]:
            self.effects.add("unclear", problem)
        if parsed.unread:
            self.effects.add_too_large(parsed.unread)
        return self.run_node(parsed.block, state, stdin)

    def run_node(self, node: Node, state: ShellState, stdin: Output = NOTHING) -> Output:
        """Record the effects of a node, update the state, and return what it prints."""
        self.level += 1
        if self.level > DEEPEST:
            raise CommandTooLarge(f"nested more than {DEEPEST} deep")
        self._count_step()
        try:
            if isinstance(node, Simple):
                return self._run_simple(node, state, stdin)
            return self._run_block(node, state, stdin)
        finally:
            self.level -= 1

    def _count_step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise CommandTooLarge(f"more than {MOST_STEPS} steps")

    def capture(self, block: CommandBlock, state: ShellState) -> Output:
        """Return what `$(…)` prints; it runs in a shell of its own."""
        return self.run_node(block, state.copy())

    def resolve_directory(self, value: Value, state: ShellState) -> str | None:
        """Return the directory that `cd` goes to, or None if it is not known."""
        if not value.known or value.glob:
            return None
        return self.paths.absolute(value.text or ".", state.cwd)

    def find_text(self, value: Value, state: ShellState) -> str | None:
        """Return the content of a file that this command or the session wrote, if it is known."""
        shown = self.paths.display(value.text, state.cwd) if value.known and value.text else None
        if shown is None:
            return None
        path = shown[0]
        for change in reversed(self.effects.changes):
            if change.path == path:
                return change.added if change.whole else None
        return self.texts.get(path)

    def _run_block(self, block: CommandBlock, state: ShellState, stdin: Output) -> Output:
        files: list[tuple[Redirect, Value]] = []
        if block.redirects:
            stdin, files = self._open_redirects(block.redirects, state, stdin)
        if block.kind in ("subshell", "background"):
            state = state.copy()
        if block.kind == "function":
            state.functions[block.name] = block
            return NOTHING
        if block.kind == "pipe":
            result = stdin
            for node in block.nodes:
                result = self.run_node(node, state.copy(), result)
        elif block.kind == "chain":
            result = self._run_chain(block, state, stdin)
        elif block.kind == "for":
            result = self._run_for(block, state, stdin)
        elif block.kind == "while":
            result = self._run_while(block, state, stdin)
        else:
            result = self._run_all(block.nodes, state, stdin)
        return self._write_output(files, result, state) if files else result

    def _run_all(self, nodes: Sequence[Node], state: ShellState, stdin: Output) -> Output:
        return _join_outputs([self.run_node(node, state, stdin) for node in nodes])

    def _run_chain(self, block: CommandBlock, state: ShellState, stdin: Output) -> Output:
        results = []
        checks = 0
        for place, node in enumerate(block.nodes):
            otherwise = place > 0 and block.name[place - 1] == "|"
            if otherwise and _does_nothing(node):
                self.effects.ignore_checks(checks)
            cwd = state.cwd
            checks = self.effects.count("checks") if not otherwise else checks
            results.append(self.run_node(node, state, stdin))
            if otherwise:
                state.cwd = cwd
        return _join_outputs(results)

    def _run_for(self, block: CommandBlock, state: ShellState, stdin: Output) -> Output:
        if block.words is None:
            values: list[Value] = list(state.params) or [Value(UNKNOWN)]
        else:
            values = [v for word in block.words for v in expand_words(word, state, self.capture)]
        if not block.name:
            values = [Value(UNKNOWN)]
        if len(values) > MOST_ROUNDS:
            self.effects.add_too_large(f"a loop over {len(values)} words: not all are read")
        results = []
        for value in values[:MOST_ROUNDS]:
            state.variables[block.name] = (value,)
            results.append(self._run_all(block.nodes, state, stdin))
        return _join_outputs(results)

    def _run_while(self, block: CommandBlock, state: ShellState, stdin: Output) -> Output:
        lines = stdin.lines() if stdin is not NOTHING else ()
        rounds = lines[:MOST_ROUNDS] or (Value(UNKNOWN),)
        return _join_outputs(
            [self._run_all(block.nodes, state, Output((line,))) for line in rounds]
        )

    def _run_simple(self, node: Simple, state: ShellState, stdin: Output) -> Output:
        argv: list[Value] = []
        for word in node.words:
            argv += expand_words(word, state, self.capture)
        files: list[tuple[Redirect, Value]] = []
        if node.redirects:
            stdin, files = self._open_redirects(node.redirects, state, stdin)
        for name, words in node.assigns:
            values = self._expand_assigned(words, state)
            if not argv or argv[0].text in wrappers.DECLARES:
                state.variables[name] = values
        result = self.run_program(argv, state, stdin) if argv else NOTHING
        return self._write_output(files, result, state) if files else result

    def _expand_assigned(self, words: Sequence[Word], state: ShellState) -> tuple[Value, ...]:
        if len(words) == 1:
            value = expand_single(words[0], state, self.capture)
            return (value if len(value.text) <= _LONGEST_VALUE else Value(UNKNOWN),)
        values = [value for word in words for value in expand_words(word, state, self.capture)]
        return tuple(values[:MOST_VALUES])

    def _open_redirects(
        self, redirects: Sequence[Redirect], state: ShellState, stdin: Output
    ) -> tuple[Output, list[tuple[Redirect, Value]]]:
        """Return what the command reads from standard input, and the files that it prints to."""
        files = []
        for each in redirects:
            target = each.target
            process = target[0] if isinstance(target, tuple) and len(target) == 1 else None
            if process and process.kind == "process" and process.body:
                if each.op == "<":
                    stdin = self.capture(process.body, state)
                continue
            value = expand_single(target, state, self.capture)
            if each.op in ("<<", "<<<"):
                stdin = make_output(value.text + ("\n" if each.op == "<<<" else ""))
            elif each.op == "<&" or (each.op == ">&" and _is_descriptor(value.text)):
                continue
            elif each.op in ("<", "<>"):
                ProgramCall(self, state, each.op, [], NOTHING).read(value)
                text = self.find_text(value, state)
                stdin = ANYTHING if text is None else make_output(text)
            else:
                files.append((each, value))
        return stdin, files

    def _write_output(
        self, files: Sequence[tuple[Redirect, Value]], result: Output, state: ShellState
    ) -> Output:
        for each, value in files:
            output = each.fd in ("", "1")
            call = ProgramCall(self, state, each.op, [], NOTHING)
            if ">>" in each.op:
                call.append_text(value, result.text if output else None)
            else:
                call.write_text(value, result.text if output else None, whole=True)
            if output:
                result = NOTHING
        return result

    def run_program(self, argv: list[Value], state: ShellState, stdin: Output) -> Output:
        """Run one program with its words, without the wrappers around it."""
        self._count_step()
        for _ in range(20):
            typed = argv[0].text
            if UNKNOWN in typed:
                self.effects.plain = False
                self.effects.add("unclear", f"{argv[0].shown}: a program that is not known")
                return ANYTHING
            if typed in state.functions:
                return self._run_function(state.functions[typed], argv, state, stdin)
            name = find_name(typed)
            call = ProgramCall(self, state, name, argv[1:], stdin, typed)
            inner = wrappers.unwrap(call)
            if inner is None:
                return find_reader(name)(call) or ANYTHING
            if not inner:
                return ANYTHING
            argv = inner
        return ANYTHING

    def _run_function(
        self, block: CommandBlock, argv: list[Value], state: ShellState, stdin: Output
    ) -> Output:
        params, state.params = state.params, tuple(argv[1:])
        result = self._run_all(block.nodes, state, stdin)
        state.params = params
        return result


def find_name(typed: str) -> str:
    """Return the name a program is known by: `python` for `python3.11` and `/usr/bin/python`."""
    name = basename(typed)
    for known in ("python", "pip", "ruby", "perl", "node"):
        if name.startswith(known) and name[len(known) :].replace(".", "").isdigit():
            return known
    return wrappers.ALIASES.get(name, name)


def _is_descriptor(text: str) -> bool:
    return text.isdigit() or text == "-"


def _join_outputs(results: Sequence[Output]) -> Output:
    results = [result for result in results if result is not NOTHING]
    if not results:
        return NOTHING
    values, text = results[0]
    for more in results[1:]:
        values = None if values is None or more.values is None else values + more.values
        text = None if text is None or more.text is None else text + more.text
    return Output(values, text)


def _does_nothing(node: Node) -> bool:
    """True for `true`, `:` and `exit 0`, which make a failure look like success."""
    if not isinstance(node, Simple):
        return False
    return node.words in (["true"], [":"], ["exit", "0"], ["return", "0"])
