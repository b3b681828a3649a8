"""Build tools and runners of the project's own targets."""

from __future__ import annotations

import re

from kedge.drift.shell.call import ProgramCall, Value
from kedge.drift.shell.options import parse_options
from kedge.drift.shell.programs.checking import expand_targets
from kedge.drift.shell.values import pattern_under

_CHECKS = re.compile(
    r"(?:^|[:_./-])(?:tests?|spec|specs|lint|check|checks|typecheck|types|type-check|ci|verify"
    r"|unit|e2e|integration|coverage|vet|clippy|pytest|jest|vitest|mypy|t)(?=$|[:_./-])"
)
_WRITES = re.compile(r"(?:^|[:_./-])(?:fmt|format|fix|prettier|codegen|generate)(?=$|[:_./-])")
_DEPLOYS = re.compile(r"(?:^|[:_./-])(?:deploy|publish)(?=$|[:_./-])")
_DROPS = re.compile(r"(?:^|[:_./-])db[:_-](?:drop|reset|wipe)(?=$|[:_./-])")
_CARGO_TAKES = """-p --package --manifest-path --features -F --bin --example --test --bench -j
--target --target-dir --git --branch --path --rev --tag --vers --version --rename --profile --color
-Z --exclude"""


def run_target(call: ProgramCall, shown: str, target: str) -> None:
    """Record a target or script of the project, known only by its name."""
    call.add_run(shown)
    if _DEPLOYS.search(target):
        call.add_vcs(shown, outward=True)
    elif _DROPS.search(target):
        call.add_vcs(shown, destructive=True)
    elif _WRITES.search(target) and not re.search(r"check|dry", target):
        call.add_unclear(f"{target} may rewrite files")
    elif _CHECKS.search(target):
        call.add_check()


def read_make(call: ProgramCall) -> None:
    takes = "-C -f -I -o -W --directory --file --makefile"
    if call.name != "make":
        takes += " -j -d -F -p --project -b -t --taskfile"
    options = call.parse_options(takes)
    call = call.in_directory(*options.get("-C", "--directory"))
    if options.any("-n", "--dry-run", "--just-print", "--list", "-l", "--help", "-T", "--version"):
        return
    names = [word for word in options.words if "=" not in word and not word.isdigit()]
    for name in names or [""]:
        run_target(call, f"{call.name} {name}".strip(), name)


def read_cargo(call: ProgramCall) -> None:
    args = call.args[1:] if call.words[:1] and call.words[0].startswith("+") else call.args
    options = parse_options(args, _CARGO_TAKES)
    words, verb = options.words, options.verb
    manifest = (Value("Cargo.toml"), Value("Cargo.lock"))
    if verb in ("add", "remove", "rm"):
        removes = verb != "add"
        call.add_install("cargo", words[1:], options.any("--dev", "-D"), removes)
        call.write(*manifest)
    elif verb in ("install", "uninstall"):
        here = options.any("--path")
        call.add_install("cargo", () if here else words[1:], removes=verb == "uninstall")
    elif verb == "fmt":
        _format(call, "--check" in call.words, ".rs")
    elif verb == "fix" or (verb == "clippy" and options.any("--fix")):
        _format(call, False, ".rs")
    elif verb in ("update", "generate-lockfile"):
        call.write(manifest[1])
    elif verb in ("publish", "yank", "owner"):
        call.add_network("package registry")
        if not options.any("--dry-run", "-n"):
            call.add_vcs(f"cargo {verb}", words[1:], verb == "yank", outward=True)
    elif verb in ("new", "init"):
        place = options.rest[1].text if len(options.rest) > 1 else "."
        call.write(Value(f"{place}/Cargo.toml"), Value(f"{place}/src/*", True))
    elif verb in ("test", "t", "check", "c", "clippy", "nextest", "bench", "audit", "deny", "miri"):
        call.add_check(runs=True)
    elif verb in ("run", "r", "build", "b", "doc", "xtask", "clean", "make"):
        call.add_run(f"cargo {verb}")


def _format(call: ProgramCall, spares: bool, suffix: str, paths: list[Value] | None = None) -> None:
    if spares:
        call.add_check()
    else:
        call.edit(expand_targets(paths or [], suffix))


def read_go(call: ProgramCall) -> None:
    takes = "-o -run -tags -C -count -timeout -coverprofile -bench -p -ldflags -gcflags -mod -exec "
    options = parse_options(
        call.args, takes + "-covermode -coverpkg -parallel -cpu -modfile -skip -vettool", whole=True
    )
    call = call.in_directory(*options.get("-C"))
    words, verb = options.words, options.verb
    modules = (Value("go.mod"), Value("go.sum"))
    if verb == "get":
        removed = [word for word in words[1:] if word.endswith("@none")]
        added = [word for word in words[1:] if word not in removed and not word.startswith("./")]
        if added or not removed:
            call.add_install("go", added)
        if removed:
            call.add_install("go", removed, removes=True)
        call.write(*modules)
    elif verb == "install":
        packages = [word for word in words[1:] if "@" in word]
        if packages:
            call.add_install("go", packages)
    elif verb == "mod":
        if words[1:2] in (["tidy"], ["edit"], ["init"]):
            call.write(*modules)
        elif words[1:2] == ["vendor"]:
            call.write(Value("vendor/**", True))
        elif words[1:2] == ["download"]:
            call.add_install("go")
    elif verb == "work" and words[1:]:
        call.write(Value("go.work"))
    elif verb in ("fmt", "fix"):
        _format(call, False, ".go", options.rest[1:])
    elif verb in ("test", "vet"):
        call.add_check(runs=True)
        call.write(*options.get("-o", "-coverprofile"))
    elif verb == "build":
        call.write(*options.get("-o"))
        call.add_run("go build")
    elif verb in ("run", "generate", "tool"):
        call.add_run(" ".join(["go", *words[:2]]))
        if verb == "generate":
            call.add_unread("the files that it generates are not read")


def read_dotnet(call: ProgramCall) -> None:
    takes = "-v --version -p --project -f --framework -c --configuration -o --output -s --source -n"
    options = call.parse_options(takes + " --name -r")
    words, verb = options.words, options.verb
    package = words.index("package") if "package" in words else 0
    if verb in ("add", "remove") and package:
        project = words[1] if package == 2 else "*.csproj"
        call.add_install("dotnet", words[package + 1 :], removes=verb == "remove")
        call.write(Value(project, "*" in project))
    elif verb == "format":
        _format(call, options.any("--verify-no-changes"), ".cs")
    elif verb == "restore":
        call.add_install("dotnet")
    elif verb == "test":
        call.add_check(runs=True)
    elif verb == "nuget" and words[1:2] == ["push"]:
        call.add_network("nuget.org")
        call.add_vcs("dotnet nuget push", words[2:], outward=True)
    elif verb == "new" and words[1:2] not in (["list"], ["search"]):
        call.add_unread("new creates files that are not read")
    elif verb:
        call.add_run(f"dotnet {verb}")


_TOOLS = {
    "mix": ("test credo dialyzer", "format", ".ex"),
    "deno": ("test lint check", "fmt", ""),
    "swift": ("test", "format", ".swift"),
    "zig": ("test", "fmt", ".zig"),
    "dart": ("test analyze", "format fix", ".dart"),
    "flutter": ("test analyze", "format", ".dart"),
    "hatch": ("test", "fmt", ".py"),
}


def read_tool(call: ProgramCall) -> None:
    checks, formats, suffix = _TOOLS[call.name]
    options = call.parse_options("-c --config -o --output --only --exclude")
    words, verb = options.words, options.verb
    if verb in checks.split() and verb:
        call.add_check(runs=True)
    elif verb in formats.split():
        spares = options.any("--check", "--check-formatted", "--set-exit-if-changed", "--dry-run")
        _format(call, spares or "none" in words, suffix, options.rest[1:])
    elif verb in ("add", "remove", "install", "deps.get", "pub") and call.name != "swift":
        packages = words[2:] if verb == "pub" else words[1:]
        removes = verb == "remove" or words[1:2] == ["remove"]
        call.add_install(call.name, packages, removes=removes)
        if packages and call.name in ("dart", "flutter"):
            call.write(Value("pubspec.yaml"), Value("pubspec.lock"))
        elif packages and call.name == "deno":
            call.write(Value("deno.json"))
    elif verb in ("publish", "hex.publish") or words[:2] == ["pub", "publish"]:
        call.add_vcs(f"{call.name} publish", words[1:], outward=True)
    elif verb == "eval" and call.name == "deno":
        from kedge.drift.shell.programs.inline import read_code

        read_code(call, "node", options.rest[1].text if len(options.rest) > 1 else "", [])
    elif verb:
        call.add_run(" ".join([call.name, *words[:2]]) if verb == "run" else f"{call.name} {verb}")


def read_maven(call: ProgramCall) -> None:
    options = call.parse_options("-f -p -P -pl --file --project-dir -b --tests -x", whole=True)
    goals = [word.rpartition(":")[2] if word.startswith(":") else word for word in options.words]
    for goal in goals or [""]:
        run_target(call, f"{call.name} {goal}".strip(), goal)
        if goal in ("deploy", "publish", "release:perform"):
            call.add_vcs(f"{call.name} {goal}", options.words, outward=True)
        if goal.lower() in ("spotlessapply", "spotless:apply", "ktlintformat"):
            call.add_unclear(f"{goal} may rewrite files")


def read_compiler(call: ProgramCall) -> None:
    takes = "-o -I -L -x --outDir --out-dir -p --project -d -B --target"
    options = call.parse_options(takes, whole=True)
    if call.name == "tsc":
        if options.any("--noEmit", "--no-emit", "--version", "-v", "--help"):
            call.add_check()
        else:
            call.add_run("tsc")
            places = options.get("--outDir", "--out-dir")
            call.write(*(pattern_under(place.text, "**") for place in places))
        return
    if call.name in ("cmake", "ninja", "bazel"):
        run_target(call, f"{call.name} {options.verb}".strip(), options.verb)
        return
    call.read(*options.rest)
    call.write(*options.get("-o"))
    if not options.any("-o", "-fsyntax-only", "-E", "--version") and options.rest:
        call.write(Value("a.out") if call.name not in ("javac", "rustc") else Value("*", True))


def read_sessions(call: ProgramCall) -> None:
    """tox, nox, pre-commit: run the checks of the project."""
    options = call.parse_options("-e -s --session -c --config --hook-stage --files")
    call.add_run(" ".join([call.name, *call.words[:2]]))
    if call.name in ("pre-commit", "prek") and options.words[:1] == ["run"]:
        call.add_check()
        call.add_unclear("its hooks may rewrite files")
    elif call.name in ("tox", "nox"):
        call.add_check()
