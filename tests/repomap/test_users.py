"""The files that a map names as users of a file: certain ones, or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from repomap.port import fill
from support import Kedge

from kedge.host import project
from kedge.repomap import build
from kedge.repomap.cache import Cache

Files = dict[str, str]


def find_users(root: Path, files: Files, path: str) -> list[str]:
    fill(root, files)
    data = build.make_map(project.find(root), build.MapRequest(budget=9000), Cache(None)).data
    found = {file["path"]: file["used_by"] for file in data["files"]}
    return list(found[path])


GAUGE_PY = "class TideGauge:\n    pass\n"
GAUGE_JS = "export function readGauge() {\n  return 1\n}\n"
GAUGE_GO = "package tide\n\ntype Gauge struct{}\n\nfunc ReadGauge() int { return 1 }\n"
GAUGE_RS = "pub struct TideGauge;\n"
GAUGE_JAVA = "package org.sea;\n\npublic class Gauge {\n}\n"
GAUGE_CS = "namespace Sea.Tides\n{\n    public class Gauge { }\n}\n"
GAUGE_PHP = "<?php\nnamespace Sea\\Tides;\n\nclass Gauge\n{\n}\n"
GAUGE_C = '#include "sea.h"\n\nint readGauge(int hour)\n{\n    return hour;\n}\n'
GAUGE_RB = "module Sea\n  class Gauge\n    def level\n    end\n  end\nend\n"
INIT = {"sea/__init__.py": "\n"}
MODULE = {"go.mod": "module example.org/harbour\n"}
CRATE = {"Cargo.toml": '[package]\nname = "deep-sea"\n', "src/lib.rs": "pub mod tide;\n"}

# The file that is used, the text of its user, and the other files.
USES: dict[str, tuple[str, str, Files]] = {
    "python": (
        "sea/tide.py",
        "ship.py",
        {"sea/tide.py": GAUGE_PY, "ship.py": "from sea.tide import TideGauge\n", **INIT},
    ),
    "python, below src": (
        "src/sea/tide.py",
        "bin/ship.py",
        {
            "src/sea/tide.py": GAUGE_PY,
            "src/sea/__init__.py": "\n",
            "bin/ship.py": "import sea.tide\n",
        },
    ),
    "python, relative": (
        "sea/tide.py",
        "sea/port/ship.py",
        {"sea/tide.py": GAUGE_PY, "sea/port/ship.py": "from ..tide import TideGauge\n", **INIT},
    ),
    "python, a module of a package": (
        "sea/tide.py",
        "sea/ship.py",
        {"sea/tide.py": GAUGE_PY, "sea/ship.py": "from . import tide\n", **INIT},
    ),
    "python, through a package": (
        "sea/tide.py",
        "ship.py",
        {
            "sea/tide.py": GAUGE_PY,
            "sea/__init__.py": "from .tide import *\n",
            "ship.py": "from sea import TideGauge\n",
        },
    ),
    "script": (
        "src/tide.ts",
        "src/ship.ts",
        {"src/tide.ts": GAUGE_JS, "src/ship.ts": "import { readGauge } from './tide'\n"},
    ),
    "script, compiled ending": (
        "src/tide.ts",
        "src/ship.ts",
        {"src/tide.ts": GAUGE_JS, "src/ship.ts": "import { readGauge } from './tide.js'\n"},
    ),
    "script, index": (
        "src/tide/index.js",
        "src/ship.js",
        {"src/tide/index.js": GAUGE_JS, "src/ship.js": "const t = require('./tide')\n"},
    ),
    "script, alias": (
        "web/src/tide/gauge.ts",
        "web/src/port/ship.vue",
        {
            "web/package.json": "{}\n",
            "web/src/tide/gauge.ts": GAUGE_JS,
            "web/src/port/ship.vue": "<script>\n"
            "import { readGauge } from '@/tide/gauge'\n</script>\n",
        },
    ),
    "script, through an index": (
        "src/sea/tide.ts",
        "src/ship.ts",
        {
            "src/sea/tide.ts": GAUGE_JS,
            "src/sea/index.ts": "export * from './tide'\n",
            "src/ship.ts": "import { readGauge } from './sea'\n",
        },
    ),
    "go, another package": (
        "tide/gauge.go",
        "cmd/ship.go",
        {
            "tide/gauge.go": GAUGE_GO,
            "cmd/ship.go": 'package main\n\nimport (\n\tt "example.org/harbour/tide"\n'
            ")\n\nfunc main() { t.ReadGauge() }\n",
            **MODULE,
        },
    ),
    "go, the same package": (
        "tide/gauge.go",
        "tide/ship.go",
        {
            "tide/gauge.go": GAUGE_GO,
            "tide/ship.go": "package tide\n\nfunc sail() int {\n\treturn 1 + ReadGauge()\n}\n",
            **MODULE,
        },
    ),
    "rust": (
        "src/tide.rs",
        "src/ship.rs",
        {**CRATE, "src/tide.rs": GAUGE_RS, "src/ship.rs": "use crate::tide::TideGauge;\n"},
    ),
    "rust, inline": (
        "src/tide.rs",
        "src/ship.rs",
        {
            **CRATE,
            "src/tide.rs": GAUGE_RS,
            "src/ship.rs": "fn sail(at: &crate::tide::TideGauge) {}\n",
        },
    ),
    "rust, super": (
        "src/a/tide.rs",
        "src/a/ship.rs",
        {
            **CRATE,
            "src/a/mod.rs": "mod tide;\nmod ship;\n",
            "src/a/tide.rs": GAUGE_RS,
            "src/a/ship.rs": "use super::tide::TideGauge;\n",
        },
    ),
    "rust, through another crate": (
        "sea/src/tide.rs",
        "ship/src/main.rs",
        {
            "sea/Cargo.toml": '[package]\nname = "deep-sea"\n',
            "sea/src/lib.rs": "mod tide;\npub use tide::*;\n",
            "sea/src/tide.rs": GAUGE_RS,
            "ship/Cargo.toml": '[package]\nname = "ship"\n',
            "ship/src/main.rs": "use deep_sea::TideGauge;\nfn main() {}\n",
        },
    ),
    "java": (
        "sea/org/sea/Gauge.java",
        "port/org/port/Ship.java",
        {
            "sea/org/sea/Gauge.java": GAUGE_JAVA,
            "port/org/port/Ship.java": "package org.port;\n\n"
            "import org.sea.Gauge;\n\nclass Ship {\n}\n",
        },
    ),
    "java, the same package": (
        "org/sea/Gauge.java",
        "org/sea/Ship.java",
        {
            "org/sea/Gauge.java": GAUGE_JAVA,
            "org/sea/Ship.java": "package org.sea;\n\nclass Ship {\n    private Gauge gauge;\n}\n",
        },
    ),
    "kotlin, a function": (
        "sea/Tide.kt",
        "port/Ship.kt",
        {
            "sea/Tide.kt": "package org.sea\n\nfun readGauge(hour: Int) = hour\n",
            "port/Ship.kt": "package org.port\n\nimport org.sea.readGauge\n\nclass Ship\n",
        },
    ),
    "scala": (
        "sea/Tide.scala",
        "port/Ship.scala",
        {
            "sea/Tide.scala": "package org.sea\n\nclass Gauge\n",
            "port/Ship.scala": "package org.port\n\nimport org.sea.{Gauge => G}\n\nclass Ship\n",
        },
    ),
    "csharp": (
        "Tides/Gauge.cs",
        "Port/Ship.cs",
        {
            "Tides/Gauge.cs": GAUGE_CS,
            "Port/Ship.cs": "using Sea.Tides;\n\nnamespace Sea.Port;\n\n"
            "public class Ship\n{\n    private Gauge gauge;\n}\n",
        },
    ),
    "php": (
        "src/Gauge.php",
        "app/Ship.php",
        {
            "src/Gauge.php": GAUGE_PHP,
            "app/Ship.php": "<?php\nnamespace App;\n\nuse Sea\\Tides\\Gauge;\n\nclass Ship\n{\n}\n",
        },
    ),
    "c, a header": (
        "include/sea/tide.h",
        "src/ship.c",
        {
            "include/sea/tide.h": "int readGauge(int hour);\n",
            "src/ship.c": "#include <sea/tide.h>\n\nint sail(void) { return 1; }\n",
        },
    ),
    "c, a function": (
        "src/tide.c",
        "src/ship.c",
        {
            "src/sea.h": "int readGauge(int hour);\n",
            "src/tide.c": GAUGE_C,
            "src/ship.c": '#include "sea.h"\n\nint sail(void) { return readGauge(1); }\n',
        },
    ),
    "ruby": (
        "lib/sea/gauge.rb",
        "bin/ship.rb",
        {"lib/sea/gauge.rb": GAUGE_RB, "bin/ship.rb": "require 'sea/gauge'\n"},
    ),
    "ruby, a constant": (
        "lib/sea/gauge.rb",
        "lib/sea/ship.rb",
        {
            "lib/sea/gauge.rb": GAUGE_RB,
            "lib/sea/ship.rb": "module Sea\n  class Ship\n    def sail\n"
            "      Gauge.new\n    end\n  end\nend\n",
        },
    ),
    "ruby, autoload": (
        "lib/sea/gauge.rb",
        "lib/sea.rb",
        {
            "lib/sea/gauge.rb": GAUGE_RB,
            "lib/sea.rb": 'module Sea\n  autoload :Gauge, "sea/gauge"\nend\n',
        },
    ),
    "lua": (
        "lua/sea/tide.lua",
        "ship.lua",
        {
            "lua/sea/tide.lua": "local M = {}\nfunction M.read() end\nreturn M\n",
            "ship.lua": 'local t = require("sea.tide")\n',
        },
    ),
    "shell": (
        "lib/tide.sh",
        "bin/ship.sh",
        {
            "lib/tide.sh": "read_gauge() {\n  echo 1\n}\n",
            "bin/ship.sh": '. "$(dirname "$0")/../lib/tide.sh"\nread_gauge\n',
        },
    ),
    "swift": (
        "Sources/TideGauge.swift",
        "Sources/Ship.swift",
        {
            "Sources/TideGauge.swift": "struct TideGauge {}\n",
            "Sources/Ship.swift": "struct Ship {\n    let gauge: TideGauge\n}\n",
        },
    ),
    "elixir": (
        "lib/sea/gauge.ex",
        "lib/ship.ex",
        {
            "lib/sea/gauge.ex": "defmodule Sea.Gauge do\n  def level, do: 1\nend\n",
            "lib/ship.ex": "defmodule Ship do\n  def sail, do: Sea.Gauge.level()\nend\n",
        },
    ),
}

# The file, and others that do not use it although they share its words.
STRANGERS: dict[str, tuple[str, Files]] = {
    "python, only the words": (
        "addons/proxyauth.py",
        {
            "addons/__init__.py": "\n",
            "addons/proxyauth.py": "class Validator:\n    pass\n\n\n"
            "def parse_hash(line):\n    pass\n",
            "addons/blocklist.py": "def check():\n    parse_hash = 1\n    return parse_hash\n",
            "utils/htpasswd.py": "# the hash is parsed as in parse_hash\ndef verify():\n    pass\n",
        },
    ),
    "a name in another language": (
        "web/filt.js",
        {
            "web/filt.js": "export function parseFilter() {}\n",
            "flowfilter.py": "import filt\n\nparseFilter = 1\n",
        },
    ),
    "python, the same last parts": (
        "other/sea/tide.py",
        {
            "other/__init__.py": "\n",
            "other/sea/__init__.py": "\n",
            "other/sea/tide.py": GAUGE_PY,
            "ship.py": "from sea.tide import TideGauge\n",
        },
    ),
    "python, the standard library": (
        "lib/json.py",
        {
            "lib/json.py": "def loads_all():\n    pass\n",
            "sea/ship.py": "import json\n\njson.loads_all()\n",
        },
    ),
    "python, ambiguous": (
        "a/sea/tide.py",
        {
            "a/sea/tide.py": GAUGE_PY,
            "b/sea/tide.py": GAUGE_PY,
            "bin/ship.py": "from sea.tide import TideGauge\n",
        },
    ),
    "python, a docstring": (
        "sea/tide.py",
        {"sea/tide.py": GAUGE_PY, "ship.py": '"""\nfrom sea.tide import TideGauge\n"""\n', **INIT},
    ),
    "script, another directory": (
        "src/sea/tide.js",
        {
            "src/sea/tide.js": GAUGE_JS,
            "src/sea/x/tide.js": "export const other = 1\n",
            "src/sea/x/ship.js": "import { other } from './tide'\n\nother.readGauge()\n",
        },
    ),
    "script, a package": (
        "src/tide.js",
        {"src/tide.js": GAUGE_JS, "src/ship.js": "import { readGauge } from 'tide'\n"},
    ),
    "script, a comment": (
        "src/tide.js",
        {
            "src/tide.js": GAUGE_JS,
            "src/ship.js": "// import { readGauge } from './tide'\nexport const ship = 1\n",
        },
    ),
    "go, another file of the package": (
        "tide/gauge.go",
        {
            "tide/gauge.go": GAUGE_GO,
            "tide/neap.go": "package tide\n\nfunc Neap() int { return 1 }\n",
            "cmd/ship.go": 'package main\n\nimport "example.org/harbour/tide"\n\n'
            "func main() { tide.Neap(); x.Gauge() }\n",
            **MODULE,
        },
    ),
    "go, another module": (
        "tide/gauge.go",
        {
            "tide/gauge.go": GAUGE_GO,
            "cmd/ship.go": 'package main\n\nimport "example.com/tide"\n\n'
            "func main() { tide.ReadGauge() }\n",
            **MODULE,
        },
    ),
    "go, a method and a field": (
        "tide/gauge.go",
        {
            "tide/gauge.go": GAUGE_GO,
            "tide/ship.go": "package tide\n\ntype Ship struct {\n\tReadGauge int\n"
            "}\n\nfunc (s Ship) sail() { s.other.ReadGauge() }\n",
            **MODULE,
        },
    ),
    "rust, another crate": (
        "a/src/tide.rs",
        {
            "a/Cargo.toml": '[package]\nname = "a"\n',
            "a/src/tide.rs": GAUGE_RS,
            "b/Cargo.toml": '[package]\nname = "b"\n',
            "b/src/tide.rs": "pub struct Neap;\n",
            "b/src/ship.rs": "use crate::tide::TideGauge;\n",
        },
    ),
    "java, a class of another package": (
        "org/sea/Gauge.java",
        {
            "org/sea/Gauge.java": GAUGE_JAVA,
            "org/sea/Ship.java": "package org.sea;\n\nimport com.other.Gauge;\n\n"
            "class Ship {\n    Gauge gauge;\n}\n",
        },
    ),
    "java, another package": (
        "org/sea/Gauge.java",
        {
            "org/sea/Gauge.java": GAUGE_JAVA,
            "org/port/Ship.java": "package org.port;\n\nimport com.other.Gauge;\n\n"
            "class Ship {\n    Gauge gauge;\n}\n",
        },
    ),
    "java, a comment and a string": (
        "org/sea/Gauge.java",
        {
            "org/sea/Gauge.java": GAUGE_JAVA,
            "org/sea/Ship.java": "package org.sea;\n\n/** See Gauge. */\n"
            'class Ship {\n    String name = "Gauge";\n}\n',
        },
    ),
    "csharp, not imported": (
        "Tides/Gauge.cs",
        {
            "Tides/Gauge.cs": GAUGE_CS,
            "Port/Ship.cs": "using Other;\n\nnamespace Sea.Port;\n\n"
            "public class Ship\n{\n    private Gauge gauge;\n}\n",
        },
    ),
    "php, another namespace": (
        "src/Gauge.php",
        {
            "src/Gauge.php": GAUGE_PHP,
            "app/Ship.php": "<?php\nnamespace App;\n\nuse Other\\Gauge;\n\nclass Ship\n{\n}\n",
        },
    ),
    "c, a system header": (
        "compat/string.h",
        {
            "compat/string.h": "int readGauge(int hour);\n",
            "src/ship.c": "#include <string.h>\n\nint sail(void) { return 1; }\n",
        },
    ),
    "c, a static function": (
        "src/tide.c",
        {
            "src/tide.c": "static int readGauge(int hour)\n{\n    return hour;\n}\n",
            "src/ship.c": "int sail(void) { return readGauge(1); }\n",
        },
    ),
    "c, a member": (
        "src/tide.c",
        {
            "src/tide.c": GAUGE_C,
            "src/ship.c": "int sail(struct ship *s) { return s->readGauge(1); }\n",
        },
    ),
    "c, a function of the system": (
        "src/pages.c",
        {
            "src/pages.c": "int getpagesize(void)\n{\n    return 1;\n}\n",
            "src/ship.c": "#include <unistd.h>\n\nint sail(void) { return getpagesize(); }\n",
        },
    ),
    "c, two definitions": (
        "src/tide.c",
        {
            "src/tide.c": GAUGE_C,
            "src/lake.c": GAUGE_C,
            "src/ship.c": "int sail(void) { return readGauge(1); }\n",
        },
    ),
    "ruby, another module": (
        "lib/sea/gauge.rb",
        {
            "lib/sea/gauge.rb": GAUGE_RB,
            "lib/ship.rb": "class Ship\n  def sail\n    Lake::Gauge.new\n  end\nend\n",
        },
    ),
    "swift, a common word": (
        "Sources/Gauge.swift",
        {
            "Sources/Gauge.swift": "struct Gauge {}\n",
            "Sources/Ship.swift": "struct Ship {\n    let gauge: Gauge\n}\n",
        },
    ),
}


@pytest.mark.parametrize("case", USES)
def test_a_file_that_imports_or_names_another_uses_it(repo: Path, case: str) -> None:
    used, user, files = USES[case]
    assert user in find_users(repo, files, used)


@pytest.mark.parametrize("case", STRANGERS)
def test_a_file_that_only_shares_words_is_not_named(repo: Path, case: str) -> None:
    used, files = STRANGERS[case]
    assert find_users(repo, files, used) == []


def test_tests_are_named_only_if_nothing_else_uses_the_file(repo: Path) -> None:
    files = {
        "sea/tide.py": GAUGE_PY,
        "tests/test_tide.py": "from sea.tide import TideGauge\n",
        **INIT,
    }
    assert find_users(repo, files, "sea/tide.py") == ["tests/test_tide.py"]
    files["ship.py"] = "import sea.tide\n"
    assert find_users(repo, files, "sea/tide.py") == ["ship.py"]


def test_a_package_that_passes_names_on_comes_after_other_users(repo: Path) -> None:
    files = {"sea/tide.py": GAUGE_PY, "sea/ship.py": "from .tide import TideGauge\n"}
    files["sea/__init__.py"] = "from .tide import TideGauge\n\nTideGauge, TideGauge, TideGauge\n"
    assert find_users(repo, files, "sea/tide.py") == ["sea/ship.py", "sea/__init__.py"]


def test_a_file_with_very_many_users_has_some(repo: Path) -> None:
    files = {"sea/tide.py": GAUGE_PY, **INIT}
    files |= {f"ship{n:03}.py": "from sea.tide import TideGauge\n" for n in range(150)}
    assert find_users(repo, files, "sea/tide.py") == [f"ship{n:03}.py" for n in range(3)]


def test_the_map_shows_the_users_beside_the_file(harbour: Path, kedge: Kedge) -> None:
    fill(harbour, {"src/harbour/lonely.py": "def moor():\n    free_berths = 1\n"})
    lines = kedge("map", "--output", "-").out.splitlines()
    assert any(
        line.startswith("src/harbour/berth.py ") and "invoice.py" in line and "lonely" not in line
        for line in lines
    )


PASSING = "from .tide import TideGauge\n"
# What changes after a first map, in a repository where `ship.py` or `src/ship.rs` is the user.
EDITS: dict[str, tuple[str, Files, Files]] = {
    "the user": (
        "sea/tide.py",
        {"sea/tide.py": GAUGE_PY, **INIT, "ship.py": "from sea.tide import TideGauge\n"},
        {"ship.py": "# TideGauge\n"},
    ),
    "a file between them": (
        "sea/tide.py",
        {
            "sea/tide.py": GAUGE_PY,
            "sea/__init__.py": PASSING,
            "ship.py": "from sea import TideGauge\n",
        },
        {"sea/__init__.py": "# TideGauge\n"},
    ),
    "the name of the package": (
        "src/tide.rs",
        {
            **CRATE,
            "src/lib.rs": "\n",
            "src/tide.rs": GAUGE_RS,
            "tests/ship.rs": "use deep_sea::tide::TideGauge;\n",
        },
        {"Cargo.toml": '[package]\nname = "shallow-sea"\n'},
    ),
    "a file that the import may mean as well": (
        "include/sea/tide.h",
        {"include/sea/tide.h": "int tide(void);\n", "ship.c": "#include <sea/tide.h>\n"},
        {"other/sea/tide.h": "int tide(void);\n"},
    ),
    "the other file": (
        "src/main/org/sea/Gauge.java",
        {
            "src/main/org/sea/Gauge.java": GAUGE_JAVA,
            "src/main/org/sea/Ship.java": "package org.sea;\n\nclass Ship {\n  Gauge gauge;\n}\n",
        },
        {"src/main/org/sea/Gauge.java": "package org.sea;\n\npublic class Tide {\n}\n"},
    ),
}


@pytest.mark.parametrize("case", EDITS)
def test_users_are_found_again_after_a_change(repo: Path, kedge: Kedge, case: str) -> None:
    path, files, edits = EDITS[case]

    def list_users(*options: str) -> list[str]:
        found = kedge.json("map", "--tokens", "9000", *options)["files"]
        return list(next(file["used_by"] for file in found if file["path"] == path))

    fill(repo, files)
    before = list_users()
    assert before
    assert list_users("--for", "gauge of the tide") == before == list_users("--no-cache")
    fill(repo, edits)
    assert list_users() == list_users("--no-cache") != before
