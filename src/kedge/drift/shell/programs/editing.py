"""Programs that change the text of files: in place, from a stream, or by a patch."""

from __future__ import annotations

import re

from kedge.drift.shell.call import ANYTHING, NOTHING, Output, ProgramCall, Value
from kedge.drift.shell.patches import parse_patch

_SUFFIX = re.compile(r"\.\w{1,8}")
_ADDRESS = re.compile(r"[\d$,~+!\s]*+(?:/(?:[^/\\\n]|\\.)*/[\d$,~+!I\s]*+){0,2}")
_AWK_FILE = re.compile(r'>>?\s{0,9}"([^"\n]{1,200})"')


def read_sed(call: ProgramCall) -> Output:
    scripts: list[str] = []
    files: list[Value] = []
    in_place, suffix = False, ""
    given = False
    args = call.args
    at = 0
    while at < len(args):
        text = args[at].text
        at += 1
        if text in ("-e", "--expression", "-f", "--file", "-l"):
            given = given or text != "-l"
            scripts += [args[at].text] if text in ("-e", "--expression") and at < len(args) else []
            at += 1
        elif text.startswith("--in-place"):
            in_place, suffix = True, text.partition("=")[2]
        elif text.startswith(("--expression=", "--file=")):
            given = True
            scripts.append(text.partition("=")[2])
        elif text.startswith("-") and not text.startswith("--") and len(text) > 1:
            head, sign, tail = text[1:].partition("i")
            if sign and "e" not in head and "f" not in head:
                in_place, suffix = True, tail if tail.startswith(".") else ""
                if not tail and at < len(args) and _is_suffix(args, at):
                    suffix = args[at].text
                    at += 1
            elif text.endswith("e") and at < len(args):
                given = True
                scripts.append(args[at].text)
                at += 1
        elif not text.startswith("--"):
            if given:
                files.append(args[at - 1])
            else:
                given = True
                scripts.append(text)
    if not in_place:
        call.read(*files)
        return ANYTHING
    _edit_in_place(call, files, scripts, suffix)
    return NOTHING


def _edit_in_place(call: ProgramCall, files: list[Value], scripts: list[str], suffix: str) -> None:
    """Record what scripts change; with a suffix, the old file is kept under another name."""
    added, removed = _find_replacements("\n".join(scripts))
    call.edit(files, added, removed)
    if suffix:
        call.write(*[Value(value.text + suffix, value.glob) for value in files])


def _is_suffix(args: list[Value], at: int) -> bool:
    """True if the word after `-i` is the suffix that BSD sed expects there."""
    if args[at].text == "":
        return True
    return _SUFFIX.fullmatch(args[at].text) is not None and at + 2 < len(args)


def _find_replacements(script: str) -> tuple[str, str]:
    """Return the text that a sed script adds and removes, as far as it is plain."""
    added, removed = [], []
    at, rounds = 0, 0
    while at < len(script) and rounds < 100:
        rounds += 1
        address = _ADDRESS.match(script, at)
        start, at = at, address.end() if address else at
        sign = script[at : at + 1]
        if sign == "s" and at + 1 < len(script) and not script[at + 1].isalnum():
            old, new, at = _read_pair(script, at + 1)
            removed.append(old)
            added.append(new)
        elif sign in ("a", "i", "c") and script[at + 1 : at + 2] in ("\\", " "):
            added.append(script[at + 1 :].partition("\n")[0].lstrip("\\ "))
        elif sign == "d" and "/" in script[start:at]:
            removed.append(script[start:at].strip().strip("/"))
        ends = [place for place in (script.find(";", at), script.find("\n", at)) if place >= 0]
        at = min(ends) + 1 if ends else len(script)
    return "\n".join(added), "\n".join(removed)


def _read_pair(script: str, at: int) -> tuple[str, str, int]:
    """Read `/old/new/` at `at`: both without escapes, and where it ends."""
    mark = script[at]
    pieces: list[str] = []
    piece = ""
    at += 1
    while at < len(script) and len(pieces) < 2:
        sign = script[at]
        if sign == "\\":
            follows = script[at + 1 : at + 2]
            piece += follows if follows == mark or not follows.isalnum() else sign + follows
            at += 2
            continue
        if sign == mark:
            pieces.append(piece)
            piece = ""
        else:
            piece += sign
        at += 1
    pieces += [piece, ""]
    return pieces[0], pieces[1], at


def read_perl(call: ProgramCall) -> None:
    codes: list[str] = []
    files: list[Value] = []
    in_place, suffix = False, ""
    args = call.args
    at = 0
    while at < len(args):
        text = args[at].text
        at += 1
        if text == "--":
            files += args[at:]
            break
        if not text.startswith("-") or len(text) < 2:
            files.append(args[at - 1])
            continue
        if text[1] in "MmIx0F":
            continue
        head, sign, tail = text[1:].partition("i")
        backup = ""
        if sign and not set(head) & set("eE"):
            in_place = True
            backup = tail if tail.startswith(".") else ""
            suffix = suffix or backup
        if text[-1] in "eE" and not backup and at < len(args):
            codes.append(args[at].text)
            at += 1
    if in_place:
        _edit_in_place(call, files, codes, suffix)
    elif codes:
        from kedge.drift.shell.programs.inline import read_code

        read_code(call, "perl", "\n".join(codes), [])
        call.read(*files)
    elif files:
        call.add_script(files[0])


def read_awk(call: ProgramCall) -> Output:
    options = call.parse_options("-i -F -v -f -e --include --field-separator --assign --file")
    given = options.any("-f", "--file")
    code = "" if given else options.verb
    files = [each for each in options.rest[0 if given else 1 :] if "=" not in each.text]
    if any(value.text == "inplace" for value in options.get("-i", "--include")):
        call.edit(files)
        return NOTHING
    call.read(*files)
    call.write(*[Value(name) for name in _AWK_FILE.findall(code[:10_000])])
    return ANYTHING


def read_tee(call: ProgramCall) -> Output:
    options = call.parse_options("--output-error")
    for value in options.rest:
        if options.any("-a", "--append"):
            call.append_text(value, call.stdin.text)
        else:
            call.write_text(value, call.stdin.text, whole=True)
    return call.stdin


def read_dd(call: ProgramCall) -> None:
    for value in call.args:
        name, _, path = value.text.partition("=")
        if name == "of":
            call.write(Value(path, value.glob))
        elif name == "if":
            call.read(Value(path, value.glob))


def read_patch(call: ProgramCall) -> Output:
    options = call.parse_options("-p -i -d -o -F -B -z -r -D --strip --input --directory --output")
    here = call.in_directory(*options.get("-d", "--directory"))
    if options.any("--dry-run"):
        return NOTHING
    if options.rest:
        here.edit(options.rest[:1])
        call.read(*options.rest[1:])
        return NOTHING
    given = options.get("-i", "--input")
    call.read(*given)
    text = call.find_text(given[0]) if given else call.stdin.text
    if not (text and apply_patch(here, text)):
        call.add_unread("the files that the patch changes are not read")
    return NOTHING


def read_apply_patch(call: ProgramCall) -> Output:
    text = call.stdin.text or (call.args[0].text if call.args else "")
    if not apply_patch(call, text):
        call.add_unread("the patch is not read")
    return NOTHING


def apply_patch(call: ProgramCall, text: str) -> bool:
    """Record what a patch does to each file; False if the text is not a patch."""
    files = parse_patch(text)
    call.effects.in_place = True
    for each in files:
        target = Value(each.target)
        path = Value(each.path)
        if each.kind == "delete":
            call.delete(path)
        elif each.target:
            call.move(path, target)
            if each.added or each.removed:
                call.write(target)
        elif each.kind == "update":
            call.edit([path])
        else:
            call.write(path)
        shown = call.resolve(target if each.target else path)
        if shown:
            call.effects.add_change(shown, each.added, each.removed, each.kind == "add")
    return bool(files)


def read_editor(call: ProgramCall) -> Output:
    call.edit(call.parse_options("-c -S -u -p --cmd").rest)
    return NOTHING


def read_yq(call: ProgramCall) -> None:
    options = call.parse_options("-o -p -I --output-format --arg --argjson")
    paths = options.rest[2 if options.verb in ("e", "eval", "ea", "eval-all") else 1 :]
    if options.any("-i", "--inplace", "--in-place", "-yi"):
        call.edit(paths)
    else:
        call.read(*paths)


def read_sort(call: ProgramCall) -> Output:
    options = call.parse_options(
        "-o -k -t -S -T --output --key -f -s -w --field-separator --parallel"
    )
    if call.name in ("uniq", "xxd"):
        call.read(*options.rest[:1])
        call.write(*options.rest[1:2])
    else:
        call.read(*options.rest)
        call.write(*options.get("-o", "--output"))
    return ANYTHING if options.rest or call.name == "xxd" else Output(call.stdin.values)
