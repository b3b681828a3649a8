"""Ecosystems that are recognised by one file and have fixed commands."""

from __future__ import annotations

from kedge.repomap.project.parts import Findings, Kind
from kedge.repomap.project.project_files import ProjectFiles

# family, line of the stack, files, and commands
_ALL: tuple[tuple[str, str, str, dict[Kind, str]], ...] = (
    ("zig", "Zig (build.zig)", "build.zig", {"build": "zig build", "test": "zig build test"}),
    ("haskell", "Haskell (stack)", "stack.yaml", {"build": "stack build", "test": "stack test"}),
    ("haskell", "Haskell (cabal)", "cabal.project",
     {"build": "cabal build all", "test": "cabal test all"}),
    ("ocaml", "OCaml (dune)", "dune-project", {"build": "dune build", "test": "dune test"}),
    ("clojure", "Clojure (Leiningen)", "project.clj",
     {"install": "lein deps", "test": "lein test"}),
    ("clojure", "Clojure (deps.edn)", "deps.edn", {}),
    ("erlang", "Erlang (rebar3)", "rebar.config",
     {"build": "rebar3 compile", "test": "rebar3 eunit"}),
    ("julia", "Julia", "Project.toml", {"test": "julia --project -e 'using Pkg; Pkg.test()'"}),
    ("crystal", "Crystal (shards)", "shard.yml",
     {"install": "shards install", "test": "crystal spec"}),
    ("perl", "Perl", "cpanfile Makefile.PL dist.ini", {"test": "prove -lr t"}),
    ("r", "R package", "DESCRIPTION", {"test": "Rscript -e 'devtools::test()'"}),
    ("terraform", "Terraform", "main.tf",
     {"install": "terraform init", "lint": "terraform validate",
      "format": "terraform fmt -recursive"}),
    ("solidity", "Solidity (Foundry)", "foundry.toml",
     {"build": "forge build", "test": "forge test", "format": "forge fmt"}),
    ("nix", "Nix flake", "flake.nix", {}),
)  # fmt: skip


def read(project: ProjectFiles) -> list[Findings]:
    found = []
    for family, line, files, commands in _ALL:
        path = project.first("", *files.split())
        if path is None or project.census.weight(family) == 0:
            continue
        findings = Findings(family)
        findings.add_tech(line)
        for kind, command in commands.items():
            findings.add_command(kind, command, path, 58)
        found.append(findings)
    return found
