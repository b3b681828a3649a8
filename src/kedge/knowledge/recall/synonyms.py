"""Related terms of software development, so that a lesson is found by other words."""

from __future__ import annotations

from functools import cache

from kedge.text.words import stem

_GROUPS = """
auth authentication authorization login logout password credential session token jwt oauth sso
permission role access acl rbac policy privilege authorization
secret credential key vault env encrypt
database sql query table schema migration index postgres postgresql mysql sqlite orm transaction
migration schema alter column ddl rollback backfill
cache caching redis memcached ttl invalidate invalidation stale memoize
test testing fixture mock stub assertion pytest jest flaky coverage suite
flaky retry timing sleep race intermittent
concurrency race lock mutex thread async deadlock parallel atomic
queue worker job broker kafka rabbitmq celery consumer message event
retry backoff timeout idempotent idempotency circuit resilience
http api endpoint rest route request response client server webhook
payment checkout invoice billing stripe refund charge money currency price
money currency decimal rounding float price amount
time date timezone utc timestamp clock dst calendar
locale i18n translation language localization l10n plural
frontend ui component react vue css style layout button form
accessibility a11y aria keyboard screen reader contrast
form validation input sanitize sanitise escape field
security injection xss csrf sanitize escape vulnerability attack
log logging logger trace metric monitoring observability alert
error exception failure raise catch handler crash
config configuration setting env environment flag option
deploy deployment release rollout rollback production docker kubernetes helm container
ci pipeline workflow build github actions runner artifact
dependency package upgrade version lockfile library vendor pin
performance latency slow throughput profile benchmark optimize optimise
memory leak heap allocation buffer oom
file path directory filesystem disk io write atomic rename
parser parse syntax grammar token lexer ast
encoding utf unicode charset decode bytes newline
network socket connection dns tls proxy certificate
upload file image attachment storage s3 blob bucket
email mail smtp notification sms push
search index ranking elasticsearch relevance query
pagination page cursor offset
git commit branch merge rebase worktree
doc documentation readme comment guide
review reviewer pr feedback approve
plan planning spec requirement scope estimate task
model training dataset feature inference ml evaluation
data pipeline etl batch ingest ingestion warehouse spark airflow dag
mobile android ios app device offline sync
firmware embedded sensor device interrupt gpio battery power
shell bash script command quoting terminal
cli command argument flag option stdin stdout exit
json yaml toml csv serialize serialization format
refactor rename cleanup dead duplicate
hook plugin extension callback
"""
_SUFFIXES = """
.sql database sql query migration
.tsx react component frontend
.jsx react component frontend
.vue component frontend
.css style layout
.scss style layout
.yml config pipeline
.yaml config pipeline
.tf terraform infrastructure deploy
.sh shell bash script
.md documentation
.proto schema compatibility message
"""


_ENDINGS = ("ation", "ition", "ator", "ment", "able", "ion", "ate", "ize", "ise", "er", "or", "e")


def root(word: str) -> str:
    """Strip the ending of a noun or verb: validation, validator, validate share a root."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


@cache
def _index() -> dict[str, tuple[str, ...]]:
    related: dict[str, dict[str, None]] = {}
    for line in _GROUPS.split("\n"):
        words = [root(stem(word)) for word in line.split()]
        for word in words:
            related.setdefault(word, {}).update(dict.fromkeys(w for w in words if w != word))
    for line in _SUFFIXES.split("\n"):
        if line:
            suffix, *words = line.split()
            related[suffix] = dict.fromkeys(root(stem(word)) for word in words)
    return {word: tuple(others) for word, others in related.items()}


def find_related(term: str) -> tuple[str, ...]:
    """Return the terms related to a term or file suffix; most terms have none."""
    return _index().get(term, ())
