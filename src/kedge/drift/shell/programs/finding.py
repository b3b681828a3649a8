"""Programs that find files and run others on them."""

from __future__ import annotations

from kedge.drift.shell.call import NOTHING, Output, ProgramCall, Value
from kedge.drift.shell.options import parse_options
from kedge.drift.shell.values import MOST_VALUES, UNKNOWN, pattern_under

_FD_RUNS = ("-x", "-X", "--exec", "--exec-batch")
_RUNS = ("-exec", "-execdir", "-ok", "-okdir")


def read_find(call: ProgramCall) -> Output:
    names: list[str] = []
    commands: list[list[Value]] = []
    args = call.args
    at, flat, deletes = 0, False, False
    while at < len(args) and not args[at].text.startswith(("-", "(", "!")):
        at += 1
    places = args[:at]
    refused = False
    while at < len(args):
        text = args[at].text
        at += 1
        value = args[at].text if at < len(args) else ""
        if text in ("!", "-not"):
            refused = True
            continue
        if text in ("-name", "-iname", "-path", "-ipath", "-wholename"):
            if not refused:
                names.append(value if "path" not in text and "whole" not in text else "/" + value)
            at += 1
        elif text == "-maxdepth":
            flat = value == "1"
            at += 1
        elif text in _RUNS:
            end = next((i for i in range(at, len(args)) if args[i].text in (";", "+")), len(args))
            commands.append(args[at:end])
            at = end + 1
        elif text == "-delete":
            deletes = True
        elif text in ("-fprint", "-fls", "-fprintf", "-fprint0"):
            call.write(*args[at : at + 1])
            at += 1
        refused = False
    found = [
        pattern
        for place in places or [Value(".")]
        for pattern in _patterns(place, names, flat)
    ]  # fmt: skip
    if deletes:
        call.delete(*found)
    elif not commands:
        call.read(*places)
    for command in commands:
        _run_on_each(call, command, found, "{}")
    return Output(tuple(found))


def _patterns(place: Value, names: list[str], flat: bool) -> list[Value]:
    found = []
    for name in names or ["*" if flat else "**"]:
        if name.startswith("/"):  # a pattern of the whole path
            path = name[1:].lstrip("*")
            here = path.startswith("./") and place.text in (".", "./")
            pattern = path.removeprefix("./") if here else f"**{path}"
        else:
            pattern = name if flat or name == "**" else f"**/{name}"
        found.append(pattern_under(place.text, pattern))
    return found


def _run_on_each(call: ProgramCall, command: list[Value], values: list[Value], sign: str) -> Output:
    """Run a command with the sign replaced by each value, or with all values appended."""
    if not command:
        return NOTHING
    if not any(sign in word.text for word in command):
        return call.shell.run_program([*command, *values], call.state.copy(), NOTHING)
    result = NOTHING
    for value in values[:MOST_VALUES]:
        argv = [
            Value(word.text.replace(sign, value.text), word.glob or value.glob)
            if sign in word.text
            else word
            for word in command
        ]
        result = call.shell.run_program(argv, call.state.copy(), NOTHING)
    return result


def read_xargs(call: ProgramCall) -> Output:
    takes = "-n -P -L -I -s -d -a -E -J --max-args --max-procs --max-lines --delimiter --arg-file"
    options = call.parse_options(takes + " --replace --eof", stop=True)
    sign = options.get("-I", "-J", "--replace")
    values = [Value(UNKNOWN)] if call.stdin.values is None else list(call.stdin.values)
    if options.any("-0", "--null") and call.stdin.text and "\0" not in call.stdin.text:
        values = [Value(word) for word in call.stdin.text.split()]
    if options.any("-a", "--arg-file"):
        call.read(*options.get("-a", "--arg-file"))
        values = [Value(UNKNOWN)]
    command = options.rest or [Value("echo")]
    if sign or options.any("-i"):
        return _run_on_each(call, command, values, sign[0].text if sign else "{}")
    return call.shell.run_program([*command, *values], call.state.copy(), NOTHING)


def read_parallel(call: ProgramCall) -> Output:
    options = call.parse_options("-j --jobs -n -N --colsep --delay --timeout --joblog", stop=True)
    if ":::" in options.words:
        at = options.words.index(":::")
        command, values = options.rest[:at], options.rest[at + 1 :]
    else:
        command, values = options.rest, list(call.stdin.values or [Value(UNKNOWN)])
    if len(command) == 1 and " " in command[0].text:
        return call.shell.run_text(command[0].text.replace("{}", '"$unknown"'), call.state.copy())
    return _run_on_each(call, command, values, "{}")


def read_fd(call: ProgramCall) -> Output:
    words = call.words
    run = next((at for at, word in enumerate(words) if word in _FD_RUNS), len(words))
    takes = "-e -t -d -E -g -S -c --extension --type --max-depth --exclude --size --changed-within"
    options = parse_options(call.args[:run], takes)
    tails = [f"**/*.{value.text.lstrip('.')}" for value in options.get("-e", "--extension")]
    if not tails:
        name = options.verb
        plain = name.replace(".", "").replace("_", "").replace("-", "").isalnum()
        tails = [f"**/*{name}*" if plain else "**"]
    values = [pattern_under(place, tail) for place in options.words[1:] or ["."] for tail in tails]
    if run < len(words):
        return _run_on_each(call, call.args[run + 1 :], values, "{}")
    return Output(tuple(values))
