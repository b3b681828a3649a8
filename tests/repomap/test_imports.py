"""Imports and files are matched by their keys, in each language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.repomap.imports import find_import_keys, find_imports, find_own_keys
from kedge.repomap.languages import LANGUAGES, language_of


def _keys(path: str, source: str) -> set[str]:
    language = language_of(path)
    assert language is not None
    return set(find_import_keys(path, find_imports(language.name, b"\n" + source.encode())))


def _meet(user: str, source: str, used: str) -> bool:
    return not _keys(user, source).isdisjoint(find_own_keys(used))


@pytest.mark.parametrize(
    ("user", "source", "used"),
    [
        # Python
        ("bin/run.py", "import harbour.tide\n", "src/harbour/tide.py"),
        ("bin/run.py", "import os, harbour.tide as t\n", "src/harbour/tide.py"),
        ("bin/run.py", "from harbour.tide import level\n", "harbour/tide.py"),
        ("bin/run.py", "from harbour import tide\n", "harbour/tide.py"),
        (
            "bin/run.py",
            "from harbour import (\n    berth,  # the (old) one\n    tide,\n)\n",
            "harbour/tide.py",
        ),
        ("bin/run.py", "from harbour.index import level\n", "harbour/index.py"),
        ("bin/run.py", "from harbour.main import level\n", "harbour/main.py"),
        ("bin/run.py", "from harbour.lib import level\n", "harbour/lib/__init__.py"),
        ("app/views.py", "from app.models import Ship\n", "app/models.py"),
        ("app/views.py", "import app\n", "app/__init__.py"),
        ("harbour/ship.py", "from .tide import level\n", "harbour/tide.py"),
        ("harbour/ship.py", "from . import tide\n", "harbour/tide.py"),
        ("harbour/ship.py", "from . import level\n", "harbour/__init__.py"),
        ("harbour/docks/ship.py", "from ..tide import level\n", "harbour/tide.py"),
        ("harbour/docks/ship.py", "from .. import level\n", "harbour/__init__.py"),
        ("harbour/__init__.py", "from .tide import *\n", "harbour/tide.py"),
        ("setup.py", "def f():\n    import helpers\n", "helpers.py"),
        # JavaScript and its kin
        ("src/a/ship.js", "const t = require('./tide')\n", "src/a/tide.js"),
        ("src/a/ship.js", "import t from './tide.js'\n", "src/a/tide.js"),
        ("src/a/ship.ts", "import { t } from './tide.js'\n", "src/a/tide.ts"),
        ("src/a/ship.ts", "import './tide'\n", "src/a/tide.d.ts"),
        ("src/a/ship.ts", "export * from '../b/tide'\n", "src/b/tide.tsx"),
        ("src/a/ship.ts", "const t = await import('../tide')\n", "src/tide.ts"),
        ("src/a/ship.ts", "import { Dto } from './ship.dto'\n", "src/a/ship.dto.ts"),
        ("src/a/ship.ts", "import t from '../tide'\n", "src/tide/index.ts"),
        ("src/a/ship.ts", "import t from '../tide/index'\n", "src/tide/index.ts"),
        ("src/a/ship.ts", "import t from '.'\n", "src/a/index.ts"),
        ("src/a/ship.ts", "import t from '..'\n", "src/index.ts"),
        ("src/a/ship.ts", "import t from '../lib'\n", "src/lib.ts"),
        ("src/a/ship.vue", "import t from '@/tides/tide'\n", "src/tides/tide.ts"),
        ("src/a/ship.vue", "import T from '@/Tide.vue'\n", "src/Tide.vue"),
        ("src/a/ship.tsx", "import T from '~/tides/Tide'\n", "src/tides/Tide.tsx"),
        ("src/a/ship.tsx", "import T from '@tides/Tide'\n", "src/tides/Tide.tsx"),
        (
            "packages/a/src/ship.ts",
            "import { t } from '@harbour/tide'\n",
            "packages/tide/src/index.ts",
        ),
        ("packages/a/src/b/ship.ts", "import { t } from '..'\n", "packages/a/src/index.ts"),
        # Go
        ("cmd/run.go", 'import "example.org/harbour/tide"\n', "tide/tide.go"),
        ("cmd/run.go", 'import "example.org/harbour/sea/tide"\n', "sea/tide/tide.go"),
        (
            "cmd/run.go",
            'import (\n\t"fmt"\n\n\t// a (b)\n\tt "example.org/harbour/v2/sea/tide"\n)\n',
            "sea/tide/tide.go",
        ),
        # Rust
        ("src/ship.rs", "use crate::tide::Level;\n", "src/tide.rs"),
        ("src/ship.rs", "use crate::tide;\n", "src/tide/mod.rs"),
        (
            "src/ship.rs",
            "pub(crate) use crate::sea::{tide::{Level, Port as P}, wind};\n",
            "src/sea/tide.rs",
        ),
        ("src/ship.rs", "use crate::{\n    sea::{self, wind},\n};\n", "src/sea/mod.rs"),
        ("src/sea/ship.rs", "use super::tide::Level;\n", "src/sea/tide.rs"),
        ("src/sea/mod.rs", "use super::tide::Level;\n", "src/tide.rs"),
        ("src/sea/ship.rs", "use super::super::tide::*;\n", "src/tide.rs"),
        ("src/sea/mod.rs", "use self::tide::Level;\n", "src/sea/tide.rs"),
        ("src/lib.rs", "mod tide;\n", "src/tide.rs"),
        ("src/sea.rs", "    pub mod tide;\n", "src/sea/tide.rs"),
        ("tests/it.rs", "mod support;\n", "tests/support/mod.rs"),
        ("deep-sea/src/a/ship.rs", "use crate::tide::Level;\n", "deep-sea/src/tide/mod.rs"),
        ("tests/it.rs", "use deep_sea::tide::Level;\n", "crates/deep-sea/src/tide.rs"),
        ("tests/it.rs", "use deep_sea::Level;\n", "crates/deep-sea/src/lib.rs"),
        # The JVM
        ("a/Ship.java", "import org.harbour.Tide;\n", "src/main/java/org/harbour/Tide.java"),
        ("a/Ship.java", "import static org.harbour.Tide.level;\n", "src/org/harbour/Tide.java"),
        ("a/Ship.kt", "import org.harbour.Tide as T\n", "src/org/harbour/Tide.kt"),
        ("a/Ship.scala", "import org.harbour.{Berth, Tide => T}\n", "src/org/harbour/Tide.scala"),
        # C
        ("src/ship.c", '#include "tide.h"\n', "include/sea/tide.h"),
        ("src/ship.cpp", "#include <sea/tide.hpp>\n", "include/sea/tide.hpp"),
        ("src/ship.cc", '#include "../sea/tide.hh"\n', "sea/tide.hh"),
        ("src/ship.h", '#  include "x.h"\n# include "tide.inl"\n', "src/tide.inl"),
        ("src/Ship.m", '#import "Tide.h"\n', "src/Tide.h"),
        # Ruby
        ("bin/run.rb", "require 'harbour/tide'\n", "lib/harbour/tide.rb"),
        ("bin/run.rb", "require 'harbour'\n", "lib/harbour.rb"),
        ("lib/harbour/ship.rb", "require_relative 'tide'\n", "lib/harbour/tide.rb"),
        ("lib/harbour/ship.rb", 'require_relative("../sea/tide.rb")\n', "lib/sea/tide.rb"),
        # PHP
        ("app/Ship.php", "use App\\Models\\Tide;\n", "app/Models/Tide.php"),
        ("src/Ship.php", "use App\\Tide;\n", "src/Tide.php"),
        ("src/Ship.php", "use Sea\\Models\\{Berth, Tide as T};\n", "src/Models/Tide.php"),
        ("src/Ship.php", "use function Sea\\Models\\tide;\n", "src/Models/tide.php"),
        # Lua
        ("a/ship.lua", 'local t = require("harbour.tide")\n', "lua/harbour/tide.lua"),
        ("a/ship.lua", 'local t = require "harbour/tide"\n', "lua/harbour/tide/init.lua"),
        # Shell
        ("bin/run.sh", "source ./tide.sh\n", "bin/tide.sh"),
        ("bin/run.sh", "if x; then\n  . tide.sh\nfi\n", "bin/tide.sh"),
        ("bin/run.sh", "source sea/tide.sh\n", "sea/tide.sh"),
        ("bin/run.sh", '. "$(dirname "$0")/../sea/tide.sh"\n', "sea/tide.sh"),
        ("bin/run.sh", 'source "${HERE}/sea/tide"\n', "bin/sea/tide"),
        ("bin/run.sh", "source $HERE/tide.sh\n", "bin/tide.sh"),
    ],
)
def test_an_import_matches_its_file(user: str, source: str, used: str) -> None:
    assert _meet(user, source, used)


@pytest.mark.parametrize(
    ("user", "source", "used"),
    [
        ("bin/run.py", "from harbour.tide import level\n", "other/tide.py"),
        ("bin/run.py", "from harbour.index import level\n", "harbour/__init__.py"),
        ("harbour/ship.py", "from .tide import level\n", "tide.py"),
        (
            "bin/run.py",
            '"""import harbour.tide or not"""\n# import harbour.tide\n',
            "harbour/tide.py",
        ),
        ("bin/run.py", "important = tide\n", "bin/tide.py"),
        ("a/ship.js", "import react from 'react'\n", "react.js"),
        ("a/ship.js", "import t from './tide'\n", "b/tide.js"),
        ("a/ship.ts", "import t from './tide.test'\n", "a/tide.ts"),
        ("src/a/ship.ts", "import t from '../lib'\n", "src/index.ts"),
        ("run.go", 'import "fmt"\n', "fmt/fmt.go"),
        ("run.go", 'import "example.org/harbour/tide"\n', "tide/level.go"),
        ("run.go", 'var x = "example.org/harbour/tide"\n', "tide/tide.go"),
        ("src/ship.rs", "// we use crate::tide::Level;\n", "src/tide.rs"),
        ("src/ship.rs", "mod tide {\n}\n", "src/ship/tide.rs"),
        ("src/sea/ship.rs", "mod tests {\n    use super::*;\n}\n", "src/sea/mod.rs"),
        ("a/src/ship.rs", "use crate::tide::Level;\n", "b/src/tide.rs"),
        ("a/Ship.java", "import org.harbour.Tide;\n", "src/org/harbour/Ship.java"),
        ("a/Ship.java", "import org.harbour.Tide;\n", "src/org/sea/Tide.java"),
        ("src/ship.c", '#include "sea/tide.h"\n', "lake/tide.h"),
        ("src/ship.c", "#include <stdio.h>\n", "include/tide.h"),
        ("src/ship.c", '#include "tide.h"\n', "src/tide.c"),
        ("lib/harbour/ship.rb", "require 'tide'\n", "lib/harbour/tide.rb"),
        ("src/Ship.php", "use Sea\\Tide;\n", "src/Lake/Tide.php"),
        ("a/ship.lua", 'require("harbour.tide")\n', "sea/tide.lua"),
        ("bin/run.sh", "source ./tide.sh\n", "sea/tide.sh"),
        ("bin/run.sh", "echo source ./tide.sh\n", "bin/tide.sh"),
    ],
)
def test_an_import_does_not_match_another_file(user: str, source: str, used: str) -> None:
    assert find_own_keys(used) or used.endswith(".go")
    assert not _meet(user, source, used)


def test_imports_are_unique_and_in_order() -> None:
    assert find_imports("javascript", b"\nimport a from './b'\nimport './a'\nrequire('./b')\n") == [
        "./b",
        "./a",
    ]
    assert find_imports("python", b"\nimport a; import b\nimport c.d\n") == ["a", "c.d"]
    assert find_imports("python", b"\nimport a  # as the import of a\n") == ["a"]
    assert find_imports("python", b"\r\nfrom a.b import c\r\n") == ["a.b", "a.b.c"]
    assert find_imports("rust", b"\nuse a::{b, c::{d, e as f,}, g};\n") == [
        *("use::a::b", "use::a::c::d", "use::a::c::e", "use::a::g")
    ]


def test_a_file_at_the_root_has_its_name_as_key() -> None:
    assert find_own_keys("tide.py") == ["/tide"]
    assert find_own_keys("tide") == ["/tide"]
    assert find_own_keys("tide.h") == ["/tide.h"]
    assert find_own_keys("__init__.py") == []


@given(st.text(min_size=1), st.sampled_from([s for row in LANGUAGES for s in ("", *row.suffixes)]))
def test_every_key_is_searchable(stem: str, suffix: str) -> None:
    """A search needs lower case to have the same length."""
    keys = [
        *find_own_keys(stem + suffix),
        *find_import_keys("İ/" + stem + suffix, [stem, f"./{stem}", "mod::x"]),
    ]
    assert all(key.isascii() and "/" in key for key in keys)


@given(
    st.sampled_from([language.name for language in LANGUAGES]),
    st.text(alphabet="\n \t.:;,{}()<>\"'/\\@#*$" + "aimportsuefd", max_size=80),
    st.sampled_from(["import ", "from .", "use ", "mod ", "require ", "#include ", "source "]),
)
def test_broken_imports_never_raise(language: str, text: str, word: str) -> None:
    names = find_imports(language, f"\n{word}{text}\n{word}{text}".encode())
    for path in ("a/b.py", "a/b.rs", "a/b.go", "a/b.php", "a/b.java", "a/b.ts", "b.sh", "b"):
        assert all("\n" not in key for key in find_import_keys(path, names))
