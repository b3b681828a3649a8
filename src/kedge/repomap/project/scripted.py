"""Ruby, PHP, .NET, Elixir and Dart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.formats import (
    items,
    named,
    table,
    tags,
    text,
    texts,
    without_xml_comments,
)
from kedge.repomap.project.frameworks import at_least, major, notable
from kedge.repomap.project.parts import Findings, base, join, parent
from kedge.repomap.project.source import Project
from kedge.repomap.project.targets import Target, add_targets

_GEM = re.compile(r"^[ \t]*gem[ \t(]+['\"]([\w.-]{1,80})['\"](?:[ \t]*,[ \t]*['\"]([^'\"]{1,40})['\"])?", re.MULTILINE)


def read_ruby(project: Project) -> Findings:
    findings = Findings("ruby")
    specs = [path for path in project.paths if path.endswith(".gemspec") and "/" not in path]
    homes = project.homes("Gemfile", limit=3) or ([""] if specs else [])
    for home in homes:
        path = project.first(home, "Gemfile") or specs[0]
        gems = {name: major(version) for name, version in _GEM.findall(project.head(path))}
        for spec in specs if not home else []:
            for name in re.findall(r"add_(?:runtime_)?dependency[ (]+['\"]([\w.-]{1,80})", project.head(spec)):
                gems.setdefault(name, None)
        wanted = re.search(r"^ruby[ (]+['\"]([^'\"]{1,30})", project.head(path), re.MULTILINE)
        wanted = wanted or next(
            (m for spec in specs if (m := re.search(r"required_ruby_version\s{0,6}=\s{0,4}['\"]([^'\"]{1,30})", project.head(spec)))),
            None,
        )
        version = at_least(wanted.group(1)) if wanted else None
        own = [base(spec).removesuffix(".gemspec") for spec in specs]
        libraries = notable("ruby", gems, own=own)
        inside = "; ".join(filter(None, ("bundler", ", ".join(libraries))))
        findings.tech(f"Ruby{f' {version}' if version else ''} ({inside})", home)
        _ruby_commands(findings, project, home, path, gems)
    for path, what in (
        ("config.ru", "Rack application"),
        ("config/routes.rb", "Rails routes"),
        ("config/application.rb", "Rails application"),
    ):
        if project.has(path):
            findings.entry(path, what)
    for spec in specs[:1]:
        name = base(spec).removesuffix(".gemspec")
        if library := project.first("", f"lib/{name}.rb", f"lib/{name.replace('-', '/')}.rb"):
            findings.entry(library, f"gem `{name}`")
    for path in project.inside("exe")[:3]:
        findings.entry(path, f"command `{base(path)}`")
    return findings


def _ruby_commands(
    findings: Findings, project: Project, home: str, gemfile: str, gems: dict[str, str | None]
) -> None:
    setup = project.first(home, "bin/setup")
    if setup:
        findings.command("install", "bin/setup", setup, 70, home)
    findings.command("install", "bundle install", gemfile, 62, home)
    rails = project.first(home, "bin/rails")
    rspec = project.first(home, ".rspec", "spec/spec_helper.rb", "spec/rails_helper.rb")
    if rspec:
        findings.command("test", "bundle exec rspec", rspec, 66, home)
    elif rails and f"{join(home, 'test')}" in project.directories:
        findings.command("test", "bin/rails test", rails, 66, home)
    if rails:
        dev = project.first(home, "bin/dev")
        findings.command("run", "bin/dev" if dev else "bin/rails server", dev or rails, 64, home)
    elif project.has(join(home, "config.ru")) and "rackup" in gems:
        findings.command("run", "bundle exec rackup", join(home, "config.ru"), 52, home)
    if rubocop := project.first(home, ".rubocop.yml"):
        findings.command("lint", "bundle exec rubocop", rubocop, 62, home)
        findings.command("format", "bundle exec rubocop -a", rubocop, 50, home)
    if standard := project.first(home, ".standard.yml"):
        findings.command("lint", "bundle exec standardrb", standard, 62, home)
        findings.command("format", "bundle exec standardrb --fix", standard, 56, home)
    if "sorbet" in gems:
        findings.command("typecheck", "bundle exec srb tc", gemfile, 56, home)


def read_php(project: Project) -> Findings:
    findings = Findings("php")
    for home in project.homes("composer.json", limit=3):
        path = join(home, "composer.json")
        composer = project.json(path)
        needs = {
            name: major(version)
            for kind in ("require", "require-dev")
            for name, version in named(composer.get(kind))
            if name != "php" and not name.startswith("ext-")
        }
        version = at_least(table(composer, "require").get("php"))
        own = [text(composer.get("name")) or "", *table(composer, "replace")]
        libraries = notable("php", needs, own=[name for name in own if isinstance(name, str)])
        inside = "; ".join(filter(None, ("composer", ", ".join(libraries))))
        findings.tech(f"PHP{f' {version}' if version else ''} ({inside})", home)
        findings.command("install", "composer install", path, 64, home)
        targets = [
            Target(name, tuple(texts(body)), f"{path}:scripts.{name}")
            for name, body in named(composer.get("scripts"))
            if not name.startswith(("post-", "pre-"))
        ]
        add_targets(findings, targets, _composer, 82, home)
        for kind, command, source, score in _php_tools(project, home, needs):
            findings.command(kind, command, source, score, home)  # type: ignore[arg-type]
    for path, what in (
        ("artisan", "Laravel's commands"),
        ("public/index.php", "front controller"),
        ("routes/web.php", "routes"),
        ("bin/console", "Symfony's commands"),
        ("index.php", "front page"),
    ):
        if project.has(path):
            findings.entry(path, what)
    return findings


def _composer(name: str) -> str:
    return f"composer {name}" if name in ("test", "lint", "check") else f"composer run {name}"


def _php_tools(
    project: Project, home: str, needs: dict[str, str | None]
) -> Iterator[tuple[str, str, str, int]]:
    manifest = join(home, "composer.json")
    unit = project.first(home, "phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")
    if artisan := project.first(home, "artisan"):
        yield "run", "php artisan serve", artisan, 60
        if unit:
            yield "test", "php artisan test", unit, 66
    elif "pestphp/pest" in needs:
        yield "test", "vendor/bin/pest", manifest, 66
    elif unit:
        yield "test", "vendor/bin/phpunit", unit, 64
    if stan := project.first(home, "phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"):
        yield "typecheck", "vendor/bin/phpstan analyse", stan, 60
    elif types := project.first(home, "phpstan.types.neon.dist", "psalm.xml", "psalm.xml.dist"):
        if "psalm" in types:
            yield "typecheck", "vendor/bin/psalm", types, 58
        else:
            yield "typecheck", f"vendor/bin/phpstan analyse -c {base(types)}", types, 50
    pint = project.first(home, "pint.json")
    if pint or "laravel/pint" in needs:
        yield "format", "vendor/bin/pint", pint or manifest, 60
    if sniffer := project.first(home, "phpcs.xml", "phpcs.xml.dist", ".phpcs.xml"):
        yield "lint", "vendor/bin/phpcs", sniffer, 58
    if fixer := project.first(home, ".php-cs-fixer.dist.php", ".php-cs-fixer.php"):
        yield "format", "vendor/bin/php-cs-fixer fix", fixer, 58


def read_dotnet(project: Project) -> Findings:
    findings = Findings("dotnet")
    solutions = [p for p in project.paths if p.endswith((".sln", ".slnx")) and p.count("/") <= 2]
    projects = [
        p for p in project.paths if p.endswith((".csproj", ".fsproj", ".vbproj"))
    ]
    if not projects:
        return findings
    products = [p for p in projects if not is_aside(parent(p))] or projects
    products.sort(key=lambda p: (-project.census.files_in(parent(p)), p))
    findings.packages += [parent(p) for p in products if parent(p)]
    targets: dict[str, None] = {}
    needs: dict[str, str | None] = {}
    shared = [p for p in ("Directory.Packages.props", "Directory.Build.props") if project.has(p)]
    for path in [*products[:12], *shared]:
        body = without_xml_comments(project.head(path))
        for tag in ("TargetFramework", "TargetFrameworks"):
            for found in tags(body, tag):
                targets |= dict.fromkeys(re.findall(r"net\d{1,2}\.\d|netstandard\d\.\d|net4\d+", found))
        for name in re.findall(r"Include=\"([\w.]{1,100})\"", body) + re.findall(r"Sdk=\"([\w.]{1,60})", body):
            needs.setdefault(name, None)
    newest = max(targets, key=_framework_order, default=None)
    language = project.census.languages("dotnet").most_common(1)
    own = [base(p).rpartition(".")[0] for p in projects]
    libraries = [n for n in notable("dotnet", needs, own=own) if n in ("xUnit", "NUnit") or not n.startswith("Microsoft.")]
    inside = "; ".join(filter(None, (f"{len(projects)} projects" if len(projects) > 1 else "", ", ".join(libraries))))
    version = f".NET {newest.removeprefix('net')}" if newest and newest.startswith("net") else ".NET"
    findings.tech(f"{language[0][0] if language else 'C#'}, {version}{f' ({inside})' if inside else ''}")
    solutions.sort(key=lambda p: (p.count("/"), p))
    at_root = [p for p in solutions + projects if "/" not in p]
    argument = "" if len(at_root) == 1 else f" {(at_root or solutions or products)[0]}"
    source = (at_root or solutions or products)[0]
    findings.command("install", f"dotnet restore{argument}", source, 54)
    findings.command("build", f"dotnet build{argument}", source, 62)
    if any(re.search(r"tests?\b", base(p), re.IGNORECASE) for p in projects):
        findings.command("test", f"dotnet test{argument}", source, 64)
    for path in products[:12]:
        head = project.head(path)
        if "<OutputType>Exe" in head or "Sdk.Web" in head:
            directory = parent(path)
            call = f"dotnet run --project {directory}" if directory else "dotnet run"
            findings.command("run", call, path, 58)
            if program := project.first(directory, "Program.cs", "Program.fs"):
                findings.entry(program, f"program {base(path).rpartition('.')[0]}")
    return findings


def _framework_order(name: str) -> tuple[int, float]:
    found = re.search(r"(\d+(?:\.\d)?)$", name)
    modern = name.startswith("net") and "." in name and "standard" not in name
    return (1 if modern else 0, float(found.group(1)) if found else 0.0)


def read_elixir(project: Project) -> Findings:
    findings = Findings("elixir")
    for home in project.homes("mix.exs", limit=2):
        path = join(home, "mix.exs")
        script = project.head(path)
        needs = {name: major(v) for name, v in re.findall(r"\{:(\w{1,60}),\s{0,8}\"([^\"]{1,40})", script)}
        version = re.search(r"elixir:\s{0,4}\"([^\"]{1,30})", script)
        own = re.findall(r"app: :(\w{1,60})", script)[:1]
        libraries = ", ".join(notable("elixir", needs, own=own))
        inside = "; ".join(filter(None, ("mix", libraries)))
        wanted = at_least(version.group(1)) if version else None
        findings.tech(f"Elixir{f' {wanted}' if wanted else ''} ({inside})", home)
        is_setup = re.search(r"\bsetup: \[", script)
        findings.command("install", "mix setup" if is_setup else "mix deps.get", path, 64, home)
        findings.command("test", "mix test", path, 64, home)
        findings.command("build", "mix compile", path, 46, home)
        if formatter := project.first(home, ".formatter.exs"):
            findings.command("format", "mix format", formatter, 60, home)
        if "credo" in needs:
            findings.command("lint", "mix credo", path, 58, home)
        if "dialyxir" in needs:
            findings.command("typecheck", "mix dialyzer", path, 56, home)
        if "phoenix" in needs:
            findings.command("run", "mix phx.server", path, 60, home)
        for name in own:
            if application := project.first(home, f"lib/{name}/application.ex", f"lib/{name}.ex"):
                findings.entry(application, f"application `{name}`")
        if router := project.first(home, *(f"lib/{name}_web/router.ex" for name in own)):
            findings.entry(router, "routes")
    return findings


def read_dart(project: Project) -> Findings:
    findings = Findings("dart")
    for home in project.homes("pubspec.yaml", limit=2):
        path = join(home, "pubspec.yaml")
        spec = table(project.yaml(path))
        needs = {
            name: major(version) if isinstance(version, str) else None
            for name, version in named(spec.get("dependencies"))
        }
        is_flutter = "flutter" in needs
        tool = "flutter" if is_flutter else "dart"
        version = at_least(table(spec, "environment").get("sdk"))
        libraries = notable("dart", {n: v for n, v in needs.items() if n != "flutter"})
        inside = "; ".join(filter(None, ("Flutter" if is_flutter else "pub", ", ".join(libraries))))
        findings.tech(f"Dart{f' {version}' if version else ''} ({inside})", home)
        findings.command("install", f"{tool} pub get", path, 62, home)
        if f"{join(home, 'test')}" in project.directories:
            findings.command("test", f"{tool} test", path, 62, home)
        findings.command("lint", f"{tool} analyze", path, 54, home)
        findings.command("format", "dart format .", path, 44, home)
        if is_flutter:
            findings.command("run", "flutter run", path, 56, home)
        for place in ("lib/main.dart", "bin/main.dart"):
            if project.has(join(home, place)):
                findings.entry(join(home, place), "main program")
        for name in items(spec.get("workspace"))[:60]:
            member = join(home, text(name) or "")
            if project.has(f"{member}/pubspec.yaml"):
                findings.packages.append(member)
    return findings
