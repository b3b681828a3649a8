"""A small repository with two subjects that have nothing in common: tokens and charts."""

from __future__ import annotations

from pathlib import Path

from support import git

GOAL = "Fix the JWT verification bug: tokens whose exp claim has passed must be rejected"
FILES = {
    "README.md": "# Portal\n\nSign in, and look at charts.\n",
    "src/app.py": "from auth.token import verify_token\nfrom charts.bar import BarChart\n",
    "src/auth/token.py": (
        "def verify_token(token: str) -> dict:\n    claim = decode_jwt(token)\n    return claim\n"
    ),
    "src/auth/claims.py": "class Claims:\n    exp: int\n\ndef has_passed(exp: int): pass\n",
    "src/auth/login.py": (
        "from auth.token import verify_token\n\ndef login(name): return verify_token(name)\n"
    ),
    "src/charts/bar.py": "class BarChart:\n    def draw_axis(self, ticks): pass\n",
    "src/charts/pie.py": "from charts.bar import BarChart\n\nclass PieChart(BarChart): pass\n",
    "src/charts/svg/path.py": "def arc(radius, sweep): return radius\n",
    "src/web/theme.css": ".page { color: navy; }\n",
    "tests/test_token.py": "from auth.token import verify_token\n\ndef test_exp(): pass\n",
}
RULES = ("acr", "amr", "audience", "azp", "issuer", "jti", "key", "kid", "nonce", "scope")
FILES |= {  # so that there are more files about tokens than the map has leaders
    f"src/auth/rules/{name}.py": f"def check_{name}(token, claim): return token.{name}\n"
    for name in RULES
}
COMMITS = (
    ("auth: verify tokens", ["src/auth/token.py", "src/auth/claims.py"]),
    ("charts: draw the axis", ["src/charts/bar.py", "src/charts/pie.py"]),
    ("auth: log in with a token", ["src/auth/login.py", "src/auth/token.py"]),
    *[("app: paint", ["src/app.py"])] * 8,
)


def fill(repo: Path) -> Path:
    """Commit each file on its own, and change some of them together."""
    for name, text in FILES.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
        _commit(repo, "portal")
    for number, (subject, names) in enumerate(COMMITS):
        for name in names:
            (repo / name).write_text(f"{FILES[name]}\n# {number}\n")
        _commit(repo, subject)
    return repo


def _commit(repo: Path, subject: str) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", subject)
