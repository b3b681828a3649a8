"""The dependency graph: files joined by names that one defines and another uses, and by imports.

Edges are computed for single files on demand; only a map without a text needs all of them. Weights
are integers (thousandths), so that the order of additions does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kedge.repomap.index import COUNT, DEFINED, IMPORTED, MOST_DEFINERS, Index

MOST_EDGES = 24  # per file: the strongest
_IMPORT = 3000
_WEIGHED = COUNT | IMPORTED


def _weigh(byte: int) -> int:
    """The weight of a name with this byte, if a single file defines it."""
    if byte & IMPORTED:
        return _IMPORT
    return int(1000 * (1 + math.log(byte))) if byte else 0


_SHARES = [_weigh(byte) for byte in range(256)]
# By the number of files that define a name, and by the kind of its user: a test counts less.
_STRONG = [[], *([share // few for share in _SHARES] for few in range(1, MOST_DEFINERS + 1))]
_BACK = [(row, [share * 3 // 10 for share in row], row) for row in _STRONG]
_WIDEST = 100  # a name that more files use says little about each
_DAMPING = 0.85
_ROUNDS = 8

LinkingNames = list[tuple[int, int]]  # names that a few files define, with their bytes


class Graph:
    """The edges between the files of an index, in both directions."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._known: dict[int, list[tuple[int, int]]] = {}
        self._users: dict[int, dict[int, int]] = {}

    def neighbours(self, node: int) -> list[tuple[int, int]]:
        """The strongest edges of a file in either direction, as (other, weight)."""
        if node not in self._known:
            names = self._index.linking_names(node)
            found = self._weigh_dependencies(node, names)
            for other, weight in self._weigh_dependents(node, names).items():
                found[other] = found.get(other, 0) + weight
            self._known[node] = self._cut(found)
        return self._known[node]

    def dependencies(self, node: int) -> list[tuple[int, int]]:
        """The files that this one uses."""
        return self._cut(self._weigh_dependencies(node, self._index.linking_names(node)))

    def dependents(self, node: int) -> list[tuple[int, int]]:
        """The files that use this one."""
        return self._cut(self._weigh_dependents(node, self._index.linking_names(node)))

    def _weigh_dependencies(self, node: int, names: LinkingNames) -> dict[int, int]:
        found: dict[int, int] = {}
        definers = self._index.definers
        for name, byte in names:
            defined_in = definers(name)
            if share := _STRONG[len(defined_in)][byte & _WEIGHED]:
                for other in defined_in:
                    found[other] = found.get(other, 0) + share
        found.pop(node, None)
        return found

    def _weigh_dependents(self, node: int, names: LinkingNames) -> dict[int, int]:
        if node in self._users:
            return self._users[node]
        index, kinds = self._index, self._index.kinds
        found: dict[int, int] = {}
        for name, byte in names:
            if byte & DEFINED and len(posts := index.posts(name)) <= _WIDEST:
                back = _BACK[len(index.definers(name))]
                for post in posts:
                    other = post >> 8
                    if share := back[kinds[other]][post & _WEIGHED]:
                        found[other] = found.get(other, 0) + share
        found.pop(node, None)
        self._users[node] = found
        return found

    def _cut(self, edges: Mapping[int, int]) -> list[tuple[int, int]]:
        paths = self._index.paths
        strong = list(edges.items())
        if len(strong) > MOST_EDGES:
            least = sorted(edges.values(), reverse=True)[MOST_EDGES - 1]
            strong = [edge for edge in strong if edge[1] >= least]
        return sorted(strong, key=lambda edge: (-edge[1], paths[edge[0]]))[:MOST_EDGES]

    def near(self, seeds: Mapping[int, float], rounds: int, width: int) -> dict[int, float]:
        """Spread weight from the seeds to their neighbours (truncated personalised PageRank)."""
        paths = self._index.paths
        found: dict[int, float] = {}
        now = dict(seeds)
        for _ in range(rounds):
            after: dict[int, float] = {}
            for node in sorted(now, key=lambda node: (-now[node], paths[node] or ""))[:width]:
                edges = self.neighbours(node)
                total = sum(weight for _, weight in edges)
                for other, weight in edges:
                    after[other] = after.get(other, 0.0) + now[node] * weight / total
            for node, mass in after.items():
                found[node] = found.get(node, 0.0) + mass
            now = {node: 0.6 * mass for node, mass in after.items()}
        return found

    def rank(self) -> dict[int, float]:
        """PageRank of all files."""
        live = self._index.live
        if not live:
            return {}
        self._fill(live)
        rows = [
            (node, edges, sum(weight for _, weight in edges))
            for node in live
            if (edges := self._known[node])
        ]
        size, least = len(self._index.paths), (1 - _DAMPING) / len(live)
        now = [1 / len(live)] * size
        for _ in range(_ROUNDS):
            after = [least] * size
            for node, edges, total in rows:
                share = _DAMPING * now[node] / total
                for other, weight in edges:
                    after[other] += share * weight
            now = after
        return {node: now[node] for node in live}

    def _fill(self, live: list[int]) -> None:
        """Compute the edges of all files in one pass over the defined names."""
        index, kinds = self._index, self._index.kinds
        both: dict[int, dict[int, int]] = {node: {} for node in live}
        for name in index.all_linking_names():
            posts = index.posts(name)
            if len(posts) == 1:  # nobody uses it
                continue
            definers = index.definers(name)
            shares, wide = _BACK[len(definers)], len(posts) > _WIDEST
            for post in posts:
                user, byte = post >> 8, post & _WEIGHED
                if share := shares[0][byte]:
                    out, back = both[user], shares[kinds[user]][byte]
                    for other in definers:
                        if other != user:
                            out[other] = out.get(other, 0) + share
                            if not wide:
                                into = both[other]
                                into[user] = into.get(user, 0) + back
        self._known = {node: self._cut(edges) for node, edges in both.items()}
