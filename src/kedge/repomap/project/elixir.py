"""Elixir: mix and Phoenix."""

from __future__ import annotations

import re

from kedge.repomap.project.frameworks import lowest_version, major_version, select_notable
from kedge.repomap.project.parts import Findings, format_stack, join
from kedge.repomap.project.project_files import ProjectFiles


def read(project: ProjectFiles) -> Findings:
    findings = Findings("elixir")
    for home in project.homes("mix.exs", limit=2):
        path = join(home, "mix.exs")
        script = project.head(path)
        needs = {
            name: major_version(v)
            for name, v in re.findall(r"\{:(\w{1,60}),\s{0,8}\"([^\"]{1,40})", script)
        }
        version = re.search(r"elixir:\s{0,4}\"([^\"]{1,30})", script)
        own = re.findall(r"app: :(\w{1,60})", script)[:1]
        libraries = select_notable("elixir", needs, own=own)
        wanted = lowest_version(version.group(1)) if version else None
        findings.add_tech(format_stack("Elixir", wanted, ["mix"], libraries), home)
        is_setup = re.search(r"\bsetup: \[", script)
        findings.add_command("install", "mix setup" if is_setup else "mix deps.get", path, 64, home)
        findings.add_command("test", "mix test", path, 64, home)
        findings.add_command("build", "mix compile", path, 46, home)
        if formatter := project.first(home, ".formatter.exs"):
            findings.add_command("format", "mix format", formatter, 60, home)
        if "credo" in needs:
            findings.add_command("lint", "mix credo", path, 58, home)
        if "dialyxir" in needs:
            findings.add_command("typecheck", "mix dialyzer", path, 56, home)
        if "phoenix" in needs:
            findings.add_command("run", "mix phx.server", path, 60, home)
        for name in own:
            if application := project.first(home, f"lib/{name}/application.ex", f"lib/{name}.ex"):
                findings.add_entry(application, f"application `{name}`")
        if router := project.first(home, *(f"lib/{name}_web/router.ex" for name in own)):
            findings.add_entry(router, "routes")
    return findings
