"""Programs that create, copy, move and remove files."""

from __future__ import annotations

from posixpath import basename

from kedge.drift.shell.call import ANYTHING, NOTHING, Output, ProgramCall, Value
from kedge.drift.shell.paths import pattern_under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.call import Reader
    from kedge.drift.shell.options import Options


def _rm(call: ProgramCall) -> Output:
    if call.name == "trash" and call.words[:1] == ["list"]:
        return NOTHING
    call.delete(
        *call.parse_options("-n --iterations -s --size" if call.name == "shred" else "").rest
    )
    return NOTHING


def _pair_targets(call: ProgramCall, options: Options) -> list[tuple[Value, Value]]:
    """Return each source with the path it is moved or copied to."""
    into = options.get("-t", "--target-directory")
    sources, target = (
        (options.rest, into[0]) if into else (options.rest[:-1], options.rest[-1:] or None)
    )
    if isinstance(target, list):
        target = target[0]
    if target is None:
        return []
    flat = options.any("-T", "--no-target-directory")
    if not (into or (not flat and (len(sources) > 1 or call.is_directory(target)))):
        return [(source, target) for source in sources]
    return [(source, _inside(target, source)) for source in sources]


def _inside(directory: Value, source: Value) -> Value:
    name = basename(source.text.rstrip("/"))
    if name in ("", ".", ".."):
        return directory
    return Value(pattern_under(directory.text, name), directory.glob or source.glob)


def _mv(call: ProgramCall) -> Output:
    for source, target in _pair_targets(
        call, call.parse_options("-t -S --target-directory --suffix")
    ):
        call.move(source, target)
    return NOTHING


def _cp(call: ProgramCall) -> Output:
    options = call.parse_options(
        "-t -S --target-directory --suffix -m -o -g --mode --owner --group"
    )
    if call.name == "install" and options.any("-d", "--directory"):
        call.make_directory(*options.rest)
        return NOTHING
    for source, target in _pair_targets(call, options):
        call.read(source)
        call.write(target)
    return NOTHING


def _ln(call: ProgramCall) -> Output:
    options = call.parse_options("-t -S --target-directory --suffix")
    if len(options.rest) == 1:
        call.write(_inside(Value("."), options.rest[0]))
    for _, target in _pair_targets(call, options) if len(options.rest) > 1 else ():
        call.write(target)
    return NOTHING


def _mkdir(call: ProgramCall) -> Output:
    call.make_directory(*call.parse_options("-m --mode").rest)
    return NOTHING


def _touch(call: ProgramCall) -> Output:
    options = call.parse_options("-d -t -r -s --date --reference --size -A")
    call.write(*options.rest)
    return NOTHING


def _change_mode(call: ProgramCall) -> Output:
    options = call.parse_options("--reference --from")
    mode, paths = "", options.rest
    words = [word for word in call.words if word.startswith("-") and word[1:2] in tuple("rwxX")]
    if words:  # `chmod -x file`: the mode looks like an option
        mode = words[0]
    elif not options.any("--reference"):
        mode, paths = (options.rest[0].text if options.rest else ""), options.rest[1:]
    call.write(*paths)
    if call.name == "chmod" and _is_executable(mode):
        call.make_executable(*paths)
    return NOTHING


def _is_executable(mode: str) -> bool:
    if mode.isdigit():
        return any(int(digit) & 1 for digit in mode[-3:] if digit < "8")
    signs = ("+", "=")
    return any("x" in part.partition(s)[2] for part in mode.split(",") for s in signs if s in part)


def _rsync(call: ProgramCall) -> Output:
    takes = "-e -f --rsh --exclude --include --filter --exclude-from --include-from --files-from "
    options = call.parse_options(
        takes + "--rsync-path --bwlimit --port --log-file --backup-dir --chmod"
    )
    for value in options.rest:
        host, sign, _ = value.text.partition(":")
        if sign and "/" not in host:
            call.add_network(host)
    local = [value for value in options.rest if ":" not in value.text.partition("/")[0]]
    if len(options.rest) < 2 or options.any("-n", "--dry-run"):
        return NOTHING
    target = options.rest[-1]
    call.read(*[value for value in local if value is not target])
    if target in local:
        call.write(
            Value(pattern_under(target.text, "**"), True) if call.is_directory(target) else target
        )
        if any(flag.startswith("--delete") for flag in options.flags):
            call.delete(Value(pattern_under(target.text, "**"), True))
    else:
        call.add_vcs("rsync", call.words, outward=True)
    return NOTHING


def _tar(call: ProgramCall) -> Output:
    args = call.args
    if args and not args[0].text.startswith("-"):
        args = [Value("-" + args[0].text), *args[1:]]  # `tar xzf a.tgz`
    takes = "-f -C -T -X --file --directory --exclude --strip-components --transform -I -b -H"
    options = ProgramCall(call.shell, call.state, call.name, args, call.stdin).parse_options(takes)
    archive = options.get("-f", "--file")
    place = options.get("-C", "--directory")
    if options.any("-x", "--extract", "--get"):
        call.read(*archive)
        if not options.any("-O", "--to-stdout"):
            call.write(Value(pattern_under(place[0].text if place else ".", "**"), True))
    elif options.any("-c", "-r", "-u", "--create", "--append", "--update"):
        call.write(*archive)
        (call.in_directory(place[0]) if place else call).read(*options.rest)
        if options.any("--remove-files"):
            call.delete(*options.rest)
    else:
        call.read(*archive)
    return ANYTHING


def _unzip(call: ProgramCall) -> Output:
    options = call.parse_options("-d -x -P")
    call.read(*options.rest[:1])
    if not options.any("-l", "-p", "-t", "-v", "-Z"):
        place = options.get("-d")
        names = options.rest[1:]
        base = place[0].text if place else "."
        for name in names or [Value("**", True)]:
            call.write(Value(pattern_under(base, name.text), name.glob))
    return ANYTHING


def _zip(call: ProgramCall) -> Output:
    options = call.parse_options("-x -i -b -n -t -P")
    if call.name == "7z":
        verb = options.words[0] if options.rest else ""
        if verb in ("x", "e"):
            call.write(Value("**", True))
        elif verb in ("a", "u"):
            call.write(*options.rest[1:2])
        return ANYTHING
    call.write(*options.rest[:1])
    call.read(*options.rest[1:])
    return ANYTHING


def _compress(call: ProgramCall) -> Output:
    """`gzip f` creates `f.gz` and removes `f`; `gunzip f.gz` does the opposite."""
    options = call.parse_options("-S --suffix -o")
    back = call.name == "gunzip" or options.any("-d", "--decompress")
    call.read(*options.rest)
    if options.any("-c", "--stdout", "-l", "-t", "--test", "--list"):
        return ANYTHING
    tails = {"gzip": ".gz", "gunzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}
    tail = tails[call.name]
    for value in options.rest:
        text = value.text.removesuffix(tail) if back else value.text + tail
        call.write(Value(text, value.glob))
        if not options.any("-k", "--keep") and call.name != "zstd":
            call.delete(value)
    return ANYTHING


def _split(call: ProgramCall) -> Output:
    options = call.parse_options("-l -b -n -a -C --lines --bytes --number -f -k")
    call.read(*options.rest[:1])
    prefix = options.rest[1].text if len(options.rest) > 1 and call.name == "split" else "x"
    call.write(Value(prefix + "*", True))
    return ANYTHING


def _mktemp(call: ProgramCall) -> Output:
    options = call.parse_options("-p -t --tmpdir --suffix")
    name = options.rest[0].text if options.rest else "tmp.XXXX"
    if "/" in name:
        call.write(Value(name.replace("X", "?"), True))
        return Output((Value(name),))
    return Output((Value("/tmp/" + name),))  # noqa: S108 - what mktemp would print


def _rename(call: ProgramCall) -> Output:
    options = call.parse_options("-e")
    call.add_unread("the new names of the files are not read")
    call.write(*options.rest[2 if call.name == "rename" and len(options.rest) > 2 else 1 :])
    return ANYTHING


READERS: dict[str, Reader] = {
    "rm": _rm, "unlink": _rm, "shred": _rm, "rmdir": _rm, "trash": _rm, "trash-put": _rm,
    "del": _rm, "mv": _mv, "cp": _cp, "install": _cp, "mkdir": _mkdir, "touch": _touch,
    "truncate": _touch, "mkfifo": _touch, "ln": _ln, "link": _ln, "rsync": _rsync,
    "chmod": _change_mode, "chown": _change_mode, "chgrp": _change_mode, "rename": _rename,
    "tar": _tar, "bsdtar": _tar, "unzip": _unzip, "zip": _zip, "7z": _zip,
    "gzip": _compress, "gunzip": _compress, "bzip2": _compress, "xz": _compress, "zstd": _compress,
    "split": _split, "csplit": _split, "mktemp": _mktemp,
}  # fmt: skip
