"""Changed files that are not in the scope that a task declares."""

from __future__ import annotations

from kedge.drift.charter import find_names
from kedge.drift.evidence.distance import find_key, is_companion, is_near
from kedge.drift.limits.paths import covers, is_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kedge.drift.charter import Charter
    from kedge.drift.evidence.distance import CodeMap

_GOES_ALONG, _NEAR, _OUTSIDE = 1, 3, 5  # points


def find_outside(
    charter: Charter, files: Sequence[str], code_map: CodeMap | None
) -> Iterator[tuple[str, int]]:
    """Yield the files outside the declared scope with the points that they cost.

    Documents and the tests of declared files go along with them. A neighbour on the map costs a
    nudge: a change often has to be finished there, and whoever declared the scope wants to know.
    A file that the user's own messages name is in scope.
    """
    keys = {find_key(each) for each in charter.scope}
    for path in files:
        if any(covers(subject, path) for subject in charter.scope):
            continue
        asked = (name for text in charter.prompts for name in find_names(text))
        if any(is_path(name) and covers(name, path) for name in asked):
            continue
        if is_companion(path) or is_near(path, keys, None):
            yield path, _GOES_ALONG
        else:
            yield path, _NEAR if is_near(path, keys, code_map) else _OUTSIDE
