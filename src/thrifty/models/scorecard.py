"""Scorecards: points for the bins of each feature, as they are added up and as people read them.

Numbers are cut at quantiles of what was bought, at numbers that are short to write; a value that
many rows share gets a bin of its own. Categories have a bin each, rare ones share one. A gap is a
bin like others. What was never seen when the bins were made falls into none: it is neutral. A ridge
of the stack is kept so as well (:mod:`thrifty.models.fits.adaptive_ridge`).
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, overload

import numpy as np

from thrifty.typing import Fields, Floats, Ints, Json, JsonLike

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


#: points that double the odds, where nobody said otherwise: a habit of credit scoring is 20; 10
#: leaves whole points that are fine enough (set by hand)
DOUBLING = 10.0

#: what the codes of categories stand for, by the feature's name
CategoryNames = Mapping[str, Sequence[object]]

_COLUMNS = ("feature", "bin", "class", "share", "points")


@dataclass(frozen=True, slots=True)
class ScorecardRow:
    """One line of the card: the feature, the bin, its points, the share of rows that fall there.

    ``for_class`` is the class that the points speak for.
    """

    feature: str
    bin: str
    points: float
    share: float
    for_class: Hashable


@dataclass(frozen=True)
class Scorecard(Sequence[ScorecardRow]):
    """The lines of a scorecard, the features that move the score most first.

    A row's score is ``base`` plus its points; ``doubling`` points double the odds of the class.
    Features whose bins all have 0 points are left out.

    >>> young = ScorecardRow("age", "< 40", -8.0, 0.5, 1)
    >>> old = ScorecardRow("age", ">= 40", 8.0, 0.5, 1)
    >>> card = Scorecard((young, old), base={1: -12.0}, doubling=10.0)
    >>> print(card)
    feature  bin    share  points
    base                    -12.0
    age      < 40    50 %    -8.0
             >= 40   50 %     8.0
    10 points double the odds of 1.
    """

    rows: tuple[ScorecardRow, ...]
    base: dict[Hashable, float]
    doubling: float

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> ScorecardRow: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ScorecardRow, ...]: ...
    def __getitem__(self, at: int | slice) -> ScorecardRow | tuple[ScorecardRow, ...]:
        return self.rows[at]

    def of(self, label: Hashable, other: Hashable) -> Scorecard:
        """Of a card of two classes that of the given one, where it is of the ``other``.

        >>> card = Scorecard((ScorecardRow("age", "< 40", -8.0, 1.0, "well"),), {"well": 2.0}, 10.0)
        >>> card.of("ill", other="well").base
        {'ill': -2.0}
        """
        if list(self.base) != [other]:
            return self
        rows = tuple(replace(row, points=0.0 - row.points, for_class=label) for row in self.rows)
        return replace(self, rows=rows, base={label: 0.0 - self.base[other]})

    def lines(self) -> list[tuple[str, str, str, str, str]]:
        """Feature, bin, class, share and points as texts; a feature is named once."""
        several = len(self.base) > 1
        found = [
            ("base", "", str(label) if several else "", "", f"{points:.1f}")
            for label, points in self.base.items()
        ]
        before: tuple[Hashable, str] | None = None
        for row in self.rows:
            new = (row.for_class, row.feature) != before
            before = (row.for_class, row.feature)
            share = f"{row.share:.0%}".replace("%", " %")
            name = row.feature if new else ""
            label = str(row.for_class) if several and new else ""
            found.append((name, row.bin, label, share, f"{row.points:.1f}"))
        return found

    def __str__(self) -> str:
        columns = dict(zip(_COLUMNS, zip(_COLUMNS, *self.lines())))
        if len(self.base) == 1:
            del columns["class"]
        padded = []
        for name, texts in columns.items():
            wide = max(map(len, texts))
            is_number = name in ("share", "points")
            padded.append([t.rjust(wide) if is_number else t.ljust(wide) for t in texts])
        lines = ["  ".join(line).rstrip() for line in zip(*padded)]
        return "\n".join([*lines, self.legend])

    @property
    def legend(self) -> str:
        """What a point is worth."""
        of = "a class" if len(self.base) > 1 else str(next(iter(self.base)))
        return f"{self.doubling:g} points double the odds of {of}."

    def _repr_html_(self) -> str:
        """For notebooks."""
        head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in line) + "</tr>"
            for line in self.lines()
        )
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{html.escape(self.legend)}</p>"
        )

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "doubling": self.doubling,
            "base": [[plain(label), points] for label, points in self.base.items()],
            "rows": [
                {
                    "feature": row.feature,
                    "bin": row.bin,
                    "points": row.points,
                    "share": row.share,
                    "class": plain(row.for_class),
                }
                for row in self.rows
            ],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def to_csv(self) -> str:
        """Comma-separated text, the base first."""
        out = io.StringIO()
        base = [("base", "", label, "", points) for label, points in self.base.items()]
        csv.writer(out, lineterminator="\n").writerows([_COLUMNS, *base, *self._records()])
        return out.getvalue()

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame, a line per bin."""
        import pandas as pd

        return pd.DataFrame(self._records(), columns=list(_COLUMNS))

    def _records(self) -> list[tuple[object, ...]]:
        return [(r.feature, r.bin, r.for_class, r.share, r.points) for r in self.rows]


def plain(label: Hashable) -> Hashable:
    """A label as Python has it."""
    return label.item() if isinstance(label, np.generic) else label


def scorecard_curves(card: Scorecard, top: int = 9) -> list[Fields]:
    """What a plot of a card shows: bins and points of the features that matter most."""
    found: dict[tuple[str, str], Fields] = {}
    for row in card.rows:
        key = (row.feature, str(row.for_class))
        curve = found.setdefault(
            key, {"feature": row.feature, "class": row.for_class, "bins": [], "points": []}
        )
        curve["bins"].append(row.bin)
        curve["points"].append(row.points)
    return list(found.values())[:top]


def plot_scorecard(card: Scorecard, top: int = 9) -> Figure:
    """A small bar chart a feature, drawn with matplotlib; returns the figure."""
    from matplotlib.figure import Figure

    curves = scorecard_curves(card, top)
    across = min(3, max(1, len(curves)))
    down = max(1, -(-len(curves) // across))
    figure = Figure(figsize=(4.2 * across, 2.4 * down), layout="constrained")
    for at, curve in enumerate(curves):
        axes = figure.add_subplot(down, across, at + 1)
        axes.barh(curve["bins"], curve["points"], color="#4477aa")
        axes.axvline(0.0, color="#888888", linewidth=0.8)
        axes.invert_yaxis()
        several = len(card.base) > 1
        axes.set_title(f"{curve['feature']} ({curve['class']})" if several else curve["feature"])
    return figure


#: the code of a value that no bin was made for
NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of one feature: values, then one for gaps.

    Attributes
    ----------
    edges : array of float
        limits between the bins of numbers, increasing; a bin begins at its lower limit
    groups : tuple of tuple of float or None
        for categories, the values of each bin; None for numbers
    weight : array of float
        (n_bins,) how much of the training rows fell into each; the last is for gaps

    Examples
    --------
    >>> bins = make_bins(np.array([1.0, 2.0, 3.0, np.nan]), np.ones(4), max_bins=3)
    >>> bins.names()
    ['< 2', '2 to 3', '>= 3', 'missing']
    >>> bins.codes(np.array([np.nan, 0.0, 2.5, 9.0])).tolist()
    [3, 0, 1, 2]
    """

    edges: Floats
    groups: tuple[tuple[float, ...], ...] | None
    weight: Floats

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def share(self) -> Floats:
        """Of the training rows in each bin."""
        return self.weight / (self.weight.sum() or 1.0)

    def codes(self, values: Floats) -> Ints:
        """The bin of every value; NOWHERE for a category or a gap that was never seen."""
        if self.groups is None:
            found = np.searchsorted(self.edges, values, side="right").astype(np.int64)
        else:
            found = np.full(len(values), NOWHERE, dtype=np.int64)
            for code, group in enumerate(self.groups):
                found[np.isin(values, group)] = code
        found[np.isnan(values)] = len(self) - 1 if self.weight[-1] > 0 else NOWHERE
        return found

    def names(self, categories: Sequence[object] | None = None) -> list[str]:
        """What the bins are called; ``categories``: the texts behind a category's codes."""
        if self.groups is not None:
            texts = [" or ".join(_name(v, categories) for v in group) for group in self.groups]
        elif not len(self.edges):
            texts = ["any value"]
        else:
            limits = [f"{edge:.10g}" for edge in self.edges]  # 50.3375, not 50.3374999999999
            if len(set(limits)) < len(limits):
                limits = [f"{edge:.17g}" for edge in self.edges]
            between = [f"{low} to {high}" for low, high in pairwise(limits)]
            texts = [f"< {limits[0]}", *between, f">= {limits[-1]}"]
        return [*texts, "missing"]

    def basis(self) -> Floats:
        """(n_bins, d): points are this times d independent standard normals, before any label."""
        n = len(self)
        made = np.eye(n)[:, : n - 1]
        if self.groups is None:  # a step between neighbours, so that they stay alike
            made = np.tri(n, n - 2, -1) / np.sqrt(max(n - 2, 1))
        made[-1] = 0.0
        made = np.column_stack([made, np.arange(n) == n - 1])
        return np.asarray(made - self.share @ made)  # the intercept says what the mean row gets

    def to_dict(self) -> Json:
        """Plain data, for JSON; infinite limits as texts."""
        return {
            "edges": [float(e) if np.isfinite(e) else str(e) for e in self.edges],
            "groups": None if self.groups is None else [list(group) for group in self.groups],
            "weight": self.weight.tolist(),
        }


def bins_from_dict(data: JsonLike) -> Bins:
    """The inverse of :meth:`Bins.to_dict`."""
    groups = data["groups"]
    return Bins(
        np.array([float(edge) for edge in data["edges"]], dtype=np.float64),
        None if groups is None else tuple(tuple(map(float, group)) for group in groups),
        np.array(data["weight"], dtype=np.float64),
    )


def make_bins(
    values: Floats, weights: Floats, *, max_bins: int = 12, category: bool = False, rare: int = 5
) -> Bins:
    """Bins of the values that were bought.

    Parameters
    ----------
    values, weights : array of float
        one feature on every training row, NaN for gaps
    max_bins : int
        the most bins of a number, gaps apart
    category : bool
        whether the numbers are names and have no order
    rare : int
        categories with fewer rows than this share a bin
    """
    here = ~np.isnan(values)
    gaps = float(weights[~here].sum())
    distinct, at = np.unique(values[here], return_inverse=True)
    if category:
        rows = np.bincount(at, minlength=len(distinct))
        groups: list[tuple[float, ...]] = [(float(v),) for v, n in zip(distinct, rows) if n >= rare]
        few = tuple(float(v) for v, n in zip(distinct, rows) if n < rare)
        if few:
            groups.append(few)
        parts = [float(weights[here][np.isin(values[here], g)].sum()) for g in groups]
        return Bins(np.zeros(0), tuple(groups), np.array([*parts, gaps]))
    mass = np.bincount(at, weights=weights[here], minlength=len(distinct)).astype(np.float64)
    edges = _edges(distinct, mass, max_bins)
    code = np.searchsorted(edges, distinct, side="right")
    weight = np.bincount(code, weights=mass, minlength=len(edges) + 1).astype(np.float64)
    return Bins(edges, None, np.append(weight, gaps))


def _edges(distinct: Floats, mass: Floats, max_bins: int) -> Floats:
    """Quantiles of the mass, and both sides of a value that alone holds a bin's share."""
    if len(distinct) < 2:
        return np.zeros(0)
    below = np.cumsum(mass)
    share = below[-1] / max_bins
    heavy = np.flatnonzero(mass >= share)
    cuts = np.searchsorted(below, share * np.arange(1, max_bins) * (1 - 1e-12))
    cuts = np.unique(np.concatenate([cuts, heavy, heavy - 1]))
    cuts = cuts[(cuts >= 0) & (cuts < len(distinct) - 1)]
    found = [_short_between(float(distinct[c]), float(distinct[c + 1])) for c in cuts]
    return np.array(found, dtype=np.float64)


def _short_between(low: float, high: float) -> float:
    """A number above ``low`` and at most ``high`` that is short to write.

    >>> _short_between(12.3481, 12.9), _short_between(1.0, 2.0), _short_between(-np.inf, 3.0)
    (12.6, 2.0, 3.0)
    """
    if not np.isfinite(low) or not np.isfinite(high):
        return high
    if float(high).is_integer() and high - low >= 0.5:
        return high
    middle = low / 2 + high / 2
    for digits in range(1, 17):
        short = float(f"{middle:.{digits}g}")
        if low < short <= high:
            return short
    return high


def _name(value: float, categories: Sequence[object] | None) -> str:
    if categories is not None and 0 <= value < len(categories) and float(value).is_integer():
        return str(categories[int(value)])
    return f"{value:g}"


@dataclass(frozen=True, eq=False)
class Points:
    """What was fitted: intercepts (c,) and, for every feature, points (n_bins, c), in logits."""

    bins: tuple[Bins, ...]
    intercepts: Floats
    points: tuple[Floats, ...]

    def scores(self, values: Floats) -> Floats:
        """(rows, c) logits; what falls into no bin adds nothing."""
        if values.shape[1] < len(self.bins):
            raise ValueError(f"points of {len(self.bins)} features got {values.shape[1]}")
        found = np.tile(self.intercepts, (len(values), 1))
        for f in self._used:
            table = np.vstack([self.points[f], np.zeros(len(self.intercepts))])  # NOWHERE is last
            found += table[self.bins[f].codes(values[:, f])]
        return found

    @cached_property
    def _used(self) -> list[int]:
        """Features that move the score; a stranger's store may hold too few points for its bins."""
        used = [f for f, points in enumerate(self.points) if points.any()]
        for f in used:
            bins, lines = self.bins[f], len(self.points[f])
            groups = len(bins.edges) + 1 if bins.groups is None else len(bins.groups)
            if lines < max(groups, len(bins)):
                raise ValueError(f"{lines} lines of points for {max(groups, len(bins))} bins")
        return used

    def of_labels(self, which: slice) -> Points:
        """Some of the labels alone."""
        tables = tuple(np.ascontiguousarray(table[:, which]) for table in self.points)
        return Points(self.bins, self.intercepts[which], tables)

    def times(self, factor: float) -> Points:
        """So many times what it says."""
        tables = tuple(factor * table for table in self.points)
        return Points(self.bins, factor * self.intercepts, tables)

    def card(
        self,
        names: Sequence[str],
        words: CategoryNames,
        classes: Sequence[Hashable],
        doubling: float = DOUBLING,
    ) -> Scorecard:
        """As a card that people read, the features that move the score most first.

        Parameters
        ----------
        names, words : sequence of str and CategoryNames
            the features' names, and the texts behind the codes of categories
        classes : sequence
            the class of each code
        doubling : float
            how many points double the odds
        """
        unit = float(np.log(2.0) / doubling)
        labels = [plain(label) for label in (classes[1:] if len(classes) == 2 else classes)]
        rows: list[tuple[float, list[ScorecardRow]]] = []
        for name, bins, table in zip(names, self.bins, self.points):
            texts, share = bins.names(words.get(name)), bins.share
            for c, label in enumerate(labels):
                spread = float(share @ table[:, c] ** 2)
                if spread <= 1e-12:
                    continue
                lines = [
                    ScorecardRow(str(name), text, float(worth / unit), float(part), label)
                    for text, worth, part in zip(texts, table[:, c], share)
                    if part > 0
                ]
                rows.append((spread, lines))
        rows.sort(key=lambda row: -row[0])
        base = dict(zip(labels, (self.intercepts / unit).tolist()))
        return Scorecard(tuple(line for _, lines in rows for line in lines), base, doubling)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "bins": [bins.to_dict() for bins in self.bins],
            "intercepts": self.intercepts.tolist(),
            "points": [table.tolist() for table in self.points],
        }


def points_from_dict(data: JsonLike) -> Points:
    """The inverse of :meth:`Points.to_dict`."""
    columns = len(data["intercepts"])
    return Points(
        tuple(bins_from_dict(bins) for bins in data["bins"]),
        np.array(data["intercepts"], dtype=np.float64),
        tuple(np.array(t, dtype=np.float64).reshape(-1, columns) for t in data["points"]),
    )
