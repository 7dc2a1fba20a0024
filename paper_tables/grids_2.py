"""The grids of the second table."""

from __future__ import annotations

from dataclasses import replace

from paper_tables.point import Grid, Point

__all__ = [
    "LARGE_FULL",
    "LARGE_QUICK",
    "MIDDLE_FULL",
    "MIDDLE_QUICK",
    "PLACED_FULL",
    "PLACED_QUICK",
    "ROOT_FULL",
    "ROOT_QUICK",
    "SMALL_FULL",
    "SMALL_QUICK",
    "for_monomials",
]

SMALL_FULL = Grid(
    Point(n_tasks=400, n_features=64, n_metafeatures=4, n_examples=64, n_unrelated=4),
    {
        "n_tasks": (100, 200, 400, 800, 1600),
        "n_features": (32, 64, 128, 256),
        "n_metafeatures": (4, 6, 8, 12),
        "n_unrelated": (0, 1, 2, 4),
    },
)
SMALL_QUICK = Grid(
    Point(n_tasks=200, n_features=64, n_metafeatures=4, n_examples=64, n_unrelated=3),
    {
        "n_tasks": (50, 100, 200, 400),
        "n_features": (32, 64, 128),
        "n_metafeatures": (3, 4, 8),
        "n_unrelated": (0, 1, 3),
    },
)
MIDDLE_FULL = Grid(
    Point(n_tasks=256, n_features=32, n_metafeatures=4, n_examples=64, n_unrelated=160),
    {
        "n_unrelated": (10, 20, 40, 80, 160, 320, 640, 1280),
        "n_tasks": (64, 128, 256, 512),
        "n_features": (16, 24, 32, 64),
        "n_metafeatures": (2, 4, 6, 8),
    },
)
MIDDLE_QUICK = Grid(
    Point(n_tasks=128, n_features=32, n_metafeatures=4, n_examples=64, n_unrelated=80),
    {"n_unrelated": (10, 40, 160, 320), "n_features": (16, 24, 32), "n_metafeatures": (2, 4, 6)},
)


def _large_points(examples: int, *letters: tuple[int, int, int, int]) -> Grid:
    """From (m, N, K, r)."""
    base = Point(letters[0][0], letters[0][1], letters[0][2], examples, n_unrelated=letters[0][3])
    rest = tuple(Point(m, n, k, examples, n_unrelated=r) for m, n, k, r in letters)
    return Grid(base, {}, rest)


LARGE_FULL = _large_points(
    64, (32, 32, 4, 256), (64, 32, 4, 512), (128, 32, 4, 1024), (64, 32, 4, 450),
    (64, 64, 4, 1024), (64, 32, 8, 256), (64, 16, 4, 256), (128, 64, 8, 1000),
)  # fmt: skip
LARGE_QUICK = _large_points(
    64, (32, 32, 4, 256), (64, 32, 4, 450), (64, 16, 4, 256), (16, 16, 2, 128), (32, 16, 2, 256)
)


def _placements(n_features: int, k: int, times: tuple[float, ...], r: tuple[int, ...]) -> Grid:
    """m around K N, for several r."""
    base = Point(k * n_features, n_features, k, 64, n_unrelated=r[0])
    points = tuple(
        replace(base, n_tasks=round(k * n_features * t), n_unrelated=bad)
        for bad in r
        for t in times
    )
    return Grid(base, {}, points)


PLACED_FULL = _placements(64, 4, (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8), (4, 8, 16, 32, 60))
PLACED_QUICK = _placements(32, 3, (1 / 4, 1, 4), (8, 24))
ROOT_FULL = Grid(
    Point(n_tasks=512, n_features=1024, n_metafeatures=2, n_examples=32, n_unrelated=128),
    {"n_unrelated": (16, 32, 64, 128, 256, 512, 1000)},
)
ROOT_QUICK = Grid(
    Point(n_tasks=256, n_features=512, n_metafeatures=2, n_examples=32, n_unrelated=64),
    {"n_unrelated": (16, 40, 100, 256)},
)


def for_monomials(grid: Grid, *, n_features: int, n_tasks: int, n_unrelated: int) -> Grid:
    """The same grid without its largest points, on more rows: slopes need more than stumps do."""
    most = {"n_features": n_features, "n_tasks": n_tasks, "n_unrelated": n_unrelated}
    return Grid(
        replace(grid.base, n_examples=150),
        {
            axis: tuple(value for value in values if value <= most.get(axis, value))
            for axis, values in grid.axes.items()
        },
        tuple(
            replace(point, n_examples=150)
            for point in grid.corners
            if all(getattr(point, letter) <= limit for letter, limit in most.items())
        ),
    )
