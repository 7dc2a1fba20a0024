"""The way to buy for Boolean features and two classes, wide tables above all.

A belief for every feature; looks where they are expected to lower the loss most; then the best
features completed on the same rows. What earlier tasks looked at outside their rare classes is the
background that later tasks need not buy again.
"""

from __future__ import annotations

import math

import numpy as np

from thrifty.array_types import Ints
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.models.belief import Summary, summarise
from thrifty.models.buying.looks import Background, complete_rows, look_around, look_once
from thrifty.models.buying.policy import Bought
from thrifty.models.evidence.drift import drifted, features_to_test
from thrifty.models.evidence.worth import curve_of, judges_worth, would_pay
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.purses.account import Account
from thrifty.models.purses.purse import to_pay
from thrifty.models.table import Table

__all__ = ["Wide"]

# Where nothing else is said: chosen on tmc2007_500, slashdot and bibtex, most with the first
# prototype (docs/models.md, *Measured*; `python benchmarks/models.py` measures with them). "Set by
# hand": before 0.2, and not measured since. Pairs of pairs are (a bill's share of everything, the
# constant there), twice: see :func:`_between`.
#: features that a model may use
_MOST_FEATURES = 300
#: what is left for joint rows; more, fewer: docs/models.md, *What did not work*
_JOINT = ((0.01, 0.3), (0.05, 0.5))
#: looks outside the rare class, the background's included, that go with each look in it
_OTHERS_PER_LOOK = 0.5
#: features completed on joint rows
_JOINT_FEATURES = ((0.01, 20.0), (0.10, 80.0))
#: rows outside the rare class per rare one among the joint rows; one or three: within .005 on
#: tmc2007_500 and slashdot, with a memory (docs/models.md, *What did not work*)
_OTHERS_EACH = 2.0
#: of the bill for a test whether the background still holds. Set by hand
_DRIFT_SHARE = 0.06
#: rows of that test; its power with so many is in :mod:`thrifty.models.evidence.drift`
_DRIFT_ROWS = 8
#: features that it needs. Set by hand
_LEAST_DRIFT_FEATURES = 40
#: where the background does not hold, it counts as so many looks. Set by hand
_LOOKS_AFTER_DRIFT = 4.0
#: rows outside the rare class on which all features of a model are bought, to see how its score
#: varies when nothing is missing. Measured on bibtex at 10 %, five labels (docs/models.md, *What is
#: bought: Boolean features, two classes*)
_WHOLE_ROWS = 30
#: where that takes no more than this part of the bill. Chosen with it
_WHOLE_SHARE = 0.05
#: features that count as useful to a task, for the memory. Set by hand
_USEFUL = 20
#: where nobody said what to spend: parts of the limit after which it is asked whether more pays.
#: Set by hand with :mod:`thrifty.models.evidence.worth`, whose figures were measured with them
_STAGES = (0.25, 0.5, 1.0)


class Wide:
    """Buy for Boolean features; see the module."""

    def buy(
        self,
        cells: Cells,
        labels: Labels,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> Bought:
        _check_spend(cells, allowance)
        account = Account(cells, labels.codes, allowance, rng)
        background, moved = _trusted(account, Background(*memory.background(cells.n_features)))
        share = allowance / (float(cells.shared_prices.sum()) * cells.n_examples)
        stages = _STAGES if judges_worth(cells) and not cells.call_price else (1.0,)
        for before, part in zip((0.0, *stages), stages):
            joint = _buy_part(account, background, share, before, part)
            if part < 1 and not _more_would_pay(account, labels, joint):
                break
        belief = _belief(account, background)
        chosen = _ranked(account, belief)[:_MOST_FEATURES]
        table = _table(account, labels, chosen, belief, _whole_rows(account, chosen))
        info = {"joint_features": len(joint), "drift": moved}
        return Bought(table, _lesson(account, chosen), info)


def _buy_part(
    account: Account, background: Background, share: float, before: float, part: float
) -> Ints:
    """Go on from one part of the bill to another; the features that are complete then."""
    whole = account.allowance
    looks = (1 - _between(share, _JOINT)) * (part - before) * whole
    if account.cells.call_price > 0:  # every further look would pay for the row again
        look_once(account, looks)
    else:
        look_around(account, background, looks, _OTHERS_PER_LOOK)
    ranked = _ranked(account, _belief(account, background))
    k = round(_between(share * part, _JOINT_FEATURES))
    kept = _for_whole_rows(account) + (1 - part) * whole
    return ranked[: complete_rows(account, ranked, k, _OTHERS_EACH, kept)]


def _more_would_pay(account: Account, labels: Labels, joint: Ints) -> bool:
    """Whether a card of the features that are complete on the same rows still learns from rows."""
    a, b = int(account.a[joint].min()), int(account.b[joint].min())
    rows = np.concatenate([account.rare[:a], account.others[:b]])
    if not len(rows):
        return True
    values = np.asarray(account.cells.get(rows, joint), dtype=np.float64)
    codes = np.asarray(labels.codes[rows], dtype=np.int64)
    groups = None if labels.groups is None else labels.groups[rows]
    curve = curve_of(values, codes, np.zeros(len(joint), dtype=bool), 2, groups)
    return would_pay(curve.by_rows, curve.fall)


def _check_spend(cells: Cells, allowance: float) -> None:
    """Two rows, one of each class, are the least that a look at every feature takes."""
    row = float(np.asarray(cells.shared_prices).sum())
    if allowance < min(2 * row, row * cells.n_examples) and allowance < to_pay(cells):
        raise BadInput(
            f"spend={allowance:g} is too small for a first look at {cells.n_features} features; "
            f"the smallest useful is {2 * row:g}, two rows of them, {2 / cells.n_examples:.2%} of "
            "everything."
        )


def _trusted(account: Account, background: Background) -> tuple[Background, bool]:
    """The background as it is, or as a few looks where the population has moved."""
    tested = features_to_test(background.looks, background.ones)
    if not len(tested):
        return background, False
    n = _DRIFT_ROWS
    bill = np.cumsum(account.prices[tested]) * n
    tested = tested[: int(np.searchsorted(bill, _DRIFT_SHARE * account.left, side="right"))]
    if len(tested) < _LEAST_DRIFT_FEATURES or len(account.others) < n:
        return background, False
    account.look(tested, account.a[tested], np.maximum(account.b[tested], n))
    seen = int(account.b[tested].min())  # more than n where rows are owned
    if not drifted(seen, account.b_ones[tested], background.looks[tested], background.ones[tested]):
        return background, False
    kept = np.minimum(1.0, _LOOKS_AFTER_DRIFT / np.maximum(background.looks, 1.0))
    return Background(background.looks * kept, background.ones * kept), True


def _between(share: float, ends: tuple[tuple[float, float], tuple[float, float]]) -> float:
    """A constant that moves with the bill's share of everything, evenly in its logarithm.

    >>> _between(0.001, ((0.01, 20.0), (0.1, 80.0))), _between(1.0, ((0.01, 20.0), (0.1, 80.0)))
    (20.0, 80.0)
    """
    (low, first), (high, last) = ends
    at = (math.log(max(share, 1e-12)) - math.log(low)) / (math.log(high) - math.log(low))
    return first + (last - first) * min(max(at, 0.0), 1.0)


def _for_whole_rows(account: Account) -> float:
    """What is laid by for a few whole rows; nothing where they would take too much of the bill."""
    features = min(_MOST_FEATURES, int(account.there.sum()))
    price = _WHOLE_ROWS * features * float(account.prices[account.there].mean())
    return price if price <= _WHOLE_SHARE * account.allowance else 0.0


def _whole_rows(account: Account, chosen: Ints) -> Ints:
    """Rows outside the rare class to have whole, where money is left: the last in their order.

    Those looked at first chose the features: on them the features are 1 too seldom.
    """
    rows: Ints = account.others[-_WHOLE_ROWS:]
    if not _for_whole_rows(account) or not len(rows):
        return rows[:0]
    return rows if account.cells.price_of(rows, chosen) <= account.left + 1e-9 else rows[:0]


def _belief(account: Account, background: Background) -> Summary:
    return summarise(account.looked(background.looks, background.ones))


def _ranked(account: Account, belief: Summary) -> Ints:
    """Features that a model may use, the most useful first."""
    order = np.argsort(-belief.worth, kind="stable")
    return order[account.there[order]]


def _table(account: Account, labels: Labels, chosen: Ints, belief: Summary, whole: Ints) -> Table:
    """What was bought of the chosen features; the door gives it again for nothing."""
    a, b = account.a[chosen], account.b[chosen]
    n_rare, n_others = int(a.max(initial=0)), int(b.max(initial=0))
    others = account.others[:n_others]
    others = np.concatenate([others, whole[~np.isin(whole, others)]])
    rows = np.concatenate([account.rare[:n_rare], others])
    values = np.full((len(rows), len(chosen)), np.nan)
    bought = np.zeros(values.shape, dtype=bool)
    for j, feature in enumerate(chosen.tolist()):
        at = np.concatenate([np.arange(a[j]), n_rare + np.arange(b[j])])
        if len(at):
            bought[at, j] = True
            values[at, j] = account.cells.get(rows[at], [feature])[:, 0]
    if len(whole):
        at = np.flatnonzero(np.isin(rows, whole))
        bought[at] = True
        values[at] = account.cells.get(rows[at], chosen)
    weights = np.concatenate(
        [
            np.full(n_rare, len(account.rare) / max(n_rare, 1)),
            np.full(len(others), len(account.others) / max(len(others), 1)),
        ]
    )
    effects = np.column_stack([belief.mean[chosen], belief.variance[chosen]])
    return Table(
        chosen.astype(np.int64),
        rows,
        values,
        bought,
        weights,
        labels.codes[rows],
        belief.centre[chosen],
        effects,
        account.rare_code,
    )


def _lesson(account: Account, chosen: Ints) -> Lesson:
    """Looks outside the rare class, and those in it weighed by its share: the background grows."""
    seen = np.flatnonzero(account.b)
    a, b = account.a[seen], account.b[seen]
    odds = account.share / (1 - account.share)
    weight = odds * np.minimum(1.0, b / np.maximum(a, 1))
    return Lesson(
        seen,
        b + weight * a,
        account.b_ones[seen] + weight * account.a_ones[seen],
        chosen[:_USEFUL].astype(np.int64),
    )
