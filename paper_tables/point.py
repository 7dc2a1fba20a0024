"""Where an experiment is run: one value for each of the theory's letters, and grids of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

from thrifty.checks import set_checked, whole_number
from thrifty.errors import BadParameter
from thrifty.typing import Json, JsonLike

__all__ = ["LETTERS", "Grid", "Point"]

#: the paper's letter for each parameter
LETTERS = {
    "n_tasks": "m",
    "n_features": "N",
    "n_metafeatures": "K",
    "n_examples": "S",
    "max_depth": "d",
    "n_unrelated": "r",
    "max_terms": "t",
}


@dataclass(frozen=True)
class Point:
    """m, N, K, S, d (depth, or degree), r and t.

    >>> Point(n_tasks=10, n_features=50, n_metafeatures=2, n_examples=100).max_depth
    1
    """

    n_tasks: int
    n_features: int
    n_metafeatures: int
    n_examples: int
    max_depth: int = 1
    n_unrelated: int = 0
    max_terms: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "n_unrelated" else 1
            named = f"{field.name} ({LETTERS[field.name]})"
            set_checked(self, **{field.name: whole_number(named, value, least=least)})

    def to_dict(self) -> dict[str, int]:
        """Plain data, in the order of the letters."""
        return asdict(self)

    def __str__(self) -> str:
        return ", ".join(f"{LETTERS[name]}={value}" for name, value in self.to_dict().items())


@dataclass(frozen=True)
class Grid:
    """A base point, axes along which one letter varies alone, and points of their own.

    >>> grid = Grid(Point(10, 50, 2, 100), {"n_tasks": (10, 20), "n_features": (25, 50)})
    >>> [(p.n_tasks, p.n_features) for p in grid.points]
    [(10, 50), (20, 50), (10, 25)]
    """

    base: Point
    axes: Mapping[str, tuple[int, ...]]
    corners: tuple[Point, ...] = ()

    def __post_init__(self) -> None:
        unknown = sorted(set(self.axes) - set(LETTERS))
        if unknown:
            raise BadParameter(f"an axis must be one of {list(LETTERS)}; got {unknown[0]!r}.")

    @property
    def points(self) -> tuple[Point, ...]:
        """Every point once, in a fixed order."""
        found = dict.fromkeys(
            [p for axis in self.axes for p in self.along(axis)] + list(self.corners)
        )
        return tuple(found) or (self.base,)

    def along(self, axis: str) -> tuple[Point, ...]:
        """The points on one axis."""
        return tuple(replace(self.base, **{axis: value}) for value in self.axes[axis])

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "base": self.base.to_dict(),
            "axes": {axis: list(values) for axis, values in self.axes.items()},
            "corners": [corner.to_dict() for corner in self.corners],
        }

    @classmethod
    def from_dict(cls, data: JsonLike) -> Grid:
        """The inverse of :meth:`to_dict`; what a user may write in a grid file."""
        unknown = sorted(set(data) - {"base", "axes", "corners"})
        if unknown or "base" not in data:
            raise BadParameter(
                "a grid is {'base': {...}, 'axes': {parameter: [values]}, 'corners': [{...}]}; got "
                f"{unknown[0]!r}."
                if unknown
                else "a grid needs 'base', a point; got none."
            )
        axes = data.get("axes", {})
        corners: Sequence[JsonLike] = data.get("corners", ())
        return cls(
            _point(data["base"]),
            {axis: tuple(values) for axis, values in axes.items()},
            tuple(_point(corner) for corner in corners),
        )


def _point(data: JsonLike) -> Point:
    unknown = sorted(set(data) - set(LETTERS))
    if unknown:
        raise BadParameter(f"a point has {list(LETTERS)}; got {unknown[0]!r}.")
    missing = [f.name for f in fields(Point)[:4] if f.name not in data]
    if missing:
        raise BadParameter(f"a point needs {missing[0]} ({LETTERS[missing[0]]}); got {dict(data)}.")
    return Point(**data)
