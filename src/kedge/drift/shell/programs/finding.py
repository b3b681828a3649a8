"""Programs that find files and run others on them."""

from __future__ import annotations

from kedge.drift.shell.call import NOTHING, Call, Output, Value
from kedge.drift.shell.paths import under
from kedge.drift.shell.values import MOST_VALUES, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.call import Reader

_FD_RUNS = ("-x", "-X", "--exec", "--exec-batch")
_RUNS = ("-exec", "-execdir", "-ok", "-okdir")


def _find(call: Call) -> Output:
    places: list[Value] = []
    names: list[str] = []
    commands: list[list[Value]] = []
    args = call.args
    at, flat, deletes = 0, False, False
    while at < len(args) and not args[at].text.startswith(("-", "(", "!")):
        places.append(args[at])
        at += 1
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
        _run(call, command, found, "{}")
    return Output(tuple(found))


def _patterns(place: Value, names: list[str], flat: bool) -> list[Value]:
    found = []
    for name in names or ["*" if flat else "**"]:
        if name.startswith("/"):  # a pattern of the whole path
            path = name[1:].lstrip("*")
            inside = path.removeprefix("./") if path.startswith("./") else f"**{path}"
            pattern = inside if place.text in (".", "./") else under(place.text, f"**{path}")
        elif flat or name == "**":
            pattern = under(place.text, name)
        else:
            pattern = under(place.text, f"**/{name}")
        found.append(Value(pattern, True))
    return found


def _run(call: Call, command: list[Value], values: list[Value], sign: str) -> Output:
    """Run a command with the sign replaced by each value; put behind it if there is no sign."""
    if not command:
        return NOTHING
    if not any(sign in word.text for word in command):
        return call.run.program([*command, *values], call.state.copy(), NOTHING)
    result = NOTHING
    for value in values[:MOST_VALUES]:
        argv = [_replaced(word, sign, value) if sign in word.text else word for word in command]
        result = call.run.program(argv, call.state.copy(), NOTHING)
    return result


def _replaced(word: Value, sign: str, value: Value) -> Value:
    return Value(word.text.replace(sign, value.text), word.glob or value.glob)


def _xargs(call: Call) -> Output:
    takes = "-n -P -L -I -s -d -a -E -J --max-args --max-procs --max-lines --delimiter --arg-file"
    found = call.options(takes + " --replace --eof", stop=True)
    sign = found.get("-I", "-J", "--replace")
    values = list(call.stdin.values or ()) if call.stdin.values is not None else [Value(UNKNOWN)]
    if found.any("-0", "--null") and call.stdin.text and "\0" not in call.stdin.text:
        values = [Value(word) for word in call.stdin.text.split()]
    if found.any("-a", "--arg-file"):
        call.read(*found.get("-a", "--arg-file"))
        values = [Value(UNKNOWN)]
    command = found.rest or [Value("echo")]
    if sign or found.any("-i"):
        return _run(call, command, values, sign[0].text if sign else "{}")
    return call.run.program([*command, *values], call.state.copy(), NOTHING)


def _parallel(call: Call) -> Output:
    found = call.options("-j --jobs -n -N --colsep --delay --timeout --joblog", stop=True)
    words = [value.text for value in found.rest]
    if ":::" in words:
        at = words.index(":::")
        command, values = found.rest[:at], found.rest[at + 1 :]
    else:
        command, values = found.rest, list(call.stdin.values or [Value(UNKNOWN)])
    if len(command) == 1 and " " in command[0].text:
        return call.run.text(command[0].text.replace("{}", '"$unknown"'), call.state.copy())
    return _run(call, command, values, "{}")


def _fd(call: Call) -> Output:
    words = call.words
    run = next((at for at, word in enumerate(words) if word in _FD_RUNS), len(words))
    takes = "-e -t -d -E -g -S -c --extension --type --max-depth --exclude --size --changed-within"
    found = Call(call.run, call.state, call.name, call.args[:run], call.stdin).options(takes)
    tails = [f"**/*.{value.text.lstrip('.')}" for value in found.get("-e", "--extension")]
    if not tails:
        name = found.rest[0].text if found.rest else ""
        plain = name.replace(".", "").replace("_", "").replace("-", "").isalnum()
        tails = [f"**/*{name}*" if plain else "**"]
    values = [
        Value(under(place.text, tail), True)
        for place in found.rest[1:] or [Value(".")]
        for tail in tails
    ]
    if run < len(words):
        command = call.args[run + 1 :]
        return _run(call, command, values, "{}")
    return Output(tuple(values))


READERS: dict[str, Reader] = {"find": _find, "xargs": _xargs, "parallel": _parallel, "fd": _fd}
