"""Modules that are put off: whoever asks gets what the module itself has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import Kedge

START = "import sys; from kedge import later; later.put_off()\n"


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["inspect", "urllib.parse"])
def test_it_stands_in_until_more_is_asked(name: str) -> None:
    out = run(
        f"""
import {name} as before
stand = sys.modules[{name!r}]
assert type(stand) is later.Later and before is stand
assert before.__doc__ is None and '__file__' not in vars(before)
assert before.__file__.endswith('{name.replace(".", "/")}.py')
import {name} as after
assert sys.modules[{name!r}] is after and after is not before
assert type(after) is type(sys)
assert set(dir(before)) == set(dir(after)) and len(dir(after)) > 30
after.told = 7
assert before.told == 7
import importlib
assert importlib.reload(after) is after
print('good')
"""
    )
    assert out == "good\n"


def test_what_is_taken_from_it_is_the_real_thing() -> None:
    out = run(
        """
from inspect import Signature, signature
import inspect, pickle, importlib.util
assert sys.modules['inspect'].Signature is Signature
assert pickle.loads(pickle.dumps(Signature)) is Signature
def berth(a, *, b): pass
assert isinstance(signature(berth), inspect.Signature)
from dataclasses import dataclass
@dataclass
class Quay:
    name: str
print(importlib.util.find_spec('inspect').name, signature(Quay))
"""
    )
    assert out == "inspect (name: str) -> None\n"


def test_what_cannot_be_answered_is_missing_as_in_the_module_itself() -> None:
    out = run(
        """
import inspect
try:
    inspect.quay
except AttributeError as error:
    print(error)
try:
    from inspect import quay
except ImportError:
    print('no such name')
print(hasattr(sys.modules['inspect'], 'quay'))
"""
    )
    assert out == "module 'inspect' has no attribute 'quay'\nno such name\nFalse\n"


def test_what_is_ready_says_what_the_module_says() -> None:
    texts = [
        "",
        "One line.",
        "  indented",
        "ends here \n",
        "one\n    two\n      three\n",
        "a\tb",
        "é",
    ]
    out = run(
        f"""
import inspect, pathlib, urllib.parse
texts = {texts!r}
path = pathlib.Path('/a b/é?#')
before = [inspect.cleandoc(text) for text in texts] + [path.as_uri()]
inspect.Signature, urllib.parse.quote
import inspect, urllib.parse
assert type(inspect) is type(urllib.parse) is type(sys)
assert before == [inspect.cleandoc(text) for text in texts] + [path.as_uri()]
print(before[-1])
"""
    )
    assert out == "file:///a%20b/%C3%A9%3F%23\n"


def test_a_module_of_a_package_is_found_in_it() -> None:
    out = run(
        """
import urllib
before = urllib.parse
assert before is sys.modules['urllib.parse'] and type(before) is later.Later
print(urllib.parse.quote('a b'), urllib.parse is not before)
"""
    )
    assert out == "a%20b True\n"


def test_threads_that_ask_at_once_get_one_module() -> None:
    out = run(
        """
import inspect, threading
sys.setswitchinterval(1e-6)
ready, found = threading.Barrier(8), []
def ask():
    ready.wait()
    found.append(inspect.Signature)
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
import inspect
assert found == [inspect.Signature] * 8
print('good')
"""
    )
    assert out == "good\n"


def test_what_is_loaded_already_stays() -> None:
    code = "import inspect, sys; from kedge import later; later.put_off()\n"
    code += "assert sys.modules['inspect'] is inspect and type(inspect) is type(sys)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("args", [["map", "--output", "-"], ["task", "ready"]])
def test_a_usual_command_needs_neither_and_help_is_as_ever(
    repo: Path, kedge: Kedge, args: list[str]
) -> None:
    code = "import sys\nfrom kedge.__main__ import main\ntry:\n    main()\nfinally:\n"
    code += "    loaded = {name for name in ('ast', 'dis', 'ipaddress') if name in sys.modules}\n"
    code += "    print(sorted(loaded), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=repo,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == "[]\n", done
    assert "Write a ranked map" in kedge("--help").out
    assert "The budget; auto grows with the repository." in kedge("map", "--help").out
