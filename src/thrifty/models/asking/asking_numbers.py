"""A model of numbers asks through the door: all it has, or as many of its features as may be paid.

Features are asked in the order in which they were bought, the most useful first; a model for each
beginning of the order is fitted when it is first needed, from the table that was bought for
learning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.lazy import FINISHED, Asked
from thrifty.lazy.stopping import StoppingRule
from thrifty.models.asking.horizon import prefix_lengths
from thrifty.models.fits.fitting import fit_regressor

if TYPE_CHECKING:
    from thrifty.models.held.regressor import ModelRegressor

__all__ = ["ask_numbers"]


def ask_numbers(
    model: ModelRegressor, cells: Cells, rows: Ints, *, stop: StoppingRule | None = None,
    spend: float | None = None,
    per_row: float | None = None,
) -> Asked:  # fmt: skip
    """Answer rows with a :class:`thrifty.ModelRegressor`."""
    if stop is not None:
        raise BadParameter(
            f"a model of numbers has no classes to be sure of: leave out stop={stop!r}. "
            "per_row= and spend= limit what it asks for."
        )
    rows = np.asarray(rows, dtype=np.int64)
    steps = prefix_lengths(len(model.features_))
    costs = np.column_stack(
        [np.zeros(len(rows))]
        + [cells.row_costs(rows, model.features_[:k]) for k in steps[1:]]
    )  # fmt: skip
    at = np.full(len(rows), len(steps) - 1)
    why = np.full(len(rows), FINISHED, dtype=object)
    if per_row is not None:
        at = (costs <= per_row + 1e-9).sum(axis=1) - 1
        why[at < len(steps) - 1] = "per_row"
    if spend is not None:
        each = np.arange(len(rows))
        for most in range(len(steps) - 1, -1, -1):
            cut = np.minimum(at, most)
            if costs[each, cut].sum() <= spend + 1e-9:
                break
        why[cut < at] = "spend"
        at = cut
    values = np.zeros(len(rows))
    for k in np.unique(at).tolist():
        here = np.flatnonzero(at == k)
        values[here] = _answers(model, cells, rows[here], steps[k])
    return Asked(values, None, tuple(why.tolist()))


def _answers(model: ModelRegressor, cells: Cells, rows: Ints, k: int) -> Floats:
    table = model.table_
    if k == 0:
        return np.full(len(rows), float(np.average(table.labels, weights=table.weights)))
    values = np.asarray(cells.get(rows, model.features_[:k]), dtype=np.float64)
    if k == len(model.features_):
        return model.numbers(values)
    if k not in model._prefixes:
        with threadpool_limits(1):
            seed = model.random_state or 0
            model._prefixes[k] = fit_regressor(table.prefix(k), model.estimator, seed=seed)
    return np.asarray(model._prefixes[k].predict(values), dtype=np.float64)
