"""The programs that a shell command starts, with enough detail to say "it runs the tests"."""

from __future__ import annotations

from kedge.drift.limits.roles import word_set
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.syntax import Node, Word

MOST = 200
_DEEPEST = 4
_BEFORE = word_set("sudo env time nohup command exec nice xargs")
_RUNNERS = word_set("""npx bunx pnpx uvx pipx dlx exec poetry pdm uv bundle rye hatch""")
_SCRIPTS = word_set(
    """npm yarn pnpm bun make just task rake mise composer gulp grunt cargo go gradle gradlew mvn
    mvnw deno nx turbo mix dotnet"""
)
_SHELLS = word_set(
    "bash sh zsh dash fish python python3 node ruby perl php deno bun source . ts-node tsx"
)
_TESTING = word_set(
    """pytest py.test jest vitest mocha ava karma rspec phpunit ctest nose2 unittest tox nox
    playwright cypress testem busted bats gotestsum nextest"""
)
_FORMATTING = word_set(
    """black gofmt goimports gofumpt rustfmt prettier eslint autopep8 yapf isort clang-format
    rubocop standardrb shfmt stylelint biome php-cs-fixer swiftformat ktlint scalafmt dprint"""
)
_STARTS = word_set("run up start restart exec")
_WRITING = word_set("--write -w --fix -i --in-place -a -A --autocorrect --apply")
_WORDS = {
    "build": ("build", "compile", "assemble", "bundle"),
    "server": ("dev", "serve", "server", "start", "runserver", "up", "preview", "uvicorn",
               "gunicorn", "flask", "nodemon"),
    "migrations": ("migrate", "db:migrate", "migrations", "db:migrate:up", "migration:run",
                   "upgrade", "db:push"),
    "lint": ("lint", "eslint", "ruff", "flake8", "golangci-lint", "clippy", "pylint"),
    "deploy": ("deploy", "publish", "release", "apply", "promote", "rollout"),
    "seeds": ("seed", "db:seed", "seeds"),
    "benchmarks": ("bench", "benchmark", "benchmarks"),
    "install": ("install", "i", "ci"),
}  # fmt: skip


class Program(NamedTuple):
    name: str
    args: tuple[str, ...]

    @property
    def shown(self) -> str:
        return " ".join((self.name, *self.args))[:120]

    @property
    def words(self) -> tuple[str, ...]:
        return (self.name, *self.args)

    @property
    def runs_tests(self) -> bool:
        name, args = self.name, self.args
        if name in _TESTING or (args and name in _RUNNERS and set(args[:3]) & _TESTING):
            return True
        if name in _SHELLS and "-m" in args and set(args) & {"pytest", "unittest", "nose2"}:
            return True
        if name in _SCRIPTS or name in _RUNNERS:
            return any(
                arg in ("test", "tests", "t", "spec", "check") or arg.startswith(("test:", "test-"))
                for arg in args[:3] if not arg.startswith("-")
            )  # fmt: skip
        return name.endswith("manage.py") and args[:1] == ("test",)

    @property
    def formats_files(self) -> bool:
        """True if it rewrites files in another format."""
        words = self.words
        if "--check" in words or "--diff" in words or "--list-different" in words:
            return False
        for place, word in enumerate(words[:3]):
            if word in _FORMATTING:
                rest = set(words[place + 1 :])
                always = word in ("black", "isort", "rustfmt", "standardrb", "swiftformat")
                return always or bool(rest & _WRITING) or "fmt" in rest
            if word == "ruff":
                return "format" in words or "--fix" in words
        if self.name not in _SCRIPTS and self.name != "terraform":
            return False
        return any(
            arg in ("format", "fmt", "prettier", "fix")
            or arg.startswith(("format:", "fmt:", "lint:fix"))
            for arg in self.args[:2]
        )

    def matches(self, what: str) -> bool:
        """True if it is what the words mean: a role ("tests", "server"), a command or a path."""
        if what == "tests":
            return self.runs_tests
        if what.endswith(" tests"):
            kind = what.removesuffix(" tests")
            named = any(kind in arg.lower() for arg in self.args)
            browser = kind == "e2e" and bool(set(self.words[:3]) & {"playwright", "cypress"})
            return (self.runs_tests and named) or browser
        if what == "script":
            words = self.words[:1] if self.name not in _SHELLS else self.words[1:2]
            return any(word.endswith((".sh", ".py", ".js", ".rb", ".pl", ".ts")) for word in words)
        if what == "docker":
            docker = self.name in ("docker", "docker-compose", "podman")
            return docker and not _STARTS.isdisjoint(self.args[:3])
        if what in _WORDS:
            if self.name == "git" or (what == "server" and self.runs_tests):
                return False
            verbs = _WORDS[what]
            plain = [arg for arg in self.args[:4] if not arg.startswith("-")]
            return self.name in verbs or any(
                arg in verbs or arg.partition(":")[0] in verbs for arg in plain[:3]
            )
        parts = what.split()
        if len(parts) == 1 and ("/" in what or "." in what):
            return self._starts(what)
        options = [part for part in parts if part.startswith("-")]
        head = [word.lower() for word in self.words if not word.startswith("-")]
        plain = [part.lower() for part in parts if not part.startswith("-")]
        return head[: len(plain)] == plain and all(option in self.args for option in options)

    def _starts(self, path: str) -> bool:
        """True if the program is this file, or an interpreter that runs it."""
        name = path.strip("./")
        tail = name.rpartition("/")[2]
        words = self.words if self.name in _SHELLS else self.words[:1]
        return any(
            word.removeprefix("./").endswith(name) or word.rpartition("/")[2] == tail
            for word in words[:3]
        )


def list_programs(command: str) -> list[Program]:
    """Return the programs of a command in order, including those that `bash -c` runs."""
    found: list[Program] = []
    todo = [(command, 0)]
    while todo and len(found) < MOST:
        text, depth = todo.pop(0)
        for all_words in _list_commands(text):
            words = all_words
            while words and words[0] in _BEFORE:
                if words[0] == "sudo":
                    found.append(Program("sudo", tuple(words[1:3])))
                words = words[1:]
            if not words:
                continue
            if words[0] in _SHELLS and words[1:2] in (["-c"], ["-lc"]) and depth < _DEEPEST:
                todo.append((" ".join(words[2:3]), depth + 1))
            local = words[0].startswith("./") and words[0] not in ("./gradlew", "./mvnw")
            name = words[0] if local else words[0].rpartition("/")[2]
            found.append(Program(name, tuple(words[1:])))
    return found[:MOST]


def _list_commands(text: str) -> list[list[str]]:
    """Return the simple commands of a text as words, including those in substitutions."""
    from kedge.drift.shell.parse import parse
    from kedge.drift.shell.syntax import Simple

    found: list[list[str]] = []
    stack: list[Node] = [parse(text).block]
    while stack and len(found) < MOST:
        node = stack.pop()
        if not isinstance(node, Simple):
            stack.extend(reversed(node.nodes))
            continue
        if node.words:
            found.append([_text(word) for word in node.words])
        for word in node.words:
            if not isinstance(word, str):
                stack.extend(part.body for part in word if part.body is not None)
    return found


def _text(word: Word) -> str:
    return word if isinstance(word, str) else "".join(part.text for part in word)
