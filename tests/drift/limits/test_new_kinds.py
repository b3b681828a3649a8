"""Limits on reading, on what files export, and on the target that a command acts on."""

from __future__ import annotations

import pytest

from kedge.drift.actions import Action, normalise
from kedge.drift.charter import Charter
from kedge.drift.engine import Session
from kedge.drift.limits.breaches import find_all_breaches, find_breach
from kedge.drift.limits.limit import Limit

ROOT = "/home/ship/project"


def call(tool: str, **given: object) -> Action:
    return normalise(tool, given, root=ROOT, cwd=ROOT)


def shell(command: str) -> Action:
    return call("Bash", command=command)


# Reading

NO_READ = Limit("no_read", (".env", "secrets/", "~/.ssh"), "keep out of the secrets")


@pytest.mark.parametrize(
    ("action", "evidence"),
    [
        (call("Read", file_path=f"{ROOT}/.env"), ".env"),
        (call("Read", file_path=".env.local"), ".env.local"),
        (call("Grep", pattern="key", path="secrets"), "secrets"),
        (shell("cat src/a.py secrets/prod.yaml | head"), "secrets/prod.yaml"),
        (shell("cp .env /tmp/x"), ".env"),
        (shell("grep KEY < .env"), ".env"),
        (shell("cat ~/.ssh/id_rsa"), "~/.ssh/id_rsa"),
        (call("Edit", file_path="secrets/a", old_string="a", new_string="b"), "secrets/a"),
        (call("Read", file_path="src/secrets.py"), None),
        (call("Read", file_path="src/a.py"), None),
        (shell("cat README.md"), None),
    ],
)
def test_reading_what_the_user_ruled_out_breaks_the_limit(
    action: Action, evidence: str | None
) -> None:
    breach = find_breach(NO_READ, action)
    assert (breach.evidence if breach else None) == evidence


def test_a_read_is_judged_by_limits_on_reading_alone() -> None:
    forbidden = Limit("no_touch", ("src/",), "not src")
    session = Session(ROOT, charter_=Charter(goal="Fix the lexer", limits=(forbidden, NO_READ)))
    assert session.action("a", "Read", {"file_path": "src/a.py"}).score == 10
    verdict = session.action("b", "Read", {"file_path": ".env"})
    assert (verdict.score, verdict.level) == (3, "intervene")
    assert "reads .env" in verdict.rules[0].evidence
    asks = Limit("ask_first", ("no_read", ".env"), "ask me before you read .env")
    session = Session(ROOT, charter_=Charter(goal="Fix the lexer", limits=(asks,)))
    assert session.action("c", "Bash", {"command": "cat .env"}).score == 3


# What files export

API = Limit("keep_api", (), "keep the public API as it is")
PYTHON = (
    "import os\nLIMIT = 3\n\n\ndef load(path, *, strict=False):\n    return _open(path)\n\n\n"
    "def _open(path):\n    return path\n\n\nclass Store:\n    def get(self, key): ...\n"
    "    def _find(self, key): ...\n"
)
TYPESCRIPT = (
    "export function load(path: string): Buffer {\n  return open(path)\n}\n"
    "function open(path: string) { return read(path) }\n"
    "export class Store {\n  get(key: string) { return 1 }\n  private find() {}\n}\n"
)
GO = (
    "package a\n\nfunc Load(path string) error {\n\treturn open(path)\n}\n\n"
    "func open(path string) error { return nil }\n"
)
FILES = {"src/store.py": PYTHON, "src/store.ts": TYPESCRIPT, "store.go": GO, "a.sql": "select 1"}


def read(path: str) -> bytes | None:
    return FILES[path].encode() if path in FILES else None


@pytest.mark.parametrize(
    ("path", "old", "new", "reason"),
    [
        ("src/store.py", "strict=False", "strict=True", "changes the signature of load"),
        ("src/store.py", "def load", "def load_all", "removes load from"),
        ("src/store.py", "get(self, key)", "get(self, key, default)", "signature of Store.get"),
        ("src/store.py", "    def get(self, key): ...\n", "", "removes Store.get"),
        ("src/store.py", "class Store", "class _Store", "removes Store"),
        ("src/store.py", "return _open(path)", "return _open(path, 1)", None),
        ("src/store.py", "def _open(path)", "def _open(path, mode)", None),
        ("src/store.py", "def _find(self, key)", "def _find(self)", None),
        ("src/store.py", "LIMIT = 3", "LIMIT = 4", None),
        ("src/store.py", "class Store:", "def more(): ...\n\n\nclass Store:", None),
        ("src/store.py", "not in the file", "anything", None),
        ("src/store.ts", "load(path: string)", "load(path: URL)", "signature of load"),
        ("src/store.ts", "export class", "class", "removes Store"),
        ("src/store.ts", "function open(path", "function open(where", None),
        ("src/store.ts", "private find()", "private find(key)", None),
        ("store.go", "func Load(path string)", "func Load(path string, n int)", "of Load"),
        ("store.go", "func open(path string)", "func open(path string, n int)", None),
        ("a.sql", "select 1", "select 2", None),  # no exports to speak of
        ("missing.py", "a", "b", None),
    ],
)
def test_exported_definitions_stay_as_they_are(
    path: str, old: str, new: str, reason: str | None
) -> None:
    edit = call("Edit", file_path=path, old_string=old, new_string=new)
    breach = find_breach(API, edit, read=read)
    if reason is None:
        assert breach is None
    else:
        assert breach is not None
        assert reason in breach.reason
        assert breach.evidence == path
    assert find_breach(API, edit) is None  # nobody knows what the file was


def test_a_whole_file_a_patch_and_a_deletion_are_compared_too() -> None:
    gone = call("Write", file_path="src/store.py", content="def load(path, *, strict=False): ...\n")
    breach = find_breach(API, gone, read=read)
    assert breach is not None and "removes LIMIT" in breach.reason
    same = call("Write", file_path="src/store.py", content=PYTHON + "\n\ndef more(): ...\n")
    assert find_breach(API, same, read=read) is None
    patch = (
        "*** Begin Patch\n*** Update File: src/store.py\n@@\n-LIMIT = 3\n+LIMIT = 4\n"
        "@@\n-def load(path, *, strict=False):\n+def load(path):\n*** End Patch\n"
    )
    breach = find_breach(API, call("apply_patch", input=patch), read=read)
    assert breach is not None and "signature of load" in breach.reason
    breach = find_breach(API, shell("rm src/store.ts"), read=read)
    assert breach is not None and breach.evidence == "src/store.ts"
    assert find_breach(API, shell("rm a.sql"), read=read) is None


def test_several_edits_of_one_call_are_taken_together() -> None:
    renames = [
        {"old_string": "def load(", "new_string": "def fetch("},
        {
            "old_string": "LIMIT = 3",
            "new_string": "LIMIT = 3\n\n\ndef load(path, *, strict=False): ...",
        },
    ]
    edit = call("MultiEdit", file_path="src/store.py", edits=renames)
    assert find_breach(API, edit, read=read) is None


# Targets

STAGING = Limit("only_target", ("staging",), "only ever on staging")


@pytest.mark.parametrize(
    ("command", "other"),
    [
        ("./deploy.sh --env production", "production"),
        ("npm run deploy -- --env=production", "production"),
        ("make deploy --stage prod", "prod"),
        ("kubectl -n prod get pods", "prod"),
        ("kubectl --context=prod-eu apply -f k8s/", "prod-eu"),
        ("kubectl config use-context prod", "prod"),
        ("helm upgrade api ./chart --namespace prod", "prod"),
        ("git push origin main", "main"),
        ("git push -u origin HEAD:main", "main"),
        ("aws s3 sync dist s3://prod-assets/app", "prod-assets"),
        ("gsutil rm gs://prod/x", "prod"),
        ("ssh deploy@prod.example.org uptime", "prod.example.org"),
        ("scp a.txt prod:/srv/", "prod"),
        ("terraform workspace select prod", "prod"),
        ("terraform apply -var-file=prod.tfvars", "prod.tfvars"),
        ("bash -c 'psql -h prod-db -c \"select 1\"'", "prod-db"),
        ("./deploy.sh --env staging", None),
        ("kubectl -n staging delete pod x", None),
        ("git push origin staging", None),
        ("git push", None),
        ("git push origin", None),
        ("git fetch origin main", None),
        ("aws s3 cp a s3://staging/x", None),
        ("ssh deploy@staging uptime", None),
        ("terraform apply -var-file=staging.tfvars", None),
        ("terraform plan", None),
        ("grep -n prod src/a.py", None),
        ("python train.py --target prod", None),
        ("docker build -t prod .", None),
    ],
)
def test_a_command_that_names_another_target_breaks_the_limit(
    command: str, other: str | None
) -> None:
    breach = find_breach(STAGING, shell(command))
    assert (breach.evidence if breach else None) == other


def test_any_of_several_targets_is_allowed() -> None:
    limit = Limit("only_target", ("feature/x", "origin"), "only push to feature/x")
    assert find_breach(limit, shell("git push origin feature/x")) is None
    assert find_breach(limit, shell("git push origin main")) is not None


# Exceptions


def test_what_is_excepted_is_free_whatever_the_kind() -> None:
    for kind, action in (
        ("no_new_files", call("Write", file_path="docs/a.md", content="x\n")),
        ("no_delete", shell("rm docs/a.md")),
        ("no_rename", shell("git mv docs/a.md docs/b.md")),
        ("no_read", call("Read", file_path="docs/a.md")),
        ("read_only", call("Write", file_path="docs/a.md", content="x\n")),
    ):
        subject = ("docs/",) if kind == "no_read" else ()
        assert find_breach(Limit(kind, subject), action) is not None, kind
        free = Limit(kind, subject, exceptions=("docs/a.md", "docs/b.md"))
        assert find_breach(free, action) is None, kind


def test_an_exception_frees_its_own_paths_alone() -> None:
    limit = Limit("no_new_files", (), "no new files", exceptions=("docs/",))
    assert find_breach(limit, shell("touch docs/old/a.md")) is None
    breach = find_breach(limit, shell("touch docs/a.md src/a.py"))
    assert breach is not None and breach.evidence == "src/a.py"
    moves = find_breach(limit._replace(kind="no_rename"), shell("mv docs/a.md src/a.md"))
    assert moves is not None


def test_an_act_that_the_user_allowed_is_free_and_another_is_not() -> None:
    allowed = Limit("no_push", (), "no pushes", exceptions=("git push origin main",))
    assert find_breach(allowed, shell("git push origin main")) is None
    assert find_breach(allowed, shell("git push --force origin main")) is not None


def test_all_breaches_of_one_call_are_found() -> None:
    limit = Limit("no_touch", ("db/",), "not the database")
    found = find_all_breaches(limit, shell("touch db/a.sql db/b.sql src/c.py"))
    assert [each.evidence for each in found] == ["db/a.sql", "db/b.sql"]
