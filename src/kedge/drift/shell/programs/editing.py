"""Programs that change the text of files: in place, from a stream, or by a patch."""

from __future__ import annotations

import re

from kedge.drift.shell.call import ANYTHING, NOTHING, Call, Output, Value
from kedge.drift.shell.patches import patched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.call import Reader

_SUFFIX = re.compile(r"\.\w{1,8}")
_ADDRESS = re.compile(r"[\d$,~+!\s]*+(?:/(?:[^/\\\n]|\\.)*/[\d$,~+!I\s]*+){0,2}")
_AWK_FILE = re.compile(r'>>?\s{0,9}"([^"\n]{1,200})"')


def _sed(call: Call) -> Output:
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
    added, removed = _replaced("\n".join(scripts))
    call.edit(files, added, removed)
    if suffix:
        call.write(*[Value(value.text + suffix, value.glob) for value in files])
    return NOTHING


def _is_suffix(args: list[Value], at: int) -> bool:
    """Whether the word behind `-i` is the suffix that BSD's sed wants there."""
    if args[at].text == "":
        return True
    return _SUFFIX.fullmatch(args[at].text) is not None and at + 2 < len(args)


def _replaced(script: str) -> tuple[str, str]:
    """The text that the commands of a sed script put in and take out, as far as it is plain."""
    added, removed = [], []
    at, rounds = 0, 0
    while at < len(script) and rounds < 100:
        rounds += 1
        address = _ADDRESS.match(script, at)
        start, at = at, address.end() if address else at
        sign = script[at : at + 1]
        if sign == "s" and at + 1 < len(script) and not script[at + 1].isalnum():
            old, new, at = _pair(script, at + 1)
            removed.append(old)
            added.append(new)
        elif sign in ("a", "i", "c") and script[at + 1 : at + 2] in ("\\", " "):
            added.append(script[at + 1 :].partition("\n")[0].lstrip("\\ "))
        elif sign == "d" and "/" in script[start:at]:
            removed.append(script[start:at].strip().strip("/"))
        ends = [place for place in (script.find(";", at), script.find("\n", at)) if place >= 0]
        at = min(ends) + 1 if ends else len(script)
    return "\n".join(added), "\n".join(removed)


def _pair(script: str, at: int) -> tuple[str, str, int]:
    """`/old/new/` at `at`, without its escapes, and where it ends."""
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


def _perl(call: Call) -> Output:
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
        added, removed = _replaced("\n".join(codes))
        call.edit(files, added, removed)
        if suffix:
            call.write(*[Value(value.text + suffix, value.glob) for value in files])
    elif codes:
        from kedge.drift.shell.programs.inline import read_code

        read_code(call, "perl", "\n".join(codes), [])
        call.read(*files)
    elif files:
        call.runs(call.path(files[0], say=False) or files[0].shown)
    return ANYTHING


def _awk(call: Call) -> Output:
    found = call.options("-i -F -v -f -e --include --field-separator --assign --file")
    code, files = ("", found.rest) if found.any("-f", "--file") else ("", found.rest[1:])
    if found.rest and not found.any("-f", "--file"):
        code = found.rest[0].text
    files = [value for value in files if "=" not in value.text]
    if any(value.text == "inplace" for value in found.get("-i", "--include")):
        call.edit(files)
        return NOTHING
    call.read(*files)
    call.write(*[Value(name) for name in _AWK_FILE.findall(code[:10_000])])
    return ANYTHING


def _tee(call: Call) -> Output:
    found = call.options("--output-error")
    for value in found.rest:
        call.put(value, call.stdin.text, not found.any("-a", "--append"))
    return call.stdin


def _dd(call: Call) -> Output:
    for value in call.args:
        name, _, path = value.text.partition("=")
        if name == "of":
            call.write(Value(path, value.glob))
        elif name == "if":
            call.read(Value(path, value.glob))
    return ANYTHING


def _patch(call: Call) -> Output:
    found = call.options("-p -i -d -o -F -B -z -r -D --strip --input --directory --output")
    place = found.get("-d", "--directory")
    here = call.elsewhere(place[0]) if place else call
    if found.any("--dry-run"):
        return NOTHING
    if found.rest:
        here.edit(found.rest[:1])
        call.read(*found.rest[1:])
        return NOTHING
    call.read(*found.get("-i", "--input"))
    if call.stdin.text:
        apply_patch(here, call.stdin.text)
    else:
        call.unclear("the files that the patch changes are not read")
    return NOTHING


def _apply_patch(call: Call) -> Output:
    text = call.stdin.text or (call.args[0].text if call.args else "")
    if not apply_patch(call, text):
        call.unclear("the patch is not read")
    return NOTHING


def apply_patch(call: Call, text: str) -> bool:
    """Note what a patch does to each file; False when it is none."""
    files = patched(text)
    call.run.found.edited()
    for each in files:
        target = Value(each.target)
        path = Value(each.path)
        if each.kind == "delete":
            call.delete(path)
        elif each.target:
            call.move(path, target)
            if each.added or each.removed:
                call.write(target)
        else:
            call.write(path)
        shown = call.path(target if each.target else path)
        if shown:
            call.run.found.change(shown, each.added, each.removed, each.kind == "add")
    return bool(files)


def _sponge(call: Call) -> Output:
    call.write(*call.options("").rest)
    return NOTHING


def _editor(call: Call) -> Output:
    call.edit(call.options("-c -S -u -p --cmd").rest)
    return NOTHING


def _yq(call: Call) -> Output:
    found = call.options("-o -p -I --output-format --arg --argjson")
    paths = found.rest[1:]
    if found.words[:1] in (["e"], ["eval"], ["ea"], ["eval-all"]):
        paths = found.rest[2:]
    if found.any("-i", "--inplace", "--in-place", "-yi"):
        call.edit(paths)
    else:
        call.read(*paths)
    return ANYTHING


def _sort(call: Call) -> Output:
    found = call.options("-o -k -t -S -T --output --key -f -s -w --field-separator --parallel")
    if call.name in ("uniq", "xxd"):
        call.read(*found.rest[:1])
        call.write(*found.rest[1:2])
    else:
        call.read(*found.rest)
        call.write(*found.get("-o", "--output"))
    return ANYTHING if found.rest or call.name == "xxd" else Output(call.stdin.values)


def _base64(call: Call) -> Output:
    found = call.options("-w -b -i -o --wrap --input --output")
    call.read(*found.rest, *found.get("-i", "--input"))
    call.write(*found.get("-o", "--output"))
    return ANYTHING


READERS: dict[str, Reader] = {
    "sed": _sed, "perl": _perl, "awk": _awk, "tee": _tee, "dd": _dd, "patch": _patch,
    "apply_patch": _apply_patch, "sponge": _sponge, "ed": _editor, "ex": _editor, "vi": _editor,
    "nano": _editor, "emacs": _editor, "yq": _yq, "sort": _sort, "uniq": _sort, "xxd": _sort,
    "base64": _base64,
}  # fmt: skip
