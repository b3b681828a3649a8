"""Imports as keys: what one file asks for is what another answers to."""

from __future__ import annotations

import pytest

from kedge.repomap.imports import answers_to, asked_for, imports
from kedge.repomap.languages import language_of

MEET = [
    ("pkg/cli.py", "from port.quay import Berth", "port/quay.py"),
    ("pkg/cli.py", "import os, port.quay as q", "port/quay.py"),
    ("port/cli.py", "from .quay import Berth", "port/quay.py"),
    ("port/cli.py", "    from . import quay", "port/quay.py"),
    ("port/deep/cli.py", "from ..quay import (\n    Berth,  # one\n)", "port/quay.py"),
    ("src/port/cli.py", "from port import quay", "src/port/quay.py"),
    ("x.py", "import a.port", "lib/a/port/__init__.py"),
    ("web/a.ts", 'import { b } from "./port/quay"', "web/port/quay.ts"),
    ("web/a.js", "const q = require('../port/quay.js')", "port/quay.js"),
    ("web/a.tsx", "export * from './port'", "web/port/index.tsx"),
    ("web/a.ts", "await import('@/port/quay')", "src/port/quay.ts"),
    ("a/b.go", 'import (\n\t"fmt"\n\tq "example.com/x/port/quay"\n)', "port/quay/quay.go"),
    ("src/a.rs", "use crate::port::quay::Berth;", "src/port/quay.rs"),
    ("src/port/b.rs", "pub use super::quay::{Berth, Crane};", "src/port/quay.rs"),
    ("src/port/mod.rs", "mod quay;", "src/port/quay.rs"),
    ("a/A.java", "import static org.port.Quay.moor;", "src/main/java/org/port/Quay.java"),
    ("a/A.kt", "import org.port.Quay", "src/main/kotlin/org/port/Quay.kt"),
    ("a/A.scala", "import org.port.{Quay, Crane}", "src/org/port/Quay.scala"),
    ("src/a.c", '#include "port/quay.h"', "include/port/quay.h"),
    ("src/a.cpp", "# include <quay.hpp>", "src/port/quay.hpp"),
    ("a.rb", 'require "port/quay"', "lib/port/quay.rb"),
    ("lib/port/a.rb", "require_relative 'quay'", "lib/port/quay.rb"),
    ("a.php", "use App\\Port\\Quay as Q;", "src/Port/Quay.php"),
    ("a.lua", 'local q = require("port.quay")', "lua/port/quay.lua"),
    ("bin/run.sh", "source ./port/quay.sh", "bin/port/quay.sh"),
]
APART = [
    ("pkg/cli.py", "from harbour.quay import Berth", "port/quay.py"),
    ("pkg/cli.py", "important = quay", "pkg/quay.py"),
    ("web/a.ts", 'import React from "react"', "web/react.ts"),
    ("a/A.java", "import org.harbour.Quay;", "src/main/java/org/port/Quay.java"),
    ("src/a.c", "#include <stdio.h>", "include/port/quay.h"),
    ("src/a.rs", "use std::fmt;", "src/port/quay.rs"),
]


def shared(user: str, text: str, used: str) -> set[str]:
    language = language_of(user)
    assert language is not None
    found = imports(language.name, b"\n" + text.encode())
    return set(asked_for(user, found)) & set(answers_to(used))


@pytest.mark.parametrize(("user", "text", "used"), MEET)
def test_an_import_meets_the_file_that_it_means(user: str, text: str, used: str) -> None:
    assert shared(user, text, used)


@pytest.mark.parametrize(("user", "text", "used"), APART)
def test_others_stay_apart(user: str, text: str, used: str) -> None:
    assert not shared(user, text, used)


def test_a_line_with_two_imports_is_read_once() -> None:
    assert imports("python", b"\nimport types  # as the import of a type\n") == ["types"]


def test_keys_hold_for_every_line_end_and_for_junk() -> None:
    for language in ("python", "go", "rust", "java", "typescript", "c", "php", "shell", "ruby"):
        for junk in (b"", b"\n", b"import ", b"\nuse {{{", b"\xff" * 99, b"from . import (" * 99):
            assert isinstance(imports(language, b"\n" + junk), list)
    assert imports("python", b"\r\nfrom a.b import c\r\n") == ["a.b", "a.b.c"]
