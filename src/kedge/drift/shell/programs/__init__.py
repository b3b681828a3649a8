"""Readers of programs: what the words of a call say it does. Each is loaded when needed."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.call import Reader

# a module and the function in it | the programs whose calls it reads, `*` standing for the name
_TABLE = """
builtins.read_* | popd pwd echo printf set shift eval trap
builtins.read_silent | test [ [[ : true false exit return break continue unset alias unalias ulimit
builtins.read_silent | umask wait jobs bg fg disown hash type dirs shopt getopts let logout times
builtins.read_cd | cd pushd
builtins.read_declare | export declare local readonly typeset
builtins.read_input | read
builtins.read_mapfile | mapfile readarray
builtins.read_source | source .
files.read_* | mv mkdir rsync rename unzip zip mktemp split
files.read_rm | rm unlink shred rmdir trash trash-put del
files.read_cp | cp install
files.read_touch | touch truncate mkfifo sponge
files.read_ln | ln link
files.read_chmod | chmod chown chgrp
files.read_tar | tar bsdtar
files.read_gzip | gzip gunzip bzip2 xz zstd
editing.read_* | sed perl awk tee dd patch apply_patch yq
editing.read_editor | ed ex vi nano emacs
editing.read_sort | sort uniq xxd
finding.read_* | find xargs parallel fd
git.read_* | git
hosting.read_* | twine
kedge.read_* | kedge
hosting.read_gh | gh hub glab
hosting.read_cloud | kubectl helm terraform tofu pulumi vercel netlify fly flyctl wrangler firebase
hosting.read_cloud | heroku aws gcloud gsutil az serverless sls ansible-playbook railway render cdk
hosting.read_cloud | sam eb
packages.read_* | uv pacman
packages.read_manager | poetry pdm rye pipenv pixi npm pnpm yarn bun composer bundle gem conda apt
packages.read_manager | apk yum brew snap choco winget port pipx mise asdf rustup
packages.read_pip | pip easy_install
packages.read_pip_tools | pip-compile pip-sync
building.read_* | cargo go dotnet
building.read_make | make just task rake npm-run-all turbo nx invoke inv
building.read_maven | mvn mvnw gradle gradlew sbt
building.read_compiler | cmake ninja bazel gcc g++ clang clang++ cc rustc tsc javac
building.read_sessions | nox tox pre-commit prek
building.read_tool | mix deno swift zig dart flutter hatch
checking.read_* | ruff
checking.read_formatter | black isort autopep8 yapf autoflake docformatter pyupgrade prettier eslint
checking.read_formatter | stylelint oxlint xo standard biome gofmt goimports gofumpt golangci-lint
checking.read_formatter | rustfmt clang-format shfmt rubocop standardrb php-cs-fixer phpcbf pint
checking.read_formatter | swiftformat swiftlint ktlint stylua taplo dprint markdownlint codespell
checking.read_formatter | markdownlint-cli2 sqlfluff djlint buf
checking.read_test | pytest py.test jest vitest mocha ava rspec phpunit pest ctest karma playwright
checking.read_test | cypress unittest nose2 flake8 pylint mypy pyright basedpyright ty pyrefly
checking.read_test | shellcheck hadolint yamllint actionlint staticcheck vue-tsc svelte-check psalm
checking.read_test | phpstan stestr trial gotestsum detekt clang-tidy bandit semgrep vulture tap
checking.read_test | lint-imports bats shunit2 runtests.py
checking.read_framework | manage.py django-admin artisan rails
scripts.read_* | bash
scripts.read_interpreter | python node ruby php lua Rscript osascript tsx ts-node
remote.read_* | curl wget docker
remote.read_http | http https xh
remote.read_ssh | ssh scp sftp
remote.read_database | psql mysql mariadb redis-cli mongosh mongo sqlite3 duckdb
remote.read_database_tool | dropdb createdb mysqladmin
remote.read_client | ping dig nslookup nc telnet ftp
"""
READERS = {
    name: reader.replace("*", name)
    for reader, names in (line.split(" | ") for line in _TABLE.strip().splitlines())
    for name in names.split()
}


def find_reader(name: str) -> Reader:
    """Return the reader of a program; one for programs that only read if it is not listed."""
    module, _, function = READERS.get(name, "reading.read_other").partition(".")
    reader: Reader = getattr(import_module(f"{__name__}.{module}"), function)
    return reader
