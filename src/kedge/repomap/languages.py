"""The languages that the map knows, and the detection of a file's language by its name.

A language with a `grammar` is parsed with tree-sitter; one with `outline` is read with regular
expressions; the others are only known by name, for the structure of a repository.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    title: str
    suffixes: tuple[str, ...]
    grammar: str | None = None  # the module of the grammar's wheel
    function: str = "language"  # the function of the module that returns the grammar
    query: str | None = None  # the queries/*.scm, if not named after the language
    outline: bool = False
    files: tuple[str, ...] = ()  # exact names
    shebangs: tuple[str, ...] = ()
    line_comment: str = ""
    block_comment: tuple[str, ...] = ()  # pairs of a start and an end

    @property
    def readable(self) -> bool:
        """True if definitions can be listed (if the grammar is installed)."""
        return self.outline or self.grammar is not None


PROSE = frozenset({"markdown", "html", "css", "scss"})  # only ranked by path and history
_C = ("/*", "*/")
_HTML = ("<!--", "-->")
_LISP = ("#|", "|#")


def _row(name: str, title: str, suffixes: str, **rest: object) -> Language:
    rest["files"] = tuple(str(rest.get("files", "")).split())
    rest["shebangs"] = tuple(str(rest.get("shebangs", "")).split())
    return Language(name, title, tuple(suffixes.split()), **rest)  # type: ignore[arg-type]


_SLASHES: dict[str, object] = {"line_comment": "//", "block_comment": _C}
_HASH: dict[str, object] = {"line_comment": "#"}
_LINES: dict[str, object] = {"outline": True}

LANGUAGES: tuple[Language, ...] = (
    _row("python", "Python", ".py .pyi .pyw", grammar="tree_sitter_python",
         shebangs="python python2 python3 pypy pypy3 uv", files="SConstruct SConscript wscript",
         **_HASH),
    _row("javascript", "JavaScript", ".js .jsx .mjs .cjs .es6", grammar="tree_sitter_javascript",
         query="ecmascript javascript", shebangs="node nodejs bun", files="Jakefile", **_SLASHES),
    _row("typescript", "TypeScript", ".ts .mts .cts", grammar="tree_sitter_typescript",
         function="language_typescript", query="ecmascript typescript",
         shebangs="deno ts-node tsx", **_SLASHES),
    _row("tsx", "TSX", ".tsx", grammar="tree_sitter_typescript", function="language_tsx",
         query="ecmascript typescript", **_SLASHES),
    _row("go", "Go", ".go", grammar="tree_sitter_go", **_SLASHES),
    _row("rust", "Rust", ".rs", grammar="tree_sitter_rust", shebangs="rust-script", **_SLASHES),
    _row("java", "Java", ".java", grammar="tree_sitter_java", **_SLASHES),
    _row("kotlin", "Kotlin", ".kt .kts", grammar="tree_sitter_kotlin", **_SLASHES),
    _row("c", "C", ".c .h .cl", grammar="tree_sitter_c", **_SLASHES),
    _row("cpp", "C++",
         ".cc .cpp .cxx .c++ .cppm .ixx .hh .hpp .hxx .h++ .ipp .inl .tpp .cu .cuh .ino",
         grammar="tree_sitter_cpp", query="c cpp", **_SLASHES),
    _row("csharp", "C#", ".cs .csx", grammar="tree_sitter_c_sharp", **_SLASHES),
    _row("ruby", "Ruby", ".rb .rake .gemspec .ru .rbi", grammar="tree_sitter_ruby",
         files="Rakefile Gemfile Guardfile Vagrantfile Fastfile Podfile Brewfile Capfile "
         "Dangerfile", shebangs="ruby jruby rake", **_HASH),
    _row("php", "PHP", ".php .phtml .php5 .php7", grammar="tree_sitter_php",
         function="language_php", shebangs="php", **_SLASHES),
    _row("swift", "Swift", ".swift", grammar="tree_sitter_swift", shebangs="swift", **_SLASHES),
    _row("scala", "Scala", ".scala .sc .sbt", grammar="tree_sitter_scala", shebangs="scala amm",
         **_SLASHES),
    _row("lua", "Lua", ".lua .rockspec", grammar="tree_sitter_lua", files=".luacheckrc",
         shebangs="lua luajit resty", line_comment="--", block_comment=("--[[", "]]")),
    _row("shell", "Shell", ".sh .bash .zsh .ksh .bats .zsh-theme", grammar="tree_sitter_bash",
         files=".bashrc .bash_profile .bash_aliases .profile .zshrc .zprofile .zshenv PKGBUILD",
         shebangs="sh bash zsh dash ksh ash bats", **_HASH),
    _row("markdown", "Markdown", ".md .markdown .mdx .mdown", **_LINES),
    _row("html", "HTML", ".html .htm .xhtml", block_comment=_HTML, **_LINES),
    _row("vue", "Vue", ".vue", block_comment=_HTML, **_LINES),
    _row("svelte", "Svelte", ".svelte", block_comment=_HTML, **_LINES),
    _row("css", "CSS", ".css", block_comment=_C, **_LINES),
    _row("scss", "SCSS", ".scss .sass .less", **_LINES, **_SLASHES),
    _row("sql", "SQL", ".sql .ddl .psql .pgsql", line_comment="--", block_comment=_C, **_LINES),
    _row("protobuf", "Protocol Buffers", ".proto", **_LINES, **_SLASHES),
    _row("graphql", "GraphQL", ".graphql .graphqls .gql", **_LINES, **_HASH),
    _row("terraform", "Terraform", ".tf .tfvars .hcl", **_LINES, **_HASH),
    _row("elixir", "Elixir", ".ex .exs", shebangs="elixir", **_LINES, **_HASH),
    _row("erlang", "Erlang", ".erl .hrl", shebangs="escript", line_comment="%", **_LINES),
    _row("dart", "Dart", ".dart", shebangs="dart", **_LINES, **_SLASHES),
    _row("haskell", "Haskell", ".hs .lhs", shebangs="runhaskell stack", line_comment="--",
         block_comment=("{-", "-}"), **_LINES),
    _row("julia", "Julia", ".jl", shebangs="julia", line_comment="#", block_comment=("#=", "=#"),
         **_LINES),
    _row("zig", "Zig", ".zig .zon", line_comment="//", **_LINES),
    _row("perl", "Perl", ".pl .pm .t", shebangs="perl", **_LINES, **_HASH),
    _row("r", "R", ".r .R", shebangs="Rscript", **_LINES, **_HASH),
    _row("objc", "Objective-C", ".m .mm", **_LINES, **_SLASHES),
    _row("groovy", "Groovy", ".groovy .gradle", files="Jenkinsfile", **_LINES, **_SLASHES),
    _row("powershell", "PowerShell", ".ps1 .psm1 .psd1", **_LINES, **_HASH),
    _row("make", "Make", ".mk .mak", files="Makefile makefile GNUmakefile", **_LINES, **_HASH),
    _row("clojure", "Clojure", ".clj .cljs .cljc .edn", line_comment=";", **_LINES),
    _row("commonlisp", "Common Lisp", ".lisp .lsp .asd", shebangs="sbcl clisp ecl",
         line_comment=";", block_comment=_LISP, **_LINES),
    _row("elisp", "Emacs Lisp", ".el", files=".emacs Cask", shebangs="emacs", line_comment=";",
         **_LINES),
    _row("racket", "Racket", ".rkt .rktl", shebangs="racket", line_comment=";",
         block_comment=_LISP, **_LINES),
    _row("ocaml", "OCaml", ".ml .mli", shebangs="ocaml", block_comment=("(*", "*)"), **_LINES),
    _row("elm", "Elm", ".elm", line_comment="--", block_comment=("{-", "-}"), **_LINES),
    _row("gleam", "Gleam", ".gleam", line_comment="//", **_LINES),
    _row("pony", "Pony", ".pony", **_LINES, **_SLASHES),
    _row("d", "D", ".d .di", shebangs="rdmd dub", line_comment="//",
         block_comment=(*_C, "/+", "+/"), **_LINES),
    _row("matlab", "MATLAB", "", shebangs="octave", line_comment="%",
         block_comment=("%{", "%}"), **_LINES),
    _row("solidity", "Solidity", ".sol", **_LINES, **_SLASHES),
    _row("fsharp", "F#", ".fs .fsi .fsx", **_SLASHES),
    _row("nim", "Nim", ".nim .nims", **_HASH),
    _row("tcl", "Tcl", ".tcl", shebangs="tclsh wish", **_HASH),
    _row("nix", "Nix", ".nix", **_HASH),
    _row("vimscript", "Vim script", ".vim", files=".vimrc", line_comment='"'),
    _row("fish", "fish", ".fish", shebangs="fish", **_HASH),
    _row("batch", "Batch", ".bat .cmd", line_comment="REM "),
    _row("assembly", "Assembly", ".s .S .asm"),
    _row("fortran", "Fortran", ".f90 .f95 .f03 .f", line_comment="!"),
    _row("pascal", "Pascal", ".pas .dpr", line_comment="//"),
    _row("astro", "Astro", ".astro", block_comment=_HTML),
    _row("template", "Template", ".erb .haml .slim .ejs .hbs .j2 .jinja .jinja2 .twig .mustache"),
    _row("docker", "Dockerfile", ".dockerfile", files="Dockerfile Containerfile", **_HASH),
    _row("cmake", "CMake", ".cmake", files="CMakeLists.txt", **_HASH),
    _row("bazel", "Bazel", ".bzl .bazel", files="BUILD WORKSPACE", **_HASH),
    _row("yaml", "YAML", ".yml .yaml", **_HASH),
    _row("toml", "TOML", ".toml", files="Pipfile Cargo.lock poetry.lock uv.lock", **_HASH),
    _row("json", "JSON", ".json .jsonc .json5", files=".babelrc .eslintrc .prettierrc"),
    _row("xml", "XML", ".xml .xsd .xsl .csproj .fsproj .props .plist", block_comment=_HTML),
    _row("rst", "reStructuredText", ".rst"),
    _row("asciidoc", "AsciiDoc", ".adoc .asciidoc"),
)  # fmt: skip

BY_NAME = {language.name: language for language in LANGUAGES}
_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}
_BY_FILE = {name: language for language in LANGUAGES for name in language.files}
_BY_SHEBANG = {word: language for language in LANGUAGES for word in language.shebangs}

_SHEBANG = rb"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-\S+[ \t]+|\w+=\S*[ \t]+)*(?:\S*/)?)?([\w+-]+)"
_CPP_HEADER = (
    rb"(?m)^[ \t]*(?:class\s+\w+[^;(){}]*\{|namespace\b|template\s*<|using\s+\w|"
    rb"(?:public|protected|private)\s*:|(?:inline |static )?constexpr\b)|\bstd::|"
    rb"^[ \t]*#[ \t]*include[ \t]*<(?:c?std\w+|string|vector|map|memory|iostream|utility)>"
)
_LISP_START = rb"(?:\xef\xbb\xbf)?\s*(?:;|\(|#\|)"
# Lines that begin in a way that only one of the two languages of `.m` files has.
_M_LINE = (
    rb"(?m)^[ \t]*(?:(%|function\b|classdef\b|end[ \t;]*$)|"
    rb"//|/\*|@\w|#[ \t]*(?:import|include|define|if|pragma)\b)"
)
_C_GUARDS = rb"(?s)#[ \t]*if[^\n]*\b__cplusplus\b.{0,400}?#[ \t]*endif"


def language_of(path: str, first_line: bytes = b"") -> Language | None:
    """The language by the file's name, or else by its `#!` line."""
    name = path.rpartition("/")[2]
    if (found := _BY_FILE.get(name)) is not None:
        return found
    stem, dot, suffix = name.rpartition(".")
    if dot and stem:
        found = _BY_SUFFIX.get(f".{suffix}") or _BY_SUFFIX.get(f".{suffix.lower()}")
        if found is not None:
            return found
    if first_line.startswith(b"#!") and (match := re.match(_SHEBANG, first_line)):
        return _shebang(match[1].decode())
    return _BY_FILE.get(stem) if stem in ("Dockerfile", "Makefile") else None


def refine(language: Language, path: str, source: bytes) -> Language:
    """The language by the content, if languages share the suffix: a `.h` file may be C++, a `.m`
    file MATLAB, and a `.cl` file Common Lisp instead of OpenCL C."""
    name, source = language.name, source[:200_000]
    if name == "c" and path.endswith(".h"):
        is_cpp = re.search(_CPP_HEADER, re.sub(_C_GUARDS, b"", source))
        return BY_NAME["cpp"] if is_cpp else language
    if name == "c" and path.endswith(".cl") and re.match(_LISP_START, source):
        return BY_NAME["commonlisp"]
    if name == "objc" and path.endswith(".m") and (first := re.search(_M_LINE, source)):
        return BY_NAME["matlab"] if first[1] else language
    return language


def _shebang(word: str) -> Language | None:
    return _BY_SHEBANG.get(word) or _BY_SHEBANG.get(re.sub(r"[\d.-]+$", "", word))
