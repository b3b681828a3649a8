"""Words for files: roles such as "tests" and "schema", types such as "css", and what is no file."""

from __future__ import annotations

from functools import cache


@cache
def word_set(text: str) -> frozenset[str]:
    """The words of a text, once for each text: so that a set may stand where it is used."""
    return frozenset(text.split())


class Role:
    """Where files of a role are found: folders, names, ends of names, beginnings of names.

    `weak_…` only suggest the role; `ignored` has words before it that say nothing more.
    """

    __slots__ = ("ends", "folders", "ignored", "names", "starts", "weak_folders", "weak_names")

    def __init__(
        self, folders: str = "", names: str = "", ends: str = "", starts: str = "",
        weak_folders: str = "", weak_names: str = "", ignored: str = "",
    ) -> None:  # fmt: skip
        self.folders = folders
        self.names = names
        self.ends = ends
        self.starts = starts
        self.weak_folders = weak_folders
        self.weak_names = weak_names
        self.ignored = ignored


_LOCKS = """package-lock.json yarn.lock pnpm-lock.yaml bun.lockb bun.lock poetry.lock pdm.lock
uv.lock pipfile.lock cargo.lock gemfile.lock composer.lock go.sum podfile.lock mix.lock flake.lock
packages.lock.json npm-shrinkwrap.json package.resolved pubspec.lock"""
_MANIFESTS = """package.json pyproject.toml requirements.txt setup.py setup.cfg cargo.toml gemfile
go.mod composer.json pom.xml build.gradle build.gradle.kts pipfile mix.exs podfile pubspec.yaml
requirements-dev.txt package.swift environment.yml"""
_CI = Role(
    ".github/workflows .circleci .buildkite .woodpecker",
    """.gitlab-ci.yml .gitlab-ci.yaml jenkinsfile azure-pipelines.yml .travis.yml appveyor.yml
    bitbucket-pipelines.yml .drone.yml cloudbuild.yaml .cirrus.yml""",
    ignored="ci github gitlab actions action build pipeline circleci the",
)
_MIGRATIONS = Role(
    "migrations migration alembic db/migrate migrate versions/alembic flyway liquibase",
    "alembic.ini",
    ignored="database db existing sql alembic django rails old schema",
)
ROLES: dict[str, Role] = {
    "migrations": _MIGRATIONS,
    "schema": Role(
        "schema schemas migrations migration db/migrate alembic",
        "schema.prisma structure.sql schema.rb schema.sql schema.graphql schema.graphqls",
        starts="schema.",
        weak_folders="models entities entity",
        weak_names="models.py models.ts models.go entities.ts",
        ignored="database db sql prisma graphql table current",
    ),
    "ci": _CI,
    "lockfile": Role(names=_LOCKS, ends=".lock", ignored="dependency npm"),
    "docs": Role("docs doc documentation", ends=".md .mdx .rst .adoc"),
    "readme": Role(starts="readme"),
    "changelog": Role(starts="changelog changes history"),
    "license": Role(starts="license licence copying"),
    "config": Role(
        "config configs configuration conf settings .config",
        f"""{_MANIFESTS} makefile tox.ini .editorconfig .npmrc .babelrc .env .flake8 mypy.ini
        pytest.ini tsconfig.json jest.config.js .pre-commit-config.yaml settings.py config.py
        nginx.conf docker-compose.yml""",
        ".ini .cfg .conf .toml .config.js .config.ts .config.mjs .config.cjs rc rc.json rc.js"
        " rc.yml rc.cjs .config.json",
        "tsconfig eslint.config config. settings.",
        ignored="project app existing build tool configuration",
    ),
    "manifest": Role(names=_MANIFESTS),
    "generated": Role(
        "generated gen __generated__ autogen",
        ends=".pb.go _pb2.py _pb2_grpc.py .g.dart .g.cs .generated.ts .generated.js _generated.go"
        " .gen.go .gen.ts .freezed.dart .designer.cs .pb.cc .pb.h _pb.js _pb.d.ts",
        ignored="auto auto-generated",
    ),
    "vendor": Role("vendor vendored third_party third-party thirdparty node_modules external deps"),
    "snapshots": Role("__snapshots__ snapshots", ends=".snap .ambr", ignored="test jest"),
    "fixtures": Role("fixtures fixture testdata", ignored="test"),
    "stories": Role(
        "stories",
        ends=".stories.tsx .stories.ts .stories.jsx .stories.js .stories.mdx",
        ignored="storybook",
    ),
    "dockerfile": Role(names="dockerfile containerfile", starts="dockerfile.", ends=".dockerfile"),
    "docker": Role(
        "docker .docker",
        "dockerfile docker-compose.yml compose.yml docker-compose.yaml compose.yaml .dockerignore",
        starts="dockerfile",
    ),
    "makefile": Role(names="makefile gnumakefile"),
    "models": Role("models", "models.py", ignored="db database data orm django domain our"),
    "env": Role(names=".env .envrc", starts=".env"),
    "tsconfig": Role(starts="tsconfig"),
    "frontend": Role("frontend front-end client webapp front", weak_folders="web ui"),
    "backend": Role("backend back-end server", weak_folders="api"),
    "charts": Role("charts chart helm", "chart.yaml values.yaml", ignored="helm"),
    "infrastructure": Role("infra infrastructure terraform deploy ansible k8s", ends=".tf .tfvars"),
    "assets": Role("assets asset static public images img"),
    "examples": Role("examples example samples demos"),
    "scripts": Role("scripts script bin"),
    "translations": Role("locales locale i18n l10n translations lang", ends=".po .mo .xliff .arb"),
    "headers": Role(ends=".h .hpp .hh .hxx", ignored="public c"),
    "styles": Role("styles style css", ends=".css .scss .sass .less .styl"),
    "templates": Role("templates template views", ends=".html .erb .jinja .jinja2 .hbs .ejs .twig"),
}
ALIASES = {
    "migration": "migrations", "schemas": "schema", "workflow": "ci", "workflows": "ci",
    "pipeline": "ci", "pipelines": "ci", "lockfiles": "lockfile", "lock": "lockfile",
    "documentation": "docs", "doc": "docs", "readmes": "readme", "configs": "config",
    "configuration": "config", "configurations": "config", "settings": "config",
    "vendored": "vendor", "vendors": "vendor", "third-party": "vendor", "snapshot": "snapshots",
    "fixture": "fixtures", "story": "stories", "dockerfiles": "dockerfile", "envs": "env",
    "front-end": "frontend", "back-end": "backend", "chart": "charts", "infra": "infrastructure",
    "asset": "assets", "example": "examples", "script": "scripts", "locales": "translations",
    "translation": "translations", "header": "headers", "stylesheets": "styles",
    "stylesheet": "styles", "licence": "license", "test": "tests", "spec": "tests",
    "specs": "tests", "testcases": "tests", "unittests": "tests", "manifests": "manifest",
    "auto-generated": "generated", "template": "templates",
}  # fmt: skip
# types of files by how people call them
TYPES = {
    "css": ".css", "scss": ".scss", "sass": ".sass", "less": ".less", "html": ".html .htm",
    "typescript": ".ts .tsx", "ts": ".ts .tsx", "tsx": ".tsx", "jsx": ".jsx", "vue": ".vue",
    "javascript": ".js .jsx .mjs .cjs", "js": ".js .jsx .mjs .cjs", "python": ".py .pyi",
    "py": ".py", "go": ".go", "golang": ".go", "rust": ".rs", "ruby": ".rb", "java": ".java",
    "kotlin": ".kt .kts", "swift": ".swift", "php": ".php", "json": ".json .jsonc",
    "yaml": ".yml .yaml", "yml": ".yml .yaml", "toml": ".toml", "xml": ".xml", "sql": ".sql",
    "markdown": ".md .mdx", "md": ".md", "proto": ".proto", "protobuf": ".proto",
    "terraform": ".tf .tfvars", "shell": ".sh .bash", "bash": ".sh .bash", "po": ".po",
    "svg": ".svg", "csv": ".csv", "txt": ".txt", "c++": ".cpp .cc .cxx .hpp .hh", "c": ".c .h",
    "c#": ".cs", "dart": ".dart", "lua": ".lua", "scala": ".scala", "elixir": ".ex .exs",
    "graphql": ".graphql .gql", "svelte": ".svelte", "cpp": ".cpp .cc .hpp", "ini": ".ini",
    "image": ".png .jpg .jpeg .gif .svg .webp", "images": ".png .jpg .jpeg .gif .svg .webp",
    "notebook": ".ipynb", "notebooks": ".ipynb", "text": ".txt", "snap": ".snap",
}  # fmt: skip
BARE_FILES = word_set(
    """makefile dockerfile gemfile rakefile procfile jenkinsfile podfile vagrantfile brewfile
    justfile containerfile pipfile cargofile codeowners"""
)
NO_FILES = word_set(
    """node.js next.js vue.js react.js express.js three.js d3.js nuxt.js asp.net .net e.g i.e etc
    e.g. i.e. socket.io chart.js nest.js angular.js ember.js backbone.js deno.land fuse.js"""
)
FOLDERS = word_set(
    """src lib app apps docs doc test tests spec config scripts bin cmd pkg internal web server
    client frontend backend api core packages crates services examples assets public static
    templates migrations vendor infra deploy tools data"""
)
MODULES = word_set(
    """module modules package packages component components service services library layer class
    classes app subsystem part side page view screen feature area files file code logic plugin
    crate gem stuff things model models controller controllers helper helpers serializer hook
    store reducer"""
)
FILES = word_set(
    """files file anything everything something nothing code codebase repo repository source
    sources things stuff thing"""
)
FOLDER_WORDS = word_set("folder folders directory directories dir dirs subfolder subdirectory")
MODULE_WORDS = word_set(
    "module modules package packages component components service services middleware app crate"
)
CONTAINERS = FILES | FOLDER_WORDS | MODULE_WORDS  # nouns that add nothing to a path
RESTRICTING = word_set("unrelated unnecessary such certain specific remaining corresponding rest")
# editing the file may leave these as they are: what is said of them binds no path
ABSTRACT = word_set(
    """behaviour behavior semantics signature signatures name names output api apis interface
    interfaces order default defaults value values layout look meaning type types wording text
    contract contracts performance functionality feature features result results return response
    format version versions id ids key keys color colour colors size label title message messages
    number state status user users data transaction request requests event events list case cases
    way approach architecture design structure style naming variable variables function functions
    method methods parameter parameters argument arguments flag flags option options logic import
    imports comment comments indentation whitespace line lines spacing field fields column
    columns table tables row rows definition definitions url urls path paths route routes
    endpoint endpoints button page banner"""
)
TEST_FOLDERS = word_set(
    "test tests spec specs __tests__ __test__ e2e testdata cypress testing unittests"
)
TYPES_ENDS = frozenset(end for ends in TYPES.values() for end in ends.split()) | {".d.ts"}
