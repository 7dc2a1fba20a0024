"""Kernel ridge regression: rows speak for rows that are like them.

    f(x) = mean + sum over rows i of a_i exp(-|z - z_i|^2 / d)

z: the columns of the line (numbers cut off and standardised, gaps, categories), each
times the root of what its feature told a forest, so that features that tell little count little;
d: the median of |z_i - z_j|^2, or four times to a quarter of it. Where a forest cuts a number in
two, this goes from row to row without a step, and errs elsewhere. One decomposition of the rows'
kernel serves any number of labels; width and penalty are those that leave least square error on
each row without itself, summed over the labels, which is known without fitting again (Allen, 1974;
Wahba, *Spline Models for Observational Data*, 1990). Constants were chosen on digits, yeast and
support2; what it gains, and what was tried: docs/research/buying.md, Mixtures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thrifty.errors import StoreError
from thrifty.models.fits.columns import Columns, columns_from_dict
from thrifty.typing import Floats, Ints, Json, JsonLike

#: penalties that are tried, on a kernel that is 1 for the same row
_PENALTIES = 10.0 ** np.arange(-1.5, 1.1, 0.5)
#: how much narrower than the median distance a kernel may be, each tried
_NARROWER = 2.0 ** np.arange(-2, 3)


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """What was fitted.

    Attributes
    ----------
    columns : Columns
        how values become columns
    scale : array of float
        (m,) what each column is multiplied by; the kernel is exp(-distance^2) of the result
    rows : array of float
        (n, m) the rows as columns, scaled
    coefficients, means : array of float
        (n, c) what each row says of each label; (c,) what is said far from all rows
    """

    columns: Columns
    scale: Floats
    rows: Floats
    coefficients: Floats
    means: Floats

    def __post_init__(self) -> None:
        # laid out as a store gives them back: the layout of memory decides the last bits of sums
        for name in _KEPT:
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))

    def scores(self, values: Floats) -> Floats:
        """(rows, c): what is said of each label."""
        z = self.columns.matrix(values) * self.scale
        found = np.empty((len(z), len(self.means)))
        for at in range(0, len(z), _AT_ONCE):
            part = slice(at, at + _AT_ONCE)
            found[part] = np.exp(-_squares(z[part], self.rows)) @ self.coefficients
        return found + self.means

    def of_labels(self, which: slice) -> KernelRidge:
        """Some of the labels alone."""
        return replace(self, coefficients=self.coefficients[:, which], means=self.means[which])

    def over(self, columns: Ints) -> KernelRidge:
        """Over a table of which these columns, in this order, are those that it asks for."""
        own = self.columns
        return replace(self, columns=replace(own, feature=columns[own.feature]))

    def times(self, factor: float) -> KernelRidge:
        """All that it says times so much, so that it stands on the scale of other parts."""
        return replace(self, coefficients=factor * self.coefficients, means=factor * self.means)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        kept = {name: getattr(self, name).tolist() for name in _KEPT}
        return {"columns": self.columns.to_dict(), **kept}


#: what is kept of a fit, beside its columns
_KEPT = ("scale", "rows", "coefficients", "means")
#: rows that are asked at a time, for memory alone
_AT_ONCE = 2048


def kernel_from_dict(data: JsonLike, n_features: int) -> KernelRidge:
    """The inverse of :meth:`KernelRidge.to_dict`, for a model of so many features."""
    columns = columns_from_dict(data["columns"])
    scale, rows, coefficients, means = (np.array(data[name], dtype=np.float64) for name in _KEPT)
    n, m, c = len(rows), len(columns.feature), len(means)
    if (scale.shape, rows.shape, coefficients.shape) != ((m,), (n, m), (n, c)):
        raise StoreError(
            f"the rows of a kernel in the store do not fit its {m} columns and {c} labels: scale "
            f"{scale.shape}, rows {rows.shape}, coefficients {coefficients.shape}. The store was "
            "changed by hand or damaged: open a copy of it."
        )
    astray = columns.feature[(columns.feature < 0) | (columns.feature >= n_features)]
    if len(astray):
        raise StoreError(
            f"a kernel in the store asks for feature {int(astray[0])} of a model that "
            f"has {n_features}. The store was changed by hand or damaged: open a copy of it."
        )
    return KernelRidge(columns, scale, rows, coefficients, means)


def fit_kernel(
    columns: Columns, made: Floats, importances: Floats, labels: Floats
) -> tuple[KernelRidge, Floats]:
    """Fit (n, c) labels to n rows, given as the columns made of them.

    And what would be said of each row had it alone been left out.

    >>> x = np.linspace(-3, 3, 60)[:, None]
    >>> columns = Columns.of(x, np.array([False]))
    >>> wave, held_out = fit_kernel(columns, columns.matrix(x), np.ones(1), np.sin(2 * x))
    >>> bool(np.abs(wave.scores(x) - np.sin(2 * x)).max() < 0.3)
    True
    """
    rows = 400  # rows on which that is found, of those there are: it takes most of the time
    told = np.maximum(importances, 0.0)  # of cuts that gain nothing they may be just below 0
    told = told / max(float(told.mean()), 1e-300)
    by = np.sqrt(told[columns.feature])
    z = made * by
    apart = _squares(z, z)
    wide = float(np.median(apart[np.triu_indices(len(z), 1)])) if len(z) > 1 else 1.0
    unit = np.sqrt(wide) if wide > 0 else 1.0
    some = np.arange(len(z)) if len(z) <= rows else np.linspace(0, len(z) - 1, rows).astype(int)
    few = apart[np.ix_(some, some)] / unit**2
    tried = [_KernelFit(n * few, labels[some]) for n in _NARROWER]
    best = int(np.argmin([fit.wrong for fit in tried]))
    narrower, fit = float(_NARROWER[best]), tried[best]
    if len(z) > rows:
        fit = _KernelFit(apart * (narrower / unit**2), labels)
    times = np.sqrt(narrower) / unit
    return KernelRidge(columns, by * times, z * times, fit.coefficients, fit.means), fit.held_out


def takes(n_rows: int) -> bool:
    """Whether so many rows are enough for a kernel, and not too many."""
    # rows without which nothing is fitted (24 rows of diabetes lost .03 of R squared by it), and
    # beyond which its work, which goes with their cube, is too much
    fewest, most = 40, 1500
    return fewest <= n_rows <= most


class _KernelFit:
    """Coefficients of one kernel, with the penalty that held-out rows ask for."""

    def __init__(self, apart: Floats, labels: Floats) -> None:
        self.means = labels.mean(axis=0)
        size, v = np.linalg.eigh(np.exp(-apart))
        along, each = v.T @ (labels - self.means), v * v
        spread = np.maximum(labels.var(axis=0), 1e-300)
        # where no penalty leaves a finite error, the mean is all that is said
        self.wrong, self.coefficients = np.inf, np.zeros_like(labels)
        self.held_out = np.tile(self.means, (len(labels), 1))
        for penalty in _PENALTIES:
            kept = 1 / (size + penalty)
            found = v @ (kept[:, None] * along)
            off = found / (each @ kept)[:, None]
            wrong = float(((off**2).mean(axis=0) / spread).sum())
            if wrong < self.wrong:
                self.wrong, self.coefficients, self.held_out = wrong, found, labels - off


def _squares(a: Floats, b: Floats) -> Floats:
    """(rows of a, rows of b) squared distances."""
    found = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * a @ b.T
    return np.asarray(np.maximum(found, 0.0))
