"""Package managers: what they add, remove, or install because it is declared already."""

from __future__ import annotations

from kedge.drift.shell.call import ANYTHING, Output, ProgramCall, Value
from kedge.drift.shell.options import Options, parse_options
from kedge.host.record import NamedTuple

_PIP_TAKES = """-r --requirement -c --constraint -e --editable -i --index-url --extra-index-url -f
--find-links -t --target --prefix --root --python -p --timeout --proxy --platform --python-version
--only-binary --no-binary --cache-dir --log --report -C --config-settings --trusted-host --group
--extra --index --default-index --resolution --override --torch-backend"""
_JS_TAKES = """--registry -w --workspace --prefix -C --dir --cwd --filter -F --tag --loglevel
--cache --omit --include --modules-dir"""
_DEV = ("-D", "--dev", "--save-dev", "--saveDev", "-d", "--development")
_DEV_GROUPS = frozenset({"dev", "test", "tests", "lint", "docs", "development"})


class Manager(NamedTuple):
    """The verbs that add, remove, and install what is declared; the files that it writes."""

    adds: str
    removes: str
    declared: str
    files: tuple[str, ...]
    takes: str = ""


_PYPROJECT = "pyproject.toml"
_MANAGERS = {
    "poetry": Manager("add", "remove rm", "install sync update lock", (_PYPROJECT, "poetry.lock"),
                      "-G --group -E --extras -C --directory --source --python"),
    "pdm": Manager("add", "remove", "install sync update lock", (_PYPROJECT, "pdm.lock"),
                   "-G --group -p --project"),
    "rye": Manager("add", "remove", "sync lock install", (_PYPROJECT, "requirements.lock")),
    "pipenv": Manager("install", "uninstall", "sync update lock", ("Pipfile", "Pipfile.lock"),
                      "-r --requirements -e --python -i --index --categories"),
    "pixi": Manager("add", "remove rm", "install update lock", ("pixi.toml", "pixi.lock"),
                    "--feature -f --manifest-path --platform"),
    "npm": Manager("install i add in isntall", "uninstall remove rm un r unlink",
                   "ci update up upgrade dedupe ddp rebuild install-clean clean-install prune",
                   ("package.json", "package-lock.json"), _JS_TAKES),
    "pnpm": Manager("add", "remove rm uninstall un", "install i update up upgrade import fetch",
                    ("package.json", "pnpm-lock.yaml"), _JS_TAKES),
    "yarn": Manager("add", "remove", "install upgrade up", ("package.json", "yarn.lock"),
                    _JS_TAKES),
    "bun": Manager("add a", "remove rm", "install i update", ("package.json", "bun.lock"),
                   _JS_TAKES),
    "composer": Manager("require req", "remove", "install update i u",
                        ("composer.json", "composer.lock"), "-d --working-dir"),
    "bundle": Manager("add", "remove", "install update lock", ("Gemfile", "Gemfile.lock"),
                      "--gemfile --path --version -v --group -g --source -j --jobs"),
    "gem": Manager("install", "uninstall", "update", (), "-v --version -i --install-dir -s"),
    "conda": Manager("install create", "remove uninstall", "update",
                     (), "-n --name -p --prefix -c --channel -f --file"),
    "apt": Manager("install", "remove purge autoremove", "update upgrade dist-upgrade full-upgrade",
                   (), "-t -o"),
    "apk": Manager("add", "del", "update upgrade", (), "-t --virtual -X --repository"),
    "yum": Manager("install localinstall", "remove erase", "update upgrade", ()),
    "brew": Manager("install reinstall", "uninstall remove rm", "upgrade update bundle", ()),
    "snap": Manager("install", "remove", "refresh", ()),
    "choco": Manager("install", "uninstall", "upgrade", ()),
    "winget": Manager("install", "uninstall", "upgrade", ()),
    "port": Manager("install", "uninstall", "upgrade", ()),
    "pipx": Manager("install inject", "uninstall", "upgrade upgrade-all", (), "--python --spec"),
    "mise": Manager("use", "uninstall unuse", "install upgrade", ()),
    "asdf": Manager("plugin", "uninstall", "install", ()),
    "rustup": Manager("component target toolchain", "", "update", ()),
}  # fmt: skip
_JS = frozenset({"npm", "pnpm", "yarn", "bun"})


def read_manager(call: ProgramCall) -> None:
    rules = _MANAGERS[call.name]
    options = parse_options(call.args, rules.takes)
    call = call.in_directory(
        *options.get("-C", "--prefix", "--dir", "--cwd", "--directory", "--working-dir")
    )
    if call.name == "yarn":
        options.rest = options.rest[{"workspace": 2, "global": 1}.get(options.verb, 0) :]
    words, verb = options.words, options.verb
    if not verb and call.name == "yarn":
        call.add_install("yarn")
    elif options.any("--dry-run", "--help", "-h"):
        return
    elif verb in rules.adds.split():
        _add_packages(call, options, rules)
    elif verb in rules.removes.split():
        call.add_install(call.name, words[1:], removes=True)
        _write_manifest(call, options, rules)
    elif verb in rules.declared.split():
        call.add_install(call.name, () if call.name in ("mise", "asdf") else words[1:])
        if verb in ("update", "upgrade", "up", "lock") and rules.files:
            call.write(*(Value(name) for name in rules.files[1:]))
    else:
        _run_other_verb(call, verb, options)


def _add_packages(call: ProgramCall, options: Options, rules: Manager) -> None:
    packages = [word for word in options.words[1:] if not _is_here(word)]
    if call.name in ("rustup", "asdf"):
        packages = packages[1:]
    if call.name in ("conda", "pipenv"):
        call.read(*options.get("-f", "--file", "-r", "--requirements"))
    groups = {value.text for value in options.get("-G", "--group", "--feature")}
    dev = call.name not in ("bundle", "conda", "brew") and options.any(*_DEV)
    call.add_install(call.name, packages, dev or bool(groups & _DEV_GROUPS))
    if packages:
        _write_manifest(call, options, rules)


def _write_manifest(call: ProgramCall, options: Options, rules: Manager) -> None:
    if rules.files and not options.any("-g", "--global", "--no-save"):
        call.write(*(Value(name) for name in rules.files))


def _is_here(word: str) -> bool:
    """True for a path in this tree, as opposed to a package from elsewhere."""
    return word in (".", "..") or word.startswith(("./", "../", ".[", "/", "~/", "file:"))


def _run_other_verb(call: ProgramCall, verb: str, options: Options) -> None:
    """Record a verb that installs nothing: scripts, publishing, versions."""
    words = options.words
    name = f"{call.name} {verb}".strip()
    if verb in ("publish", "push", "yank", "unpublish", "deprecate"):
        call.add_network("registry")
        if not options.any("--dry-run", "--build-only"):
            destroys = verb in ("yank", "unpublish")
            call.add_vcs(name, words[1:], destructive=destroys, outward=True)
    elif verb in ("init", "create", "new") and call.name not in ("brew", "apt", "conda"):
        if options.any("-y", "--yes") or call.name in ("poetry", "pdm", "composer", "bundle"):
            files = _MANAGERS[call.name].files
            call.write(*(Value(file) for file in files[:1]))
        else:
            call.add_run(" ".join([name, *words[1:2]]))
            call.add_unread(f"{verb} creates files that are not read")
    elif verb == "version" and call.name in ("npm", "pnpm", "yarn", "poetry") and words[1:]:
        call.write(Value("package.json" if call.name != "poetry" else _PYPROJECT))
        if call.name == "npm" and not options.any("--no-git-tag-version"):
            call.add_vcs("npm version", words[1:])
    elif verb == "audit" and words[1:2] == ["fix"]:
        call.add_install(call.name)
        call.write(*(Value(file) for file in _MANAGERS[call.name].files))
    elif verb in ("pkg", "config", "set-script") and words[1:2] in (["set"], ["delete"]):
        call.write(Value("package.json" if verb == "pkg" else "~/.npmrc"))
    elif call.name in _JS or call.name in ("composer", "mise", "poetry", "pixi"):
        _run_script(call, verb, words)


def _run_script(call: ProgramCall, verb: str, words: list[str]) -> None:
    """Record a script of the project, which may be a check by its name."""
    if call.name in ("npm", "mise", "composer", "pixi", "poetry") and verb not in (
        "run", "run-script", "test", "t", "start", "stop", "restart", "tst",
    ):  # fmt: skip
        return
    scripts = words[1:2] if verb in ("run", "run-script") else [verb]
    if verb in ("list", "ls", "why", "outdated", "info", "view", "config", "help", "audit", "pack"):
        return
    from kedge.drift.shell.programs.building import run_target

    run_target(call, " ".join([call.name, *words[:2]]), "".join(scripts))


def read_pip(call: ProgramCall) -> None:
    _pip_words(call, "pip", call.args)


def _pip_words(call: ProgramCall, manager: str, args: list[Value]) -> None:
    options = parse_options(args, _PIP_TAKES)
    verb = options.verb
    if verb in ("install", "add") and not options.any("--dry-run"):
        call.read(*options.get("-r", "--requirement"))
        packages = [word for word in options.words[1:] if not _is_here(word)]
        editable = [v.text for v in options.get("-e", "--editable") if not _is_here(v.text)]
        call.add_install(manager, packages + editable)
    elif verb in ("uninstall", "remove"):
        call.add_install(manager, options.words[1:], removes=True)
    elif verb in ("sync", "compile"):
        if verb == "sync":
            call.add_install(manager)
        call.read(*options.rest[1:])
        call.write(*parse_options(args, "-o --output-file").get("-o", "--output-file"))
    elif verb in ("download", "wheel"):
        call.add_install(manager, options.words[1:])


def read_uv(call: ProgramCall) -> Output:
    options = parse_options(
        call.args, _PIP_TAKES + " --project --directory --package --group --with"
    )
    call = call.in_directory(*options.get("--directory", "--project"))
    words, verb = options.words, options.verb
    after = [word for word in words[1:] if not _is_here(word)]
    if verb == "pip":
        at = next(i for i, value in enumerate(call.args) if value.text == "pip")
        _pip_words(call, "uv", call.args[at + 1 :])
    elif verb in ("add", "remove"):
        groups = {value.text for value in options.get("--group", "--optional")}
        dev = options.any("--dev") or bool(groups & _DEV_GROUPS)
        call.read(*options.get("-r", "--requirement"))
        call.add_install("uv", after, dev, removes=verb == "remove")
        if not options.any("--script"):
            call.write(Value(_PYPROJECT), Value("uv.lock"))
    elif verb == "sync":
        call.add_install("uv")
    elif verb == "lock":
        call.write(Value("uv.lock"))
    elif verb in ("tool", "python") and words[1:2] in (["install"], ["uninstall"], ["upgrade"]):
        call.add_install("uv", words[2:], removes=words[1] == "uninstall")
    elif verb == "tool" and words[1:2] == ["run"]:
        at = next(i for i, value in enumerate(call.args) if value.text == "run")
        return call.shell.run_program([Value("npx"), *call.args[at + 1 :]], call.state, call.stdin)
    elif verb == "publish":
        call.add_network("package registry")
        call.add_vcs("uv publish", words[1:], outward=True)
    elif verb == "init":
        call.write(Value(_PYPROJECT))
    elif verb == "venv":
        call.make_directory(options.rest[1] if len(options.rest) > 1 else Value(".venv"))
    elif verb == "build":
        call.write(Value("dist/**", True))
    elif verb == "version" and words[1:]:
        call.write(Value(_PYPROJECT), Value("uv.lock"))
    return ANYTHING


def read_pip_tools(call: ProgramCall) -> None:
    options = call.parse_options("-o --output-file --extra -i --index-url")
    call.read(*options.rest)
    if call.name == "pip-sync":
        call.add_install("pip")
    else:
        call.write(*(options.get("-o", "--output-file") or [Value("requirements.txt")]))


def read_pacman(call: ProgramCall) -> None:
    options = call.parse_options("--config --root")
    if options.any("-Ss", "-Si", "-Sl"):
        return
    if options.any("-S", "-R"):
        call.add_install("pacman", options.words, removes=options.any("-R"))
