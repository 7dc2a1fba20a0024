"""A scorecard as a table: which points a row gets for which bin of which feature."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, overload

import numpy as np

from thrifty.typing import Fields, Json

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

    def __iter__(self) -> Iterator[ScorecardRow]:
        return iter(self.rows)

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
        several = len(self.base) > 1
        lines = [_COLUMNS, *self.lines()]
        keep = [0, 1, 2, 3, 4] if several else [0, 1, 3, 4]
        wide = {c: max(len(line[c]) for line in lines) for c in keep}
        out = []
        for line in lines:
            parts = [line[c].ljust(wide[c]) if c < 3 else line[c].rjust(wide[c]) for c in keep]
            out.append("  ".join(parts).rstrip())
        return "\n".join([*out, self.legend])

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
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for label, points in self.base.items():
            writer.writerow(["base", "", label, "", points])
        for row in self.rows:
            writer.writerow([row.feature, row.bin, row.for_class, row.share, row.points])
        return out.getvalue()

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame, a line per bin."""
        import pandas as pd

        lines = [(r.feature, r.bin, r.for_class, r.share, r.points) for r in self.rows]
        return pd.DataFrame(lines, columns=list(_COLUMNS))


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
