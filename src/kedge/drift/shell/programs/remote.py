"""Programs that reach other machines, containers and databases."""

from __future__ import annotations

import re

from kedge.drift.shell.call import ProgramCall, Value
from kedge.drift.shell.options import parse_options
from kedge.drift.shell.values import UNKNOWN

_CURL = """-o -X -H -d -F -u -A -b -c -e -T -m -w -x -K -E -r --output --request --header --data
--data-raw --data-binary --data-urlencode --form --user --user-agent --cookie --cookie-jar
--referer --upload-file --max-time --write-out --proxy --config --cert --key --cacert --retry
--connect-timeout --json --output-dir --url --resolve --retry-delay --max-redirs --limit-rate"""
_SENDS = ("-d", "-F", "-T", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--form",
          "--upload-file", "--json")  # fmt: skip
_LOCAL = re.compile(r"(?:\w{1,9}://)?(?:localhost|127\.|0\.0\.0\.0|\[::1\]|host\.docker)")
_CHANGES = re.compile(r"(?i)\b(?:drop|delete|truncate|update|insert|alter|create|grant)\s")
_DROPS = re.compile(
    r"(?i)\b(?:drop\s{1,9}(?:table|database|schema|collection|view|index|user|role|owned)\b"
    r"|truncate\s|delete\s{1,9}from\s{1,9}[\w.\"`]{1,99}\s{0,9}(?:;|$|[\"']))"
    r"|\b(?:dropdatabase|drop|deletemany)\s{0,9}\("
)
_FLUSHES = re.compile(r"(?i)\bflush(?:all|db)\b")


def read_curl(call: ProgramCall) -> None:
    options = call.parse_options(_CURL)
    urls = [value.text for value in [*options.rest, *options.get("--url")]]
    for url in urls:
        call.add_network(url)
    here = call.in_directory(*options.get("--output-dir"))
    here.write(*options.get("-o", "--output"))
    if options.any("-O", "--remote-name", "--remote-name-all"):
        here.write(*(_remote_name(url) for url in urls))
    call.write(*options.get("-c", "--cookie-jar"))
    method = [value.text.upper() for value in options.get("-X", "--request")]
    sends = method[:1] not in ([], ["GET"], ["HEAD"], ["OPTIONS"]) or options.any(*_SENDS)
    far = [url for url in urls if not _LOCAL.match(url)]
    if sends and far and not options.any("-G", "--get"):
        verb = method[0] if method else "PUT" if options.any("-T", "--upload-file") else "POST"
        call.add_vcs(f"curl {verb}", far[:3], verb == "DELETE", outward=True)
    for value in options.get("-d", "--data", "--data-binary", "-T", "--upload-file"):
        if value.text.startswith("@") or options.any("-T", "--upload-file"):
            call.read(Value(value.text.lstrip("@"), value.glob))


def _remote_name(url: str) -> Value:
    name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
    return Value(name or UNKNOWN)


def read_wget(call: ProgramCall) -> None:
    takes = "-O -P -o -a -U -e -t -T --output-document --directory-prefix --header --post-data"
    options = call.parse_options(takes + " --user-agent --tries --timeout -i")
    for url in options.words:
        call.add_network(url)
    named = options.get("-O", "--output-document")
    call.write(*options.get("-o", "-a"))
    if named:
        call.write(*named)
    elif not options.any("--spider", "-i"):
        here = call.in_directory(*options.get("-P", "--directory-prefix"))
        here.write(*(_remote_name(url) for url in options.words))


def read_http(call: ProgramCall) -> None:
    options = call.parse_options("-o --output -a --auth -A --auth-type --form")
    words = options.words
    verb = words[0] if words and words[0].isupper() else ""
    target = words[1] if verb and len(words) > 1 else words[0] if words else ""
    call.add_network(target)
    call.write(*options.get("-o", "--output"))
    if verb not in ("", "GET", "HEAD") and not _LOCAL.match(target):
        call.add_vcs(f"{call.name} {verb}", [target], verb == "DELETE", outward=True)


def read_ssh(call: ProgramCall) -> None:
    takes = "-i -p -l -o -F -L -R -D -J -b -c -E -m -P -S"
    options = call.parse_options(takes, stop=call.name == "ssh")
    if call.name == "ssh":
        if options.rest:
            call.add_network(options.verb)
            if len(options.rest) > 1:
                call.add_unread(f"what runs on {options.rest[0].shown} is not read")
        return
    far = [value for value in options.rest if ":" in value.text.partition("/")[0]]
    for value in far:
        call.add_network(value.text.partition(":")[0])
    if call.name == "scp" and len(options.rest) > 1:
        call.read(*(value for value in options.rest[:-1] if value not in far))
        if options.rest[-1] in far:
            call.add_vcs("scp", options.words, outward=True)
        else:
            call.write(options.rest[-1])


def read_docker(call: ProgramCall) -> None:
    call.effects.plain = False
    takes = "-f --file -p --project-name -H --host --context --profile --env-file"
    options = call.parse_options(takes, stop=True)
    words = options.words
    if words[:1] == ["compose"]:
        words = parse_options(options.rest[1:], takes, stop=True).words
    kind = words[0] if words else ""
    grouped = kind in ("container", "image", "volume", "system") and len(words) > 1
    verb = words[1] if grouped else kind
    if verb in ("run", "exec", "cp"):
        call.add_unread(f"what {verb} does in the container is not read")
    elif verb == "push":
        call.add_network("registry")
        call.add_vcs("docker push", words[1:], outward=True)
    elif verb in ("pull", "login"):
        call.add_network("registry")
    elif verb in ("rm", "rmi", "prune", "kill") or (
        verb == "down" and {"-v", "--volumes"} & set(words)
    ):
        shown = f"docker {kind} {verb}" if grouped else f"docker {verb}"
        call.add_vcs(shown, words[2 if grouped else 1 :], destructive=True)
    elif verb in ("build", "up", "start", "stop", "restart", "down", "create", "buildx"):
        call.add_run(f"docker {verb}")


def read_client(call: ProgramCall) -> None:
    if call.args:
        call.add_network(call.parse_options("-p -c -W -w").verb)


def read_database(call: ProgramCall) -> None:
    """Read a SQL statement: one that drops tables or empties them is destructive."""
    call.effects.plain = False
    options = call.parse_options(
        "-cmd -separator -h -p -U -d -f -c -e -D -u -P -n -a --eval --file"
    )
    scripts = [each for each in options.get("-f", "--file") if each.known]
    texts = [call.find_text(each) or "" for each in scripts]
    for each in scripts:
        call.add_script(each)
    text = " ".join([*call.words, call.stdin.text or "", *texts])[:20_000]
    change = _CHANGES.search(text)
    files = options.rest[:1] if call.name == "sqlite3" else []
    (call.write if change else call.read)(*files)
    if call.name == "redis-cli":
        if _FLUSHES.search(text):
            call.add_vcs("redis-cli", call.words, destructive=True)
        return
    drop = _DROPS.search(text)
    if drop or change:
        verb, *shown = (drop or change)[0].split("(")[0].split()  # type: ignore[index]
        drops = drop is not None
        call.add_vcs(f"{call.name} {verb.lower()}", shown, destructive=drops, paths=files)


def read_database_tool(call: ProgramCall) -> None:
    """Read `dropdb`, `createdb`, `mysqladmin drop`."""
    call.effects.plain = False
    options = call.parse_options("-h -p -U -u -P --host --port --username --user")
    drops = call.name == "dropdb" or options.verb == "drop"
    call.add_vcs(call.name, options.words, destructive=drops)
