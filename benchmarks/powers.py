"""Monomials and polynomials: what the default mode costs, and its peers on the same data.

    python benchmarks/powers.py                    everything (several minutes)
    python benchmarks/powers.py monomials          the figures of one part; also: line,
    python benchmarks/powers.py --json line        polynomials, noise, coarse, choices, peers

Peers that are not installed are left out and named: pip install scikit-learn openturns pysindy.
Each figure stands beside the limit it is held against; a miss is marked.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import linprog, nnls

import thrifty
from thrifty.errors import ThriftyError
from thrifty.powers.pursuit import design, search
from thrifty.powers.representation import PowersRepresentation, exponents, legal_points
from thrifty.powers.values import both_ends, shuffled
from thrifty.streams.power_tasks import metafeatures

Row = dict[str, Any]

#: Rows at which peers are tried, and how many of the tasks must come out right.
ROWS = (20, 30, 45, 70, 100, 150, 220, 320, 480)
ENOUGH = 0.8


def monomials() -> Iterator[Row]:
    """The default mode against the paper's protocol, then scratch alone."""
    for seed in range(3):
        stream = thrifty.streams.monomials(200, 1000, 10, 300, 10, random_state=seed)
        yield _lifetime(f"N=1000 K=10 d=10 m=200, seed {seed}", thrifty.Monomials(10), stream) | {
            "limits": "200 exact, 300,000 cells, reused median 40"
        }
    stream = thrifty.streams.monomials(200, 1000, 10, 1500, 10, random_state=0)
    paper = thrifty.Monomials(10, method="paper", delta=0.01)
    yield _lifetime("the same, the paper's protocol, S=1500", paper, stream) | {
        "limits": "(14.2 M expected)"
    }
    for n_features, degree in ((1000, 10), (10_000, 5)):
        yield _scratch_rows(n_features, degree) | {"limits": "80 rows, 10 s"}


def _lifetime(name: str, family: Any, stream: Any, coefficients: bool = True) -> Row:
    """A stream through a lifetime: how many exact, and what each route cost."""
    life = thrifty.Lifetime(family)
    start, exact, refused = time.process_time(), 0, 0
    for task in stream:
        try:
            model = life.learn(task.name, task.X, task.y).model
        except ThriftyError:
            refused += 1
            continue
        exact += _same(model, task.target, coefficients)
    cells = {
        route: [t.receipt.cells for t in life.tasks if t.route == route]
        for route in ("reused", "bought", "scratch")
    }
    width = life.tasks[0].receipt.n_features
    return {
        "what": name,
        "exact": exact,
        "refused": refused,
        "wrong": len(life) - exact,
        "cells": sum(map(sum, cells.values())),
        "reused_median": float(np.median(cells["reused"])) if cells["reused"] else None,
        "reused_max": max(cells["reused"], default=None),
        "scratch_tasks": len(cells["scratch"]),
        "scratch_rows_max": round(max(cells["scratch"], default=0) / width, 1),
        "rank": len(life.representation),
        "seconds": round(time.process_time() - start, 1),
    }


def _same(model: Any, target: Any, coefficients: bool = True) -> bool:
    """The same powers; the same terms, with the same coefficients unless labels are noisy."""
    if hasattr(model, "exponents_"):
        return bool(model.exponents_ == target)
    if set(model.terms_) != set(target):
        return False
    off = [abs(model.terms_[term] - value) / abs(value) for term, value in target.items()]
    return not coefficients or max(off) < 1e-6


def _scratch_rows(n_features: int, degree: int) -> Row:
    rows, seconds, exact = [], [], 0
    stream = thrifty.streams.monomials(
        10, n_features, 10, 400, degree, random_state=1, metafeature_degree=degree
    )  # targets of the full degree, over that many features
    for task in stream:
        start = time.process_time()
        learned = thrifty.Lifetime(thrifty.Monomials(degree)).learn(task.name, task.X, task.y)
        seconds.append(time.process_time() - start)
        rows.append(learned.receipt.cells / n_features)
        exact += learned.model.exponents_ == task.target
    return {
        "what": f"scratch alone, N={n_features} d={degree}, 10 tasks",
        "exact": exact,
        "rows_median": round(float(np.median(rows)), 1),
        "rows_max": round(max(rows), 1),
        "seconds_max": round(max(seconds), 2),
    }


def line() -> Iterator[Row]:
    """The bill after m tasks, up to m = 5,000, for both families."""
    marks = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
    streams = {
        "monomials N=1000 K=10 d=10": (
            thrifty.Monomials(10),
            thrifty.streams.monomials(5000, 1000, 10, 60, 10, random_state=7),
        ),
        "polynomials N=30 K=5 d=3 t=2": (
            thrifty.Polynomials(3, 2),
            thrifty.streams.polynomials(5000, 30, 5, 200, 3, 2, random_state=7),
        ),
    }
    for name, (family, stream) in streams.items():
        life, exact = thrifty.Lifetime(family), 0
        for task in stream:
            exact += _same(life.learn(task.name, task.X, task.y).model, task.target)
        each = np.array([task.receipt.cells for task in life.tasks])
        bill = np.cumsum(each)
        reused = each[[task.route == "reused" for task in life.tasks]]
        yield {
            "what": name,
            "exact": exact,
            **{f"m={mark}": int(bill[mark - 1]) for mark in marks},
            "slope_after_500": round(float(bill[-1] - bill[499]) / 4500, 1),
            "reused_mean": round(float(reused.mean()), 1),
        }


def polynomials() -> Iterator[Row]:
    """The default mode on both ranges, then many features of degree two."""
    for low, high in ((1, 2), (-1, 1)):
        for seed in range(2):
            stream = thrifty.streams.polynomials(
                60, 100, 10, 500, 4, 3, random_state=seed, low=low, high=high
            )
            name = f"N=100 K=10 d=4 t=3 m=60 on [{low}, {high}], seed {seed}"
            yield _lifetime(name, thrifty.Polynomials(4, 3), stream) | {
                "limits": "60 exact, reused max 1,000 cells, scratch max 300 rows"
            }
    for low, high in ((1, 2), (-1, 1)):
        stream = thrifty.streams.polynomials(
            4, 1000, 10, 500, 2, 5, random_state=0, low=low, high=high
        )
        name = f"N=1000 K=10 d=2 t=5 m=4 on [{low}, {high}]"
        yield _lifetime(name, thrifty.Polynomials(2, 5), stream) | {"limits": "scratch 200 rows"}


def noise() -> Iterator[Row]:
    """Labels with noise: right or refused, never wrong."""
    for level in (0.01, 0.03, 0.05):
        stream = thrifty.streams.monomials(60, 200, 8, 400, 8, random_state=2, noise=level)
        yield _lifetime(
            f"monomials N=200 K=8 d=8 m=60, noise {level:.0%}",
            thrifty.Monomials(8, label_precision=level),
            stream,
        ) | {"limits": "0 wrong"}
    for low, high in ((1, 2), (-1, 1)):
        for level in (0.01, 0.03):
            stream = thrifty.streams.polynomials(
                40, 30, 5, 500, 3, 2, random_state=2, low=low, high=high, noise=level
            )
            yield _lifetime(
                f"polynomials N=30 K=5 d=3 t=2 m=40 on [{low}, {high}], noise {level:.0%}",
                thrifty.Polynomials(3, 2, label_precision=level),
                stream,
                coefficients=False,
            ) | {"limits": "0 wrong"}


COARSE: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "one decimal": lambda r: np.round(r.uniform(0.5, 3, (200, 10)), 1),
    "two decimals": lambda r: np.round(r.uniform(0.5, 3, (200, 10)), 2),
    "integers 1 to 5": lambda r: r.integers(1, 6, (200, 10)).astype(float),
    "every other an integer 1 to 3": lambda r: np.where(
        np.arange(10) % 2, r.uniform(0.5, 3, (200, 10)), r.integers(1, 4, (200, 10))
    ),
    "log-normal, one decimal": lambda r: np.round(np.exp(r.normal(0, 0.5, (200, 10))), 1) + 0.1,
    "1.0 on 60 % of the rows": lambda r: np.where(
        r.random((200, 10)) < 0.6, 1.0, r.uniform(0.5, 3, (200, 10))
    ),
    "fine": lambda r: r.uniform(0.5, 3, (200, 10)),
}


def coarse() -> Iterator[Row]:
    """Coarse values: right or refused, never wrong."""
    pair = [{9: 1}, {5: 1, 9: 2}]
    found = [_coarse_tasks(COARSE["one decimal"], seed, pair)[-1] for seed in range(300)]
    yield {"what": "y = x9, then y = x5 x9^2, one decimal", **_counted(found)}
    for name, make in COARSE.items():
        found = [task for seed in range(40) for task in _coarse_tasks(make, seed)]
        yield {"what": name, **_counted(found)}


def _coarse_tasks(make: Any, seed: int, targets: Any = None) -> list[tuple[bool | None, int]]:
    """Whether each target was found (None: refused), and its cells."""
    random, found = np.random.default_rng(seed), []
    X = make(random)
    life = thrifty.Lifetime(thrifty.Monomials(max_degree=6))
    for number in range(4 if targets is None else len(targets)):
        used = random.choice(10, random.integers(1, 4), replace=False).tolist()
        drawn = {feature: int(random.integers(1, 3)) for feature in used}
        target = drawn if targets is None else targets[number]
        y = np.prod([X[:, feature] ** power for feature, power in target.items()], axis=0)
        try:
            learned = life.learn(str(number), X, y)
            found.append((learned.model.exponents_ == target, learned.receipt.cells))
        except ThriftyError:
            found.append((None, 0))
    return found


def _counted(found: list[tuple[bool | None, int]]) -> Row:
    cells = [cells for right, cells in found if right is not None]
    return {
        "tasks": len(found),
        "wrong": sum(right is False for right, _cells in found),
        "refused": sum(right is None for right, _cells in found),
        "cells_a_task": round(float(np.mean(cells))),
        "limits": "0 wrong",
    }


# --------------------------------------------------------------------------- choices


def choices() -> Iterator[Row]:
    """Why rows are taken from both ends, and why supports are searched by a beam."""
    for n_features, degree in ((1000, 10), (10_000, 5)):
        yield {"what": f"rows for non-negative least squares, N={n_features} d={degree}"} | {
            name: _rows_by_order(n_features, degree, order) for name, order in ORDERS.items()
        }
    for low, high in ((1, 2), (-1, 1)):
        yield {"what": f"rows to reuse, N=100 K=10 d=4 t=3 on [{low}, {high}]"} | {
            name: _rows_by_solver(low, high, solver) for name, solver in SOLVERS.items()
        }


ORDERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "both ends and random (used)": both_ends,
    "random": lambda labels: shuffled(len(labels)),
    "highest first": lambda labels: np.argsort(-labels),
    "lowest first": np.argsort,
}


def _rows_by_order(n_features: int, degree: int, order: Callable[..., Any]) -> str:
    needed = []
    stream = thrifty.streams.monomials(
        6, n_features, 10, 1000, degree, random_state=3, metafeature_degree=degree
    )
    for task in stream:
        logs, target = np.log(task.X), np.log(task.y)
        rows = order(target)
        powers = np.zeros(n_features)
        powers[list(task.target)] = list(task.target.values())
        for n_rows in range(8, 200, 4):
            weights, _norm = nnls(logs[rows[:n_rows]], target[rows[:n_rows]])
            if np.array_equal(np.rint(weights), powers):
                break
        needed.append(n_rows)
    return f"mean {np.mean(needed):.0f} max {max(needed)}"


def _by_beam(table: np.ndarray, target: np.ndarray) -> list[int]:
    return list(search(table, target, 3, 1000, 1e-18, constant=0)[0].columns)


def _by_basis_pursuit(table: np.ndarray, target: np.ndarray) -> list[int]:
    norms = np.linalg.norm(table, axis=0)
    both = np.hstack([table / norms, -table / norms])
    found = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=target, method="highs")
    if found.x is None:
        return []
    weights = np.abs(found.x[: len(norms)] - found.x[len(norms) :])
    return np.argsort(-weights)[:3].tolist()


def _by_matching_pursuit(table: np.ndarray, target: np.ndarray) -> list[int]:
    return list(search(table, target, 3, 1, 1e-18)[0].columns)


SOLVERS: dict[str, Callable[..., list[int]]] = {
    "beam of 1000 (used)": _by_beam,
    "basis pursuit": _by_basis_pursuit,
    "matching pursuit": _by_matching_pursuit,
}


def _rows_by_solver(low: float, high: float, solver: Callable[..., list[int]]) -> str:
    """Rows, taken from both ends, at which 27 of 30 known targets are found."""
    stream = thrifty.streams.polynomials(30, 100, 10, 500, 4, 3, random_state=0, low=low, high=high)
    random = np.random.default_rng(0)
    known = PowersRepresentation().extended(
        exponents(powers) for powers in metafeatures(random, 100, 10, (1, 2))
    )
    points = legal_points(known.matrix, 4, 10**6)
    names = [exponents(zip(known.features.tolist(), point)) for point in points.tolist()]
    tasks = list(stream)
    for n_rows in (6, 8, 11, 15, 20, 27, 36, 48, 64, 96):
        right = 0
        for task in tasks:
            rows = both_ends(task.y)[:n_rows]
            table = design(task.X[np.ix_(rows, known.features)], points)
            right += {names[column] for column in solver(table, task.y[rows])} == set(task.target)
        if right >= 27:
            return f"{n_rows} rows ({n_rows * len(known.features)} cells)"
    return "more than 96 rows"


# --------------------------------------------------------------------------- peers


def _thrifty_peer(X: np.ndarray, y: np.ndarray, degree: int, terms: int) -> Callable[..., Any]:
    return thrifty.estimators.PolynomialRegressor(degree, terms).fit(X, y).predict


def _lasso_lars(X: np.ndarray, y: np.ndarray, degree: int, terms: int) -> Callable[..., Any]:
    """LassoLarsCV on all monomials; its ``terms`` largest weights are fitted again."""
    from sklearn.linear_model import LassoLarsCV, LinearRegression
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    monomials = PolynomialFeatures(degree, include_bias=False)
    scaler = StandardScaler()
    table = scaler.fit_transform(monomials.fit_transform(X))
    weights = np.abs(LassoLarsCV(cv=5, max_iter=200).fit(table, y).coef_)
    chosen = np.argsort(-weights)[:terms]
    refit = LinearRegression().fit(table[:, chosen], y)
    return lambda Z: refit.predict(scaler.transform(monomials.transform(Z))[:, chosen])


def _chaos(X: np.ndarray, y: np.ndarray, degree: int, terms: int) -> Callable[..., Any]:
    """Sparse polynomial chaos of OpenTURNS: LARS, corrected leave-one-out, Legendre basis."""
    import openturns

    ends = (-1.0, 1.0) if X.min() < 0 else (1.0, 2.0)
    openturns.Log.Show(openturns.Log.NONE)
    law = openturns.JointDistribution([openturns.Uniform(*ends)] * X.shape[1])
    basis = openturns.OrthogonalProductPolynomialFactory([openturns.LegendreFactory()] * X.shape[1])
    size = basis.getEnumerateFunction().getStrataCumulatedCardinal(degree)
    selection = openturns.LeastSquaresMetaModelSelectionFactory(
        openturns.LARS(), openturns.CorrectedLeaveOneOut()
    )
    algorithm = openturns.FunctionalChaosAlgorithm(
        openturns.Sample(X),
        openturns.Sample(y[:, None]),
        law,
        openturns.FixedStrategy(basis, size),
        openturns.LeastSquaresStrategy(selection),
    )
    algorithm.run()
    model = algorithm.getResult().getMetaModel()
    return lambda Z: np.asarray(model(openturns.Sample(Z)))[:, 0]


def _sindy(X: np.ndarray, y: np.ndarray, degree: int, terms: int) -> Callable[..., Any]:
    """PySINDy's sequentially thresholded least squares over its polynomial library."""
    import pysindy

    library = pysindy.PolynomialLibrary(degree=degree)
    table = np.asarray(library.fit_transform(X))
    optimizer = pysindy.STLSQ(threshold=0.25, alpha=1e-6, max_iter=50)
    optimizer.fit(table, y[:, None])
    weights = np.asarray(optimizer.coef_)[0]
    return lambda Z: np.asarray(library.transform(Z)) @ weights


PEERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "thrifty": ("thrifty", _thrifty_peer),
    "scikit-learn LassoLarsCV, refit on t": ("sklearn", _lasso_lars),
    "OpenTURNS sparse chaos": ("openturns", _chaos),
    "PySINDy STLSQ": ("pysindy", _sindy),
}


def peers() -> Iterator[Row]:
    """Rows each needs to get the polynomial exactly: 1e-6 on fresh examples, from scratch."""
    for n_features, degree, terms in ((10, 3, 3), (20, 3, 3)):
        for low, high in ((1, 2), (-1, 1)):
            tasks = list(
                thrifty.streams.polynomials(
                    10, n_features, 5, 2000, degree, terms, random_state=5, low=low, high=high
                )
            )
            for name, (module, learn) in PEERS.items():
                what = f"{name}: N={n_features} d={degree} t={terms} on [{low}, {high}]"
                try:
                    __import__(module)
                except ImportError:
                    yield {"what": what, "left out": f"pip install {module}"}
                    continue
                yield {"what": what} | _rows_for(learn, tasks, degree, terms)


def _rows_for(learn: Callable[..., Any], tasks: list[Any], degree: int, terms: int) -> Row:
    """The smallest number of rows at which most tasks come out exactly."""
    seconds, shares = 0.0, {}
    for n_rows in ROWS:
        right = 0
        start = time.process_time()
        for task in tasks:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    predict = learn(task.X[:n_rows], task.y[:n_rows], degree, terms)
                    missed = np.abs(predict(task.X[1000:]) - task.y[1000:]).max()
            except (ThriftyError, ValueError, RuntimeError):
                continue
            right += bool(missed <= 1e-6 * np.abs(task.y[1000:]).max())
        seconds = (time.process_time() - start) / len(tasks)
        shares[n_rows] = right / len(tasks)
        if shares[n_rows] >= ENOUGH:
            return {"rows_needed": n_rows, "seconds_each": round(seconds, 2), "right": shares}
    return {
        "rows_needed": f"more than {ROWS[-1]}",
        "seconds_each": round(seconds, 2),
        "right": shares,
    }


PARTS = {
    "monomials": monomials,
    "line": line,
    "polynomials": polynomials,
    "noise": noise,
    "coarse": coarse,
    "choices": choices,
    "peers": peers,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all where none is named")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {sorted(unknown)}; choose from {', '.join(PARTS)}")
    for part in arguments.parts or PARTS:
        if not arguments.json:
            print(f"\n== {part}: {PARTS[part].__doc__}")
        for row in PARTS[part]():
            if arguments.json:
                print(json.dumps({"part": part, **row}), flush=True)
            else:
                print(row.pop("what"), flush=True)
                print("   ", ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
