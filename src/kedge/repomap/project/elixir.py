"""Elixir: mix and Phoenix."""

from __future__ import annotations

import re

from kedge.repomap.project.frameworks import at_least, major, notable
from kedge.repomap.project.parts import Findings, join
from kedge.repomap.project.source import Project


def read(project: Project) -> Findings:
    findings = Findings("elixir")
    for home in project.homes("mix.exs", limit=2):
        path = join(home, "mix.exs")
        script = project.head(path)
        needs = {
            name: major(v)
            for name, v in re.findall(r"\{:(\w{1,60}),\s{0,8}\"([^\"]{1,40})", script)
        }
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
