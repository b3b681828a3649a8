"""Programs that reach other machines, containers and databases."""

from __future__ import annotations

import re

from kedge.drift.shell.call import ANYTHING, Call, Output, Value
from kedge.drift.shell.values import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.call import Reader

_CURL = """-o -X -H -d -F -u -A -b -c -e -T -m -w -x -K -E -r --output --request --header --data
--data-raw --data-binary --data-urlencode --form --user --user-agent --cookie --cookie-jar
--referer --upload-file --max-time --write-out --proxy --config --cert --key --cacert --retry
--connect-timeout --json --output-dir --url --resolve --retry-delay --max-redirs --limit-rate"""
_SENDS = ("-d", "-F", "-T", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--form",
          "--upload-file", "--json")  # fmt: skip
_LOCAL = re.compile(r"(?:\w{1,9}://)?(?:localhost|127\.|0\.0\.0\.0|\[::1\]|host\.docker)")
_CHANGES = re.compile(r"(?i)\b(?:drop|delete|truncate|update|insert|alter|create|grant)\s")


def _curl(call: Call) -> Output:
    found = call.options(_CURL)
    urls = [value.text for value in [*found.rest, *found.get("--url")]]
    for url in urls:
        call.network(url)
    place = found.get("--output-dir")
    here = call.elsewhere(place[0]) if place else call
    here.write(*found.get("-o", "--output"))
    if found.any("-O", "--remote-name", "--remote-name-all"):
        here.write(*(_file_of(url) for url in urls))
    call.write(*found.get("-c", "--cookie-jar"))
    method = [value.text.upper() for value in found.get("-X", "--request")]
    sends = method[:1] not in ([], ["GET"], ["HEAD"], ["OPTIONS"]) or found.any(*_SENDS)
    far = [url for url in urls if not _LOCAL.match(url)]
    if sends and far and not found.any("-G", "--get"):
        verb = method[0] if method else "PUT" if found.any("-T", "--upload-file") else "POST"
        call.vcs(f"curl {verb}", far[:3], verb == "DELETE", outward=True)
    for value in found.get("-d", "--data", "--data-binary", "-T", "--upload-file"):
        if value.text.startswith("@") or found.any("-T", "--upload-file"):
            call.read(Value(value.text.lstrip("@"), value.glob))
    return ANYTHING


def _file_of(url: str) -> Value:
    name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
    return Value(name or UNKNOWN)


def _wget(call: Call) -> Output:
    found = call.options("-O -P -o -a -U -e -t -T --output-document --directory-prefix --header "
                         "--post-data --user-agent --tries --timeout -i")  # fmt: skip
    for url in found.words:
        call.network(url)
    named = found.get("-O", "--output-document")
    call.write(*found.get("-o", "-a"))
    if named:
        call.write(*named)
    elif not found.any("--spider", "-i"):
        place = found.get("-P", "--directory-prefix")
        here = call.elsewhere(place[0]) if place else call
        here.write(*(_file_of(url) for url in found.words))
    return ANYTHING


def _http(call: Call) -> Output:
    found = call.options("-o --output -a --auth -A --auth-type --form")
    words = found.words
    verb = words[0] if words and words[0].isupper() else ""
    target = words[1] if verb and len(words) > 1 else words[0] if words else ""
    call.network(target)
    call.write(*found.get("-o", "--output"))
    if verb not in ("", "GET", "HEAD") and not _LOCAL.match(target):
        call.vcs(f"{call.name} {verb}", [target], verb == "DELETE", outward=True)
    return ANYTHING


def _ssh(call: Call) -> Output:
    found = call.options("-i -p -l -o -F -L -R -D -J -b -c -E -m -P -S", stop=call.name == "ssh")
    if call.name == "ssh":
        if found.rest:
            call.network(found.words[0])
            if len(found.rest) > 1:
                call.unclear(f"what runs on {found.rest[0].shown} is not read")
        return ANYTHING
    far = [value for value in found.rest if ":" in value.text.partition("/")[0]]
    for value in far:
        call.network(value.text.partition(":")[0])
    if call.name == "scp" and len(found.rest) > 1:
        call.read(*(value for value in found.rest[:-1] if value not in far))
        if found.rest[-1] in far:
            call.vcs("scp", found.words, outward=True)
        else:
            call.write(found.rest[-1])
    return ANYTHING


def _docker(call: Call) -> Output:
    call.run.found.plain = False
    takes = "-f --file -p --project-name -H --host --context --profile --env-file"
    found = call.options(takes, stop=True)
    words = found.words
    if words[:1] == ["compose"]:
        inner = Call(call.run, call.state, call.name, found.rest[1:], call.stdin)
        words = inner.options(takes, stop=True).words
    verb = words[0] if words else ""
    verb = words[1] if verb in ("container", "image", "volume", "system") and words[1:] else verb
    if verb in ("run", "exec", "cp"):
        call.unclear(f"what {verb} does in the container is not read")
    elif verb == "push":
        call.network("registry")
        call.vcs("docker push", words[1:], outward=True)
    elif verb in ("pull", "login"):
        call.network("registry")
    elif verb in ("rm", "rmi", "prune", "kill") or (
        verb == "down" and {"-v", "--volumes"} & set(words)
    ):
        call.vcs(f"docker {verb}", words[1:], destructive=True)
    elif verb in ("build", "up", "start", "stop", "restart", "down", "create", "buildx"):
        call.runs(f"docker {verb}")
    return ANYTHING


def _looks(call: Call) -> Output:
    if call.args and call.name not in ("open", "xdg-open"):
        call.network(call.options("-p -c -W -w").words[0] if call.options("-c -W -w").rest else "")
    return ANYTHING


def _database(call: Call) -> Output:
    """A statement that changes data is destructive where it drops or deletes."""
    call.run.found.plain = False
    text = " ".join([*call.words, call.stdin.text or ""])[:20_000]
    change = _CHANGES.search(text)
    if call.name == "sqlite3":
        files = call.options("-cmd -separator").rest[:1]
        (call.write if change else call.read)(*files)
    if call.name == "redis-cli" and re.search(r"(?i)\bflush(?:all|db)\b", text):
        call.vcs("redis-cli flush", call.words, destructive=True)
    if change:
        verb = change[0].strip().lower()
        thrown = verb in ("drop", "delete", "truncate")
        call.vcs(f"{call.name} {verb}", (), destructive=thrown)
    return ANYTHING


READERS: dict[str, Reader] = {
    "curl": _curl, "wget": _wget, "http": _http, "https": _http, "xh": _http, "ssh": _ssh,
    "scp": _ssh, "sftp": _ssh, "docker": _docker, "psql": _database, "mysql": _database,
    "redis-cli": _database, "mongosh": _database, "sqlite3": _database,
}  # fmt: skip
for _name in ("ping", "dig", "nslookup", "nc", "telnet", "ftp", "open", "xdg-open"):
    READERS[_name] = _looks
