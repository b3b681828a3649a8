"""Programs that only read, and unknown programs."""

from __future__ import annotations

from posixpath import basename

from kedge.drift.shell.call import ANYTHING, NOTHING, Output, ProgramCall, Value
from kedge.drift.shell.values import pattern_under

# each with the options that take a value; every operand is a path
_FILES = {
    "cat": "", "tac": "", "nl": "-b -s -w -v", "bat": "-l -r -H --language --line-range --style",
    "head": "-n -c --lines --bytes", "tail": "-n -c --lines --bytes --pid", "less": "", "more": "",
    "wc": "", "ls": "-I --ignore -w", "ll": "", "eza": "-L", "exa": "-L", "stat": "-c -f --format",
    "file": "", "du": "-d --max-depth --exclude", "tree": "-L -I -P -o --filelimit", "od": "-A -t",
    "hexdump": "-n -s -e", "strings": "-n", "md5sum": "", "sha1sum": "", "sha256sum": "",
    "shasum": "-a", "cksum": "", "md5": "", "cut": "-d -f -c -b --delimiter --fields",
    "paste": "-d", "join": "-t -1 -2 -o", "comm": "", "diff": "-U -C --label -x -I --exclude",
    "cmp": "-n", "diff3": "", "sdiff": "-w", "colordiff": "-U", "delta": "", "column": "-t -s",
    "fold": "-w", "fmt": "-w", "expand": "-t", "rev": "", "readlink": "", "realpath": "",
    "look": "", "view": "", "zcat": "", "xmllint": "--xpath", "nm": "", "objdump": "", "ldd": "",
    "otool": "", "size": "", "cloc": "", "tokei": "", "scc": "", "pdftotext": "-f -l",
    "identify": "", "ffprobe": "", "base64": "-w -b --wrap",
}  # fmt: skip
# the first operand is a pattern or a filter, unless an option gave it
_FILTERS = {
    "grep": "-e -f -m -A -B -C --include --exclude --exclude-dir --max-count --color --regexp "
    "--file --context",
    "rg": "-e -f -m -A -B -C -g -t -T -r -j -M --glob --type --type-not --max-count --regexp "
    "--iglob --max-depth --sort --replace --colors",
    "ag": "-G -A -B -C -m --ignore --depth", "ack": "-A -B -C -m --type",
    "jq": "--arg --argjson --slurpfile --rawfile --indent --tab -L --args --jsonargs -f",
    "ast-grep": "-p -l --pattern --lang -r --rewrite", "sg": "-p -l --pattern --lang -r --rewrite",
}  # fmt: skip
_ASKS = ("--version", "--help", "-h", "-V", "version", "help")
_LISTS = frozenset({"-l", "-L", "--files-with-matches", "--files-without-match", "--files"})
_QUIET = """date whoami id groups uname hostname which whereis sleep seq yes expr printenv kill
pkill killall pgrep ps top htop df free lsof uptime history help man tput clear nproc arch locale
getconf tr bc dc factor numfmt shuf lscpu lsblk netstat ss ifconfig ip dirname basename tty stty
reset sw_vers sysctl sync dmesg journalctl who w last getent uuidgen cal tsort nvidia-smi pidof
pstree vmstat iostat say pbcopy pbpaste xclip apropos info locate mdfind cls where whatis col ts
pv pygmentize glow jless fx gron dasel htmlq xsv miller mlr csvlook
open xdg-open"""


def read_other(call: ProgramCall) -> Output:
    """Read a call of a program that only reads; record the run of an unknown program or script."""
    if call.name in _FILES:
        return _read_viewer(call)
    if call.name in _FILTERS:
        return _read_search(call)
    if call.name in ("basename", "dirname") and call.args and call.args[0].known:
        return _read_name(call)
    if call.name not in _QUIET.split():
        if "/" in call.typed:
            call.add_run(call.resolve(Value(call.typed), report=False) or call.typed)
            if call.find_text(Value(call.typed)) is not None:
                from kedge.drift.shell.programs.scripts import run_file

                run_file(call, Value(call.typed))
        elif not call.args or call.words[0] not in _ASKS:
            call.add_run(" ".join([call.typed, *call.words[:1]]))
    return ANYTHING


def _read_viewer(call: ProgramCall) -> Output:
    options = call.parse_options(_FILES[call.name])
    call.read(*options.rest)
    if call.name == "tree":
        call.write(*options.get("-o"))
    if call.name == "cat" and (not options.rest or options.words == ["-"]):
        return call.stdin
    if not options.rest and call.name in ("head", "tail", "tac", "nl", "cut", "less", "bat"):
        return Output(call.stdin.values) if call.name != "cut" else ANYTHING
    if call.name == "ls" and any(value.glob for value in options.rest):
        return Output(tuple(options.rest))
    if call.name in ("readlink", "realpath") and len(options.rest) == 1:
        return Output(tuple(options.rest))
    return ANYTHING


def _read_search(call: ProgramCall) -> Output:
    options = call.parse_options(_FILTERS[call.name])
    if call.name in ("ast-grep", "sg") and options.any("-U", "--update-all"):
        call.edit([pattern_under(place, "**") for place in options.words or ["."]])
        return ANYTHING
    given = options.any("-e", "--regexp", "-f", "--file", "--files", "-p", "--pattern")
    paths = options.rest if given else options.rest[1:]
    call.read(*paths)
    if _LISTS & options.flags:
        return _list_matches(paths, [*options.get("--include"), *options.get("-g", "--glob")])
    if not paths and call.name == "grep" and call.stdin is not NOTHING:
        quiet = options.any("-c", "-q", "-o", "--count", "--quiet", "--only-matching")
        return ANYTHING if quiet else Output(call.stdin.values)
    return ANYTHING


def _list_matches(paths: list[Value], names: list[Value]) -> Output:
    """Return the files that a search may print: a pattern below each place it searches."""
    tails = [f"**/{name.text}" for name in names if not name.text.startswith("!")] or ["**"]
    found = []
    for path in paths or [Value(".")]:
        if path.glob or "." in basename(path.text).strip("."):
            found.append(path)
        else:
            found += [pattern_under(path.text, tail) for tail in tails]
    return Output(tuple(found))


def _read_name(call: ProgramCall) -> Output:
    head, _, tail = call.args[0].text.rstrip("/").rpartition("/")
    text = (head or ".") if call.name == "dirname" else tail
    if call.name == "basename" and len(call.args) > 1:
        text = text.removesuffix(call.args[1].text)
    return Output((Value(text, call.args[0].glob),))
