"""Who uses whom: files joined by the names that one defines and the other uses, and by imports."""

from __future__ import annotations

import marshal
import math
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

MOST_DEFINERS = 6  # a name that more files define says nothing about which is meant
MOST_EDGES = 24  # of a file: the strongest
_IMPORT = 3000  # weights are whole thousandths, so that no order of adding them matters
_SHARES = [0, *(int(1000 * (1 + math.log(count))) for count in range(1, 32))]
_DAMPING = 0.85
_ROUNDS = 12


@dataclass(slots=True)
class Graph:
    """Edges both ways, in compressed rows; `uses` counts those that lead from user to used."""

    starts: array[int]
    ends: array[int]
    weights: array[int]

    def spread(self, seeds: Sequence[float], damping: float, rounds: int) -> list[float]:
        """Where weight that starts at the seeds comes to rest (personalised PageRank)."""
        starts, ends, weights = self.starts, self.ends, self.weights
        now = list(seeds)
        sums = [sum(weights[starts[i] : starts[i + 1]]) or 1 for i in range(len(seeds))]
        for _ in range(rounds):
            after = [(1 - damping) * seed for seed in seeds]
            for node, mass in enumerate(now):
                if mass > 1e-9:
                    share = damping * mass / sums[node]
                    for edge in range(starts[node], starts[node + 1]):
                        after[ends[edge]] += share * weights[edge]
            now = after
        return now

    def rank(self) -> list[float]:
        """PageRank without a question."""
        size = len(self.starts) - 1
        return self.spread([1 / size] * size, _DAMPING, _ROUNDS) if size else []

    def neighbours(self, node: int) -> list[tuple[int, int]]:
        """The node's edges as (other, weight), the strongest first."""
        span = range(self.starts[node], self.starts[node + 1])
        found = [(self.ends[edge], self.weights[edge]) for edge in span]
        return sorted(found, key=lambda edge: (-edge[1], edge[0]))

    def dump(self) -> bytes:
        return marshal.dumps(tuple(a.tobytes() for a in (self.starts, self.ends, self.weights)))

    @classmethod
    def load(cls, data: bytes) -> Graph:
        arrays = []
        for one in marshal.loads(data):  # noqa: S302 - our own
            found: array[int] = array("I")
            found.frombytes(one)
            arrays.append(found)
        return cls(*arrays)


def build(
    names: Sequence[Mapping[str, int]],
    defined: Sequence[Collection[str]],
    imports: Sequence[Iterable[int]],
    weak: Sequence[bool],
) -> Graph:
    """The graph of files by number. What only a weak file (a test) uses counts less."""
    definers: dict[str, list[int]] = {}
    for node, own in enumerate(defined):
        for name in own:
            if len(name) > 3:
                definers.setdefault(name, []).append(node)
    useful = {name: nodes for name, nodes in definers.items() if len(nodes) <= MOST_DEFINERS}
    known = frozenset(useful)
    both: list[dict[int, int]] = [{} for _ in names]
    for node, used in enumerate(names):
        out: dict[int, int] = {}
        for name in known.intersection(used):
            nodes = useful[name]
            share = _SHARES[min(used[name], 31)] // len(nodes)
            for other in nodes:
                out[other] = out.get(other, 0) + share
        for other in imports[node]:
            out[other] = out.get(other, 0) + _IMPORT
        out.pop(node, None)
        for other, weight in out.items():
            both[node][other] = both[node].get(other, 0) + weight
            back = weight * 3 // 10 if weak[node] else weight
            both[other][node] = both[other].get(node, 0) + back
    starts, ends, weights = array("I", [0]), array("I"), array("I")
    for row in both:
        kept = sorted(row.items(), key=lambda edge: (-edge[1], edge[0]))[:MOST_EDGES]
        for other, weight in kept:
            ends.append(other)
            weights.append(min(weight, 0xFFFFFFF))
        starts.append(len(ends))
    return Graph(starts, ends, weights)
