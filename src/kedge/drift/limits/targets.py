"""Where commands carry their target: an environment, branch, bucket, host or namespace.

Only the commands of this table name a target that can be compared with the one the user named.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kedge.drift.limits.programs import Program

# options whose value is the target; `deploy` and scripts of that name take the first row
_ENVIRONMENT = "--env --environment --stage --target --namespace --context --profile --region"
_OPTIONS = {
    "deploy": f"{_ENVIRONMENT} -e -s -n",
    "kubectl": "-n --namespace --context --cluster",
    "helm": "-n --namespace --kube-context",
    "oc": "-n --namespace --context",
    "terraform": "-var-file --var-file",
    "tofu": "-var-file --var-file",
    "pulumi": "-s --stack",
    "psql": "-h --host -d --dbname",
    "pg_dump": "-h --host -d --dbname",
    "mysql": "-h --host -D --database",
    "mongosh": "--host",
    "redis-cli": "-h",
    "vercel": "--target --environment --scope",
    "netlify": "--context --site",
    "fly": "-a --app",
    "flyctl": "-a --app",
    "heroku": "-a --app -r --remote",
    "wrangler": "--env -e",
    "serverless": "--stage -s",
    "sls": "--stage -s",
    "sam": "--config-env",
    "eb": "-e",
    "cap": "",
    "ansible-playbook": "-l --limit -i --inventory",
    "aws": "--profile",
    "gcloud": "--project",
    "firebase": "--project -P",
    "docker": "--context -c -H --host",
}
_VERBS = {  # the words before a target that is given as an operand
    "terraform": ("workspace select", "workspace new"),
    "tofu": ("workspace select", "workspace new"),
    "kubectl": ("config use-context",),
    "pulumi": ("stack select",),
    "firebase": ("use",),
    "eb": ("deploy", "use"),
    "docker": ("context use",),
}
_STORES = ("s3://", "gs://", "az://")
_COPIES = ("scp", "rsync")
_SCRIPTS = ("npm", "yarn", "pnpm", "bun", "make", "just", "task", "rake", "mise", "cargo")


def find_other_target(program: Program, allowed: Sequence[str]) -> str | None:
    """Return a target of the command that is not among the allowed ones, or None."""
    names = [each.lower() for each in allowed]
    targets = [target for target in _find_targets(program) if target]
    others = [
        target for target in targets if not any(_is_same(name, target.lower()) for name in names)
    ]
    if program.name != "git" and len(others) < len(targets):
        return None  # the host is the named one; its database may have any name
    return others[0] if others else None


def _is_same(name: str, target: str) -> bool:
    """True if the target is the named one: as a whole, or as one word of it (`prod-eu` is not)."""
    if target == name:
        return True
    if "/" in target or "@" in target or ":" in target:
        parts = target.replace("@", "/").replace(":", "/").split("/")
        return name in parts or target.startswith(f"{name}/")
    return name in target.split(".")  # `prod.tfvars`, `queue.qa.example.net`


def _find_targets(program: Program) -> Iterator[str]:
    name, args = program.name, program.args
    if name == "git":
        yield from _find_branches(args)
    elif name == "ssh":
        yield from (arg.rpartition("@")[2] for arg in _list_operands(args, "-i -p -l -o -F -J")[:1])
    elif name in _COPIES:
        remote = (arg for arg in args if ":" in arg and "://" not in arg and arg[0] not in "/.-")
        yield from (arg.partition(":")[0].rpartition("@")[2] for arg in remote)
    for arg in args:
        if arg.startswith(_STORES):
            yield arg.partition("://")[2].partition("/")[0]
    yield from _find_option_values(args, _OPTIONS[_find_row(program)].split())
    for words in _VERBS.get(name, ()):
        head = words.split()
        plain = _list_operands(args)
        if plain[: len(head)] == head and len(plain) > len(head):
            yield plain[len(head)]


def _find_row(program: Program) -> str:
    """Return the row of the table for a program; scripts that deploy share one."""
    if program.name in _OPTIONS:
        return program.name
    words = program.words if program.name in _SCRIPTS else program.words[:2]
    return "deploy" if any("deploy" in word.lower() for word in words) else "cap"


def _find_branches(args: Sequence[str]) -> Iterator[str]:
    """Yield the branches that `git push` writes; without one, nothing is named."""
    if args[:1] != ("push",):
        return
    for ref in _list_operands(args[1:], "-o --push-option --receive-pack --repo")[1:]:
        target = ref.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/")
        if target and target != "HEAD":
            yield target


def _find_option_values(args: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    for place, arg in enumerate(args):
        name, sign, value = arg.partition("=")
        if name in options:
            yield value if sign else "".join(args[place + 1 : place + 2])


def _list_operands(args: Sequence[str], takes: str = "") -> list[str]:
    options = takes.split()
    operands, skip = [], False
    for arg in args:
        if skip:
            skip = False
        elif arg.startswith("-"):
            skip = arg in options
        else:
            operands.append(arg)
    return operands
