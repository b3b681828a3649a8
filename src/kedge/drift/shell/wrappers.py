"""Programs that run another program: `sudo`, `env A=b`, `timeout 5`, `uv run`, `npx`."""

from __future__ import annotations

from kedge.drift.shell.options import parse_options
from kedge.drift.shell.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.call import ProgramCall

DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})
ALIASES = {"nodejs": "node", "gsed": "sed", "gawk": "awk", "mawk": "awk", "ggrep": "grep",
           "egrep": "grep", "fgrep": "grep", "zgrep": "grep", "gfind": "find", "gxargs": "xargs",
           "gtimeout": "timeout", "py": "python", "pypy3": "python", "pypy": "python",
           "fdfind": "fd", "batcat": "bat", "vim": "vi", "nvim": "vi", "apt-get": "apt",
           "mamba": "conda", "micromamba": "conda", "dnf": "yum", "zsh": "bash", "sh": "bash",
           "dash": "bash", "ksh": "bash", "fish": "bash", "docker-compose": "docker",
           "podman": "docker", "nerdctl": "docker", "applypatch": "apply_patch",
           "gmake": "make", "ripgrep": "rg", "bunx": "npx", "uvx": "npx"}  # fmt: skip

_BARE = "nohup setsid builtin unbuffer chronic noglob nocorrect cross-env busybox corepack"
# the options that take a value, and the number of operands before the program
_PLAIN = {
    "sudo": ("-u -g -h -p -C -r -t -U -D -R -T --user --group --host --prompt --chdir", 0),
    "doas": ("-u -C", 0),
    "timeout": ("-k -s --kill-after --signal", 1),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n --class --classdata", 0),
    "exec": ("-a", 0),
    "time": ("-f -o --format --output", 0),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "caffeinate": ("-t -w", 0),
    "flock": ("-w -E --timeout", 1),
    "xvfb-run": ("-n -s -e -f -w", 0),
    "strace": ("-o -e -p -s -u", 0),
    "watch": ("-n -d --interval", 0),
    "dotenv": ("-e -f -v -c", 0),
    **dict.fromkeys(_BARE.split(), ("", 0)),
    "npx": ("-p --package -c --call --from --with --python", 0),
    "chroot": ("", 1),
}
_UV = """--with --with-requirements --with-editable -p --python --extra --group --only-group
--project --directory --env-file --package --index --refresh-package"""
# a verb that runs another program, and the options that take a value
_VERBS = {
    "uv": ("run", _UV),
    "poetry": ("run", "-C --directory -P --project"),
    "pipenv": ("run", ""),
    "pdm": ("run", "-p --project"),
    "rye": ("run", ""),
    "hatch": ("run", "-e --env"),
    "pixi": ("run", "-e --environment --manifest-path"),
    "pipx": ("run", "--spec --python --pip-args"),
    "bundle": ("exec", ""),
    "pnpm": ("exec dlx", "-C --dir --filter -F --package"),
    "yarn": ("exec dlx", "--cwd"),
    "npm": ("exec x", "--package -w --workspace --prefix"),
    "bun": ("x", ""),
    "mise": ("exec x", ""),
    "rtx": ("exec x", ""),
    "asdf": ("exec", ""),
    "opam": ("exec", "--switch"),
    "op": ("run", "--env-file --account"),
    "doppler": ("run", "-p -c --project --config"),
    "direnv": ("exec", ""),
    "conda": ("run", "-n --name -p --prefix --cwd"),
    "gotestsum": ("", ""),
}  # fmt: skip


def unwrap(call: ProgramCall) -> list[Value] | None:
    """Return the words of the program that is run: [] for none, None if this is no wrapper."""
    name = call.name
    if name in _PLAIN:
        takes, skip = _PLAIN[name]
        options = parse_options(call.args, takes, stop=True)
        if name == "npx" and options.get("-c", "--call"):
            return [Value("bash"), Value("-c"), options.get("-c", "--call")[0]]
        if name == "sudo" and options.any("-e", "--edit"):
            call.edit(options.rest)
            return []
        inner = _drop_assignments(options.rest[skip:])
        if name == "npx" and inner:
            inner = [_strip_version(inner[0]), *inner[1:]]
        return inner
    if name == "env":
        return _unwrap_env(call)
    if name == "command":
        options = parse_options(call.args, "", stop=True)
        return [] if options.any("-v", "-V") else options.rest
    if name in _VERBS:
        return _unwrap_verb(call)
    return None


def _unwrap_env(call: ProgramCall) -> list[Value]:
    options = call.parse_options("-u -C -S --unset --chdir --split-string", stop=True)
    split = options.get("-S", "--split-string")
    if split:
        return [Value(word) for word in split[0].text.split()] + options.rest
    return _drop_assignments(options.rest)


def _drop_assignments(words: list[Value]) -> list[Value]:
    for place, value in enumerate(words):
        name, sign, _ = value.text.partition("=")
        if not sign or not name.isidentifier():
            return words[place:]
    return []


def _strip_version(value: Value) -> Value:
    """`prettier@3` is `prettier`; `@scope/name` keeps its name."""
    text = value.text
    at = text.find("@", 1)
    return Value(text[:at] if at > 0 else text, value.glob)


def _unwrap_verb(call: ProgramCall) -> list[Value] | None:
    verbs, takes = _VERBS[call.name]
    if call.name == "gotestsum":
        return [Value("go"), Value("test"), *_after_dashes(call.args)]
    options = parse_options(call.args, takes, stop=True)
    if not options.rest or options.rest[0].text not in verbs.split():
        return None
    inner = parse_options(options.rest[1:], takes, stop=True)
    words = inner.rest
    if call.name in ("mise", "rtx", "op", "doppler", "opam"):
        words = _after_dashes(options.rest[1:]) or words
    elif call.name == "direnv":
        words = words[1:]
    elif call.name == "uv" and inner.any("-m", "--module"):
        return [Value("python"), Value("-m"), *words]
    if call.name == "npm" and not words:
        words = _after_dashes(options.rest[1:])
    return [_strip_version(words[0]), *words[1:]] if words else []


def _after_dashes(words: list[Value]) -> list[Value]:
    for place, value in enumerate(words):
        if value.text == "--":
            return words[place + 1 :]
    return []
