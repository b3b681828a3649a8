"""Scala: sbt."""

from __future__ import annotations

import re

from kedge.repomap.project.parts import Findings, format_stack, join
from kedge.repomap.project.project_files import ProjectFiles


def read(project: ProjectFiles) -> Findings:
    findings = Findings("scala")
    for home in project.homes("build.sbt", limit=2):
        path = join(home, "build.sbt")
        script = project.head(path)
        version = re.search(r"scalaVersion\s{0,4}:=\s{0,4}\"(\d+\.\d+)", script)
        libraries = [
            shown
            for mark, shown in (("akka", "Akka"), ("pekko", "Pekko"), ("PlayScala", "Play"),
                                ("zio", "ZIO"), ("cats", "cats"), ("http4s", "http4s"),
                                ("spark", "Spark"))
            if re.search(rf"\b{mark}", script)
            and not re.search(rf'(?:id =|name :=) "{mark}"', script)
        ]  # fmt: skip
        line = format_stack("Scala", version and version.group(1), ["sbt"], libraries[:4])
        findings.add_tech(line, home)
        findings.add_command("build", "sbt compile", path, 60, home)
        findings.add_command("test", "sbt test", path, 62, home)
        if "PlayScala" in script:
            findings.add_command("run", "sbt run", path, 56, home)
        plugins = project.head(join(home, "project/plugins.sbt"))
        scalafmt = project.first(home, ".scalafmt.conf")
        if scalafmt and "scalafmt" in plugins:
            findings.add_command("format", "sbt scalafmtAll", scalafmt, 58, home)
    return findings
