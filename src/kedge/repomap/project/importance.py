"""The importance of each ecosystem in a repository, relative to the main one."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.repomap.project.census import Census
from kedge.repomap.project.parts import Findings

AT_ROOT = 2.0  # factor for code with a manifest in the root
UNCLAIMED = 0.5  # factor for code without a manifest
SOME = 0.1  # least share of the code for a manifest in the root to cover the rest
BELOW = 0.9


class Importance:
    def __init__(self, census: Census, found: Sequence[Findings]) -> None:
        self._census = census
        self._rooted = {
            one.family
            for one in found
            if one.family and not one.bare and any(not tech.where for tech in one.techs)
        }
        # C beside a Python manifest is part of that project
        claimed = [share for name in self._rooted if (share := census.share(name or "")) >= SOME]
        self._ceiling = max(claimed, default=1.0) * AT_ROOT * BELOW
        placed = {(tech.family, tech.where) for one in found for tech in one.techs if tech.family}
        everything = {(name, "") for name in census.families} | placed
        self._most = max((self._weight(*one) for one in everything if one[0]), default=0.0)

    def _weight(self, family: str, where: str = "") -> float:
        share = self._census.share(family, where)
        if where:
            return share
        if family in self._rooted:
            return share * AT_ROOT
        return min(share * UNCLAIMED, self._ceiling)

    def of(self, family: str | None, where: str = "") -> float:
        """0 to 1; 1 for the main ecosystem. Without a family, the share of the directory."""
        if family:
            return self._weight(family, where) / self._most if self._most else 1.0
        if not where or not self._census.total:
            return 1.0
        return self._census.files_in(where) / self._census.total
