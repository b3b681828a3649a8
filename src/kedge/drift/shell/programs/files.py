"""Programs that create, copy, move and remove files."""

from __future__ import annotations

from posixpath import basename

from kedge.drift.shell.call import NOTHING, Output, ProgramCall, Value
from kedge.drift.shell.options import parse_options
from kedge.drift.shell.values import pattern_under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.options import Options

_SUFFIXES = {"gzip": ".gz", "gunzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}


def read_rm(call: ProgramCall) -> Output:
    call.delete(*call.parse_options().rest)
    return NOTHING


def pair_targets(call: ProgramCall, options: Options) -> list[tuple[Value, Value]]:
    """Return each source with the path it is moved or copied to."""
    into = options.get("-t", "--target-directory")
    *sources, target = [*options.rest, *into[:1]] or [Value("")]
    flat = options.any("-T", "--no-target-directory")
    if into or (not flat and (len(sources) > 1 or call.is_directory(target))):
        return [(source, _inside(target, source)) for source in sources]
    return [(source, target) for source in sources]


def _inside(directory: Value, source: Value) -> Value:
    name = basename(source.text.rstrip("/"))
    if name in ("", ".", ".."):
        return directory
    return pattern_under(directory.text, name, directory.glob or source.glob)


def read_mv(call: ProgramCall) -> Output:
    options = call.parse_options("-t -S --target-directory --suffix")
    for source, target in pair_targets(call, options):
        call.move(source, target)
    return NOTHING


def read_cp(call: ProgramCall) -> Output:
    takes = "-t -S --target-directory --suffix -m -o -g --mode --owner --group"
    options = call.parse_options(takes)
    if call.name == "install" and options.any("-d", "--directory"):
        call.make_directory(*options.rest)
        return NOTHING
    for source, target in pair_targets(call, options):
        call.read(source)
        call.write(target)
        call.copy_text(source, target)
    return NOTHING


def read_ln(call: ProgramCall) -> Output:
    options = call.parse_options("-t -S --target-directory --suffix")
    if len(options.rest) == 1:
        call.write(_inside(Value("."), options.rest[0]))
    else:
        call.write(*(target for _, target in pair_targets(call, options)))
    return NOTHING


def read_mkdir(call: ProgramCall) -> Output:
    call.make_directory(*call.parse_options("-m --mode").rest)
    return NOTHING


def read_touch(call: ProgramCall) -> Output:
    call.write(*call.parse_options("-d -t -r -s --date --reference --size -A").rest)
    return NOTHING


def read_chmod(call: ProgramCall) -> Output:
    options = call.parse_options("--reference --from")
    paths = options.rest
    # `chmod -x file`: the mode looks like an option
    mode = next((word for word in call.words if word[:2] in ("-r", "-w", "-x", "-X")), "")
    if not mode and not options.any("--reference"):
        mode, paths = options.verb, paths[1:]
    call.write(*paths)
    if call.name == "chmod" and _is_executable(mode):
        call.make_executable(*paths)
    return NOTHING


def _is_executable(mode: str) -> bool:
    if mode.isdigit():
        return any(int(digit) & 1 for digit in mode[-3:] if digit < "8")
    return any("x" in part.partition(sign)[2] for part in mode.split(",") for sign in "+=")


def read_rsync(call: ProgramCall) -> Output:
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
        inside = pattern_under(target.text, "**")
        call.write(inside if call.is_directory(target) else target)
        if any(flag.startswith("--delete") for flag in options.flags):
            call.delete(inside)
    else:
        call.add_vcs("rsync", call.words, outward=True)
    return NOTHING


def read_tar(call: ProgramCall) -> None:
    args = call.args
    if args and not args[0].text.startswith("-"):
        args = [Value("-" + args[0].text), *args[1:]]  # `tar xzf a.tgz`
    takes = "-f -C -T -X --file --directory --exclude --strip-components --transform -I -b -H"
    options = parse_options(args, takes)
    archive = options.get("-f", "--file")
    place = options.get("-C", "--directory")
    if options.any("-x", "--extract", "--get"):
        call.read(*archive)
        if not options.any("-O", "--to-stdout"):
            call.write(pattern_under(place[0].text if place else ".", "**"))
    elif options.any("-c", "-r", "-u", "--create", "--append", "--update"):
        call.write(*archive)
        call.in_directory(*place).read(*options.rest)
        if options.any("--remove-files"):
            call.delete(*options.rest)
    else:
        call.read(*archive)


def read_unzip(call: ProgramCall) -> None:
    options = call.parse_options("-d -x -P")
    call.read(*options.rest[:1])
    if not options.any("-l", "-p", "-t", "-v", "-Z"):
        place = options.get("-d")
        base = place[0].text if place else "."
        names = options.rest[1:] or [Value("**", True)]
        call.write(*(pattern_under(base, name.text, name.glob) for name in names))


def read_zip(call: ProgramCall) -> None:
    options = call.parse_options("-x -i -b -n -t -P")
    call.write(*options.rest[:1])
    call.read(*options.rest[1:])


def read_gzip(call: ProgramCall) -> None:
    """`gzip f` creates `f.gz` and removes `f`; `gunzip f.gz` does the opposite."""
    options = call.parse_options("-S --suffix -o")
    back = call.name == "gunzip" or options.any("-d", "--decompress")
    call.read(*options.rest)
    if options.any("-c", "--stdout", "-l", "-t", "--test", "--list"):
        return
    suffix = _SUFFIXES[call.name]
    for value in options.rest:
        text = value.text.removesuffix(suffix) if back else value.text + suffix
        call.write(Value(text, value.glob))
        if not options.any("-k", "--keep") and call.name != "zstd":
            call.delete(value)


def read_split(call: ProgramCall) -> None:
    options = call.parse_options("-l -b -n -a -C --lines --bytes --number -f -k")
    call.read(*options.rest[:1])
    prefix = options.rest[1].text if len(options.rest) > 1 else "x"
    call.write(Value(prefix + "*", True))


def read_mktemp(call: ProgramCall) -> Output:
    name = call.parse_options("-p -t --tmpdir --suffix").verb or "tmp.XXXX"
    if "/" in name:
        call.write(Value(name.replace("X", "?"), True))
        return Output((Value(name),))
    return Output((Value("/tmp/" + name),))  # noqa: S108 - what mktemp would print


def read_rename(call: ProgramCall) -> None:
    options = call.parse_options("-e")
    call.add_unread("the new names of the files are not read")
    call.write(*options.rest[2 if len(options.rest) > 2 else 1 :])
