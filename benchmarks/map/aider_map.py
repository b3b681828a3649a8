"""aider's map of a repository for several texts, run by Python of an environment that has aider.

    python aider_map.py DIRECTORY

The directory has a file `order` with the root, the file names, the queries and the budget; the
result is written to a file `maps` beside it. Tokens are counted as aider does for an OpenAI model:
with tiktoken and o200k_base, whose vocabulary comes with litellm.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

found = importlib.util.find_spec("litellm")
litellm = ((found and found.submodule_search_locations) or [""])[0]
for place in ("litellm_core_utils/tokenizers", "llms/tokenizers"):
    if Path(litellm, place).is_dir():
        os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(litellm, place))
        break

import tiktoken  # type: ignore[import-not-found]  # noqa: E402
from aider.repomap import RepoMap  # type: ignore[import-not-found]  # noqa: E402


class Model:
    encoding = tiktoken.get_encoding("o200k_base")

    def token_count(self, text: str) -> int:
        return len(self.encoding.encode(text, disallowed_special=()))


class Io:
    def tool_output(self, *_args: object, **_more: object) -> None:
        pass

    tool_warning = tool_error = tool_output

    def read_text(self, name: str) -> str:
        try:
            return Path(name).read_text(errors="replace")
        except OSError:
            return ""


def main() -> None:
    place = Path(sys.argv[1])
    order = json.loads((place / "order").read_text(encoding="utf-8"))
    root = order["root"]
    names = [str(Path(root, name)) for name in order["names"]]
    made = RepoMap(
        map_tokens=order["budget"], root=root, main_model=Model(), io=Io(), map_mul_no_files=1
    )
    maps = []
    for asked in order["asked"]:
        paths, words = set(asked["paths"]), set(asked["words"])
        found = made.get_ranked_tags_map_uncached([], names, order["budget"], paths, words)
        maps.append(found or "")
    (place / "maps").write_text(json.dumps(maps), encoding="utf-8")


if __name__ == "__main__":
    main()
