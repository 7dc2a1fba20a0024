"""Does the theory hold? One line for every claim, and why where it does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paper_tables.from_runs import Record, SlopeOfPart, against_bounds, forms, growth
from paper_tables.placements import RuleBills, contests, crossing
from paper_tables.point import LETTERS, Grid
from paper_tables.row import Row

__all__ = ["Verdict", "verdicts"]

_ENOUGH = 0.98
#: a stream that hurts one rule may suit another
_ON_ONE_STREAM = {
    "balanced": "with all bad tasks first, Balanced carries those that came after its last "
    "restart, up to c of them, through all good tasks, and Restart at most K. That placement is "
    "not the one that hurts Restart.",
    "doubling": "by its bound it is at most twice either of them on every stream: a bug",
}
_SLOPE, _SLACK = 0.5, 0.15
#: a power may lie this far outside its interval, and an interval may be this wide
_GIVE, _WIDEST = 0.1, 0.8


@dataclass(frozen=True)
class Verdict:
    """One claim: what is wanted, what was measured, and why it does not hold if it does not."""

    row: str
    claim: str
    wanted: str
    measured: str
    holds: bool
    why: str = ""


def verdicts(records: Sequence[Record], rows: Sequence[tuple[Row, Grid]]) -> list[Verdict]:
    """Every claim that the records can decide."""
    found: list[Verdict] = []
    for row, grid in rows:
        found += _bounds(records, row)
        found += _right(records, row)
        grown = growth(records, row, grid)
        found += _form(records, row, grown)
        found += _exponents(grown)
        found += _root(grown)
    found += _placements(contests(records))
    return found


def _bounds(records: Sequence[Record], row: Row) -> Iterable[Verdict]:
    lines = against_bounds(records, [row])
    shares = [(x["largest_share_of_upper"], x["learner"]) for x in lines]
    known = [(share, learner) for share, learner in shares if share is not None]
    if known:
        most, who = max(known)
        measured = f"at most {most:.3f} of it ({who})"
        yield Verdict(
            row.key,
            "every bill is at most its upper bound",
            "at most 1",
            measured,
            most <= 1,
            "a bound that is broken is a bug, here or in the proof" if most > 1 else "",
        )
    lowers = [x["smallest_multiple_of_lower"] for x in lines]
    below = [multiple for multiple in lowers if multiple is not None]
    if below:
        yield Verdict(
            row.key,
            "every learner looks at as many features as the lower bound says",
            "at least 1",
            f"at least {min(below):.2f} times it",
            min(below) >= 1,
            "" if min(below) >= 1 else "the bound is an expectation; see whether one seed fell out",
        )


def _right(records: Sequence[Record], row: Row) -> Iterable[Verdict]:
    lines = against_bounds(records, [row])
    right, tasks = sum(x["right"] for x in lines), sum(x["good_tasks"] for x in lines)
    if tasks:
        yield Verdict(
            row.key,
            "every target is found",
            "all",
            f"{right:,} of {tasks:,}",
            right == tasks,
            "" if right == tasks else "a learner returned another model that fits the examples",
        )


def _form(records: Sequence[Record], row: Row, grown: Sequence[SlopeOfPart]) -> Iterable[Verdict]:
    """The form holds if it explains the bills *and* each letter's power is the theory's.

    R^2 alone is not enough: a large term hides that a small one does not grow as it says.
    """
    for form in row.forms:
        found = forms(records, row, form)
        if "theory" not in found:
            continue
        fit = found["theory"]
        text = ", ".join(f"{name}: {value}" for name, value in fit.coefficients.items())
        off = [g for g in grown if g.learner == form.learner and not _as_said(g)]
        holds = fit.r_squared >= _ENOUGH and not off
        why = "" if holds else form.bends or "the sum is an upper bound, not the bill itself"
        if off:
            why = f"{_by_kind(off)}. {why}"
        if not holds and "leaner" in found:
            why += f". {' + '.join(found['leaner'].coefficients)} fits with R^2 = "
            why += f"{found['leaner'].r_squared:.4f}"
        yield Verdict(
            row.key,
            f"the bill of {form.learner} has the form {' + '.join(fit.coefficients)}, times S",
            f"R^2 >= {_ENOUGH} and the theory's powers",
            f"R^2 = {fit.r_squared:.4f}; {text}",
            holds,
            why,
        )


_PARTS = {"cells": "the bill", "scratch_cells": "scratch", "reused_cells": "reuse"}


def _what(grown: SlopeOfPart) -> str:
    return f"{_PARTS[grown.part]} grows with {LETTERS[grown.axis]}"


def _as_said(grown: SlopeOfPart) -> bool:
    """Whether the theory's power lies in the slope's interval, give or take what a grid bends."""
    low, high = grown.slope.low - _GIVE, grown.slope.high + _GIVE
    return low <= grown.theory <= high and grown.slope.high - grown.slope.low <= _WIDEST


def _by_kind(off: Sequence[SlopeOfPart]) -> str:
    """Powers that are not the theory's: what grows faster is not "bounded by" in that letter.

    >>> from paper_tables.fit import Coefficient
    >>> slope = SlopeOfPart("r", "paper", "cells", "n_tasks", Coefficient(1.3, 1.2, 1.4), 1.0)
    >>> print(_by_kind([slope]))
    faster than the sum's power on this grid: the bill grows with m by 1.3 [1.2, 1.4], not 1.00
    """
    kinds = (
        ("bounded by the sum, not of its order", [g for g in off if not _faster(g)]),
        ("faster than the sum's power on this grid", [g for g in off if _faster(g)]),
    )
    return "; ".join(
        f"{kind}: " + "; ".join(f"{_what(g)} by {g.slope}, not {g.theory:.2f}" for g in some)
        for kind, some in kinds
        if some
    )


def _faster(grown: SlopeOfPart) -> bool:
    return grown.slope.low > grown.theory


def _exponents(grown: Iterable[SlopeOfPart]) -> Iterable[Verdict]:
    for one in grown:
        if (one.axis, one.learner) == ("n_unrelated", "balanced"):
            continue
        holds = _as_said(one)
        why = "the interval is too wide to tell"
        if one.slope.high < one.theory:
            why = "bounded by it, not of the order of it"
        elif _faster(one):
            why = "faster than the sum here, from a lower start; below the bound"
        yield Verdict(
            one.row,
            f"{_what(one)} ({one.learner}) as the theory's sum does",
            f"{one.theory:.2f} within the interval, give or take {_GIVE}",
            f"power {one.slope}",
            holds,
            "" if holds else why,
        )


def _root(every: Iterable[SlopeOfPart]) -> Iterable[Verdict]:
    for grown in every:
        if (grown.axis, grown.learner) == ("n_unrelated", "balanced"):
            holds = abs(grown.slope.value - _SLOPE) <= _SLACK
            yield Verdict(
                grown.row,
                "Balanced grows as the square root of r",
                f"{_SLOPE} +- {_SLACK}",
                f"slope {grown.slope}",
                holds,
                "" if holds else "the part m K, which does not grow, is too large on this grid",
            )


def _placements(found: Sequence[RuleBills]) -> Iterable[Verdict]:
    if not found:
        return
    left = [c for c in found if c.m_over_kn < 1]
    right = [c for c in found if c.m_over_kn > 1]
    ahead = [c for c in left if c.worst["expansion"] <= c.worst["restart"]]
    behind = [c for c in right if c.worst["restart"] <= c.worst["expansion"]]
    yield Verdict(
        "placements",
        "Expansion is ahead where m < K N",
        "everywhere on the grid",
        f"at {len(ahead)} of {len(left)} points",
        len(ahead) == len(left),
        "" if len(ahead) == len(left) else "r is so small there that both pay about K N + m K",
    )
    yield Verdict(
        "placements",
        "Restart is ahead where m > K N",
        "everywhere on the grid",
        f"at {len(behind)} of {len(right)} points; {_crossings(found)}",
        len(behind) == len(right),
        ""
        if len(behind) == len(right)
        else "a bad task costs Restart nearly 2 K tasks from scratch, not K: the restart it causes "
        "remembers it, and it fills a good task's place once more. The lines therefore cross near "
        "m = (2 K - 1) N, not at K N.",
    )
    for rule, factor in (("balanced", 2.0), ("doubling", 4.0)):
        yield _within(found, rule, factor)
        yield _within_on_each(found, rule, factor)


def _crossings(found: Sequence[RuleBills]) -> str:
    every = sorted({c.n_unrelated for c in found})
    points = [(r, crossing(found, r)) for r in every]
    text = ", ".join(f"{x:.2f} K N (r={r})" for r, x in points if x is not None)
    return f"the lines cross at {text}" if text else "the lines do not cross on this grid"


def _within(found: Sequence[RuleBills], rule: str, factor: float) -> Verdict:
    worst = max(found, key=lambda c: c.times_better(rule))
    times = worst.times_better(rule)
    return Verdict(
        "placements",
        f"{rule.capitalize()} is within a factor {factor:g} of the better one, "
        "each where bad tasks hurt it most",
        f"at most {factor:g}",
        f"at most {times:.2f} (m={worst.n_tasks}, r={worst.n_unrelated})",
        times <= factor,
    )


def _within_on_each(found: Sequence[RuleBills], rule: str, factor: float) -> Verdict:
    worst = max(found, key=lambda c: c.times_better_on_a_stream(rule))
    times = worst.times_better_on_a_stream(rule)
    return Verdict(
        "placements",
        f"the same on each stream alone ({rule.capitalize()})",
        f"at most {factor:g}",
        f"at most {times:.2f} (m={worst.n_tasks}, r={worst.n_unrelated})",
        times <= factor,
        "" if times <= factor else _ON_ONE_STREAM[rule],
    )
