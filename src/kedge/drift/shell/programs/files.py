"""Programs that make, copy, move and remove files."""

from __future__ import annotations

from posixpath import basename

from kedge.drift.shell.call import ANYTHING, NOTHING, Call, Output, Value
from kedge.drift.shell.paths import under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.call import Reader
    from kedge.drift.shell.options import Options


def _rm(call: Call) -> Output:
    if call.name == "trash" and call.words[:1] == ["list"]:
        return NOTHING
    call.delete(*call.options("-n --iterations -s --size" if call.name == "shred" else "").rest)
    return NOTHING


def _targets(call: Call, found: Options) -> list[tuple[Value, Value]]:
    """Each source with the path that it gets."""
    into = found.get("-t", "--target-directory")
    sources, target = (found.rest, into[0]) if into else (found.rest[:-1], found.rest[-1:] or None)
    if isinstance(target, list):
        target = target[0]
    if target is None:
        return []
    flat = found.any("-T", "--no-target-directory")
    if not (into or (not flat and (len(sources) > 1 or call.is_directory(target)))):
        return [(source, target) for source in sources]
    return [(source, _inside(target, source)) for source in sources]


def _inside(directory: Value, source: Value) -> Value:
    name = basename(source.text.rstrip("/"))
    if name in ("", ".", ".."):
        return directory
    return Value(under(directory.text, name), directory.glob or source.glob)


def _mv(call: Call) -> Output:
    for source, target in _targets(call, call.options("-t -S --target-directory --suffix")):
        call.move(source, target)
    return NOTHING


def _cp(call: Call) -> Output:
    found = call.options("-t -S --target-directory --suffix -m -o -g --mode --owner --group")
    if call.name == "install" and found.any("-d", "--directory"):
        call.make_directory(*found.rest)
        return NOTHING
    for source, target in _targets(call, found):
        call.read(source)
        call.write(target)
    return NOTHING


def _ln(call: Call) -> Output:
    found = call.options("-t -S --target-directory --suffix")
    if len(found.rest) == 1:
        call.write(_inside(Value("."), found.rest[0]))
    for _, target in _targets(call, found) if len(found.rest) > 1 else ():
        call.write(target)
    return NOTHING


def _mkdir(call: Call) -> Output:
    call.make_directory(*call.options("-m --mode").rest)
    return NOTHING


def _touch(call: Call) -> Output:
    found = call.options("-d -t -r -s --date --reference --size -A")
    call.write(*found.rest)
    return NOTHING


def _mode(call: Call) -> Output:
    found = call.options("--reference --from")
    mode, paths = "", found.rest
    words = [word for word in call.words if word.startswith("-") and word[1:2] in tuple("rwxX")]
    if words:  # `chmod -x file`: the mode looks like an option
        mode = words[0]
    elif not found.any("--reference"):
        mode, paths = (found.rest[0].text if found.rest else ""), found.rest[1:]
    call.write(*paths)
    if call.name == "chmod" and _executes(mode):
        call.executable(*paths)
    return NOTHING


def _executes(mode: str) -> bool:
    if mode.isdigit():
        return any(int(digit) & 1 for digit in mode[-3:] if digit < "8")
    signs = ("+", "=")
    return any("x" in part.partition(s)[2] for part in mode.split(",") for s in signs if s in part)


def _rsync(call: Call) -> Output:
    takes = "-e -f --rsh --exclude --include --filter --exclude-from --include-from --files-from "
    found = call.options(takes + "--rsync-path --bwlimit --port --log-file --backup-dir --chmod")
    for value in found.rest:
        host, sign, _ = value.text.partition(":")
        if sign and "/" not in host:
            call.network(host)
    local = [value for value in found.rest if ":" not in value.text.partition("/")[0]]
    if len(found.rest) < 2 or found.any("-n", "--dry-run"):
        return NOTHING
    target = found.rest[-1]
    call.read(*[value for value in local if value is not target])
    if target in local:
        call.write(Value(under(target.text, "**"), True) if call.is_directory(target) else target)
        if any(flag.startswith("--delete") for flag in found.flags):
            call.delete(Value(under(target.text, "**"), True))
    else:
        call.vcs("rsync", call.words, outward=True)
    return NOTHING


def _tar(call: Call) -> Output:
    args = call.args
    if args and not args[0].text.startswith("-"):
        args = [Value("-" + args[0].text), *args[1:]]  # `tar xzf a.tgz`
    takes = "-f -C -T -X --file --directory --exclude --strip-components --transform -I -b -H"
    found = Call(call.run, call.state, call.name, args, call.stdin).options(takes)
    archive = found.get("-f", "--file")
    place = found.get("-C", "--directory")
    if found.any("-x", "--extract", "--get"):
        call.read(*archive)
        if not found.any("-O", "--to-stdout"):
            call.write(Value(under(place[0].text if place else ".", "**"), True))
    elif found.any("-c", "-r", "-u", "--create", "--append", "--update"):
        call.write(*archive)
        (call.elsewhere(place[0]) if place else call).read(*found.rest)
        if found.any("--remove-files"):
            call.delete(*found.rest)
    else:
        call.read(*archive)
    return ANYTHING


def _unzip(call: Call) -> Output:
    found = call.options("-d -x -P")
    call.read(*found.rest[:1])
    if not found.any("-l", "-p", "-t", "-v", "-Z"):
        place = found.get("-d")
        names = found.rest[1:]
        base = place[0].text if place else "."
        for name in names or [Value("**", True)]:
            call.write(Value(under(base, name.text), name.glob))
    return ANYTHING


def _zip(call: Call) -> Output:
    found = call.options("-x -i -b -n -t -P")
    if call.name == "7z":
        verb = found.words[0] if found.rest else ""
        if verb in ("x", "e"):
            call.write(Value("**", True))
        elif verb in ("a", "u"):
            call.write(*found.rest[1:2])
        return ANYTHING
    call.write(*found.rest[:1])
    call.read(*found.rest[1:])
    return ANYTHING


def _compress(call: Call) -> Output:
    """`gzip f` makes `f.gz` and takes `f` away; `gunzip f.gz` the other way round."""
    found = call.options("-S --suffix -o")
    back = call.name == "gunzip" or found.any("-d", "--decompress")
    call.read(*found.rest)
    if found.any("-c", "--stdout", "-l", "-t", "--test", "--list"):
        return ANYTHING
    tails = {"gzip": ".gz", "gunzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}
    tail = tails[call.name]
    for value in found.rest:
        text = value.text.removesuffix(tail) if back else value.text + tail
        call.write(Value(text, value.glob))
        if not found.any("-k", "--keep") and call.name != "zstd":
            call.delete(value)
    return ANYTHING


def _split(call: Call) -> Output:
    found = call.options("-l -b -n -a -C --lines --bytes --number -f -k")
    call.read(*found.rest[:1])
    prefix = found.rest[1].text if len(found.rest) > 1 and call.name == "split" else "x"
    call.write(Value(prefix + "*", True))
    return ANYTHING


def _mktemp(call: Call) -> Output:
    found = call.options("-p -t --tmpdir --suffix")
    name = found.rest[0].text if found.rest else "tmp.XXXX"
    if "/" in name:
        call.write(Value(name.replace("X", "?"), True))
        return Output((Value(name),))
    return Output((Value("/tmp/" + name),))  # noqa: S108 - what it would print, not one that is made


def _rename(call: Call) -> Output:
    found = call.options("-e")
    call.unclear("the names that files get are not read")
    call.write(*found.rest[2 if call.name == "rename" and len(found.rest) > 2 else 1 :])
    return ANYTHING


READERS: dict[str, Reader] = {
    "rm": _rm, "unlink": _rm, "shred": _rm, "rmdir": _rm, "trash": _rm, "trash-put": _rm,
    "del": _rm, "mv": _mv, "cp": _cp, "install": _cp, "mkdir": _mkdir, "touch": _touch,
    "truncate": _touch, "mkfifo": _touch, "ln": _ln, "link": _ln, "rsync": _rsync, "chmod": _mode,
    "chown": _mode, "chgrp": _mode, "rename": _rename, "tar": _tar, "bsdtar": _tar,
    "unzip": _unzip, "zip": _zip, "7z": _zip, "gzip": _compress, "gunzip": _compress,
    "bzip2": _compress, "xz": _compress, "zstd": _compress, "split": _split, "csplit": _split,
    "mktemp": _mktemp,
}  # fmt: skip
