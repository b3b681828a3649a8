"""PHP: composer, Laravel and Symfony."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.repomap.project.formats import (
    as_table,
    as_text,
    as_texts,
    printable_items,
)
from kedge.repomap.project.frameworks import lowest_version, major_version, select_notable
from kedge.repomap.project.parts import Findings, Kind, format_stack, join
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.targets import Target, add_targets


def read(project: ProjectFiles) -> Findings:
    findings = Findings("php")
    if not project.census.weight("php"):
        return findings
    for home in project.homes("composer.json", limit=3):
        path = join(home, "composer.json")
        composer = project.json(path)
        needs = {
            name: major_version(version)
            for kind in ("require", "require-dev")
            for name, version in printable_items(composer.get(kind))
            if name != "php" and not name.startswith("ext-")
        }
        version = lowest_version(as_table(composer, "require").get("php"))
        own = [as_text(composer.get("name")) or "", *as_table(composer, "replace")]
        libraries = select_notable("php", needs, own=own)
        findings.add_tech(format_stack("PHP", version, ["composer"], libraries), home)
        findings.add_command("install", "composer install", path, 64, home)
        targets = [
            Target(name, tuple(as_texts(body)), f"{path}:scripts.{name}")
            for name, body in printable_items(composer.get("scripts"))
            if not name.startswith(("post-", "pre-"))
        ]
        add_targets(findings, targets, _composer, 82, home)
        for kind, command, source, score in _tools(project, home, needs):
            findings.add_command(kind, command, source, score, home)
    for path, what in (
        ("artisan", "Laravel's commands"),
        ("public/index.php", "front controller"),
        ("routes/web.php", "routes"),
        ("bin/console", "Symfony's commands"),
        ("index.php", "front page"),
    ):
        if project.has(path):
            findings.add_entry(path, what)
    return findings


def _composer(name: str) -> str:
    return f"composer {name}" if name in ("test", "lint", "check") else f"composer run {name}"


def _tools(
    project: ProjectFiles, home: str, needs: dict[str, str | None]
) -> Iterator[tuple[Kind, str, str, int]]:
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
    elif psalm := project.first(home, "psalm.xml", "psalm.xml.dist"):
        yield "typecheck", "vendor/bin/psalm", psalm, 58
    pint = project.first(home, "pint.json")
    if pint or "laravel/pint" in needs:
        yield "format", "vendor/bin/pint", pint or manifest, 60
    if sniffer := project.first(home, "phpcs.xml", "phpcs.xml.dist", ".phpcs.xml"):
        yield "lint", "vendor/bin/phpcs", sniffer, 58
    if fixer := project.first(home, ".php-cs-fixer.dist.php", ".php-cs-fixer.php"):
        yield "format", "vendor/bin/php-cs-fixer fix", fixer, 58
