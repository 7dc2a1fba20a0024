"""One task, or several on the same rows: buy a table, fit the stack on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels import Labels
from thrifty.models.acquisition import Bought, acquire, score_features
from thrifty.models.asking.ahead import prefix_worth_keeping
from thrifty.models.asking.ladder import fit_ladder
from thrifty.models.asking.order import find_order
from thrifty.models.cascade import CascadeStep, find_steps, on_cascade
from thrifty.models.fits.fitting import Fitted, fit_tables, in_one_thread
from thrifty.models.memory import Memory, MemoryUpdate, categories_of
from thrifty.models.table import MOST_FEATURES, NamedColumns, Table
from thrifty.typing import Bools, EstimatorLike, Floats, Ints

#: features that count as useful to a task, for the memory
_USEFUL = 20


@dataclass(frozen=True, eq=False)
class LearnedTable:
    """A table, what was fitted on it, and what the task teaches later ones."""

    table: Table
    fitted: Fitted
    update: MemoryUpdate
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: what is said of its rows by models that did not see them
    held_out: Floats | None = None
    #: how things with alternatives are asked
    steps: tuple[CascadeStep, ...] = ()
    #: why money was kept, where it was
    stopped: str = ""


def learn_tasks(
    cells: Cells,
    tasks: Sequence[Labels],
    memory: Memory,
    estimator: EstimatorLike | None,
    seed: int,
    *,
    predictions: int | None = None,
    errors: ArrayLike | None = None,
) -> list[LearnedTable]:
    """Buy one table for all tasks within the reader's allowance, and fit each of them.

    ``predictions``: how many are to come, where that is known; the model then keeps no more
    features than its predictions are worth.
    """
    _check_classes(tasks)
    background = _background(cells, tasks, memory)
    # Small fits: on a busy machine more threads than one wait for each other a hundred times over.
    with in_one_thread():
        bought = acquire(cells, tasks, allowance_of(cells), background, seed)
        tables = [_table(cells, bought, task) for task in tasks]
        if estimator is not None:  # it sees no holes: only what was bought together
            tables = [replace(table, first=0, background=None).block() for table in tables]
        if predictions:
            tables = [
                worth_keeping(table, cells, estimator, seed, predictions, errors)
                for table in tables
            ]
    with in_one_thread(estimator is None):
        fitted = fit_tables(tables, estimator, seed)
    words = categories_of(cells)
    update = _memory_update(bought, tasks[0], words)
    updates = [update, *(MemoryUpdate(useful=update.useful) for _ in tables[1:])]
    return [
        LearnedTable(table, model, one, words, said, stopped=bought.stopped)
        for one, table, (model, said) in zip(updates, tables, fitted)
    ]


def learn_again(
    cells: Cells,
    tasks: Sequence[Labels],
    features: Sequence[Ints],
    estimator: EstimatorLike | None,
    seed: int,
) -> list[LearnedTable]:
    """Models of several tasks on all that is known of their rows now; nothing is bought.

    Each on the features that it has: other ones would make its predictions cost more.
    """
    _check_classes(tasks)
    with in_one_thread():
        best, known = read_known(cells, tasks)
        tables = [
            _said(cells, table.of_features(np.flatnonzero(np.isin(best, asked))), task)
            for table, task, asked in zip(known, tasks, features)
        ]
        if estimator is not None:
            tables = [table.block() for table in tables]
    with in_one_thread(estimator is None):
        fitted = fit_tables(tables, estimator, seed)
    words, useful = categories_of(cells), MemoryUpdate(useful=best[:_USEFUL])
    return [
        LearnedTable(table, model, useful, words, said)
        for table, (model, said) in zip(tables, fitted)
    ]


def with_steps(cells: Cells, seed: int) -> tuple[Cells, tuple[CascadeStep, ...]]:
    """The reader as it is learned from, and how things with alternatives are asked there."""
    if not cells.alternatives:
        return cells, ()
    steps = find_steps(cells, allowance_of(cells), np.random.default_rng(seed))
    return on_cascade(cells, steps), steps


def allowance_of(cells: Cells) -> float:
    """What a task may spend: what was said, else a tenth of everything or 30,000 cells.

    >>> allowance_of(Cells(np.zeros((1000, 2000), dtype=bool)))
    200000.0
    >>> allowance_of(Cells(np.zeros((100, 20), dtype=bool)))
    2000.0
    """
    # without a word on what to spend: this share of everything, and never less than what so many
    # cells cost on average, since a small table teaches little by a tenth of it; set by hand
    default_share, default_cells = 0.1, 30_000
    limit = cells.allowance
    if cells.spend is not None and limit is not None:
        return limit
    row = float(np.asarray(cells.shared_prices).sum())
    whole = row * cells.n_examples
    default = max(default_share * whole, default_cells * row / max(cells.n_features, 1))
    return min(whole, default, *(() if limit is None else (limit,)))


def worth_keeping(
    table: Table,
    cells: Cells,
    estimator: EstimatorLike | None,
    seed: int,
    predictions: int,
    errors: ArrayLike | None,
) -> Table:
    """The features that so many predictions are worth, in the order in which they are asked."""
    order = find_order(table, cells.price_between, cells.orders, seed=seed)
    (made,) = fit_ladder([table], order, cells.price_between, [estimator], seed=seed).tasks
    spent = cells.receipt().cost
    k = prefix_worth_keeping(made, predictions=predictions, spent=spent, errors=errors)
    at = {f: i for i, f in enumerate(table.features.tolist())}
    kept = made.parts[max(k, 1 if len(made) > 1 else 0)].features
    return table.of_features(np.array([at[f] for f in kept], dtype=np.int64))


def _background(
    cells: Cells, tasks: Sequence[Labels], memory: Memory
) -> tuple[Floats, Floats] | None:
    """Samples and ones of Boolean features so far, for one label of two classes; else None."""
    if len(tasks) > 1 or tasks[0].numbers is not None or tasks[0].n_classes != 2:
        return None
    if not bool(np.asarray(cells.boolean)[~np.asarray(cells.absent)].all()):
        return None
    return memory.background(cells.n_features)


def _table(cells: Cells, bought: Bought, task: Labels) -> Table:
    """A task's part of what was bought: the rows that have its label."""
    # rows of a table at most: the parts of the stack take time that goes with them, and bring
    # little
    most_rows = 20_000
    features = bought.ranked(MOST_FEATURES)
    rows = bought.order
    if len(bought.free):  # known of every row; those that were bought come first
        rest = np.setdiff1d(np.flatnonzero(task.known), rows)
        rows = np.r_[rows, rest][: max(most_rows, len(rows))]
    values = np.full((len(rows), len(features)), np.nan)
    there = np.zeros(values.shape, dtype=bool)
    for j, f in enumerate(features.tolist()):
        column = bought.columns[f]
        values[: len(column), j], there[: len(column), j] = column, True
    values = np.hstack([bought.free_values[rows], values])
    there = np.hstack([np.ones((len(rows), len(bought.free)), dtype=bool), there])
    every, known = np.r_[bought.free, features], np.flatnonzero(task.known[rows])
    background = None
    if bought.background is not None:
        background = np.column_stack(bought.background)[every]
    table = Table(
        every, rows[known], values[known], there[known], task.stands_for(rows[known]),
        task.said_of(rows[known]), background,
        first=len(bought.free) if len(features) else 0,
        looked=int((known < bought.chosen_on).sum()),
    )  # fmt: skip
    return _said(cells, table, task)


def _said(cells: Cells, table: Table, task: Labels) -> Table:
    """With categories, ids, and what was said of the rows."""
    named = cells.categories
    sizes = tuple(len(named.get(f, ())) for f in table.features.tolist())
    keys = cells.row_keys()[table.rows] if cells.examples is not None else None
    columns = NamedColumns(cells.feature_names, categories_of(cells))
    table = replace(table, categories=sizes if any(sizes) else (), keys=keys, columns=columns)
    if task.row_weights is not None:
        table = replace(table, weights=table.weights * task.row_weights[table.rows])
    return table if task.groups is None else replace(table, groups=task.groups[table.rows])


def _memory_update(
    bought: Bought, target: Labels, words: Mapping[str, tuple[str, ...]]
) -> MemoryUpdate:
    """What was seen of Boolean features, each class by its share; and what was useful."""
    useful = bought.ranked(_USEFUL)
    if bought.background is None:
        return MemoryUpdate(useful=useful, categories=words)
    rare = int(target.sizes.argmin())
    is_rare = target.codes[bought.order] == rare
    odds = float(target.sizes[rare]) / max(float(target.sizes.sum() - target.sizes[rare]), 1.0)
    features = np.array(sorted(bought.columns), dtype=np.int64)
    samples, ones = np.zeros(len(features)), np.zeros(len(features))
    for j, f in enumerate(features.tolist()):
        column = bought.columns[f]
        mine: Bools = is_rare[: len(column)]
        # rows of the rarer class stand for their share of the population, and for no more
        part = odds * min(1.0, float((~mine).sum()) / max(float(mine.sum()), 1.0))
        weight = np.where(mine, part, 1.0)
        samples[j], ones[j] = weight.sum(), (weight * np.nan_to_num(column)).sum()
    return MemoryUpdate(features, samples, ones, useful, categories=words)


def _check_classes(tasks: Sequence[Labels]) -> None:
    for labels in tasks:
        if labels.numbers is None:
            _check_sizes(labels)


def _check_sizes(labels: Labels) -> None:
    sizes = labels.sizes
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


def what_is_known(cells: Cells) -> Bools:
    """(rows, features) which cells are owned, free, or bought already."""
    every = np.arange(cells.n_features)
    known = cells.margins(np.arange(cells.n_examples), every) <= 0
    known[:, np.asarray(cells.absent)] = False
    return np.asarray(known)


def read_known(cells: Cells, targets: Sequence[Labels]) -> tuple[Ints, list[Table]]:
    """All that is known of the rows: the features that explain most, and each task's table."""
    known = what_is_known(cells)
    rows, features = _in_the_table(known, targets, np.asarray(cells.shared_prices) > 0)
    bought = known[np.ix_(rows, features)]
    values = read_cells(cells, rows, features, bought)
    told = score_features(values, [target.of_rows(rows) for target in targets])
    best = np.argsort(-told, kind="stable")[:MOST_FEATURES]
    tables = []
    for target in targets:
        here = np.flatnonzero(target.known[rows])
        at, of = rows[here], np.ix_(here, best)
        weights, labels = target.stands_for(at), target.said_of(at)
        tables.append(Table(features[best], at, values[of], bought[of], weights, labels))
    return features[best], tables


def read_cells(cells: Cells, rows: Ints, features: Ints, bought: Bools) -> Floats:
    """The cells that are known, NaN elsewhere."""
    values = np.full(bought.shape, np.nan)
    for mask, columns in _alike(bought):
        at = np.ix_(np.flatnonzero(mask), columns)
        values[at] = cells.get(rows[mask], features[columns])
    return values


def _in_the_table(known: Bools, targets: Sequence[Labels], paid: Bools) -> tuple[Ints, Ints]:
    """Rows of which enough is known, and the features that are known on some of them."""
    labelled = np.any([target.known for target in targets], axis=0)
    known = known & labelled[:, None]
    # rows on which a feature must be known to count as known at all
    seen = known.sum(axis=0) >= min(8, max(int(known.sum(axis=0).max(initial=0)), 1))
    # of these, what must be known of a row for it to be in the table, and how many are enough in
    # any case: of a wide table few are bought on most rows
    enough = min(0.25 * int(seen.sum()), 25)
    rows = np.flatnonzero(known[:, seen].sum(axis=1) >= max(enough, 1))
    if all(target.numbers is not None for target in targets) and known[:, paid].any():
        rows = np.flatnonzero(known[:, paid].any(axis=1))
    if not all(target.is_told_by(rows) for target in targets):
        rows = np.flatnonzero(known.any(axis=1))
    features = np.flatnonzero(known[rows].sum(axis=0) >= 1)
    if not len(rows) or not all(target.is_told_by(rows) for target in targets):
        raise BadInput(
            "nothing is known of enough rows of every class, and nothing may be spent on them: say "
            "a larger spend=, or bring rows whose cells are free or owned."
        )
    return rows, features


def _alike(bought: Bools) -> list[tuple[Bools, Ints]]:
    """Columns that are known on the same rows, together."""
    packed = np.packbits(bought, axis=0)
    _, which = np.unique(packed, axis=1, return_inverse=True)
    which = which.reshape(-1)
    groups = [np.flatnonzero(which == g) for g in range(int(which.max(initial=-1)) + 1)]
    return [(bought[:, columns[0]], columns) for columns in groups if bought[:, columns[0]].any()]
