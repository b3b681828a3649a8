"""C#, F# and Visual Basic: solutions and projects of .NET."""

from __future__ import annotations

import re
from shlex import quote

from kedge.host.text import count_noun
from kedge.repomap.project.census import is_aside
from kedge.repomap.project.formats import find_tags, strip_xml_comments
from kedge.repomap.project.frameworks import select_notable
from kedge.repomap.project.parts import Findings, base, format_stack, parent
from kedge.repomap.project.project_files import ProjectFiles

_SHARED = ("Directory.Packages.props", "Directory.Build.props", "global.json")
_FRAMEWORK = re.compile(r"net(?:standard|coreapp)?\d{1,2}(?:\.\d)?")
_NAME = re.compile(r"(?:Include|Sdk)=\"([\w.]{1,100})")


def read(project: ProjectFiles) -> Findings:
    findings = Findings("dotnet")
    projects = project.find_ending(".csproj", ".fsproj", ".vbproj")
    if not projects or not project.census.weight("dotnet"):
        return findings
    products = [path for path in projects if not is_aside(parent(path))] or projects
    products.sort(key=lambda path: (-project.census.files_in(parent(path)), path))
    findings.packages += [parent(path) for path in products if parent(path)]
    known = [
        path for path in project.find_ending(".sln", ".slnx", ".props") if path.count("/") <= 1
    ]
    where = "" if known or "/" not in products[0] else parent(products[0])
    findings.add_tech(_stack_line(project, projects, products), where)
    _add_commands(findings, project, projects, products)
    for path in products[:12]:
        head = project.head(path)
        is_test = re.search(r"test|bench|sample|fuzz", base(path), re.IGNORECASE)
        if is_test or ("<OutputType>Exe" not in head and "Sdk.Web" not in head):
            continue
        directory = parent(path)
        call = f"dotnet run --project {quote(directory)}" if directory else "dotnet run"
        findings.add_command("run", call, path, 58)
        if program := project.first(directory, "Program.cs", "Program.fs", "Program.vb"):
            findings.add_entry(program, f"program `{base(path).rpartition('.')[0]}`")
    return findings


def _stack_line(project: ProjectFiles, projects: list[str], products: list[str]) -> str:
    targets: list[str] = []
    needs: dict[str, str | None] = {}
    for path in [*products[:12], *_SHARED]:
        body = strip_xml_comments(project.head(path))
        for tag in ("TargetFramework", "TargetFrameworks"):
            for found in find_tags(body, tag):
                targets += _FRAMEWORK.findall(found[:200])
        needs |= dict.fromkeys(_NAME.findall(body)[:400])
    language = project.census.languages("dotnet").most_common(1)
    own = [base(path).rpartition(".")[0] for path in projects]
    libraries = select_notable("dotnet", needs, own=own, first=())
    many = [count_noun(len(projects), "project")] if len(projects) > 1 else []
    name = language[0][0] if language else "C#"
    return format_stack(f"{name},", _newest(targets), many, libraries)


def _newest(targets: list[str]) -> str:
    def order(name: str) -> tuple[bool, float]:
        number = re.search(r"\d+(?:\.\d)?$", name)
        is_current = re.fullmatch(r"net\d{1,2}\.\d", name) is not None
        return is_current, float(number.group()) if number else 0.0

    best = max(targets, key=order, default="")
    if re.fullmatch(r"net\d{1,2}\.\d", best):
        return f".NET {best[3:].removesuffix('.0')}"
    if best.startswith("netstandard"):
        return f".NET Standard {best[11:]}"
    return f".NET Framework {'.'.join(best[3:])}" if re.fullmatch(r"net\d\d+", best) else ".NET"


def _add_commands(
    findings: Findings, project: ProjectFiles, projects: list[str], products: list[str]
) -> None:
    solutions = [
        path
        for path in project.find_ending(".sln", ".slnx")
        if path.count("/") <= 2 and not is_aside(parent(path))
    ]
    here = [path for path in solutions + projects if "/" not in path]
    source = (here or solutions or products)[0]
    argument = "" if len(here) == 1 else f" {quote(source)}"
    findings.add_command("install", f"dotnet restore{argument}", source, 54)
    findings.add_command("build", f"dotnet build{argument}", source, 62)
    if any(re.search(r"test", base(path), re.IGNORECASE) for path in projects):
        findings.add_command("test", f"dotnet test{argument}", source, 64)
