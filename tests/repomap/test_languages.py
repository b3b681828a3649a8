"""Languages that are read with outline rules, through `kedge map`."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import Kedge

from kedge.repomap.languages import BY_NAME, language_of, refine

SAMPLES = Path(__file__).parents[1] / "data" / "languages"


@pytest.mark.parametrize(
    ("sample", "title", "shown"),
    [
        ("solidity.sol", "Solidity", "contract Harbour is Closable, Ownable(msg.sender)"),
        ("ocaml.ml", "OCaml", "let create ?(draught = 4.5) name"),
        ("ocaml-interface.mli", "OCaml", "val dock : t -> berth:int -> (unit, string) result"),
        ("d.d", "D", "class Ship : Vessel"),
        ("elm.elm", "Elm", "update : Msg -> Model -> ( Model, Cmd Msg )"),
        ("gleam.gleam", "Gleam", "pub opaque type Harbour"),
        ("racket.rkt", "Racket", "(define/contract (dock ship number)"),
        ("commonlisp.lisp", "Common Lisp", "(defclass ship (vessel)"),
        ("elisp.el", "Emacs Lisp", "(defun harbour-dock (ship berth)"),
        ("pony.pony", "Pony", "be dock(ship: Ship, berth: U16)"),
        ("matlab.m", "", "classdef (Sealed) Ship < Vessel & handle"),
    ],
)
def test_a_map_shows_the_definitions_of_each_language(
    sample: str, title: str, shown: str, repo: Path, kedge: Kedge
) -> None:
    (repo / sample).write_bytes((SAMPLES / f"{sample}.txt").read_bytes())
    text = kedge.json("map", "--tokens", "4000")["text"]
    assert shown in text
    assert title in text


def test_a_part_of_a_hyphenated_name_finds_its_file(repo: Path, kedge: Kedge) -> None:
    (repo / "aaa.el").write_text("(defun harbour-dock (ship)\n  (list ship))\n")
    (repo / "zzz.el").write_text("(defun harbour-lower-lights (ship)\n  (list ship))\n")
    data = kedge.json("map", "--for", "the lights stay on")
    assert data["files"][0]["path"] == "zzz.el"


def test_a_definition_in_matlab_connects_the_files_that_use_it(repo: Path, kedge: Kedge) -> None:
    (repo / "aaa.m").write_text("function y = unused(x)\n  y = x;\nend\n")
    (repo / "zzz.m").write_text("function depth = waterDepth(hour)\n  depth = hour;\nend\n")
    for number in range(4):
        (repo / f"plot{number}.m").write_text(f"% Plot {number}.\nplot(waterDepth(3));\n")
    order = [file["path"] for file in kedge.json("map")["files"]]
    assert order.index("zzz.m") < order.index("aaa.m")


@pytest.mark.parametrize(
    ("name", "source", "language"),
    [
        ("a.m", "% Plot.\nplot(1);\n", "matlab"),
        ("a.m", "function y = f(x)\n", "matlab"),
        ("a.m", "  classdef Ship < handle\n", "matlab"),
        ("a.m", "## Octave\n1;\nfunction f\nendfunction\n", "matlab"),
        ("a.m", "\ufeff% Plot.\nfor k = 1:3\nend\n", "matlab"),
        ("a.m", "// function f\n@implementation Ship\n@end\n", "objc"),
        ("a.m", '#import "Ship.h"\nstatic int function = 1;\n', "objc"),
        ("a.m", "/*\n function f\n*/\n#include <stdio.h>\n", "objc"),
        ("a.m", "", "objc"),
        ("a.mm", "% no comment here\n", "objc"),
        ("a.cl", ";;; Berths\n(defun dock ())\n", "commonlisp"),
        ("a.cl", "\ufeff\n(in-package :harbour)\n", "commonlisp"),
        ("a.cl", "#| Berths |#\n(defun dock ())\n", "commonlisp"),
        ("a.cl", "__kernel void dock(__global int *ships) {}\n", "c"),
        ("a.cl", "#define BERTHS 48\n", "c"),
        ("a.c", "(dock)();\n", "c"),
    ],
)
def test_languages_that_share_a_suffix_are_told_apart(
    name: str, source: str, language: str
) -> None:
    by_name = language_of(name)
    assert by_name is not None
    assert refine(by_name, name, source.encode()) == BY_NAME[language]
