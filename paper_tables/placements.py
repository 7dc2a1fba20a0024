"""Which rule is ahead: each one's bill where bad tasks hurt it most, beside the others'.

A bound speaks of the worst placement, so each rule is judged by the larger of its bills on the
two placement streams; what happened on each stream alone is reported beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from paper_tables.table_2 import RULES
from thrifty.typing import JsonLike

__all__ = ["RuleBills", "contests", "crossing"]

_STREAMS = ("against-expansion", "against-restart")


@dataclass(frozen=True)
class RuleBills:
    """The rules at one m and r: bills in cells, mean over seeds."""

    n_tasks: int
    n_features: int
    n_metafeatures: int
    n_unrelated: int
    worst: Mapping[str, float]
    by_stream: Mapping[str, Mapping[str, float]]

    @property
    def m_over_kn(self) -> float:
        return self.n_tasks / (self.n_metafeatures * self.n_features)

    @property
    def better(self) -> float:
        """The better of Expansion and Restart."""
        return min(self.worst["expansion"], self.worst["restart"])

    def times_better(self, rule: str) -> float:
        return self.worst[rule] / self.better

    def times_better_on_a_stream(self, rule: str) -> float:
        """The largest multiple of the better one on the same stream, which may suit it."""
        return max(
            bills[rule] / min(bills["expansion"], bills["restart"])
            for bills in self.by_stream.values()
        )


def contests(records: Sequence[JsonLike]) -> list[RuleBills]:
    """One contest for every m, N, K, r at which both placement streams were run."""
    bills: dict[tuple[int, ...], dict[str, dict[str, list[float]]]] = {}
    for record in records:
        if record["row"] not in _STREAMS or record["learner"] not in RULES:
            continue
        letters = ("n_tasks", "n_features", "n_metafeatures", "n_unrelated")
        at = tuple(record[letter] for letter in letters)
        by_rule = bills.setdefault(at, {}).setdefault(record["row"], {})
        by_rule.setdefault(record["learner"], []).append(record["cells"])
    return [_contest(at, streams) for at, streams in bills.items() if len(streams) == 2]


def _contest(at: tuple[int, ...], streams: dict[str, dict[str, list[float]]]) -> RuleBills:
    means = {
        stream: {rule: float(np.mean(cells)) for rule, cells in rules.items()}
        for stream, rules in streams.items()
    }
    worst = {rule: max(bills[rule] for bills in means.values()) for rule in RULES}
    tasks, features, metafeatures, unrelated = at
    return RuleBills(tasks, features, metafeatures, unrelated, worst, means)


def crossing(found: Sequence[RuleBills], r: int) -> float | None:
    """The m / (K N) at which Restart overtakes Expansion, between two points of the grid."""
    line = sorted((c for c in found if c.n_unrelated == r), key=lambda c: c.n_tasks)
    ahead = [np.log(c.worst["expansion"] / c.worst["restart"]) for c in line]
    for left, right, a, b in zip(line, line[1:], ahead, ahead[1:]):
        if a < 0 <= b:
            share = -a / (b - a)
            logs = np.log([left.m_over_kn, right.m_over_kn])
            return float(np.exp(logs[0] + share * (logs[1] - logs[0])))
    return None
