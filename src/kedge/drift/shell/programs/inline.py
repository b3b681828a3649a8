"""Code given on the command line: the files that it writes, the programs that it runs."""

from __future__ import annotations

from kedge.drift.shell.call import NOTHING, ProgramCall, Value
from kedge.drift.shell.code import Code
from kedge.drift.shell.values import UNKNOWN

_SLASHES = frozenset({"node", "php", "tsx", "ts-node"})
# what a call does with its first arguments | the names that it goes by | what may stand before it:
# a module, `-` for nothing, `path` for a path, `any` for whatever
_TABLE = """
write* | write_text write_bytes symlink_to | path
read* | read_text read_bytes | path
write | touch | path FileUtils
write | chmod | path os
write | truncate | os
write | write binwrite | File IO Bun
write | writeFile writeFileSync appendFile appendFileSync | fs fsp promises fse -
write | createWriteStream truncateSync outputFileSync writeJsonSync | fs fsp promises fse -
write | writeTextFile writeTextFileSync | Deno
write | file_put_contents | -
write | to_csv to_json savefig | any
delete | unlink rmdir | path os fs fsp promises File FileUtils Dir -
delete | remove removeSync removedirs | os fs fsp fse Deno
delete | rmtree | shutil -
delete | delete rm_f rm_rf rm_r | File FileUtils Dir IO
delete | rm | fs fsp promises FileUtils
delete | unlinkSync rmSync rmdirSync | fs fse -
move | rename renames | path os fs fsp promises File FileUtils -
move | replace | path os
move | renameSync moveSync | fs fse -
move | move mv | shutil fs fse FileUtils
copy | copy copy2 copyfile copytree | shutil fse -
copy | copyFile copyFileSync cpSync | fs fsp promises fse -
copy | cp cp_r | fs fsp promises FileUtils
directory | mkdir | path os fs fsp promises Dir FileUtils -
directory | makedirs mkdirSync mkdir_p | os fs fse FileUtils -
read | readFileSync readFile file_get_contents | fs fsp promises fse -
shell | system popen shell_exec passthru | os -
shell | execSync | any
shell | run call check_call check_output getoutput | subprocess
shell | Popen | subprocess -
spawn | spawnSync execFileSync spawn | any
network | urlopen urlretrieve | any
network | fetch | -
network | get post put | requests httpx axios https http
open | open | - io codecs gzip path File
"""
_CALLS: dict[str, tuple[str, frozenset[str]]] = {
    name: (act, frozenset(before.split()))
    for act, names, before in (line.split(" | ") for line in _TABLE.strip().splitlines())
    for name in names.split()
}


def read_code(call: ProgramCall, language: str, text: str, args: list[Value]) -> None:
    """Record what the code does to files, and the programs that it runs."""
    call.shell.effects.plain = False
    code = Code(text, language in _SLASHES, args)
    changes: list[tuple[str, str]] = []
    before = call.shell.effects.count("written")
    for place in [at for at, kind in enumerate(code.kinds) if kind == "n"]:
        follows = code.sign(place + 1)
        if (follows == "=" and code.sign(place + 2) != "=") or (
            follows in ("in", "of") and code.texts[place] not in ("if", "not")
        ):
            values = code.evaluate(place + 2, code.find_statement_end(place + 2))
            code.names[code.texts[place]] = values or []
        elif follows == "(":
            _read_call(call, code, place, changes, language)
    written = list(call.shell.effects.kinds.get("written", ()))[before:]
    path = str(written[0]) if len(written) == 1 else ""
    for old, new in changes[:20]:
        call.shell.effects.add_change(path, new, old)


def _read_call(
    call: ProgramCall, code: Code, place: int, changes: list[tuple[str, str]], language: str
) -> None:
    name = code.texts[place]
    if name in ("exec", "eval") and code.sign(place - 1) != ".":
        call.add_unread(f"{name} runs code that is not read")
        return
    known = _CALLS.get(name)
    if name == "write" and _read_write(call, code, place):
        return
    if known is None:
        return
    act, before = known
    dotted = code.sign(place - 1) == "."
    qualifier = _find_qualifier(code, place - 2) if dotted else ""
    spans = code.split_arguments(place + 1)
    if name == "replace" and len(spans) >= 2 and dotted and qualifier != "os":
        texts = [code.evaluate(*span) for span in spans[:2]]
        if texts[0] and texts[1]:
            changes.append((texts[0][0].text, texts[1][0].text))
        return
    receiver = None
    if dotted and qualifier not in before:
        receiver = _find_receiver(code, place - 2) if "path" in before else None
        if receiver is None and (act.endswith("*") or (act == "open" and _opens(code, spans))):
            receiver = [Value(UNKNOWN)]
        if receiver is None and "any" not in before:
            return
    elif not dotted and "-" not in before and "any" not in before:
        return
    _record_act(call, code, act, spans, receiver, language)


def _find_qualifier(code: Code, place: int) -> str:
    """Return the name before the dot: `fs` for `require('fs')`."""
    name = code.sign(place)
    start = code.match.get(place, -1)
    if name == ")" and code.sign(start - 1) == "require" and code.kinds[start + 1] == "s":
        return code.texts[start + 1].removeprefix("node:").partition("/")[0]
    return name


def _read_write(call: ProgramCall, code: Code, place: int) -> bool:
    """Record the text in `open('x', 'w').write('…')` and `f.write('…')`; False if it is neither."""
    if code.sign(place - 1) != ".":
        return False
    name = code.sign(place - 2)
    opened = code.match.get(place - 2, -1) if name == ")" else -1
    if opened > 0 and code.sign(opened - 1) == "open":
        spans = code.split_arguments(opened)
        path = code.evaluate(*spans[0]) if spans else None
    else:
        path = code.names.get(f"{name}.file")
    spans = code.split_arguments(place + 1)
    text = code.evaluate(*spans[0]) if spans else None
    if path and text:
        call.write_text(path[0], text[0].text)
    return path is not None


def _opens(code: Code, spans: list[tuple[int, int]]) -> bool:
    """True if the argument of `x.open(…)` is a mode, so that `x` is a path."""
    values = code.evaluate(*spans[0]) if spans else None
    mode = values[0].text if values else ""
    return 0 < len(mode) < 4 and mode[0] in "rwax"


def _find_receiver(code: Code, end: int) -> list[Value] | None:
    """Return the path before `.write_text(`."""
    start = code.match.get(end, end)
    if start != end and code.kinds[start - 1 : start] == ["n"] and start > 0:
        start -= 1
        while code.sign(start - 1) == "." and start > 1 and code.kinds[start - 2] == "n":
            start -= 2
    return code.evaluate(start, end + 1)


def _record_act(
    call: ProgramCall,
    code: Code,
    act: str,
    spans: list[tuple[int, int]],
    receiver: list[Value] | None,
    language: str,
) -> None:
    plain = [span for span in spans if code.sign(span[0] + 1) != "="]
    given: list[list[Value] | None] = [receiver] if receiver is not None else []
    given += [code.evaluate(*span) for span in plain[:3]]
    first = (given[0] if given else None) or [Value(UNKNOWN)]
    second = (given[1] if len(given) > 1 else None) or [Value(UNKNOWN)]
    if act == "open":
        _record_open(call, code, spans, given, receiver is not None, language)
    elif act in ("write", "write*"):
        text = given[1][0].text if len(given) > 1 and given[1] else None
        for value in first:
            call.write_text(value, text)
    elif act in ("read", "read*"):
        call.read(*first)
    elif act == "delete":
        call.delete(*first)
    elif act == "directory":
        call.make_directory(*first)
    elif act == "move":
        call.move(first[0], second[0])
    elif act == "copy":
        call.read(*first)
        call.write(*second)
    elif act == "network":
        call.add_network(first[0].text if first[0].known else "not known")
    elif act == "spawn":
        rest = second if len(given) > 1 and second[0].known else []
        call.shell.run_program([*first, *rest], call.state.copy(), NOTHING)
    else:
        _run_command(call, code, plain, first)


def _record_open(
    call: ProgramCall,
    code: Code,
    spans: list[tuple[int, int]],
    given: list[list[Value] | None],
    method: bool,
    language: str,
) -> None:
    mode = ""
    for start, end in spans:
        if code.sign(start) == "mode" and code.sign(start + 1) == "=":
            values = code.evaluate(start + 2, end)
            mode = values[0].text if values else "w"
    path = given[0] if given else None
    if language == "perl":  # open(my $file, '>', 'name')
        texts = [code.evaluate(*span) for span in spans[1:3]]
        sign = texts[0][0].text if texts and texts[0] else ""
        path = texts[1] if len(texts) > 1 else [Value(sign.lstrip("<>+ "))]
        mode = "w" if ">" in sign else "r"
    elif not mode and len(given) > 1:
        mode = given[1][0].text if given[1] else ""
        if len(mode) > 4 and not method:
            mode = ""
    if any(sign in mode for sign in "wax+"):
        call.write(*(path or [Value(UNKNOWN)]))
        end = spans[-1][1] if spans else 0
        if path and code.sign(end + 1) == "as":
            code.names[f"{code.sign(end + 2)}.file"] = path
    elif path:
        call.read(*path)


def _run_command(
    call: ProgramCall, code: Code, spans: list[tuple[int, int]], first: list[Value]
) -> None:
    if not spans:
        return
    start = spans[0][0]
    if code.sign(start) == "[" and all(value.known or value.text for value in first):
        if first != [Value(UNKNOWN)]:
            call.shell.run_program(first, call.state.copy(), NOTHING)
            return
        words = _evaluate_list(code, start)
        if words:
            call.shell.run_program(words, call.state.copy(), NOTHING)
            return
    elif first[0].known:
        call.shell.run_text(first[0].text, call.state.copy())
        return
    call.add_unclear("the program that it runs is not known")


def _evaluate_list(code: Code, start: int) -> list[Value]:
    """Return the words of a list of which not all are plain."""
    end = code.match.get(start, start)
    found = []
    for span in code.split_spans(start + 1, end):
        values = code.evaluate(*span)
        found += values or [Value(UNKNOWN)]
    return found if found and found[0].known else []
