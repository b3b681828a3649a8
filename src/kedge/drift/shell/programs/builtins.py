"""Shell builtins: the directory, variables, and what is printed."""

from __future__ import annotations

import re

from kedge.drift.shell.call import ANYTHING, NOTHING, Output, ProgramCall, Value
from kedge.drift.shell.values import UNKNOWN, make_output

_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", "0": ""}
_ESCAPE = re.compile(r"\\([nt\\r0])")


def read_silent(_call: ProgramCall) -> Output:
    return NOTHING


def read_cd(call: ProgramCall) -> Output:
    state = call.state
    operands = call.parse_options().rest
    if call.name == "pushd":
        state.stack.append(state.cwd)
    back = state.cwd
    if not operands:
        state.cwd = call.shell.paths.absolute("~", None) if call.name == "cd" else state.cwd
    elif operands[0].text == "-":
        state.cwd = state.back
    else:
        state.cwd = call.shell.resolve_directory(operands[0], state)
    state.back = back
    return NOTHING


def read_popd(call: ProgramCall) -> Output:
    call.state.cwd = call.state.stack.pop() if call.state.stack else None
    return NOTHING


def read_pwd(call: ProgramCall) -> Output:
    return ANYTHING if call.state.cwd is None else Output((Value(call.state.cwd),))


def read_echo(call: ProgramCall) -> Output:
    args = call.args
    escapes, end = False, "\n"
    while args and re.fullmatch(r"-[neE]{1,3}", args[0].text):
        escapes = escapes or "e" in args[0].text
        end = "" if "n" in args[0].text else end
        args = args[1:]
    text = " ".join(value.text for value in args)
    return _print(args, (_unescape(text) if escapes else text) + end)


def read_printf(call: ProgramCall) -> Output:
    args = call.args[2:] if call.words[:1] == ["-v"] else call.args
    if not args:
        return NOTHING
    form, rest = _unescape(args[0].text), args[1:]
    if "%" not in form:
        return _print(args[:1], form)
    if form.count("%") == form.count("%s") == 1 and rest:
        return _print(rest, "".join(form.replace("%s", value.text) for value in rest))
    if form.count("%") == form.count("%s") == len(rest):
        pieces = form.split("%s")
        texts = [value.text for value in rest]
        text = pieces[0] + "".join(map("".join, zip(texts, pieces[1:], strict=True)))
        return _print(rest, text)
    return Output(tuple(rest) or None)


def _print(args: list[Value], text: str) -> Output:
    if any(value.glob for value in args) or not all(value.known for value in args):
        return Output(tuple(args), None if any(value.glob for value in args) else text)
    return make_output(text)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES[found[1]], text)


def read_declare(call: ProgramCall) -> Output:
    for value in call.args:
        name, sign, given = value.text.partition("=")
        if sign and name.isidentifier():
            call.state.variables[name] = (Value(given, value.glob),)
    return NOTHING


def read_input(call: ProgramCall) -> Output:
    names = call.parse_options("-d -n -N -p -t -u -i -a").rest
    line = call.stdin.lines()[:1] or (Value(UNKNOWN),)
    if len(names) == 1:
        call.state.variables[names[0].text] = line
        return NOTHING
    words = line[0].text.split() if line[0].known and not line[0].glob else []
    for place, name in enumerate(names):
        given = words[place:] if place == len(names) - 1 else words[place : place + 1]
        call.state.variables[name.text] = (Value(" ".join(given) or UNKNOWN),)
    return NOTHING


def read_mapfile(call: ProgramCall) -> Output:
    names = call.parse_options("-d -n -O -s -u -C -c").rest
    if names:
        call.state.variables[names[0].text] = call.stdin.lines() or (Value(UNKNOWN),)
    return NOTHING


def read_set(call: ProgramCall) -> Output:
    if "--" in call.words:
        call.state.params = tuple(call.args[call.words.index("--") + 1 :])
    return NOTHING


def read_shift(call: ProgramCall) -> Output:
    call.state.params = call.state.params[1:]
    return NOTHING


def read_eval(call: ProgramCall) -> Output:
    text = " ".join(call.words)
    if UNKNOWN in text:
        call.effects.plain = False
        if text.strip(UNKNOWN + " "):
            return call.shell.run_text(text.replace(UNKNOWN, '"$unknown"'), call.state, call.stdin)
        call.add_unclear("what it runs is not known")
        return ANYTHING
    return call.shell.run_text(text, call.state, call.stdin)


def read_source(call: ProgramCall) -> Output:
    if call.args and not call.args[0].text.endswith(("/activate", ".env", "rc", "profile")):
        call.add_script(call.args[0])
        text = call.find_text(call.args[0])
        if text is not None:
            call.shell.run_text(text, call.state, call.stdin)
    return NOTHING


def read_trap(call: ProgramCall) -> Output:
    if len(call.args) > 1 and call.args[0].known and call.args[0].text not in ("-", ""):
        call.shell.run_text(call.args[0].text, call.state.copy())
    return NOTHING
