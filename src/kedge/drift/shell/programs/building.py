"""Build tools and runners of a project's own targets."""

from __future__ import annotations

import re

from kedge.drift.shell.call import ANYTHING, Call, Output, Value
from kedge.drift.shell.options import options
from kedge.drift.shell.programs.checking import targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.call import Reader

_CHECKS = re.compile(
    r"(?:^|[:_./-])(?:tests?|spec|specs|lint|check|checks|typecheck|types|type-check|ci|verify"
    r"|unit|e2e|integration|coverage|vet|clippy|pytest|jest|vitest|mypy|t)(?=$|[:_./-])"
)
_WRITES = re.compile(r"(?:^|[:_./-])(?:fmt|format|fix|prettier|codegen|generate)(?=$|[:_./-])")


def run_target(call: Call, shown: str, target: str) -> None:
    """A target or a script of the project, of which only the name is known."""
    call.runs(shown)
    if _WRITES.search(target) and not re.search(r"check|dry", target):
        call.unclear(f"{target} may rewrite files")
    elif _CHECKS.search(target):
        call.check()


def _make(call: Call) -> Output:
    takes = "-C -f -I -j -o -W --directory --file --makefile -d -F -p --project -b -t --taskfile"
    found = call.options("-C -f -I -o -W --directory --file --makefile" if call.name == "make"
                         else takes)  # fmt: skip
    for place in found.get("-C", "--directory"):
        call = call.elsewhere(place)
    if found.any("-n", "--dry-run", "--just-print", "--list", "-l", "--help", "-T", "--version"):
        return ANYTHING
    names = [word for word in found.words if "=" not in word and not word.isdigit()]
    for name in names or [""]:
        run_target(call, f"{call.name} {name}".strip(), name)
    return ANYTHING


def _cargo(call: Call) -> Output:
    args = call.args[1:] if call.words[:1] and call.words[0].startswith("+") else call.args
    takes = "-p --package --manifest-path --features -F --bin --example --test --bench -j --target "
    found = options(args, takes + "--target-dir --git --branch --path --rev --tag --vers --version "
                    "--rename --profile --color -Z --exclude")  # fmt: skip
    words = found.words
    verb = words[0] if words else ""
    manifest = (Value("Cargo.toml"), Value("Cargo.lock"))
    if verb in ("add", "remove", "rm"):
        removes = verb != "add"
        call.install("cargo", words[1:], found.any("--dev", "-D"), removes)
        call.write(*manifest)
    elif verb in ("install", "uninstall"):
        here = found.any("--path")
        call.install("cargo", () if here else words[1:], removes=verb == "uninstall")
    elif verb == "fmt":
        _formats(call, "--check" in call.words, ".rs")
    elif verb == "fix" or (verb == "clippy" and found.any("--fix")):
        _formats(call, False, ".rs")
    elif verb in ("update", "generate-lockfile"):
        call.write(manifest[1])
    elif verb in ("publish", "yank", "owner"):
        call.network("package registry")
        if not found.any("--dry-run", "-n"):
            call.vcs(f"cargo {verb}", words[1:], verb == "yank", outward=True)
    elif verb in ("new", "init"):
        place = found.rest[1].text if len(found.rest) > 1 else "."
        call.write(Value(f"{place}/Cargo.toml"), Value(f"{place}/src/*", True))
    elif verb in ("test", "t", "check", "c", "clippy", "nextest", "bench", "audit", "deny", "miri"):
        call.check()
        call.run.found.plain = False
    elif verb in ("run", "r", "build", "b", "doc", "xtask", "clean", "make"):
        call.runs(f"cargo {verb}")
    return ANYTHING


def _formats(call: Call, spares: bool, suffix: str, paths: list[Value] | None = None) -> None:
    if spares:
        call.check()
    else:
        call.edit(targets(paths or [], suffix))


def _go(call: Call) -> Output:
    takes = "-o -run -tags -C -count -timeout -coverprofile -bench -p -ldflags -gcflags -mod -exec "
    found = options(
        call.args, takes + "-covermode -coverpkg -parallel -cpu -modfile -skip -vettool", whole=True
    )
    for place in found.get("-C"):
        call = call.elsewhere(place)
    words = found.words
    verb = words[0] if words else ""
    modules = (Value("go.mod"), Value("go.sum"))
    if verb == "get":
        removed = [word for word in words[1:] if word.endswith("@none")]
        added = [word for word in words[1:] if word not in removed and not word.startswith("./")]
        if added or not removed:
            call.install("go", added)
        if removed:
            call.install("go", removed, removes=True)
        call.write(*modules)
    elif verb == "install":
        packages = [word for word in words[1:] if "@" in word]
        if packages:
            call.install("go", packages)
    elif verb == "mod":
        if words[1:2] in (["tidy"], ["edit"], ["init"]):
            call.write(*modules)
        elif words[1:2] == ["vendor"]:
            call.write(Value("vendor/**", True))
        elif words[1:2] == ["download"]:
            call.install("go")
    elif verb == "work" and words[1:]:
        call.write(Value("go.work"))
    elif verb in ("fmt", "fix"):
        _formats(call, False, ".go", found.rest[1:])
    elif verb in ("test", "vet"):
        call.check()
        call.run.found.plain = False
        call.write(*found.get("-o", "-coverprofile"))
    elif verb == "build":
        call.write(*found.get("-o"))
        call.runs("go build")
    elif verb in ("run", "generate", "tool"):
        call.runs(" ".join(["go", *words[:2]]))
        if verb == "generate":
            call.unclear("the files that it generates are not read")
    return ANYTHING


def _dotnet(call: Call) -> Output:
    found = call.options("-v --version -p --project -f --framework -c --configuration -o --output "
                         "-s --source -n --name -r")  # fmt: skip
    words = found.words
    verb = words[0] if words else ""
    package = words.index("package") if "package" in words else 0
    if verb in ("add", "remove") and package:
        project = words[1] if package == 2 else "*.csproj"
        call.install("dotnet", words[package + 1 :], removes=verb == "remove")
        call.write(Value(project, "*" in project))
    elif verb == "format":
        _formats(call, found.any("--verify-no-changes"), ".cs")
    elif verb == "restore":
        call.install("dotnet")
    elif verb == "test":
        call.check()
        call.run.found.plain = False
    elif verb == "nuget" and words[1:2] == ["push"]:
        call.network("nuget.org")
        call.vcs("dotnet nuget push", words[2:], outward=True)
    elif verb == "new" and words[1:2] not in (["list"], ["search"]):
        call.unclear("new makes files that are not read")
    elif verb:
        call.runs(f"dotnet {verb}")
    return ANYTHING


_TOOLS = {
    "mix": ("test credo dialyzer", "format", ".ex"),
    "deno": ("test lint check", "fmt", ""),
    "swift": ("test", "format", ".swift"),
    "zig": ("test", "fmt", ".zig"),
    "dart": ("test analyze", "format fix", ".dart"),
    "flutter": ("test analyze", "format", ".dart"),
    "hatch": ("test", "fmt", ".py"),
}


def _tool(call: Call) -> Output:
    checks, formats, suffix = _TOOLS[call.name]
    found = call.options("-c --config -o --output --only --exclude")
    words = found.words
    verb = words[0] if words else ""
    if verb in checks.split() and verb:
        call.check()
        call.run.found.plain = False
    elif verb in formats.split():
        spares = found.any("--check", "--check-formatted", "--set-exit-if-changed", "--dry-run")
        _formats(call, spares or "none" in words, suffix, found.rest[1:])
    elif verb in ("add", "remove", "install", "deps.get", "pub") and call.name != "swift":
        packages = words[2:] if verb == "pub" else words[1:]
        removes = verb == "remove" or words[1:2] == ["remove"]
        call.install(call.name, packages, removes=removes)
        if packages and call.name in ("dart", "flutter"):
            call.write(Value("pubspec.yaml"), Value("pubspec.lock"))
        elif packages and call.name == "deno":
            call.write(Value("deno.json"))
    elif verb in ("publish", "hex.publish") or words[:2] == ["pub", "publish"]:
        call.vcs(f"{call.name} publish", words[1:], outward=True)
    elif verb == "eval" and call.name == "deno":
        from kedge.drift.shell.programs.inline import read_code

        read_code(call, "node", found.rest[1].text if len(found.rest) > 1 else "", [])
    elif verb:
        call.runs(" ".join([call.name, *words[:2]]) if verb == "run" else f"{call.name} {verb}")
    return ANYTHING


def _maven(call: Call) -> Output:
    found = call.options("-f -p -P -pl --file --project-dir -b --tests -x", whole=True)
    goals = [word.rpartition(":")[2] if word.startswith(":") else word for word in found.words]
    for goal in goals or [""]:
        run_target(call, f"{call.name} {goal}".strip(), goal)
        if goal in ("deploy", "publish", "release:perform"):
            call.vcs(f"{call.name} {goal}", found.words, outward=True)
        if goal.lower() in ("spotlessapply", "spotless:apply", "ktlintformat"):
            call.unclear(f"{goal} may rewrite files")
    return ANYTHING


def _compiler(call: Call) -> Output:
    found = call.options("-o -I -L -x --outDir --out-dir -p --project -d -B --target", whole=True)
    if call.name == "tsc":
        if found.any("--noEmit", "--no-emit", "--version", "-v", "--help"):
            call.check()
        else:
            call.runs("tsc")
            for place in found.get("--outDir", "--out-dir"):
                call.write(Value(f"{place.text.rstrip('/')}/**", True))
        return ANYTHING
    if call.name in ("cmake", "ninja", "bazel"):
        run_target(call, " ".join([call.name, *found.words[:1]]), "".join(found.words[:1]))
        return ANYTHING
    call.read(*found.rest)
    call.write(*found.get("-o"))
    if not found.any("-o", "-fsyntax-only", "-E", "--version") and found.rest:
        call.write(Value("a.out") if call.name not in ("javac", "rustc") else Value("*", True))
    return ANYTHING


def _sessions(call: Call) -> Output:
    """tox, nox, pre-commit: they run the checks of the project."""
    found = call.options("-e -s --session -c --config --hook-stage --files")
    call.runs(" ".join([call.name, *call.words[:2]]))
    if call.name in ("pre-commit", "prek") and found.words[:1] == ["run"]:
        call.check()
        call.unclear("its hooks may rewrite files")
    elif call.name in ("tox", "nox"):
        call.check()
    return ANYTHING


_NAMES = (
    (_make, "make just task rake npm-run-all turbo nx invoke inv"),
    (_maven, "mvn mvnw gradle gradlew sbt"),
    (_compiler, "cmake ninja bazel gcc g++ clang clang++ cc rustc tsc javac"),
    (_sessions, "nox tox pre-commit prek"),
    (_tool, " ".join(_TOOLS)),
)
READERS: dict[str, Reader] = {"cargo": _cargo, "go": _go, "dotnet": _dotnet}
for _reader, _names in _NAMES:
    READERS.update(dict.fromkeys(_names.split(), _reader))
