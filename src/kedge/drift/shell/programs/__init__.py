"""Readers of programs: what the words of a call say it does. Each is loaded when needed."""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.shell.call import Reader

_MODULES = {
    name: module
    for module, names in {
        "builtins": "cd pushd popd echo printf pwd export declare local readonly typeset read "
        "mapfile readarray set shift eval source . trap test [ [[ : true false exit return break "
        "continue unset alias unalias ulimit umask wait jobs bg fg disown hash type dirs shopt "
        "getopts let exit logout times",
        "files": "rm unlink shred rmdir mv cp install mkdir touch truncate ln link rsync chmod "
        "chown chgrp trash trash-put del rename tar bsdtar unzip gunzip gzip bzip2 xz zstd zip "
        "7z split csplit mktemp mkfifo",
        "editing": "sed perl awk tee dd patch apply_patch sponge ed ex vi nano emacs yq sort "
        "uniq base64 xxd",
        "finding": "find xargs fd parallel",
        "git": "git",
        "hosting": "gh glab hub twine kubectl helm terraform tofu pulumi vercel netlify fly "
        "flyctl wrangler firebase heroku aws gcloud gsutil az serverless sls ansible-playbook "
        "railway render cdk sam eb",
        "packages": "pip pip-compile pip-sync uv poetry pipenv pdm rye conda pixi npm pnpm yarn "
        "bun gem bundle composer apt apk yum pacman brew pipx easy_install snap choco winget nix "
        "nix-env port mise asdf rustup",
        "building": "cargo go dotnet mix make just task rake mvn mvnw gradle gradlew deno swift "
        "cmake ninja gcc g++ clang clang++ cc rustc tsc javac bazel sbt npm-run-all turbo nx "
        "invoke inv nox tox pre-commit prek hatch zig flutter dart",
        "checking": "ruff black isort autopep8 yapf autoflake pyupgrade docformatter prettier "
        "eslint stylelint biome gofmt goimports gofumpt golangci-lint rustfmt clang-format shfmt "
        "rubocop standardrb php-cs-fixer phpcbf pint swiftformat ktlint stylua taplo dprint "
        "markdownlint markdownlint-cli2 sqlfluff djlint codespell buf oxlint xo standard "
        "pytest py.test jest vitest mocha ava rspec phpunit pest ctest karma playwright cypress "
        "unittest nose2 flake8 pylint mypy pyright basedpyright ty pyrefly shellcheck hadolint "
        "yamllint actionlint staticcheck vue-tsc svelte-check phpstan psalm stestr trial "
        "gotestsum detekt swiftlint clang-tidy bandit semgrep vulture lint-imports tap "
        "bats shunit2 runtests.py manage.py artisan rails",
        "scripts": "python node ruby bash php tsx ts-node osascript Rscript lua",
        "remote": "curl wget http https xh ssh scp sftp docker ping dig nslookup nc telnet ftp "
        "psql mysql redis-cli mongosh sqlite3 open xdg-open",
    }.items()
    for name in names.split()
}


def find_reader(name: str) -> Reader:
    """Return the reader of a program; one that only records the run if the program is unknown."""
    module = _MODULES.get(name)
    if module is None:
        from kedge.drift.shell.programs.reading import READERS, read_unknown

        return READERS.get(name, read_unknown)
    return _load_readers(module)[name]


@cache
def _load_readers(module: str) -> dict[str, Reader]:
    from importlib import import_module

    found: dict[str, Reader] = import_module(f"{__name__}.{module}").READERS
    return found
