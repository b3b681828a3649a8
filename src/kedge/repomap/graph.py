"""Who uses whom: files joined by the names that one defines and the other uses, and by imports.

Around a few files the edges are worked out when they are asked for; only a map without a text
needs them all. Weights are whole thousandths, so that no order of adding them matters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kedge.repomap.index import COUNT, DEFINED, IMPORTED, Index

MOST_EDGES = 24  # of a file: the strongest
_IMPORT = 3000
_WEIGHED = COUNT | IMPORTED
_SHARES = [0, *(int(1000 * (1 + math.log(count))) for count in range(1, 16))]
_SHARES += [_IMPORT] * (_WEIGHED + 1 - len(_SHARES))
_WIDEST = 100  # files that use a name: more are not told apart by it
_DAMPING = 0.85
_ROUNDS = 8


class Graph:
    """The edges between the files of an index, both ways."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._known: dict[int, list[tuple[int, int]]] = {}
        self._users: dict[int, dict[int, int]] = {}

    def neighbours(self, node: int) -> list[tuple[int, int]]:
        """The file's strongest edges as (other, weight)."""
        if node not in self._known:
            found = self._uses(node)
            for other, weight in self._used_by(node).items():
                found[other] = found.get(other, 0) + weight
            self._known[node] = self._cut(found)
        return self._known[node]

    def uses(self, node: int) -> list[tuple[int, int]]:
        """The files that this one uses."""
        return self._cut(self._uses(node))

    def used_by(self, node: int) -> list[tuple[int, int]]:
        """The files that use this one."""
        return self._cut(self._used_by(node))

    def _uses(self, node: int) -> dict[int, int]:
        found: dict[int, int] = {}
        for _, byte, definers in self._index.shared(node):
            if share := _SHARES[byte & _WEIGHED] // len(definers):
                for other in definers:
                    found[other] = found.get(other, 0) + share
        found.pop(node, None)
        return found

    def _used_by(self, node: int) -> dict[int, int]:
        """What a test uses counts less."""
        if node in self._users:
            return self._users[node]
        index, weak = self._index, self._index.weak
        found: dict[int, int] = {}
        for name, byte, definers in index.shared(node):
            if byte & DEFINED and len(posts := index.posts(name)) <= _WIDEST:
                for post in posts:
                    other, share = post >> 8, _SHARES[post & _WEIGHED] // len(definers)
                    if share := share * 3 // 10 if weak(other) else share:
                        found[other] = found.get(other, 0) + share
        found.pop(node, None)
        self._users[node] = found
        return found

    def _cut(self, edges: Mapping[int, int]) -> list[tuple[int, int]]:
        paths = self._index.paths
        ranked = sorted(edges.items(), key=lambda edge: (-edge[1], paths[edge[0]]))
        return ranked[:MOST_EDGES]

    def near(self, seeds: Mapping[int, float], rounds: int, width: int) -> dict[int, float]:
        """Where weight that starts at the seeds comes by (personalised PageRank, cut off)."""
        paths = self._index.paths
        found: dict[int, float] = {}
        now = dict(seeds)
        for _ in range(rounds):
            after: dict[int, float] = {}
            for node in sorted(now, key=lambda node: (-now[node], paths[node] or ""))[:width]:
                edges = self.neighbours(node)
                share = now[node] / (sum([weight for _, weight in edges]) or 1)
                for other, weight in edges:
                    after[other] = after.get(other, 0.0) + share * weight
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
        rows = [(node, self._known[node], sum([w for _, w in self._known[node]])) for node in live]
        now = dict.fromkeys(live, 1 / len(live))
        for _ in range(_ROUNDS):
            after = dict.fromkeys(live, (1 - _DAMPING) / len(live))
            for node, edges, total in rows:
                if edges:
                    share = _DAMPING * now[node] / total
                    for other, weight in edges:
                        after[other] += share * weight
            now = after
        return now

    def _fill(self, live: list[int]) -> None:
        """The edges of all files at once, in one pass over the names that are defined."""
        index = self._index
        both: dict[int, dict[int, int]] = {node: {} for node in live}
        for name in index.defined():
            definers = index.definers(name)
            posts = index.posts(name) if definers else ()
            wide = len(posts) > _WIDEST
            for post in posts:
                user, share = post >> 8, _SHARES[post & _WEIGHED] // len(definers)
                back = share * 3 // 10 if index.weak(user) else share
                for other in definers if share else ():
                    if other != user:
                        out = both[user]
                        out[other] = out.get(other, 0) + share
                        if not wide:
                            into = both[other]
                            into[user] = into.get(user, 0) + back
        self._known = {node: self._cut(edges) for node, edges in both.items()}
