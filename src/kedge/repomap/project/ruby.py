"""Ruby: gems, Rails and Rack."""

from __future__ import annotations

import re

from kedge.repomap.project.frameworks import lowest_version, major_version, select_notable
from kedge.repomap.project.parts import Findings, base, format_stack, join, parent
from kedge.repomap.project.project_files import ProjectFiles

_GEM = re.compile(
    r"^[ \t]{0,20}gem[ \t(]{1,4}['\"]([\w.-]{1,80})['\"]"
    r"(?:[ \t]?,[ \t]{0,4}['\"]([^'\"\n]{1,40})['\"])?",
    re.MULTILINE,
)
_NEEDS = re.compile(r"add_(?:runtime_)?dependency[ (]{1,4}['\"]([\w.-]{1,80})")
_RUBY = re.compile(r"^ruby[ (]{1,4}['\"]([^'\"\n]{1,30})", re.MULTILINE)
_REQUIRED = re.compile(r"required_ruby_version[ \t]{0,6}=[ \t]{0,4}['\"]([^'\"\n]{1,30})")
_PLACES = (
    ("config.ru", "Rack application"),
    ("config/routes.rb", "Rails routes"),
    ("config/application.rb", "Rails application"),
)


def read(project: ProjectFiles) -> Findings:
    findings = Findings("ruby")
    if not project.census.weight("ruby"):
        return findings
    specs = [path for path in project.find_ending(".gemspec") if path.count("/") <= 1]
    at_root = [path for path in specs if "/" not in path]
    for home in project.homes("Gemfile", limit=3) or ([""] if at_root else []):
        path = project.first(home, "Gemfile") or at_root[0]
        own = [spec for spec in specs if parent(spec) == home]
        gems = {name: major_version(version) for name, version in _GEM.findall(project.head(path))}
        for spec in own:
            for name in _NEEDS.findall(project.head(spec)):
                gems.setdefault(name, None)
        findings.add_tech(_stack_line(project, path, gems, specs), home)
        _add_commands(findings, project, home, path, gems)
    findings.packages += [parent(spec) for spec in specs if "/" in spec]
    for path, what in _PLACES:
        if project.has(path):
            findings.add_entry(path, what)
    census = project.census
    for spec in sorted(specs, key=lambda path: (-census.files_in(parent(path)), path))[:8]:
        name = base(spec).removesuffix(".gemspec")
        # activerecord has lib/active_record.rb, rack-test has lib/rack/test.rb
        plain = f"{name.replace('_', '')}.rb"
        inside = project.inside(join(parent(spec), "lib"))
        named = [path for path in inside if base(path).replace("_", "") == plain]
        library = project.first(parent(spec), f"lib/{name}.rb", f"lib/{name.replace('-', '/')}.rb")
        if library := library or next(iter(named), None):
            findings.add_entry(library, f"gem `{name}`")
    for path in project.inside("exe")[:3]:
        findings.add_entry(path, f"command `{base(path)}`")
    return findings


def _stack_line(
    project: ProjectFiles, gemfile: str, gems: dict[str, str | None], specs: list[str]
) -> str:
    wanted = _RUBY.search(project.head(gemfile))
    for spec in specs[:3]:
        wanted = wanted or _REQUIRED.search(project.head(spec))
    version = lowest_version(wanted.group(1)) if wanted else None
    own = [base(spec).removesuffix(".gemspec") for spec in specs]
    return format_stack("Ruby", version, ["bundler"], select_notable("ruby", gems, own=own))


def _add_commands(
    findings: Findings, project: ProjectFiles, home: str, gemfile: str, gems: dict[str, str | None]
) -> None:
    if setup := project.first(home, "bin/setup"):
        findings.add_command("install", "bin/setup", setup, 70, home)
    findings.add_command("install", "bundle install", gemfile, 62, home)
    rails = project.first(home, "bin/rails")
    rspec = project.first(home, ".rspec", "spec/spec_helper.rb", "spec/rails_helper.rb")
    if rspec:
        findings.add_command("test", "bundle exec rspec", rspec, 66, home)
    elif rails and join(home, "test") in project.directories:
        findings.add_command("test", "bin/rails test", rails, 66, home)
    if rails:
        dev = project.first(home, "bin/dev")
        findings.add_command(
            "run", "bin/dev" if dev else "bin/rails server", dev or rails, 64, home
        )
    elif project.has(join(home, "config.ru")) and "rackup" in gems:
        findings.add_command("run", "bundle exec rackup", join(home, "config.ru"), 52, home)
    if rubocop := project.first(home, ".rubocop.yml"):
        findings.add_command("lint", "bundle exec rubocop", rubocop, 62, home)
        findings.add_command("format", "bundle exec rubocop -a", rubocop, 50, home)
    if standard := project.first(home, ".standard.yml"):
        findings.add_command("lint", "bundle exec standardrb", standard, 62, home)
        findings.add_command("format", "bundle exec standardrb --fix", standard, 56, home)
    if "sorbet" in gems:
        findings.add_command("typecheck", "bundle exec srb tc", gemfile, 56, home)
