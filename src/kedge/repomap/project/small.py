"""Ecosystems that are recognised by one file and have fixed commands."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.repomap.project.parts import Findings, Kind
from kedge.repomap.project.project_files import ProjectFiles


@dataclass(frozen=True, slots=True)
class _Small:
    family: str
    text: str
    files: tuple[str, ...]
    commands: tuple[tuple[Kind, str], ...]


_ALL = (
    _Small(
        "zig", "Zig (build.zig)", ("build.zig",),
        (("build", "zig build"), ("test", "zig build test")),
    ),
    _Small(
        "haskell", "Haskell (stack)", ("stack.yaml",),
        (("build", "stack build"), ("test", "stack test")),
    ),
    _Small(
        "haskell", "Haskell (cabal)", ("cabal.project",),
        (("build", "cabal build all"), ("test", "cabal test all")),
    ),
    _Small(
        "ocaml", "OCaml (dune)", ("dune-project",),
        (("build", "dune build"), ("test", "dune test")),
    ),
    _Small(
        "clojure", "Clojure (Leiningen)", ("project.clj",),
        (("install", "lein deps"), ("test", "lein test")),
    ),
    _Small("clojure", "Clojure (deps.edn)", ("deps.edn",), ()),
    _Small(
        "erlang", "Erlang (rebar3)", ("rebar.config",),
        (("build", "rebar3 compile"), ("test", "rebar3 eunit")),
    ),
    _Small(
        "julia", "Julia", ("Project.toml",),
        (("test", "julia --project -e 'using Pkg; Pkg.test()'"),),
    ),
    _Small("crystal", "Crystal (shards)", ("shard.yml",),
           (("install", "shards install"), ("test", "crystal spec"))),
    _Small("perl", "Perl", ("cpanfile", "Makefile.PL", "dist.ini"), (("test", "prove -lr t"),)),
    _Small("r", "R package", ("DESCRIPTION",), (("test", "Rscript -e 'devtools::test()'"),)),
    _Small("terraform", "Terraform", ("main.tf",),
           (("install", "terraform init"), ("lint", "terraform validate"),
            ("format", "terraform fmt -recursive"))),
    _Small("solidity", "Solidity (Foundry)", ("foundry.toml",),
           (("build", "forge build"), ("test", "forge test"), ("format", "forge fmt"))),
    _Small("nix", "Nix flake", ("flake.nix",), ()),
)  # fmt: skip


def read(project: ProjectFiles) -> list[Findings]:
    found = []
    for small in _ALL:
        path = project.first("", *small.files)
        if path is None or project.census.weight(small.family) == 0:
            continue
        findings = Findings(small.family)
        findings.add_tech(small.text)
        for kind, command in small.commands:
            findings.add_command(kind, command, path, 58)
        found.append(findings)
    return found
