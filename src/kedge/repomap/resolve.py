"""Resolving an import to the one file of the repository that it names.

A relative import names a path exactly. Any other import resolves to the file whose path ends with
its parts, if exactly one file does and lies where the language would look for it. An import that
may mean several files, or a file outside of the repository, resolves to nothing.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kedge.repomap.code import is_script, strip_strings
from kedge.repomap.imports import find_imports

_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
_ALIASES = {"@": "", "~": "", "$lib": "lib/", "src": "src/"}  # of the sources of a package
_NAMED_IMPORT = (
    rb"\b(?:import|export)\s{0,9}(?:type\s{1,9})?(?:\w{1,80}\s{0,9},\s{0,9})?"
    rb"\{([^{}]{0,4000})\}\s{0,9}from\s{0,9}[\"']([^\"'\n]{1,200})[\"']"
)
_EXPORT_ALL = rb"\bexport\s{0,9}\*\s{0,9}from\s{0,9}[\"']([^\"'\n]{1,200})[\"']"
_INCLUDE = rb"#[ \t]*(?:include|import)[ \t]*([<\"])([^>\"\n]{1,200})"
_AUTOLOAD = rb"\bautoload[ (]+:\w+,\s*[\"']([^\"'\n]{1,200})[\"']"
_RUST_PATH = rb"(?<![\w:])([a-z_]\w*(?:::\w+)+)"
_GO_MODULE = rb"(?m)^module[ \t]+([\w./~-]+)"
_CRATE_NAME = rb"(?m)^[ \t]*name[ \t]*=[ \t]*\"([\w-]+)\""
# A file that is named with its ending: `import "sea/tide.proto"`, `@import("tide.zig")`.
_QUOTED = (
    rb"\b(?:import|include|export|part|require|load|source|use)\b[ \t(]{0,9}"
    rb"[\"']([^\"'\n]{1,200}\.\w{1,9})[\"']"
)
_WITHOUT_CRATES = frozenset({"tests", "examples", "benches"})  # where each file is a crate
_ROOTS = ("", "src", "lib", "python", "lua")  # directories that modules are searched in

MANIFESTS = (b"Cargo.toml", b"go.mod")  # files that say how packages are named
EVERYTHING = "*"  # the name of an import of all names
Read = Callable[[str], bytes | None]


class Import(NamedTuple):
    """A file, and the name that is imported from it: none for the file as a whole."""

    path: str
    name: str = ""


class Resolver:
    """Resolves the imports of files against all paths of a repository."""

    def __init__(self, paths: Iterable[str], read: Read) -> None:
        self.paths = frozenset(paths)
        self._read = read
        self._by_end: defaultdict[str, list[str]] = defaultdict(list)  # by one and by two parts
        for path in sorted(self.paths):
            folder, slash, name = path.rpartition("/")
            self._by_end[name].append(path)
            if slash:
                self._by_end[f"{folder.rpartition('/')[2]}/{name}"].append(path)
        self._crates: dict[str, str] | None = None

    def resolve(self, user: str, language: str, text: bytes) -> set[Import]:
        """The imports of a file that name files of the repository. `text` has no comments."""
        if language == "rust":
            found = self._rust(user, text)
        elif language in ("c", "cpp", "objc"):
            found = self._includes(user, text)
        elif is_script(language):
            found = self._scripts(user, text)
        else:
            specs = find_imports(language, b"\n" + text)
            if language == "python":
                found = self._python(user, specs)
            elif language == "ruby":
                specs += [one.decode("utf-8", "replace") for one in re.findall(_AUTOLOAD, text)]
                found = self._by_ending(user, specs, (".rb",))
            elif language == "lua":
                dotted = [spec.replace(".", "/") for spec in specs]
                found = self._by_ending(user, dotted, (".lua", "/init.lua"))
            elif language == "shell":
                found = self._by_ending(user, specs, ("",))
            else:
                quoted = (one.decode("utf-8", "replace") for one in re.findall(_QUOTED, text))
                found = self._by_ending(
                    user, (one.partition(":")[2] or one for one in quoted), ("",)
                )
        return {one for one in found if one.path != user}

    def find_ending(self, end: str) -> list[str]:
        """The paths whose last parts are these."""
        found = self._by_end.get("/".join(end.split("/")[-2:]), [])
        if end.count("/") < 2:
            return found
        return [path for path in found if path == end or path.endswith(f"/{end}")]

    def _by_ending(
        self, user: str, specs: Iterable[str], endings: Iterable[str]
    ) -> Iterator[Import]:
        """Resolve paths: from the directory of the user, or else from where modules are."""
        for spec in specs:
            parts = _normalise(spec.split("/"))
            near = _normalise([*_folder(user), *spec.split("/")])
            tries = [f"{'/'.join(near)}{ending}" for ending in ("", *endings)] if near else []
            exact = [path for path in tries if path in self.paths]
            if exact:
                yield Import(exact[0])
            elif parts and not spec.startswith("."):
                whole = "/".join(parts)
                found = [path for end in endings for path in self.find_ending(whole + end)]
                if len(found) == 1 and (len(parts) > 1 or _is_root(found[0], whole, user)):
                    yield Import(found[0])

    def _python(self, user: str, specs: list[str]) -> Iterator[Import]:
        for spec in specs:
            up = len(spec) - len(spec.lstrip("."))
            parts = [part for part in spec.split(".") if part]
            if any(
                other.startswith(spec if spec[-1] == "." else f"{spec}.")
                for other in specs
                if other != spec
            ):
                continue  # `from spec import …`: the names decide
            folder = _folder(user)
            if up > len(folder) + 1:
                continue
            base = folder[: len(folder) - up + 1]
            for size in (len(parts), len(parts) - 1):
                if size < 0 or not (up or size):
                    break
                module = "/".join([*base, *parts[:size]] if up else parts[:size])
                found = self._find_exact_module(module) if up else self._find_module(module, user)
                if found:
                    yield Import(found, "".join(parts[size:]))
                    break

    def _find_exact_module(self, module: str) -> str | None:
        tries = (f"{module}.py", f"{module}/__init__.py", f"{module}.pyi", f"{module}/__init__.pyi")
        return next((path for path in tries if path.lstrip("/") in self.paths), None)

    def _find_module(self, module: str, user: str) -> str | None:
        """The file of an absolute import. The directory that holds it is not a package itself."""
        found: dict[str, str] = {}  # by the directory that has the module
        for ending in (".py", "/__init__.py"):
            for path in self.find_ending(module + ending):
                root = path[: -len(module + ending)].rstrip("/")
                package = f"{root}/__init__.py".lstrip("/")
                if package not in self.paths:
                    found.setdefault(root, path)
        above = [root for root in found if _is_above(root, user)]
        if above:
            return found[max(above, key=len)]
        if len(found) != 1 or module.partition("/")[0] in sys.stdlib_module_names:
            return None
        root, path = found.popitem()
        return path if "/" in module or root.rpartition("/")[2] in _ROOTS else None

    def _scripts(self, user: str, text: bytes) -> Iterator[Import]:
        for spec in find_imports("javascript", b"\n" + text):
            if path := self._find_script(user, spec):
                yield Import(path)
        for spec in re.findall(_EXPORT_ALL, text):
            if path := self._find_script(user, spec.decode("utf-8", "replace")):
                yield Import(path, EVERYTHING)
        for names, spec in re.findall(_NAMED_IMPORT, text):
            if path := self._find_script(user, spec.decode("utf-8", "replace")):
                for name in re.findall(r"[\w$]+", names.decode("utf-8", "replace")):
                    yield Import(path, name)

    def _find_script(self, user: str, spec: str) -> str | None:
        spec = spec.partition("?")[0]
        first, _, rest = spec.partition("/")
        if first in (".", ".."):
            parts = _normalise([*_folder(user), *spec.split("/")])
            return None if parts is None else self._find_script_at("/".join(parts), user)
        if first not in _ALIASES or not rest:
            return None
        folder = _folder(user)
        while folder and f"{'/'.join(folder)}/package.json" not in self.paths:
            folder.pop()
        rest = _ALIASES[first] + rest
        tries = {"/".join([*folder, *some, rest]) for some in ([], ["src"], ["app"])}
        found = {self._find_script_at(path, user) for path in tries} - {None}
        return found.pop() if len(found) == 1 else None

    def _find_script_at(self, base: str, user: str) -> str | None:
        """The file that a path without or with its ending means: any one of these, or none."""
        if base in self.paths:
            return base
        stem, dot, ending = base.rpartition(".")
        for other in _COMPILED.get(dot + ending, ()):
            if stem + other in self.paths:
                return stem + other
        for middle in ("", "/index" if base else "index"):
            found = [base + middle + end for end in _ENDINGS if base + middle + end in self.paths]
            if len(found) > 1:
                found = [
                    path for path in found if path.rpartition(".")[2] == user.rpartition(".")[2]
                ]
            if found:
                return found[0] if len(found) == 1 else None
        return f"{base}.d.ts" if f"{base}.d.ts" in self.paths else None

    def _includes(self, user: str, text: bytes) -> Iterator[Import]:
        for mark, name in re.findall(_INCLUDE, text):
            spec = name.decode("utf-8", "replace")
            near = _normalise([*_folder(user), *spec.split("/")])
            if mark == b'"' and near and "/".join(near) in self.paths:
                yield Import("/".join(near))
                continue
            parts = _normalise(spec.split("/"))
            if parts and (len(parts) > 1 or mark == b'"'):
                found = self.find_ending("/".join(parts))
                if len(found) == 1:
                    yield Import(found[0])

    def _rust(self, user: str, text: bytes) -> Iterator[Import]:
        root, own = self._find_rust_module(user)
        if root is None:
            return
        specs = find_imports("rust", b"\n" + text)
        inline = {
            f"use::{one.decode()}" for one in re.findall(_RUST_PATH, strip_strings("rust", text))
        }
        is_separate = _is_separate(user, root)
        for spec in [*specs, *sorted(one for one in inline if not one.startswith("use::super"))]:
            verb, *parts = [part for part in spec.split("::") if part]
            if spec.endswith("::"):
                parts.append(EVERYTHING)
            first = parts[0]
            if first in self.crates:
                yield from self._find_rust_file(self.crates[first], [], parts[1:])
            elif is_separate:
                continue
            elif first == "crate":
                yield from self._find_rust_file(root, [], parts[1:])
            elif first == "super":
                base = list(own)
                while parts[:1] == ["super"]:
                    base, parts = base[:-1], parts[1:]
                yield from self._find_rust_file(root, base, parts)
            elif verb == "mod" or first == "self" or self._has_rust_file(root, [*own, first]):
                parts = parts[1:] if first == "self" else parts
                yield from self._find_rust_file(root, own, parts)

    def _has_rust_file(self, root: str, parts: list[str]) -> bool:
        return next(self._find_rust_file(root, parts, []), None) is not None

    def _find_rust_file(self, root: str, base: list[str], parts: list[str]) -> Iterator[Import]:
        """The deepest module of a path that is a file, from the module `base` on."""
        for size in range(len(parts), -1, -1):
            module = [*base, *parts[:size]]
            path = "/".join([root, "src", *module]).lstrip("/")
            names = (".rs", "/mod.rs") if module else ("/lib.rs", "/main.rs")
            if found := next((path + end for end in names if path + end in self.paths), None):
                rest = parts[size:]
                yield Import(found, rest[0] if rest and rest[0] != "self" else "")
                return

    def _find_rust_module(self, path: str) -> tuple[str | None, list[str]]:
        """The directory of a file's crate, and the path of its module in it."""
        folder = _folder(path)
        for size in range(len(folder), -1, -1):
            if "/".join([*folder[:size], "Cargo.toml"]) in self.paths:
                inside = folder[size + 1 :]
                stem = path.rpartition("/")[2].removesuffix(".rs")
                if stem not in ("mod", "lib", "main") or (stem != "mod" and inside):
                    inside = [*inside, stem]
                return "/".join(folder[:size]), inside
        return None, []

    def find_go_package(self, path: str) -> str:
        """The import path of the package of a Go file; empty if no `go.mod` has it."""
        folder = _folder(path)
        for size in range(len(folder), -1, -1):
            name = "/".join([*folder[:size], "go.mod"])
            if name in self.paths:
                found = re.search(_GO_MODULE, self._read(name) or b"")
                return "/".join([found[1].decode(), *folder[size:]]) if found else ""
        return ""

    @property
    def crates(self) -> dict[str, str]:
        """The directories of the crates by their names."""
        if self._crates is None:
            self._crates = {}
            for path in self._by_end.get("Cargo.toml", ()):
                package = (self._read(path) or b"").partition(b"[package]")[2]
                if found := re.search(_CRATE_NAME, package):
                    name = found[1].decode().replace("-", "_")
                    self._crates[name] = path.rpartition("/")[0]
        return self._crates


def _folder(path: str) -> list[str]:
    return path.split("/")[:-1]


def _normalise(parts: Iterable[str]) -> list[str] | None:
    """The parts of a path without `.` and `..`; None if it leaves the repository."""
    found: list[str] = []
    for part in parts:
        if part == ".." and not found:
            return None
        if part == "..":
            found.pop()
        elif part not in ("", "."):
            found.append(part)
    return found


def _is_above(folder: str, path: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _is_root(path: str, module: str, user: str) -> bool:
    """True if a module of a single part is at the top of the sources that its user sees."""
    root = path[: path.rindex(module)].rstrip("/")
    return _is_above(root, user) or root.rpartition("/")[2] in _ROOTS


def _is_separate(path: str, root: str) -> bool:
    """True if the file is a crate of its own, outside of the `src` of its package."""
    inside = path[len(root) :].lstrip("/")
    return inside.partition("/")[0] in _WITHOUT_CRATES or not inside.startswith("src/")
