"""Programs that act on the outside world: code hosts, registries, clouds."""

from __future__ import annotations

from kedge.drift.shell.call import ProgramCall, Value
from kedge.drift.shell.options import parse_options
from kedge.drift.shell.values import pattern_under

_LOOKS = """list view status diff checks ls show get describe logs log watch download checkout clone
login auth whoami version help validate plan fmt init template lint search browse info config env
top explain api-resources cluster-info output state providers graph test preview dev build serve
completion token develop history dashboard open ps config:get inspect doctor current-context
setup-git refresh tail dry-run verify"""
_LOOKING = frozenset(_LOOKS.split())
_REMOVES = """delete destroy rm rb remove uninstall undeploy rollback purge close down
terminate-instances delete-stack"""
_DESTROYS = frozenset(_REMOVES.split())
_GH_HOSTS = {"gh": "github.com", "hub": "github.com", "glab": "gitlab.com"}


def read_gh(call: ProgramCall) -> None:
    call.effects.plain = False
    options = parse_options(call.args, "-R --repo --hostname", stop=True)
    words = options.words
    call.add_network(_GH_HOSTS[call.name])
    if not words:
        return
    if words[0] == "api":
        _read_api(call, options.rest[1:])
        return
    operands = [word for word in words if not word.startswith("-")]
    verb = operands[1] if len(operands) > 1 else ""
    if verb == "checkout" and operands[0] in ("pr", "mr"):
        call.add_vcs(f"{call.name} {operands[0]} checkout", words[2:])
    elif verb and verb not in _LOOKING and operands[0] not in ("auth", "config", "search", "help"):
        rest = words[words.index(verb) + 1 :]
        destructive = verb in ("delete", "close", "archive")
        call.add_vcs(f"{call.name} {operands[0]} {verb}", rest, destructive, outward=True)


def _read_api(call: ProgramCall, args: list[Value]) -> None:
    """`gh api` sends its fields with POST; without fields it only reads."""
    takes = "-X --method -f -F -H -q -t --field --raw-field --header --input --jq --template"
    options = parse_options(args, takes + " --cache --hostname -p --preview")
    method = [value.text.upper() for value in options.get("-X", "--method")]
    fields = options.any("-f", "-F", "--field", "--raw-field", "--input")
    verb = method[0] if method else "POST" if fields else "GET"
    target = options.verb
    if target == "graphql":
        sent = " ".join(value.text for value in options.get("-f", "-F", "--field", "--raw-field"))
        verb = "POST" if "mutation" in sent else "GET"
    call.read(*[value for value in options.get("--input") if value.text != "-"])
    if verb != "GET":
        call.add_vcs(f"{call.name} api {verb}", [target], verb == "DELETE", outward=True)


def read_cloud(call: ProgramCall) -> None:
    call.effects.plain = False
    takes = "-n --namespace --context --kubeconfig -f --filename --profile --region --project -v"
    options = parse_options(
        call.args, takes + " --app -a --config -c --cwd -o --output -l --selector", whole=True
    )
    words = options.words
    call.add_network(call.name)
    verbs = [word for word in words[:3] if word not in ("s3", "s3api", "ec2", "compute", "app")]
    if call.name in ("terraform", "tofu") and words[:1] == ["fmt"]:
        if not options.any("-check", "--check"):
            places = options.words[1:] or ["."]
            call.edit([pattern_under(place, "**/*.tf") for place in places])
        return
    looks = any(
        word in _LOOKING or word.startswith(("get-", "list-", "describe-")) for word in verbs
    )
    quiet = options.any("--help", "--version", "--dry-run", "--dryrun", "-h")
    deploys = call.name in ("vercel", "netlify") and options.any("--prod", "--production")
    if (verbs and not looks and not quiet) or deploys:
        thrown = any(word in _DESTROYS for word in verbs)
        rest = [word for word in call.words[:20] if word not in words[:2]]
        call.add_vcs(" ".join([call.name, *words[:2]]), rest, thrown, outward=True)


def read_twine(call: ProgramCall) -> None:
    options = call.parse_options("-r -u -p --repository --repository-url")
    call.read(*options.rest[1:])
    if options.verb == "upload":
        call.add_network("package registry")
        call.add_vcs("twine upload", options.words[1:], outward=True)
