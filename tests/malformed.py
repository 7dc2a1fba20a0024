"""Answers that no provider should give: each must be an error, never a value."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

Answer = Callable[[list[list[Any]], Sequence[Any], Sequence[str]], Any]


def malformed_answers() -> Iterator[tuple[str, Answer]]:
    """(name, function) pairs; the function makes a bad answer from the good one.

    Use a function as a fault of :class:`FakeProvider`. The good answer is Boolean, with at least
    two rows and two columns.

    >>> len(dict(malformed_answers())) >= 80
    True
    """
    yield from _bad_values()
    yield from _bad_shapes()
    yield from _bad_kinds()
    yield from _bad_labels()


def _bad_values() -> Iterator[tuple[str, Answer]]:
    values = {
        "nan": float("nan"), "infinity": float("inf"), "minus-infinity": float("-inf"),
        "two": 2, "minus-one": -1, "half": 0.5, "almost-one": 1 - 1e-9, "tiny": 1e-300,
        "large": 10**6, "huge": 10**400, "none": None, "text-one": "1", "text-yes": "yes",
        "empty-text": "", "bytes": b"1", "complex": 1j, "list": [1], "dict": {"value": 1},
        "object": object(), "tuple": (0, 1),
    }  # fmt: skip
    for name, value in values.items():
        for where, (row, column) in {"first": (0, 0), "last": (-1, -1)}.items():
            yield f"{name}-{where}", partial(_put, value, row, column)


def _put(value: object, row: int, column: int, good: list[list[Any]], *_: object) -> Any:
    good[row][column] = value
    return good


def _bad_shapes() -> Iterator[tuple[str, Answer]]:
    shapes: dict[str, Callable[[list[list[Any]]], Any]] = {
        "a-row-less": lambda g: g[:-1],
        "a-row-more": lambda g: [*g, g[0]],
        "no-rows": lambda g: [],
        "a-column-less": lambda g: [r[:-1] for r in g],
        "a-column-more": lambda g: [[*r, 0] for r in g],
        "no-columns": lambda g: [[] for _ in g],
        "transposed": lambda g: np.zeros((len(g[0]) + 1, len(g))),
        "ragged-short": lambda g: [g[0][:-1], *g[1:]],
        "ragged-long": lambda g: [*g[:-1], [*g[-1], 1]],
        "flat": lambda g: [v for r in g for v in r],
        "three-dimensional": lambda g: [[[v] for v in r] for r in g],
        "one-row-only": lambda g: g[0],
        "a-number": lambda g: 1,
        "twice-as-many": lambda g: [*g, *g],
        "wrapped": lambda g: [g],
        "first-row-alone": lambda g: [g[0]],
        "array-of-rows": lambda g: np.array(g)[:, :-1],
        "array-too-long": lambda g: np.vstack([g, g]),
    }
    yield from _of_good(shapes)


def _bad_kinds() -> Iterator[tuple[str, Answer]]:
    kinds: dict[str, Callable[[list[list[Any]]], Any]] = {
        "nothing": lambda g: None,
        "text": lambda g: "0 1 0 1",
        "bytes-answer": lambda g: b"\x00\x01",
        "empty-dict": lambda g: {},
        "dict-of-rows": lambda g: dict(enumerate(g)),
        "error-object": lambda g: {"error": "rate limit"},
        "html": lambda g: "<html>503</html>",
        "a-set": lambda g: {0, 1},
        "an-exception": lambda g: ValueError("not raised but returned"),
        "array-of-text": lambda g: np.array(g).astype(str),
        "array-of-complex": lambda g: np.array(g).astype(complex),
        "array-of-dates": lambda g: np.array(g).astype("datetime64[s]"),
        "array-of-nan": lambda g: np.full(np.shape(g), np.nan),
        "array-of-twos": lambda g: np.full(np.shape(g), 2, dtype=np.uint8),
        "masked-to-nan": lambda g: np.where(np.array(g) > 0, np.nan, 0.0),
        "a-generator": lambda g: (row for row in g),
        "a-function": lambda g: len,
        "a-class": lambda g: int,
        "true": lambda g: True,
        "ellipsis": lambda g: ...,
    }
    yield from _of_good(kinds)


def _of_good(makes: dict[str, Callable[[list[list[Any]]], Any]]) -> Iterator[tuple[str, Answer]]:
    for name, make in makes.items():
        yield name, lambda good, ids, names, make=make: make(good)  # type: ignore[misc]


def _bad_labels() -> Iterator[tuple[str, Answer]]:
    """Frames carry their labels, so a wrong order can be seen."""

    def frame(good: Any, ids: Sequence[Any], names: Sequence[str]) -> Any:
        import pandas

        return pandas.DataFrame(good, index=list(ids), columns=list(names))

    yield "rows-reversed", lambda g, i, n: frame(g, i, n).iloc[::-1]
    yield "columns-reversed", lambda g, i, n: frame(g, i, n).iloc[:, ::-1]
    yield "another-example", lambda g, i, n: frame(g, ["stranger", *i[1:]], n)
    yield "another-feature", lambda g, i, n: frame(g, i, ["stranger", *n[1:]])
    yield "an-example-twice", lambda g, i, n: frame(g, [i[0], *i[:-1]], n)
    yield "a-feature-twice", lambda g, i, n: frame(g, i, [n[0], *n[:-1]])
    yield "frame-too-short", lambda g, i, n: frame(g, i, n).iloc[:-1]
    yield "frame-too-narrow", lambda g, i, n: frame(g, i, n).iloc[:, :-1]
    yield "frame-unnamed", lambda g, i, n: frame(g, range(len(i)), [str(j) for j in range(len(n))])
    yield "frame-of-text", lambda g, i, n: frame(g, i, n).astype(str)
    yield "frame-with-nan", lambda g, i, n: frame(g, i, n).astype(float).where(lambda f: f < 0)
