"""One task: buy a table, fit what is to be fitted on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self, cast

import numpy as np
from numpy.typing import ArrayLike

from thrifty.array_types import Floats
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.labels.numbers import Numbers
from thrifty.labels.partly import PartlyLabelled
from thrifty.models.asking.horizon import numbers_worth_keeping, prefix_worth_keeping
from thrifty.models.asking.order import find_order
from thrifty.models.asking.prefixes import fit_prefixes
from thrifty.models.buying.checked import buy_and_check
from thrifty.models.buying.halving import Halving
from thrifty.models.buying.in_order import InOrder, pays_for_looks
from thrifty.models.buying.nested import Nested
from thrifty.models.buying.own import buy_by
from thrifty.models.buying.policy import Bought, Policy
from thrifty.models.buying.rungs import buy_rungs, free_tables
from thrifty.models.buying.wide import Wide
from thrifty.models.fits.boosting import in_one_thread
from thrifty.models.fits.fitted import FittedClasses, FittedNumbers
from thrifty.models.fits.fitting import fit_classes, fit_regressor, fit_regressors_left_out
from thrifty.models.fits.for_all import fit_for_all, how_many_tell
from thrifty.models.fits.rungs import Rungs, fit_rungs, lower_rung, tells_enough
from thrifty.models.fits.target import Target, target_of_classes, target_of_numbers, target_of_rows
from thrifty.models.known import OneTable, read_known
from thrifty.models.memory.memory import Lesson, Memory, words_of
from thrifty.models.purses.purse import free_features, owns_rows
from thrifty.models.stairs import StairCells, Step, find_steps, on_stairs
from thrifty.models.table import Table
from thrifty.typing import EstimatorLike, JsonLike

__all__ = [
    "LearnedClasses", "LearnedNumbers", "LearnedTable", "allowance_of", "learn_again",
    "learn_numbers", "learn_table", "learn_together", "policy_for", "with_steps",
]  # fmt: skip

#: without a word on what to spend: this share of everything. Set by hand before 0.2
_DEFAULT_SHARE = 0.05
#: and never less than what so many cells cost on average, since a small table teaches little by a
#: twentieth of it. Set by hand before 0.2
_DEFAULT_CELLS = 30_000
#: features that count as useful to a task, for the memory
_USEFUL = 20


@dataclass(frozen=True)
class LearnedTable:
    """What was bought; of which kind it is says what was fitted on it."""

    bought: Bought
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict, kw_only=True)
    #: of a table for several tasks: what is said of its rows by models that did not see them
    left_out: Floats | None = field(default=None, kw_only=True)
    #: how things with alternatives are asked
    steps: tuple[Step, ...] = field(default=(), kw_only=True)

    def with_hypotheses(self, hypotheses: Mapping[str, JsonLike]) -> Self:
        """The same, with models that later tasks may accept, for the memory."""
        lesson = replace(self.bought.lesson, hypotheses=hypotheses)
        return replace(self, bought=replace(self.bought, lesson=lesson))


@dataclass(frozen=True)
class LearnedClasses(LearnedTable):
    """With a classifier."""

    fitted: FittedClasses


@dataclass(frozen=True)
class LearnedNumbers(LearnedTable):
    """With a regressor."""

    fitted: FittedNumbers


def learn_table(
    cells: Cells,
    labels: Labels,
    memory: Memory,
    estimator: EstimatorLike | None,
    seed: int,
    *,
    predictions: int | None = None,
    errors: ArrayLike | None = None,
    buying: Policy[Labels | Numbers] | None = None,
) -> LearnedClasses:
    """Buy within the door's allowance and fit.

    Where it is known how many predictions are to come, few features are bought on many rows, and
    the model keeps no more of them than its predictions are worth.
    """
    _check_classes(labels)
    plain = labels.row_weights is None and labels.groups is None
    if plain and not predictions and cells.call_price <= 0 and buying is None:
        whole = PartlyLabelled(labels, np.arange(len(labels)), len(labels))
        by_rungs = _learn_rungs(cells, [whole], estimator, seed)
        if by_rungs is not None:
            return cast(LearnedClasses, by_rungs[0])
        if _shares_rows(cells, labels, memory):
            beside = [target_of_rows(by_row) for by_row in labels.beside]
            return cast(LearnedClasses, learn_together(cells, [whole], estimator, seed, beside)[0])
    rng = np.random.default_rng(seed)
    policy = policy_for(cells, labels, predictions)
    # Small fits: on a busy machine more threads than one wait for each other a hundred times over.
    with in_one_thread():
        if buying is not None:
            bought = buy_by(buying, cells, labels, memory, allowance_of(cells), rng)
        elif isinstance(cells, StairCells):
            bought = buy_and_check(policy, cells, labels, memory, allowance_of(cells), rng)
        else:
            bought = policy.buy(cells, labels, memory, allowance_of(cells), rng)
    bought = replace(bought, table=bought.table.said_of(labels.row_weights, labels.groups))
    bought, words = _with_words(bought, cells)
    if estimator is not None:  # it sees no beliefs: only what was bought together
        bought = replace(bought, table=bought.table.block())
    if predictions:
        kept = worth_keeping(bought.table, cells, estimator, seed, predictions, errors)
        bought = replace(bought, table=kept)
    with in_one_thread(estimator is None):
        fitted = fit_classes(bought.table, estimator, seed=seed)
    return LearnedClasses(bought, fitted, words=words)


def learn_numbers(
    cells: Cells,
    labels: Numbers,
    memory: Memory,
    estimator: EstimatorLike | None,
    seed: int,
    *,
    predictions: int | None = None,
    buying: Policy[Labels | Numbers] | None = None,
) -> LearnedNumbers:
    """The same for numeric labels."""
    rng = np.random.default_rng(seed)
    with in_one_thread():
        if buying is not None:
            bought = buy_by(buying, cells, labels, memory, allowance_of(cells), rng)
        else:
            bought = Halving().buy(cells, labels, memory, allowance_of(cells), rng)
    bought = replace(bought, table=bought.table.said_of(labels.row_weights, labels.groups))
    bought, words = _with_words(bought, cells)
    if predictions:
        spent = cells.receipt().cost
        kept = numbers_worth_keeping(
            bought.table, partial(cells.price_between, []), predictions=predictions, spent=spent
        )
        bought = replace(bought, table=kept)
    with in_one_thread(estimator is None):
        fitted = fit_regressor(bought.table, estimator, seed=seed)
    return LearnedNumbers(bought, fitted, words=words)


def learn_together(
    cells: Cells,
    tasks: Sequence[PartlyLabelled],
    estimator: EstimatorLike | None,
    seed: int,
    beside: Sequence[Target] = (),
) -> list[LearnedTable]:
    """Buy one table for several tasks on the same rows, within the door's allowance, and fit.

    ``beside``: earlier tasks on these rows. What is bought is to serve them too when they are
    fitted again, and the forest is grown for all of them.
    """
    for task in tasks:
        if isinstance(task.labels, Labels):
            _check_classes(task.labels)
    by_rungs = _learn_rungs(cells, tasks, estimator, seed)
    if by_rungs is not None:
        return by_rungs
    targets = [_target(task) for task in tasks]
    several = len(tasks) > 1 and not bool(cells.boolean.all())
    fresh = several and not owns_rows(cells)
    with in_one_thread():
        one = Nested().buy_for_all(cells, targets, allowance_of(cells), beside)
        return fit_one_table(one, cells, targets, estimator, seed, beside, fresh=fresh)


def fit_one_table(
    one: OneTable,
    cells: Cells,
    targets: Sequence[Target],
    estimator: EstimatorLike | None,
    seed: int,
    beside: Sequence[Target] = (),
    *,
    fresh: bool = False,
) -> list[LearnedTable]:
    """A model of each target on one table, of those features alone that they need.

    ``fresh``: nothing was known before it was bought, so that what its last step took is known on
    all of the rows; else rows left out say how many features classes need.
    """
    classes = [target for target in targets if target.numbers is None]
    also = [target for target in beside if target.numbers is None and target.is_told_by(one.rows)]
    ours = [target.of_rows(one.rows) for target in (*classes, *also)]
    weights = [target.stands_for(one.rows) for target in (*classes, *also)]
    last = one.often_known(np.asarray(cells.shared_prices)[one.features] > 0)
    few = last
    if classes and not fresh:
        few = one.first(how_many_tell(one.filled(), ours, weights, _sizes(cells, one), seed))
    made = iter(
        fit_for_all(few.filled(), ours, weights, _sizes(cells, few), seed)
        if classes and estimator is None
        else ()
    )
    tables = [_part(cells, target, last, few, estimator) for target in targets]
    told = [table for table, target in zip(tables, targets) if target.numbers is not None]
    numbers = iter(fit_regressors_left_out(told, estimator, seed=seed))
    found: list[LearnedTable] = []
    for target, table in zip(targets, tables):
        lesson = Lesson(useful=one.features[:_USEFUL])
        bought, words = _with_words(Bought(table, lesson, {"way": "together"}), cells)
        if target.numbers is not None:
            model, said = next(numbers)
            found.append(LearnedNumbers(bought, model, words=words, left_out=said))
        elif estimator is not None:
            found.append(
                LearnedClasses(bought, fit_classes(table, estimator, seed=seed), words=words)
            )
        else:
            each = next(made)
            fitted = cast(FittedClasses, each.model)
            found.append(LearnedClasses(bought, fitted, words=words, left_out=each.left_out))
    return found


def _part(
    cells: Cells, target: Target, last: OneTable, few: OneTable, estimator: EstimatorLike | None
) -> Table:
    """What a target is fitted on; numbers and a user's estimator: what was bought together."""
    part = few if target.numbers is None else last
    table = part.table(target)
    if target.numbers is None and estimator is None:
        return table
    sizes = _sizes(cells, part)
    return replace(table, categories=sizes if any(sizes) else ()).block()


def _sizes(cells: Cells, one: OneTable) -> tuple[int, ...]:
    """Categories of each feature, 0 for numbers."""
    return tuple(len(cells.categories.get(f, ())) for f in one.features.tolist())


def learn_again(
    cells: Cells, tasks: Sequence[PartlyLabelled], estimator: EstimatorLike | None, seed: int
) -> list[LearnedTable]:
    """Models of several tasks on all that is known of their rows now; nothing is bought."""
    targets = [_target(task) for task in tasks]
    with in_one_thread():
        return fit_one_table(read_known(cells, targets), cells, targets, estimator, seed)


def with_steps(cells: Cells, seed: int) -> tuple[Cells, tuple[Step, ...]]:
    """The door as it is learned from, and how things with alternatives are asked there."""
    if not cells.alternatives:
        return cells, ()
    steps = find_steps(cells, allowance_of(cells), np.random.default_rng(seed))
    return on_stairs(cells, steps), steps


def _target(task: PartlyLabelled) -> Target:
    if isinstance(task.labels, Numbers):
        return target_of_numbers(task.by_row)
    return target_of_classes(task.by_row, task.labels.n_classes)


def policy_for(cells: Cells, labels: Labels, predictions: int | None = None) -> Policy[Labels]:
    """Boolean features and two classes: the wide way; else that for numbers, categories, gaps.

    Where nothing costs anything, or predictions are to come and there is money for looks, features
    are bought one at a time.
    """
    if not np.any(np.asarray(cells.prices) > 0):
        return InOrder()
    if labels.n_classes == 2 and bool(cells.boolean.all()):
        return Wide()
    if predictions and pays_for_looks(cells, allowance_of(cells)):
        return InOrder()
    return Halving()


def _learn_rungs(
    cells: Cells, tasks: Sequence[PartlyLabelled], estimator: EstimatorLike | None, seed: int
) -> list[LearnedTable] | None:
    """Where free features tell something: a model of them, corrected by what is bought; else None.

    For classes, with Thrifty's own models.
    """
    free = free_features(cells)
    some_paid = bool((np.asarray(cells.prices) > 0).any())
    if not len(free) or not some_paid or estimator is not None:
        return None
    if any(isinstance(task.labels, Numbers) for task in tasks):
        return None
    targets = [_target(task) for task in tasks]
    with in_one_thread():
        below = [_with_sizes(table, cells) for table in free_tables(cells, targets)]
        lower = [lower_rung(table, seed) for table in below]
        if not all(tells_enough(one, table) for one, table in zip(lower, below)):
            return None
        tables = buy_rungs(cells, targets, allowance_of(cells))
        found: list[LearnedTable] = []
        for table, one in zip(tables, lower):
            table = _with_sizes(table, cells)
            fitted = fit_rungs(table, seed, one)
            if not isinstance(fitted, Rungs):  # what was paid for did not help: it is not asked
                table = table.of_features(np.flatnonzero(table.bought.all(axis=0)))
            lesson = Lesson(useful=table.features[:_USEFUL])
            bought, words = _with_words(Bought(table, lesson, {"way": "rungs"}), cells)
            found.append(LearnedClasses(bought, fitted, words=words))
    return found


def _with_sizes(table: Table, cells: Cells) -> Table:
    """With what the door knows of categories."""
    if not cells.categories:
        return table
    sizes = tuple(len(cells.categories.get(f, ())) for f in table.features.tolist())
    return replace(table, categories=sizes)


def _shares_rows(cells: Cells, labels: Labels, memory: Memory) -> bool:
    """Whether a task buys whole rows: it has many classes, or others came before it here.

    The first task of a source buys for itself. Where earlier ones have bought cells of the same
    rows, later ones are likely too, and what is bought whole serves all of them.
    """
    if not np.any(np.asarray(cells.prices) > 0):
        return False
    return labels.n_classes > 2 or (memory.tasks > 0 and owns_rows(cells))


def _with_words(bought: Bought, cells: Cells) -> tuple[Bought, dict[str, tuple[str, ...]]]:
    """What was bought, with what the numbers of categories stand for, and which examples it is."""
    words, table = words_of(cells), bought.table
    if cells.has_ids:
        keys = np.where(table.rows >= 0, cells.row_keys()[table.rows], np.uint64(0))
        table = replace(table, keys=keys)
    if not words:
        return replace(bought, table=table), words
    sizes = tuple(len(cells.categories.get(f, ())) for f in table.features.tolist())
    lesson = replace(bought.lesson, words=words)
    return replace(bought, table=replace(table, categories=sizes), lesson=lesson), words


def _check_classes(labels: Labels) -> None:
    sizes = np.bincount(labels.codes, minlength=labels.n_classes)
    if labels.n_classes < 2:
        raise BadInput(
            f"y holds one class, {labels.value(0)!r}; a model tells two or more apart. Bring rows "
            "of another class."
        )
    if sizes.min() < 2:
        code = int(sizes.argmin())
        raise BadInput(
            f"every class needs 2 rows at least; {labels.value(code)!r} has {int(sizes[code])}. "
            "Bring more rows of it, or leave the class out."
        )


def worth_keeping(
    table: Table,
    cells: Cells,
    estimator: EstimatorLike | None,
    seed: int,
    predictions: int,
    errors: ArrayLike | None,
) -> Table:
    """The features that so many predictions are worth, in the order in which they are asked."""
    with in_one_thread():
        order = find_order(table, cells.price_between, cells.orders, seed=seed)
        prefixes = fit_prefixes(table, order, cells.price_between, estimator, seed=seed)
    spent = cells.receipt().cost
    k = prefix_worth_keeping(prefixes, predictions=predictions, spent=spent, errors=errors)
    at = {f: i for i, f in enumerate(table.features.tolist())}
    kept = prefixes.parts[max(k, 1 if len(prefixes) > 1 else 0)].features
    return table.of_features(np.array([at[f] for f in kept], dtype=np.int64))


def allowance_of(cells: Cells) -> float:
    """What a task may spend: what was said, else a twentieth of everything or 30,000 cells.

    Where nothing was said it stops before that if more would not pay
    (:mod:`thrifty.models.evidence.worth`).

    >>> allowance_of(Cells(np.zeros((1000, 2000), dtype=bool)))
    100000.0
    >>> allowance_of(Cells(np.zeros((100, 20), dtype=bool)))
    2000.0
    """
    limit = cells.allowance
    if cells.spend is not None and limit is not None:
        return limit
    row = float(np.asarray(cells.shared_prices).sum())
    whole = row * cells.n_examples
    default = max(_DEFAULT_SHARE * whole, _DEFAULT_CELLS * row / max(cells.n_features, 1))
    return min(whole, default, *(() if limit is None else (limit,)))
