"""Interpreters: shells, and code given on the command line."""

from __future__ import annotations

from kedge.drift.shell.call import ANYTHING, NOTHING, Output, ProgramCall, Value
from kedge.drift.shell.options import parse_options
from kedge.drift.shell.programs.inline import read_code
from kedge.drift.shell.values import UNKNOWN

_FLAGS = {
    "python": ("-c", "-W -X --check-hash-based-pycs"),
    "node": ("-e --eval -p --print -pe", "-r --require --import --loader --env-file -C"),
    "ruby": ("-e", "-r -I -C -E"),
    "php": ("-r", "-d -c"),
    "lua": ("-e", "-l"),
    "Rscript": ("-e", ""),
    "osascript": ("-e", "-l"),
    "tsx": ("-e --eval", ""),
    "ts-node": ("-e --eval", "-P"),
}


def read_interpreter(call: ProgramCall) -> Output:
    language = "node" if call.name in ("tsx", "ts-node") else call.name
    codes, takes = _FLAGS[call.name]
    args = call.args
    at = 0
    while at < len(args):
        text = args[at].text
        if text in codes.split():
            code = args[at + 1].text if at + 1 < len(args) else ""
            read_code(call, language, code, args[at + 2 :])
            return ANYTHING
        if language == "python" and text == "-m":
            return _run_module(call, args[at + 1 :])
        if language == "python" and text.startswith("-c"):
            read_code(call, language, text[2:], args[at + 1 :])
            return ANYTHING
        if text in ("--version", "-V", "-v", "--help", "-h"):
            return ANYTHING
        if text in ("--test", "--check") and language == "node":
            call.add_check()
            return ANYTHING
        if language == "ruby" and text.startswith("-") and "i" in text and "e" not in text[:-1]:
            call.edit(parse_options(args, "-e").rest)
            return ANYTHING
        if not text.startswith("-") or text == "-":
            break
        at += 2 if text in takes.split() else 1
    if at >= len(args) or args[at].text == "-":
        if call.stdin.text is not None and call.stdin is not NOTHING:
            read_code(call, language, call.stdin.text, args[at + 1 :])
        elif call.stdin.values is None:
            call.add_run(f"{call.name} -")
            call.add_unclear("the code that it reads is not known")
        return ANYTHING
    return _run_script(call, args[at], args[at + 1 :])


def _run_script(call: ProgramCall, script: Value, rest: list[Value]) -> Output:
    name = script.text.rpartition("/")[2]
    if name in ("manage.py", "artisan", "runtests.py") or "node_modules/.bin/" in script.text:
        return call.shell.run_program([Value(name), *rest], call.state, call.stdin)
    call.read(script)
    call.add_script(script)
    text = call.find_text(script)
    if text is not None:
        read_code(call, "node" if call.name in ("tsx", "ts-node") else call.name, text, rest)
    return ANYTHING


_NAMES = """pip pytest unittest black ruff isort mypy flake8 pylint autopep8 yapf autoflake twine
pip_tools tox nox coverage uv poetry pdm pre_commit trial bandit vulture pyright kedge"""
_MODULES = frozenset(_NAMES.split())


def _run_module(call: ProgramCall, args: list[Value]) -> Output:
    name = args[0].text if args else ""
    rest = args[1:]
    if name == "coverage" and rest[:1] == [Value("run")]:
        after = parse_options(rest[1:], "--source --omit --include -p --rcfile", stop=True)
        inner = [Value("-m"), *after.rest] if after.any("-m") else after.rest
        return call.shell.run_program([Value("python"), *inner], call.state, call.stdin)
    if name == "pip_tools":
        name = "pip-compile"
    if name in _MODULES:
        return call.shell.run_program(
            [Value(name.replace("_", "-")), *rest], call.state, call.stdin
        )
    options = parse_options(rest, "")
    if name == "json.tool":
        call.read(*options.rest[:1])
        call.write(*options.rest[1:2])
    elif name == "venv":
        call.make_directory(*options.rest)
    elif name in ("compileall", "py_compile", "ast", "timeit", "this", "tokenize", "dis"):
        call.read(*options.rest)
    elif name == "build":
        call.write(Value("dist/**", True))
    else:
        call.add_run(f"python -m {name}")
    return ANYTHING


def read_bash(call: ProgramCall) -> Output:
    args = call.args
    at = 0
    while at < len(args) and args[at].text.startswith(("-", "+")) and args[at].text != "-":
        text = args[at].text
        at += 1
        if text in ("--version", "--help"):
            return NOTHING
        if text in ("--rcfile", "--init-file", "-O", "+O"):
            at += 1
            continue
        if "o" in text and not text.startswith("--"):
            at += 1  # `-euo pipefail`
        if not text.startswith("--") and "c" in text:
            while at < len(args) and args[at].text.startswith("-"):
                at += 1
            return _run_inline(call, args[at:])
        if "n" in text and not text.startswith("--"):
            call.read(*args[at:])
            return NOTHING
        if "s" in text and not text.startswith("--"):
            at = len(args)
    if at < len(args) and args[at].text != "-":
        call.read(args[at])
        call.add_script(args[at])
        script = call.find_text(args[at])
        if script is not None:
            run_shell_text(call, script, args[at + 1 :])
    elif call.stdin.text is not None and call.stdin is not NOTHING:
        call.shell.run_text(call.stdin.text, call.state.copy())
    elif call.stdin.values is None:
        call.add_run(f"{call.name} -")
        call.add_unclear("the commands that it reads are not known")
    return ANYTHING


def run_shell_text(call: ProgramCall, text: str, args: list[Value]) -> None:
    """Record what the commands of a script do."""
    state = call.state.copy()
    state.params = tuple(args)
    call.shell.run_text(text, state, call.stdin)


def run_file(call: ProgramCall, script: Value) -> None:
    """Record what a script does that is run by its path, by the interpreter in its first line."""
    text = call.find_text(script)
    if text is None:
        return
    head = text.partition("\n")[0]
    language = next((name for name in _FLAGS if name in head), "")
    if head.startswith("#!") and language:
        read_code(call, language, text, call.args)
    else:
        run_shell_text(call, text, call.args)


def _run_inline(call: ProgramCall, args: list[Value]) -> Output:
    if not args:
        return NOTHING
    if not args[0].known:
        call.effects.plain = False
        call.add_unclear("not all that it runs is known")
    state = call.state.copy()
    state.params = tuple(args[2:])
    return call.shell.run_text(args[0].text.replace(UNKNOWN, "$unknown"), state, call.stdin)
