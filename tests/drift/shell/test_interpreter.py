"""What a shell command does, read as a shell reads it: files, git, packages, network, code."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import in_time

from kedge.drift.actions import Change, Effects, normalise
from kedge.drift.shell.effects import CheckCall, EffectsBuilder, Install, VcsCommand
from kedge.drift.shell.expand import expand_words
from kedge.drift.shell.interpreter import Interpreter
from kedge.drift.shell.parse import MOST_CHARACTERS, parse
from kedge.drift.shell.paths import ProjectPaths
from kedge.drift.shell.programs import READERS, find_reader
from kedge.drift.shell.syntax import Simple
from kedge.drift.shell.values import ShellState, Value

ROOT = "/home/dev/project"


def effects(command: str, cwd: str = ROOT) -> Effects:
    return normalise("Bash", {"command": command}, root=ROOT, cwd=cwd).effects


def vcs(verb: str, *args: str, destroys: bool = False, out: bool = False) -> tuple[VcsCommand, ...]:
    return (VcsCommand(verb, args, destroys, out),)


def adds(manager: str, *packages: str, dev: bool = False, removes: bool = False) -> Any:
    return (Install(manager, packages, dev, removes),)


def paths(command: str, **expected: Any) -> Any:
    return pytest.param(command, expected, id=command[:60])


def pattern(**expected: str) -> dict[str, tuple[str, ...]]:
    """Effects on paths that are patterns."""
    found = {kind: tuple(text.split()) for kind, text in expected.items()}
    every = dict.fromkeys(path for each in found.values() for path in each)
    return {**found, "patterns": tuple(every)}


def out(**expected: str) -> dict[str, tuple[str, ...]]:
    """Effects on paths that are out of the root."""
    found = {kind: tuple(text.split()) for kind, text in expected.items()}
    every = dict.fromkeys(path for each in found.values() for path in each)
    return {**found, "outside": tuple(every)}


# Every effect of the command is here: what is not named must be empty.
READING = [
    paths("ls"),
    paths("ls -la src", read=("src",)),
    paths("cat README.md", read=("README.md",)),
    paths("cat ./src/../README.md", read=("README.md",)),
    paths(f"cat {ROOT}/a.py", read=("a.py",)),
    paths("head -n 5 a.py b.py", read=("a.py", "b.py")),
    paths("tail -5 log.txt | grep -i error", read=("log.txt",)),
    paths("wc -l < a.txt", read=("a.txt",)),
    paths("grep -rn 'rm -rf' src tests", read=("src", "tests")),
    paths("grep -n foo a.py 2>/dev/null | head -3", read=("a.py",)),
    paths("rg -n 'a|b' src", read=("src",)),
    paths("rg TODO -g '*.py'"),
    paths("sed -n '1,40p' src/a.py", read=("src/a.py",)),
    paths("awk -F: '{print $1 > 2}' names.txt", read=("names.txt",)),
    paths("jq '.scripts' package.json", read=("package.json",)),
    paths("echo hello"),
    paths("echo 'rm -rf /' # rm a"),
    paths("printf '%s\\n' rm mv"),
    paths("test -f a && echo yes || echo no"),
    paths("[ -d src ] && [[ -f a && ( b < c ) ]]"),
    paths("which python3; type git; command -v node"),
    paths("find . -name '*.py' -not -path './x/*'", read=(".",)),
    paths("diff <(sort a) <(sort b)", read=("a", "b")),
    paths("git status --short"),
    paths("git log --oneline -5 && git diff HEAD~1"),
    paths("git show HEAD:src/a.py | head -20"),
    paths("git branch --show-current; git branch -a; git branch --list 'x/*'"),
    paths("git stash list; git tag -l; git remote -v; git config --get user.name"),
    paths("git diff -- a.py", read=("a.py",)),
    paths("sleep 2; true; :"),
    paths("date +%s; whoami; uname -a; ps aux | grep node"),
    paths("if [ -f a ]; then echo b; fi"),
    paths("for i in 1 2 3; do echo $i; done"),
    paths("while read -r l; do echo $l; done < list.txt", read=("list.txt",)),
    paths("cat <<'EOF'\nrm -rf /\nEOF"),
    paths('x=$(cat a.txt); echo "$x"', read=("a.txt",)),
    paths("npm ls; npm view react version; pip list; pip show x; uv tree; cargo --version"),
    paths("bash -n script.sh", read=("script.sh",)),
    paths("sort a.txt | uniq -c | sort -rn | head", read=("a.txt",)),
    paths("tree -L 2 src", read=("src",)),
    paths("python --version && node -v"),
    paths("python3 -m json.tool < a.json", read=("a.json",)),
    paths("file $(which ls)"),
    paths("tar tzf a.tgz", read=("a.tgz",)),
    paths("unzip -l a.zip", read=("a.zip",)),
]
WRITING = [
    paths("echo a > x.txt", written=("x.txt",)),
    paths("echo a >> x.txt", written=("x.txt",)),
    paths("echo a >| x.txt", written=("x.txt",)),
    paths("echo a 1>x.txt 2>y.txt", written=("x.txt", "y.txt")),
    paths("make_it 2> err.log", written=("err.log",), runs=("make_it",)),
    paths("ls &> all.log", written=("all.log",)),
    paths("ls &>> all.log", written=("all.log",)),
    paths("ls > all.log 2>&1", written=("all.log",)),
    paths("ls >& all.log", written=("all.log",)),
    paths("> empty.txt", written=("empty.txt",)),
    paths(": > empty.txt", written=("empty.txt",)),
    paths("ls > /dev/null 2>&1"),
    paths("cat > a.py << 'EOF'\nx = '> b'\nEOF", written=("a.py",)),
    paths("cat <<EOF > a.py\nx\nEOF\nrm b.py", written=("a.py",), deleted=("b.py",)),
    paths("cat <<-EOF >> a\n\tx\n\tEOF\ntouch b", written=("a", "b")),
    paths("cat <<A <<B > c\n1\nA\n2\nB", written=("c",)),
    paths("tee a.txt <<< hello", written=("a.txt",)),
    paths("echo hi | tee -a a.txt b.txt > /dev/null", written=("a.txt", "b.txt")),
    paths("echo hi | sudo tee /etc/hosts", **out(written="/etc/hosts")),
    paths("dd if=a of=b bs=1", read=("a",), written=("b",)),
    paths("sed -i 's/a/b/' f.py", written=("f.py",)),
    paths("sed -i '' 's/a/b/' f.py", written=("f.py",)),
    paths("sed -i '' -e 's/a/b/' f.py g.py", written=("f.py", "g.py")),
    paths("sed -i.bak 's/a/b/' f.py", written=("f.py", "f.py.bak")),
    paths("sed -i .bak 's/a/b/' f.py", written=("f.py", "f.py.bak")),
    paths("sed --in-place=.orig -e 's/a/b/' f.py", written=("f.py", "f.py.orig")),
    paths("sed -Ei 's/(a)/b/g' f.py", written=("f.py",)),
    paths("sed -i -E -e 's/a/b/' -e '/x/d' f.py", written=("f.py",)),
    paths("sed -e 's/a/b/' f.py > g.py", read=("f.py",), written=("g.py",)),
    paths("sed -i '3d' src/*.py", **pattern(written="src/*.py")),
    paths("perl -pi -e 's/a/b/' f.py", written=("f.py",)),
    paths("perl -i.bak -pe 's/a/b/' f.py", written=("f.py", "f.py.bak")),
    paths("perl -0777 -i -pe 's/a/b/' f.py", written=("f.py",)),
    paths("perl -ne 'print if /x/' f.py", read=("f.py",)),
    paths("awk -i inplace '{print}' f.txt", written=("f.txt",)),
    paths("awk '{print > \"o.txt\"}' f.txt", read=("f.txt",), written=("o.txt",)),
    paths("yq -i '.a = 1' c.yaml", written=("c.yaml",)),
    paths("sort -o a.txt a.txt", read=("a.txt",), written=("a.txt",)),
    paths("touch a b/c", written=("a", "b/c")),
    paths("truncate -s 0 a.log", written=("a.log",)),
    paths("mkdir -p src/new docs", directories=("src/new", "docs")),
    paths("ln -s a b", written=("b",)),
    paths("ln -sf ../x/y", written=("y",)),
    paths("cp a b", read=("a",), written=("b",)),
    paths("cp a b dir/", read=("a", "b"), written=("dir/a", "dir/b")),
    paths("cp -t dir a", read=("a",), written=("dir/a",)),
    paths("cp -r src /tmp/x", read=("src",), written=("/tmp/x",), outside=("/tmp/x",)),
    paths("install -m 755 a bin/a", read=("a",), written=("bin/a",)),
    paths("rsync -a src/ dst/", read=("src",), **pattern(written="dst/**")),
    paths("rsync -an src/ dst/"),
    paths("chmod +x run.sh", written=("run.sh",), made_executable=("run.sh",)),
    paths("chmod 755 a && chmod 644 b", written=("a", "b"), made_executable=("a",)),
    paths("chmod u+x,g-w a", written=("a",), made_executable=("a",)),
    paths("chmod -x a", written=("a",)),
    paths("chown -R me:me src", written=("src",)),
    paths("tar xzf a.tgz -C vendor", read=("a.tgz",), **pattern(written="vendor/**")),
    paths("tar -czf out.tgz src", read=("src",), written=("out.tgz",)),
    paths("unzip -o a.zip -d lib", read=("a.zip",), **pattern(written="lib/**")),
    paths("zip -r a.zip src", read=("src",), written=("a.zip",)),
    paths("gzip big.log", read=("big.log",), written=("big.log.gz",), deleted=("big.log",)),
    paths("split -l 10 a.txt part_", read=("a.txt",), **pattern(written="part_*")),
    paths("patch -p1 <<'E'\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\nE", written=("x.py",)),
    paths("go build -o bin/app ./cmd", written=("bin/app",), runs=("go build",)),
    paths("gcc -O2 -o app main.c -lm", read=("main.c",), written=("app",)),
    paths("git diff > /tmp/d.patch", **out(written="/tmp/d.patch")),
]
REMOVING = [
    paths("rm a", deleted=("a",)),
    paths("rm -rf build dist", deleted=("build", "dist")),
    paths("rm -- -weird", deleted=("-weird",)),
    paths("rm 'a b' \"c d\" e\\ f", deleted=("a b", "c d", "e f")),
    paths("rm $'t\\tab' $'\\x41'", deleted=("t\tab", "A")),
    paths("rm *.pyc", **pattern(deleted="*.pyc")),
    paths("rm '*.pyc'", deleted=("*.pyc",)),
    paths("rm -f src/[ab]?.o", **pattern(deleted="src/[ab]?.o")),
    paths("rm src/{a,b}.py", deleted=("src/a.py", "src/b.py")),
    paths("rm {1..3}.log", deleted=("1.log", "2.log", "3.log")),
    paths("rm {a,b{1,2}}", deleted=("a", "b1", "b2")),
    paths("rm \"x\"{1,2}'y'", deleted=("x1y", "x2y")),
    paths("\\rm -f a; /bin/rm b; command rm c", deleted=("a", "b", "c")),
    paths("rm ~/x", **out(deleted="~/x")),
    paths("rm ~/project/x", deleted=("x",)),
    paths("rm \"$HOME/x\"", **out(deleted="~/x")),
    paths("rm /etc/x ../y", **out(deleted="/etc/x /home/dev/y")),
    paths("rm .", deleted=(".",)),
    paths("rmdir old", deleted=("old",)),
    paths("unlink a", deleted=("a",)),
    paths("find . -name '*.pyc' -delete", **pattern(deleted="**/*.pyc")),
    paths("find src tests -name x.tmp -delete", **pattern(deleted="src/**/x.tmp tests/**/x.tmp")),
    paths("find . -type d -name build -exec rm -rf {} +", **pattern(deleted="**/build")),
    paths("find . -maxdepth 1 -name '*.log' -exec rm {} \\;", **pattern(deleted="*.log")),
    paths("find a -type f | xargs rm", read=("a",), **pattern(deleted="a/**")),
    paths("find a -print0 | xargs -0 rm -f", read=("a",), **pattern(deleted="a/**")),
    paths("fd -e pyc -x rm", **pattern(deleted="**/*.pyc")),
    paths("ls *.tmp | xargs rm", read=("*.tmp",), patterns=("*.tmp",), deleted=("*.tmp",)),
    paths("echo a b | xargs rm", deleted=("a", "b")),
    paths("echo a b | xargs -I{} rm d/{}", deleted=("d/a", "d/b")),
    paths("printf '%s\\n' a b | xargs -n1 rm", deleted=("a", "b")),
    paths("cat <<E | xargs rm\na\nb\nE", deleted=("a", "b")),
    paths("git rm -r old", deleted=("old",), vcs=vcs("rm", "-r", "old")),
    paths("git rm --cached a", vcs=vcs("rm", "--cached", "a")),
    paths("git clean -fd src", deleted=("src",), vcs=vcs("clean", "-fd", "src", destroys=True)),
    paths("mv a b", moved=(("a", "b"),)),
    paths("mv a b dir/", moved=(("a", "dir/a"), ("b", "dir/b"))),
    paths("mv -t dir a", moved=(("a", "dir/a"),)),
    paths("mv a ..", moved=(("a", "/home/dev/a"),), outside=("/home/dev/a",)),
    paths("mkdir d && mv a d", directories=("d",), moved=(("a", "d/a"),)),
    paths("git mv a.py b.py", moved=(("a.py", "b.py"),), vcs=vcs("mv", "a.py", "b.py")),
    paths("for f in a b; do mv $f.js $f.ts; done", moved=(("a.js", "a.ts"), ("b.js", "b.ts"))),
    paths('for f in *.js; do mv "$f" "${f%.js}.ts"; done', moved=(("*.js", "*.ts"),),
          patterns=("*.js", "*.ts")),
    paths("rsync -a --delete src/ dst/", read=("src",),
          **pattern(written="dst/**", deleted="dst/**")),
]  # fmt: skip
STRUCTURE = [
    paths("cd src && rm a", deleted=("src/a",)),
    paths("cd src; cd ..; rm a", deleted=("a",)),
    paths("cd src && cd - && rm a", deleted=("a",)),
    paths("(cd src && rm a); rm b", deleted=("src/a", "b")),
    paths("cd src | cat; rm a", deleted=("a",)),
    paths("cd src & rm a", deleted=("a",)),
    paths("{ cd src; rm a; }; rm b", deleted=("src/a", "src/b")),
    paths("cd x || cd y; rm a", deleted=("x/a",)),
    paths("cd x || exit 1; rm a", deleted=("x/a",)),
    paths("pushd src; rm a; popd; rm b", deleted=("src/a", "b")),
    paths("cd /tmp && rm a", **out(deleted="/tmp/a")),
    paths("cd; rm a", **out(deleted="/home/dev/a")),
    paths('cd "$(git rev-parse --show-toplevel)/src" && rm a', deleted=("src/a",)),
    paths("cd $(dirname a/b) && rm c", deleted=("a/c",)),
    paths("rm $(pwd)/a \"$PWD/b\"", deleted=("a", "b")),
    paths("F=a.py; rm $F", deleted=("a.py",)),
    paths('F="a b"; rm $F; rm "$F"', deleted=("a", "b", "a b")),
    paths("A=(x y); rm \"${A[@]}\" ${A[1]}", deleted=("x", "y")),
    paths("export D=out; rm -r ${D}/x", deleted=("out/x",)),
    paths("D=${D:-build}; rm -r $D", deleted=("build",)),
    paths("f=a/b.txt; rm ${f##*/} ${f%/*} ${f%.*} ${f/b/c}",
          deleted=("b.txt", "a", "a/b", "a/c.txt")),
    paths("T=$(mktemp -d); touch $T/x", **out(written="/tmp/tmp.XXXX/x")),
    paths("if [ -f a ]; then rm a; elif x; then rm b; else rm c; fi",
          deleted=("a", "b", "c"), runs=("x",)),
    paths("while true; do rm a; done; until false; do rm b; done", deleted=("a", "b")),
    paths("for ((i=0;i<3;i++)); do rm a; done", deleted=("a",)),
    paths("case $1 in a|b) rm a;; (*) rm b ;; esac", deleted=("a", "b")),
    paths("f() { rm \"$1\"; }; f a; f b", deleted=("a", "b")),
    paths("function f { rm $1; }\nf a", deleted=("a",)),
    paths("f() { rm a; }"),
    paths("set -- a b; rm \"$@\"; rm $1", deleted=("a", "b")),
    paths("set -e\nset -o pipefail\nrm a", deleted=("a",)),
    paths("! rm a", deleted=("a",)),
    paths("time rm a", deleted=("a",)),
    paths("rm a & wait", deleted=("a",)),
    paths("rm a; # rm b\nrm c#d", deleted=("a", "c#d")),
    paths("rm \\\n  a \\\n  b", deleted=("a", "b")),
    paths("echo `rm a` \"$(rm b)\" $(echo $(rm c))", deleted=("a", "b", "c")),
    paths("echo \"${x:-$(rm a)}\"", deleted=("a",)),
    paths("cat > o <<EOF\n$(rm a) `rm b`\nEOF", written=("o",), deleted=("a", "b")),
    paths("cat > o <<'EOF'\n$(rm a) `rm b`\nEOF", written=("o",)),
    paths("cat > >(tee o) <<< x"),
    paths("echo \"a\nrm b\"; rm c", deleted=("c",)),
    paths("echo 'it'\"'\"'s'; rm a", deleted=("a",)),
    paths("git commit -m \"$(cat <<'EOF'\nfix: rm -rf > x\n\nIt's; done (really\nEOF\n)\" && rm a",
          deleted=("a",), vcs=vcs("commit", "-m", "fix: rm -rf > x\n\nIt's; done (really")),
    paths("((i++)); rm a$((1+2))", **pattern(deleted="a*")),
    paths("git ls-files '*.py' | while read -r f; do rm \"$f\"; done",
          read=("*.py",), **pattern(deleted="**/*.py")),
    paths("while read f; do rm $f; done < <(find d -name '*.o')", read=("d",),
          **pattern(deleted="d/**/*.o")),
    paths("while read f; do rm $f; done <<< 'a'", deleted=("a",)),
    paths("mapfile -t L < <(printf '%s\\n' a b); rm \"${L[@]}\"", deleted=("a", "b")),
    paths("trap 'rm -f t' EXIT; echo", deleted=("t",)),
    paths("sudo rm a; sudo -u x -E rm b", deleted=("a", "b")),
    paths("env -u B A=1 rm a; A=1 B=2 rm b", deleted=("a", "b")),
    paths("timeout 5 rm a; timeout -k 1 5s rm b", deleted=("a", "b")),
    paths("nice -n 5 rm a; nohup rm b &", deleted=("a", "b")),
    paths("bash -c 'rm a'; sh -lc \"rm b\"; bash -euo pipefail -c 'rm c'",
          deleted=("a", "b", "c")),
    paths("bash -c 'rm \"$1\"' _ a", deleted=("a",)),
    paths("bash <<'E'\nrm a\nE", deleted=("a",)),
    paths("echo 'rm a' | sh", deleted=("a",)),
    paths("eval 'rm a'; eval rm b", deleted=("a", "b")),
    paths("xargs rm <<< 'a b'", deleted=("a", "b")),
    paths("uv run rm a; poetry run rm b; npx rimraf c", deleted=("a", "b"), runs=("rimraf c",)),
    paths("make -C sub test", runs=("make test",),
          checks=(CheckCall(("make", "-C", "sub", "test")),)),
    paths("git -C sub rm a", deleted=("sub/a",), vcs=vcs("rm", "a")),
    paths("parallel rm ::: a b", deleted=("a", "b")),
    paths("grep -rl old src | xargs sed -i 's/old/new/'", read=("src",),
          **pattern(written="src/**")),
    paths("grep -rl old src --include='*.ts' | while read f; do sed -i 's/o/n/' $f; done",
          read=("src",), **pattern(written="src/**/*.ts")),
    paths("rg -l old | xargs perl -pi -e 's/a/b/'", **pattern(written="**")),
    paths("echo {} {a} a{b}c", ),
]  # fmt: skip
GIT = [
    paths("git add -A", vcs=vcs("add", "-A")),
    paths("git add a b", vcs=vcs("add", "a", "b")),
    paths("git commit -m 'x y'", vcs=vcs("commit", "-m", "x y")),
    paths("git commit --dry-run"),
    paths("git push", network=("origin",), vcs=vcs("push", out=True)),
    paths("git push -u up main", network=("up",), vcs=vcs("push", "-u", "up", "main", out=True)),
    paths("git push --force", network=("origin",),
          vcs=vcs("push", "--force", destroys=True, out=True)),
    paths("git push origin +main", network=("origin",),
          vcs=vcs("push", "origin", "+main", destroys=True, out=True)),
    paths("git push origin --delete x", network=("origin",),
          vcs=vcs("push", "origin", "--delete", "x", destroys=True, out=True)),
    paths("git push --force-with-lease", network=("origin",),
          vcs=vcs("push", "--force-with-lease", destroys=True, out=True)),
    paths("git push --dry-run", network=("origin",)),
    paths("git pull --rebase", network=("origin",), vcs=vcs("pull", "--rebase")),
    paths("git fetch origin main", network=("origin",), vcs=vcs("fetch", "origin", "main")),
    paths("git clone https://github.com/a/b.git", directories=("b",),
          network=("https://github.com/a/b.git",),
          vcs=vcs("clone", "https://github.com/a/b.git")),
    paths("git reset HEAD a", vcs=vcs("reset", "HEAD", "a")),
    paths("git reset --hard HEAD~1", vcs=vcs("reset", "--hard", "HEAD~1", destroys=True)),
    paths("git reset --soft HEAD~1", vcs=vcs("reset", "--soft", "HEAD~1")),
    paths("git checkout main", vcs=vcs("checkout", "main")),
    paths("git checkout -b feature/x.y", vcs=vcs("checkout", "-b", "feature/x.y")),
    paths("git checkout release/1.2", vcs=vcs("checkout", "release/1.2")),
    paths("git checkout -- .", written=(".",), vcs=vcs("checkout", "--", ".", destroys=True)),
    paths("git checkout .", written=(".",), vcs=vcs("checkout", ".", destroys=True)),
    paths("git checkout src/a.py", written=("src/a.py",),
          vcs=vcs("checkout", "src/a.py", destroys=True)),
    paths("git checkout HEAD -- a b", written=("a", "b"),
          vcs=vcs("checkout", "HEAD", "--", "a", "b", destroys=True)),
    paths("git checkout --ours a.go", written=("a.go",), vcs=vcs("checkout", "--ours", "a.go")),
    paths("git checkout -f", vcs=vcs("checkout", "-f", destroys=True)),
    paths("git switch -c x", vcs=vcs("switch", "-c", "x")),
    paths("git switch --discard-changes x",
          vcs=vcs("switch", "--discard-changes", "x", destroys=True)),
    paths("git restore a", written=("a",), vcs=vcs("restore", "a", destroys=True)),
    paths("git restore --staged a", vcs=vcs("restore", "--staged", "a")),
    paths("git clean -fdx", vcs=vcs("clean", "-fdx", destroys=True)),
    paths("git clean -n"),
    paths("git stash; git stash pop", vcs=vcs("stash") + vcs("stash", "pop"),
          unclear=("git: the files that stash pop changes are not read",), unread=True),
    paths("git stash drop", vcs=vcs("stash", "drop", destroys=True)),
    paths("git stash clear", vcs=vcs("stash", "clear", destroys=True)),
    paths("git branch new", vcs=vcs("branch", "new")),
    paths("git branch -d old", vcs=vcs("branch", "-d", "old")),
    paths("git branch -D old", vcs=vcs("branch", "-D", "old", destroys=True)),
    paths("git rebase main", vcs=vcs("rebase", "main", destroys=True)),
    paths("git rebase --continue", vcs=vcs("rebase", "--continue")),
    paths("git merge --no-ff x", vcs=vcs("merge", "--no-ff", "x")),
    paths("git cherry-pick abc", vcs=vcs("cherry-pick", "abc")),
    paths("git revert HEAD", vcs=vcs("revert", "HEAD")),
    paths("git tag v1 && git tag -d v0",
          vcs=vcs("tag", "v1") + vcs("tag", "-d", "v0", destroys=True)),
    paths("git am < x.patch", read=("x.patch",), vcs=vcs("am"),
          unclear=("git: the files that the patch changes are not read",), unread=True),
    paths("git apply <<'E'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nE", written=("x",),
          vcs=vcs("apply")),
    paths("git worktree add ../w main", directories=("/home/dev/w",), outside=("/home/dev/w",),
          vcs=vcs("worktree", "add", "../w", "main")),
    paths("git config user.name X", vcs=vcs("config", "user.name", "X")),
    paths("git filter-branch x", vcs=vcs("filter-branch", "x", destroys=True)),
    paths("git reflog expire --all", vcs=vcs("reflog", "expire", "--all", destroys=True)),
    paths("git -c core.hooksPath=/dev/null commit -m x",
          vcs=vcs("config", "core.hooksPath=/dev/null") + vcs("commit", "-m", "x")),
    paths("cd /tmp/r && git commit -m x", vcs=(VcsCommand("commit", ("-m", "x"), away=True),)),
    paths("gh pr view 1 --json title", network=("github.com",)),
    paths("gh pr create --fill", network=("github.com",),
          vcs=vcs("gh pr create", "--fill", out=True)),
    paths("gh issue close 3", network=("github.com",),
          vcs=vcs("gh issue close", "3", destroys=True, out=True)),
    paths("gh api repos/a/b/pulls", network=("github.com",)),
    paths("gh api repos/a/b/issues -f title=x", network=("github.com",),
          vcs=vcs("gh api POST", "repos/a/b/issues", out=True)),
    paths("gh api -X DELETE repos/a/b", network=("github.com",),
          vcs=vcs("gh api DELETE", "repos/a/b", destroys=True, out=True)),
    paths("npm publish", network=("registry",), vcs=vcs("npm publish", out=True)),
    paths("twine upload dist/*", read=("dist/*",), patterns=("dist/*",),
          network=("package registry",),
          vcs=vcs("twine upload", "dist/*", out=True)),
    paths("cargo publish --dry-run", network=("package registry",)),
    paths("docker push me/x", network=("registry",), vcs=vcs("docker push", "me/x", out=True)),
    paths("kubectl delete pod x", network=("kubectl",),
          vcs=vcs("kubectl delete pod", "x", destroys=True, out=True)),
    paths("kubectl get pods", network=("kubectl",)),
    paths("terraform plan", network=("terraform",)),
    paths("terraform apply -auto-approve", network=("terraform",),
          vcs=vcs("terraform apply", "-auto-approve", out=True)),
]  # fmt: skip
LOCKS = {"npm": ("package.json", "package-lock.json"), "uv": ("pyproject.toml", "uv.lock"),
         "poetry": ("pyproject.toml", "poetry.lock"), "cargo": ("Cargo.toml", "Cargo.lock"),
         "go": ("go.mod", "go.sum")}  # fmt: skip
PACKAGES = [
    paths("pip install requests", installs=adds("pip", "requests")),
    paths("pip3 install -U 'a>=1' b[x]", installs=adds("pip", "a>=1", "b[x]")),
    paths("python3 -m pip install a", installs=adds("pip", "a")),
    paths(".venv/bin/pip install -q a", installs=adds("pip", "a")),
    paths("pip install -r requirements.txt", read=("requirements.txt",), installs=adds("pip")),
    paths("pip install -e .", installs=adds("pip")),
    paths("pip install -e '.[dev]'", installs=adds("pip")),
    paths("pip install .", installs=adds("pip")),
    paths("pip uninstall -y a", installs=adds("pip", "a", removes=True)),
    paths("uv pip install a", installs=adds("uv", "a")),
    paths("uv add httpx", written=LOCKS["uv"], installs=adds("uv", "httpx")),
    paths("uv add --dev pytest", written=LOCKS["uv"], installs=adds("uv", "pytest", dev=True)),
    paths("uv remove httpx", written=LOCKS["uv"], installs=adds("uv", "httpx", removes=True)),
    paths("uv sync --all-extras", installs=adds("uv")),
    paths("uv lock", written=("uv.lock",)),
    paths("poetry add a b", written=LOCKS["poetry"], installs=adds("poetry", "a", "b")),
    paths("poetry add --group dev a", written=LOCKS["poetry"],
          installs=adds("poetry", "a", dev=True)),
    paths("poetry install", installs=adds("poetry")),
    paths("pipenv install a", written=("Pipfile", "Pipfile.lock"), installs=adds("pipenv", "a")),
    paths("conda install -c forge -n env numpy", installs=adds("conda", "numpy")),
    paths("npm install", installs=adds("npm")),
    paths("npm ci", installs=adds("npm")),
    paths("npm i lodash@4", written=LOCKS["npm"], installs=adds("npm", "lodash@4")),
    paths("npm install -D a @types/b", written=LOCKS["npm"],
          installs=adds("npm", "a", "@types/b", dev=True)),
    paths("npm install -g x", installs=adds("npm", "x")),
    paths("npm --prefix web install x", written=("web/package.json", "web/package-lock.json"),
          installs=adds("npm", "x")),
    paths("npm uninstall x", written=LOCKS["npm"], installs=adds("npm", "x", removes=True)),
    paths("pnpm add x", written=("package.json", "pnpm-lock.yaml"), installs=adds("pnpm", "x")),
    paths("pnpm install --frozen-lockfile", installs=adds("pnpm")),
    paths("yarn", installs=adds("yarn")),
    paths("yarn add -D x", written=("package.json", "yarn.lock"),
          installs=adds("yarn", "x", dev=True)),
    paths("bun add x", written=("package.json", "bun.lock"), installs=adds("bun", "x")),
    paths("cargo add serde --features derive", written=LOCKS["cargo"],
          installs=adds("cargo", "serde")),
    paths("cargo install ripgrep", installs=adds("cargo", "ripgrep")),
    paths("go get github.com/a/b@v1", written=LOCKS["go"],
          installs=adds("go", "github.com/a/b@v1")),
    paths("go install golang.org/x/t@latest", installs=adds("go", "golang.org/x/t@latest")),
    paths("go install ./..."),
    paths("go mod tidy", written=LOCKS["go"]),
    paths("gem install rails", installs=adds("gem", "rails")),
    paths("bundle add x", written=("Gemfile", "Gemfile.lock"), installs=adds("bundle", "x")),
    paths("bundle install", installs=adds("bundle")),
    paths("composer require a/b", written=("composer.json", "composer.lock"),
          installs=adds("composer", "a/b")),
    paths("sudo apt-get install -y jq curl", installs=adds("apt", "jq", "curl")),
    paths("apt-get update", installs=adds("apt")),
    paths("brew install jq", installs=adds("brew", "jq")),
    paths("dotnet add package X", installs=adds("dotnet", "X"), **pattern(written="*.csproj")),
    paths("dotnet add A.csproj package X", installs=adds("dotnet", "X"), written=("A.csproj",)),
    paths("pipx install black; uv tool install ruff",
          installs=adds("pipx", "black") + adds("uv", "ruff")),
]  # fmt: skip
PROGRAMS = [
    paths("pytest -q tests/a.py::test_b", read=("tests/a.py",),
          checks=(CheckCall(("pytest", "-q", "tests/a.py::test_b")),)),
    paths("python -m pytest", checks=(CheckCall(("pytest",)),)),
    paths("uv run pytest -x", checks=(CheckCall(("pytest", "-x")),)),
    paths("npx jest", checks=(CheckCall(("jest",)),)),
    paths("go test ./... -json -short -run X",
          checks=(CheckCall(("go", "test", "./...", "-json", "-short", "-run", "X")),)),
    paths("cargo test || true", checks=(CheckCall(("cargo", "test"), ignored=True),)),
    paths("cargo clippy", checks=(CheckCall(("cargo", "clippy")),)),
    paths("npm test", runs=("npm test",), checks=(CheckCall(("npm", "test")),)),
    paths("npm run lint -- --quiet", runs=("npm run lint",),
          checks=(CheckCall(("npm", "run", "lint", "--", "--quiet")),)),
    paths("npm run dev", runs=("npm run dev",)),
    paths("npm run format", runs=("npm run format",), unclear=("npm: format may rewrite files",)),
    paths("npm run format:check", runs=("npm run format:check",),
          checks=(CheckCall(("npm", "run", "format:check")),)),
    paths("make", runs=("make",)),
    paths("mypy src", read=("src",), checks=(CheckCall(("mypy", "src")),)),
    paths("ruff check src", read=("src",), checks=(CheckCall(("ruff", "check", "src")),)),
    paths("ruff check --fix src", **pattern(written="src/**/*.py")),
    paths("ruff --fix .", **pattern(written="**/*.py")),
    paths("ruff format", **pattern(written="**/*.py")),
    paths("ruff format --check", checks=(CheckCall(("ruff", "format", "--check")),)),
    paths("black a.py src", written=("a.py", "src/**/*.py"), patterns=("src/**/*.py",)),
    paths("black --check .", read=(".",), checks=(CheckCall(("black", "--check", ".")),)),
    paths("isort .", **pattern(written="**/*.py")),
    paths("npx prettier --write 'src/**/*.ts'", **pattern(written="src/**/*.ts")),
    paths("prettier --check .", read=(".",), checks=(CheckCall(("prettier", "--check", ".")),)),
    paths("npx eslint --fix src", **pattern(written="src/**")),
    paths("eslint src", read=("src",), checks=(CheckCall(("eslint", "src")),)),
    paths("gofmt -w .", **pattern(written="**/*.go")),
    paths("gofmt -l .", read=(".",), checks=(CheckCall(("gofmt", "-l", ".")),)),
    paths("gofmt -s -w a.go", written=("a.go",)),
    paths("cargo fmt", **pattern(written="**/*.rs")),
    paths("cargo fmt -- --check", checks=(CheckCall(("cargo", "fmt", "--", "--check")),)),
    paths("go fmt ./...", **pattern(written="**/*.go")),
    paths("golangci-lint run --fix", **pattern(written="**/*.go")),
    paths("curl -s https://a.b/c?k=1", network=("https://a.b/c",)),
    paths("curl -fsSLo x.sh https://u:p@a.b/x", network=("https://a.b/x",), written=("x.sh",)),
    paths("curl -O https://a.b/x.tgz", network=("https://a.b/x.tgz",), written=("x.tgz",)),
    paths("curl -X POST -d a=1 https://a.b", network=("https://a.b",),
          vcs=vcs("curl POST", "https://a.b", out=True)),
    paths("curl -d '{}' http://localhost:8000/x", network=("http://localhost:8000/x",)),
    paths("wget -q https://a.b/x.zip -P dl", network=("https://a.b/x.zip",),
          written=("dl/x.zip",)),
    paths("wget -O y https://a.b/x", network=("https://a.b/x",), written=("y",)),
    paths("curl -s https://a.b/i.sh | bash", network=("https://a.b/i.sh",), runs=("bash -",),
          unclear=("bash: the commands that it reads are not known",)),
    paths("ssh me@h 'rm -rf /'", network=("me@h",),
          unclear=("ssh: what runs on me@h is not read",), unread=True),
    paths("scp a h:/b", read=("a",), network=("h",), vcs=vcs("scp", "a", "h:/b", out=True)),
    paths("docker run -v $PWD:/w i rm -rf /w",
          unclear=("docker: what run does in the container is not read",), unread=True),
    paths("docker compose up -d", runs=("docker up",)),
    paths("docker compose down -v", vcs=vcs("docker down", "-v", destroys=True)),
    paths("psql -c 'DROP TABLE x'", vcs=vcs("psql drop", "TABLE", destroys=True)),
    paths("psql -c 'select 1'"),
    paths("./scripts/gen.sh --all", runs=("scripts/gen.sh",)),
    paths("bash scripts/x.sh", read=("scripts/x.sh",), runs=("scripts/x.sh",)),
    paths("python tools/x.py a", read=("tools/x.py",), runs=("tools/x.py",)),
    paths("source .venv/bin/activate && rm a", deleted=("a",)),
    paths("rm -rf \"$BUILD\"", unclear=("rm …: the path is not known",)),
    paths("rm -rf $OUT/x", unclear=("rm …/x: the path is not known",)),
    paths("cd $D && rm a", unclear=("rm a: the path is not known",)),
    paths("cd $D && rm /tmp/a", **out(deleted="/tmp/a")),
    paths("rm src/$N.py", **pattern(deleted="src/*.py")),
    paths("$CMD a", unclear=("…: a program that is not known",)),
    paths("cat list | xargs rm", read=("list",), unclear=("rm …: the path is not known",)),
    paths("patch -p1 < x.patch", read=("x.patch",),
          unclear=("patch: the files that the patch changes are not read",), unread=True),
    paths("apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n"
          "*** Update File: c\n*** Move to: d\n*** End Patch\nE",
          written=("a",), deleted=("b",), moved=(("c", "d"),)),
]  # fmt: skip
CODE = [
    paths("python -c \"open('a','w').write('x')\"", written=("a",)),
    paths("python -c \"print(open('a').read())\"", read=("a",)),
    paths("python3 -c 'print(1)'"),
    paths("python3 - <<'E'\nfrom pathlib import Path\np = Path('a.py')\n"
          "p.write_text(p.read_text().replace('x', 'y'))\nE", read=("a.py",), written=("a.py",)),
    paths("python3 <<'E'\nimport os\nos.remove('a')\nos.rename('b', 'c')\nE",
          deleted=("a",), moved=(("b", "c"),)),
    paths("python -c \"import shutil; shutil.rmtree('d'); shutil.copy('a','b')\"",
          read=("a",), written=("b",), deleted=("d",)),
    paths("python -c \"from pathlib import Path; (Path('d') / 'e').unlink()\"", deleted=("d/e",)),
    paths("python -c \"import json; json.dump({}, open('a.json', mode='w'))\"",
          written=("a.json",)),
    paths("python -c \"import os\nfor n in ['a', 'b']: os.remove(os.path.join('d', n))\"",
          deleted=("d/a", "d/b")),
    paths("python -c \"import sys, os; os.remove(sys.argv[1])\" x", deleted=("x",)),
    paths("python -c \"from pathlib import Path\nfor p in Path('s').rglob('*.pyc'): p.unlink()\"",
          **pattern(deleted="s/**/*.pyc")),
    paths("python -c \"open(f'log/{n}.txt', 'a')\"", **pattern(written="log/*.txt")),
    paths("python -c \"open(name, 'w')\"", unclear=("python …: the path is not known",)),
    paths("python -c \"# open('a','w')\nx = 'open(1)'\""),
    paths("python -c \"items.remove(3); d.get('k'); s.replace('a', 'b')\""),
    paths("python -c \"import subprocess; subprocess.run(['rm', '-f', 'a'])\"", deleted=("a",)),
    paths("python -c \"import os; os.system('rm a')\"", deleted=("a",)),
    paths("python -c \"eval(x)\"",
          unclear=("python: eval runs code that is not read",), unread=True),
    paths("node -e \"require('fs').writeFileSync('a.json', '{}')\"", written=("a.json",)),
    paths("node -e \"const p = 'a'; fs.unlinkSync(p) // fs.rmSync('b')\"", deleted=("a",)),
    paths("node -p \"require('./package.json').version\""),
    paths("ruby -e 'File.write(\"a\", \"x\"); FileUtils.rm_rf(\"b\")'", written=("a",),
          deleted=("b",)),
    paths("perl -e 'open(my $f, \">\", \"a\"); unlink(\"b\");'", written=("a",), deleted=("b",)),
    paths("php -r 'file_put_contents(\"a\", 1);'", written=("a",)),
]  # fmt: skip
TABLE = [*READING, *WRITING, *REMOVING, *STRUCTURE, *GIT, *PACKAGES, *PROGRAMS, *CODE]


def test_the_table_is_large() -> None:
    assert len(TABLE) >= 250


@pytest.mark.parametrize(("command", "expected"), TABLE)
def test_a_command_has_these_effects_and_no_others(command: str, expected: dict[str, Any]) -> None:
    found = {kind: value for kind, value in effects(command)._asdict().items() if value}
    found.pop("existing", None)  # see below, as the paths of `vcs`
    if "vcs" in found:
        found["vcs"] = tuple(act._replace(paths=()) for act in found["vcs"])
    assert found == expected


@pytest.mark.parametrize(
    ("command", "existing"),
    [
        ("sed -i s/a/b/ f", ("f",)),
        ("echo a >> f", ("f",)),
        ("echo a > f; echo b >> f; sed -i s/a/b/ f", ()),
        ("cat f; echo a > f", ("f",)),
        ("echo a > f; cat f", ()),
        ("rm f; echo a > f", ("f",)),
        ("rm -rf d; mkdir d", ("d",)),
        ("mkdir d; rm -rf d", ()),
        ("git checkout -- f", ("f",)),
        ("patch -p1 <<'E'\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\nE", ("f",)),
        ("patch -p1 <<'E'\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\nE", ()),
    ],
)
def test_paths_that_must_exist_before_a_command(command: str, existing: tuple[str, ...]) -> None:
    assert effects(command).existing == existing


@pytest.mark.parametrize(
    ("command", "paths_"),
    [
        ("git checkout -- a b", ("a", "b")),
        ("git checkout main -- a", ("a",)),
        ("git checkout main", ()),
        ("git restore .", (".",)),
        ("git clean -fd src", ("src",)),
        ("git worktree remove -f ../w", ("/home/dev/w",)),
        ("sqlite3 app.db 'drop table x'", ("app.db",)),
    ],
)
def test_what_an_act_discards(command: str, paths_: tuple[str, ...]) -> None:
    (act,) = effects(command).vcs
    assert act.paths == paths_


SCRIPTS = {
    "fix.py": "open('src/a.py', 'w').write('x')\n",
    "/tmp/fix.py": "import os\nos.remove('src/a.py')\n",
    "fix.sh": "#!/bin/sh\nrm -f $1\n",
    "run": "#!/usr/bin/env python3\nopen('src/a.py', 'w')\n",
    "/tmp/p.diff": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n",
    "/tmp/new.json": '{"a": 1}\n',
    "drop.sql": "DROP TABLE users;\n",
}


@pytest.mark.parametrize(
    ("command", "kind", "path"),
    [
        ("python fix.py", "written", "src/a.py"),
        ("python3 /tmp/fix.py", "deleted", "src/a.py"),
        ("bash fix.sh src/a.py", "deleted", "src/a.py"),
        ("./fix.sh src/a.py", "deleted", "src/a.py"),
        ("./run", "written", "src/a.py"),
        ("source fix.sh", "runs", "fix.sh"),
        ("git apply /tmp/p.diff", "written", "src/a.py"),
        ("git apply < /tmp/p.diff", "written", "src/a.py"),
        ("git am /tmp/p.diff", "written", "src/a.py"),
        ("patch -p1 < /tmp/p.diff", "written", "src/a.py"),
        ("patch -p1 -i /tmp/p.diff", "written", "src/a.py"),
        ("cp /tmp/p.diff q.diff && git apply q.diff", "written", "src/a.py"),
        ("cat > g.py <<'E'\nopen('src/a.py', 'w')\nE\npython g.py", "written", "src/a.py"),
    ],
)
def test_scripts_and_patches_of_the_session_are_read(command: str, kind: str, path: str) -> None:
    action = normalise("Bash", {"command": command}, root=ROOT, cwd=ROOT, texts=SCRIPTS)
    assert path in getattr(action.effects, kind)
    assert not action.effects.unread


@pytest.mark.parametrize(
    "command",
    ["git apply x.diff", "git am < x.mbox", "patch -p1 < x.diff", "git stash pop",
     "git stash apply"],
)  # fmt: skip
def test_patches_of_others_are_not_read(command: str) -> None:
    assert effects(command).unread


def test_a_copy_and_a_move_carry_the_text_along() -> None:
    for command in ("cp /tmp/new.json package.json", "mv /tmp/new.json package.json"):
        action = normalise("Bash", {"command": command}, root=ROOT, cwd=ROOT, texts=SCRIPTS)
        assert action.changes == (Change("package.json", '{"a": 1}\n', "", True),)


@pytest.mark.parametrize(("command", "expected"), READING)
def test_commands_that_read_are_reads(command: str, expected: dict[str, Any]) -> None:
    action = normalise("Bash", {"command": command}, root=ROOT, cwd=ROOT)
    assert action.kind == "read"


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("rm a", "delete"), ("mv a b", "move"), ("sed -i s/a/b/ f", "edit"),
        ("echo a > b", "write"), ("mkdir a", "write"), ("git add .", "vcs"),
        ("npm i x && git add .", "install"),
        ("curl https://a.b", "network"), ("pytest", "shell"), ("./run.sh", "shell"),
        ("rm $X", "shell"), ("ls | head", "read"), ("python x.py", "shell"), ("", "read"),
    ],
)  # fmt: skip
def test_the_kind_follows_the_weightiest_effect(command: str, kind: str) -> None:
    assert normalise("Bash", {"command": command}, root=ROOT, cwd=ROOT).kind == kind


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("cat > a <<'E'\nx\ny\nE", [("a", "x\ny\n", "", True)]),
        ("cat >> a <<E\n$HOME x\nE", [("a", "~ x\n", "", False)]),
        ("echo 'a b' > f", [("f", "a b\n", "", True)]),
        ("printf 'a\\nb' >> f", [("f", "a\nb", "", False)]),
        ("echo hi | tee -a f", [("f", "hi\n", "", False)]),
        ("sed -i 's/assert x/pass/' t.py", [("t.py", "pass", "assert x", False)]),
        ("sed -i 's|a\\|b|c|; /gone/d' f", [("f", "c", "a|b\ngone", False)]),
        ("python - <<'E'\ns = open('f').read().replace('old', 'new')\nopen('f', 'w').write(s)\nE",
         [("f", "new", "old", False)]),
        ("python - <<'E'\nwith open('f', 'w') as o:\n    o.write('text')\nE",
         [("f", "text", "", False)]),
        ("git apply <<'E'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nE", [("x", "b", "a", False)]),
    ],
)  # fmt: skip
def test_text_is_attributed_to_its_file(command: str, changes: list[Any]) -> None:
    action = normalise("Bash", {"command": command}, root=ROOT, cwd=ROOT)
    assert [tuple(change) for change in action.changes] == changes


def test_paths_are_relative_to_the_root_in_any_directory() -> None:
    assert effects("rm a ../b", cwd=f"{ROOT}/src").deleted == ("src/a", "b")
    assert effects("rm a", cwd="/tmp").outside == ("/tmp/a",)
    macos = normalise("Bash", {"command": "rm /private/tmp/p/a"}, root="/tmp/p", cwd="/tmp/p")
    assert macos.effects.deleted == ("a",)
    assert macos.effects.outside == ()


def test_syntax_errors_are_reported_and_the_rest_is_read() -> None:
    found = effects("rm a) ; rm 'b")
    assert found.deleted == ("a", "b")
    assert found.unclear == ("a ) that closes nothing", "no closing '")


def words(line: str, variables: dict[str, Value] | None = None) -> list[str]:
    parsed = parse(line)
    assert not parsed.problems
    (node,) = parsed.block.nodes
    assert isinstance(node, Simple)
    shell, state = Interpreter(EffectsBuilder(), ProjectPaths(ROOT)), ShellState(ROOT)
    state.variables.update({name: (value,) for name, value in (variables or {}).items()})
    expanded = [expand_words(word, state, shell.capture) for word in node.words]
    return [value.text for values in expanded for value in values]


LINES = [
    r"""a 'b c' "d e" f\ g "" '' a"b"'c'd""",
    r"""'it'\''s' "a\"b" "a\\b" "a\nb" 'a\nb' a\nb "\$x" '$x'""",
    r"""$'t\tab\'s \x41 \101 \u00e9' $"x" """,
    """{a,b}c x{1..3} {a,b{c,d}} {} {a} {3..1} "{a,b}" 'x'{1,2}"y" """,
    """p$X "p$X q" ${Y%.c} ${Y##*/} ${Y#d/} ${Y/e/f} ${U:-no} "${X}" $X$X""",
    """$(echo k l) "$(echo k  l)" `echo m` "`echo n`" $(echo "a)b") x$(echo y z)w""",
    "a#b #c d",
    "a=b =c -- ! ] % @ : / é",
    '"multi\nline" x\\\ny "a\\\nb"',
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash gives the answers")
@pytest.mark.parametrize("line", LINES)
def test_words_expand_as_in_bash(line: str) -> None:
    script = "X='p q'; Y=d/e.c; set -f; args() { printf '%s\\0' \"$@\"; }\nargs " + line
    ran = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    known = {"X": Value("p q"), "Y": Value("d/e.c")}
    assert words(f"args {line}", known)[1:] == ran.stdout.decode().split("\0")[:-1]


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
PIECES = """( ) { } $( ` ' " \\ ; & && | || < > >> << <<< <<- <<'E' E if then fi for in do done case
esac ;; while [[ ]] ! $x ${x ${x%.*} } $(( )) rm mv echo a b * ? [ ] ~ = x=1 # $' <( 2>&1 &> sed -i
-e s/a/b/ python -c open('a','w') bash eval find -exec {} + xargs git push cd .. -"""
SYNTAX = st.lists(st.sampled_from([*PIECES.split(), "\n"]), max_size=60).map(" ".join)


@given(st.lists(TEXT, min_size=1))
@example(["a", "", "it's", '"$x"', "*", "~", "{a,b}", "#", "\n", "a\tb", "-", "!", "=", "a=b"])
def test_quoted_words_survive_parsing(given_words: list[str]) -> None:
    assert words(shlex.join(["x", *given_words])) == ["x", *given_words]


@given(st.lists(TEXT.filter(lambda text: text not in ("", "-")), min_size=1, max_size=20))
def test_rm_deletes_its_arguments(names: list[str]) -> None:
    targets = [f"d/{name.replace('/', '_').replace('.', '_')}" for name in names]
    found = effects(shlex.join(["rm", "--", *targets]))
    assert found.deleted == tuple(dict.fromkeys(targets))
    assert not found.patterns


@settings(max_examples=300)
@given(st.one_of(TEXT, SYNTAX, st.binary().map(lambda data: data.decode("latin-1"))))
def test_no_command_raises_or_takes_long(command: str) -> None:
    with in_time(1):
        found = effects(command)
    assert all(isinstance(line, str) for line in found.unclear)


SIGNS = """( $( ` ${ ' " \\ { {a, < <<A > | & ; $(( (( a=( f(){ ~ * [ {a,b} $x $' # = rm$x; F=$F$F;
<( @( "$( ${a:- {1..9} é"""
HOSTILE = [
    *SIGNS.split(),
    "a ",
    "\n",
    "\\\n",
    "if ",
    "case a in ",
    "for x in a; do ",
    "[[ ",
    "eval ",
    "fi;",
]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("head", ["", "echo ", 'rm "', "python3 - <<'E'\n", "sed -i '"])
def test_a_megabyte_is_read_in_bounded_time(head: str, unit: str) -> None:
    command = head + unit * (MOST_CHARACTERS // len(unit))
    with in_time(3):
        effects(command)


@pytest.mark.parametrize(
    ("opens", "closes"),
    [("(", ")"), ("$(", ")"), ("{ ", ";}"), ("if a; then ", "; fi"), ('"$(', ')"'), ("${a:-", "}"),
     ("for x in a; do ", "; done"), ("f() {", ";}"), ("case a in a) ", ";; esac"), ("`", "`")],
)  # fmt: skip
def test_nesting_is_bounded_and_reported(opens: str, closes: str) -> None:
    found = effects("rm first; " + opens * 10_000 + "rm last" + closes * 10_000)
    assert found.deleted[0] == "first"
    assert found.unclear


@pytest.mark.parametrize("before", ["rm first; ", "rm first; fi; fi; fi; "])
def test_a_command_nested_too_deep_counts_as_unread(before: str) -> None:
    found = effects(before + "$(" * 10_000 + "rm last" + ")" * 10_000)
    assert found.unread
    assert any("the rest is not read" in why for why in found.unclear)


def test_the_rest_of_a_long_command_counts_as_unread() -> None:
    found = effects("rm a;" + " " * MOST_CHARACTERS + "rm b")
    assert found.deleted == ("a",)
    assert found.unread
    assert found.unclear == (f"only the first {MOST_CHARACTERS} characters are read",)


def test_loops_and_calls_have_a_bound() -> None:
    endless = effects("f() { f; }; f; rm a")
    assert endless.unread
    many = effects("for i in {1..90}; do for j in {1..90}; do rm $i/$j; done; done")
    assert many.unread
    assert "a loop over 90 words: not all are read" in many.unclear
    assert len(many.deleted) <= 200


def test_each_effect_is_recorded_once() -> None:
    builder = EffectsBuilder()
    for _ in range(3):
        builder.add("written", "a")
    assert builder.build() == Effects(written=("a",))


def test_every_listed_program_has_a_reader() -> None:
    assert all(callable(find_reader(name)) for name in READERS)
