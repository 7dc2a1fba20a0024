"""What a user of today would pick: strong models on whole rows, the cheapest orders by hand.

- ``whole_rows_blend``: as many whole rows as the money buys, as they come or with half of them
  rare; the mean log-odds of extra trees, logistic regression and CatBoost
- ``cheapest_orders``: for each k the k cheapest orders on as many rows as the money buys, extra
  trees on what they filled; the best k in hindsight is the bar
- ``bargain``: one model before an oracle, certified by BARGAIN (SIGMOD 2026), its own code
- ``MODELS``: the models alone. TabPFN and TabICL join where their weights lie on this machine
  (``foundation_models``); where they do not, a sentence says so

Everything returns functions from whole rows to the probability of class 1, so that a script can
compare it at the same bill. Labels are 0/1; a gap is NaN. Needs ``pip install --group baselines``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy.special import expit, logit
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

#: whole rows to the probability of class 1
Predict = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[np.ndarray, np.ndarray, int], Predict]

#: where weights of foundation models are looked for, beside the folder THRIFTY_WEIGHTS
CACHES = ("~/.cache/tabpfn", "~/.cache/huggingface/hub")


def extra_trees(X: np.ndarray, y: np.ndarray, seed: int = 0) -> Predict:
    """200 extra trees; a gap is a number of its own."""
    forest = ExtraTreesClassifier(200, min_samples_leaf=2, random_state=seed, n_jobs=1)
    fill = SimpleImputer(strategy="constant", fill_value=-9, keep_empty_features=True)
    return _fitted(make_pipeline(fill, forest), X, y)


def logistic(X: np.ndarray, y: np.ndarray, seed: int = 0) -> Predict:
    """Ridge logistic regression on standardised columns, gaps at the median and marked."""
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    line = LogisticRegression(C=0.3, max_iter=500, random_state=seed)
    return _fitted(make_pipeline(fill, StandardScaler(), line), X, y)


def catboost(X: np.ndarray, y: np.ndarray, seed: int = 0) -> Predict:
    """CatBoost as it comes, with 300 trees and on one thread."""
    model = import_module("catboost").CatBoostClassifier(
        iterations=300, random_seed=seed, thread_count=1, verbose=0, allow_writing_files=False
    )
    return _fitted(model, X, y)


def blend(X: np.ndarray, y: np.ndarray, seed: int = 0) -> Predict:
    """The mean log-odds of extra trees, logistic regression and CatBoost."""
    parts = [fit(X, y, seed) for fit in (extra_trees, logistic, catboost)]

    def predict(new: np.ndarray) -> np.ndarray:
        return expit(np.mean([logit(np.clip(p(new), 0.005, 0.995)) for p in parts], axis=0))

    return predict


MODELS: dict[str, Fit] = {
    "extra trees": extra_trees,
    "logistic": logistic,
    "CatBoost": catboost,
    "blend": blend,
}


def whole_rows_blend(
    X: np.ndarray,
    y: np.ndarray,
    budget: float,
    cost_of_row: float,
    seed: int = 0,
    *,
    balanced: bool = False,
    fit: Fit = blend,
) -> Predict:
    """As many whole rows as ``budget`` buys at ``cost_of_row``, and ``fit`` on them.

    Budget and cost in cells or in money, the same for both. Which rows come first depends on the
    seed alone, not on the label (unless ``balanced``): labels of one table with one seed share
    their rows, as if these were bought once for all of them.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    n = min(len(y), int(budget / cost_of_row + 1e-9))
    rows = _half_rare(order, y, n) if balanced else order[:n]
    return _told(fit, X[rows], y[rows], seed)


def cheapest_orders(
    X: np.ndarray,
    y: np.ndarray,
    money: float,
    orders: Mapping[str, tuple[float, Iterable[int]]],
    fees: Mapping[str, tuple[float, Iterable[int]]] | None = None,
    seed: int = 0,
    *,
    balanced: bool = False,
    fit: Fit = extra_trees,
    ks: Collection[int] | None = None,
) -> dict[int, Predict]:
    """For each k: the k cheapest orders on as many rows as the money buys, and ``fit`` on them.

    ``orders``: name to (price, columns it fills); a single feature is an order of one column.
    ``fees``: name to (fee, columns), paid once for a row with any of these columns. Orders that
    would fill nothing new are left out. A k whose rows the money does not buy (fewer than four)
    is left out as well, and all but ``ks``, where they are given.
    """
    order, found = np.random.default_rng(seed).permutation(len(y)), {}
    for k, (cost, columns) in enumerate(_by_price(orders, fees or {}), 1):
        n = len(y) if cost <= 0 else min(len(y), int(money / cost + 1e-9))
        if n >= 4 and (ks is None or k in ks):
            rows = _half_rare(order, y, n) if balanced else order[:n]
            told = _told(fit, X[np.ix_(rows, columns)], y[rows], seed)
            found[k] = _of_columns(told, columns)
    return found


def bargain(
    codes: np.ndarray,
    sure: np.ndarray,
    truth: np.ndarray,
    level: float,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[np.ndarray, np.ndarray]:
    """Answers that agree with the truth as often as promised, and which rows it was asked about.

    ``codes`` and ``sure``: the model's answers, and how sure it is of each.
    """
    theirs = import_module("BARGAIN")

    class Scores(theirs.Proxy):  # type: ignore[name-defined,misc]
        def proxy_func(self, row: object) -> tuple[int, float]:
            return int(codes[int(row)]), float(sure[int(row)])

    class Truth(theirs.Oracle):  # type: ignore[name-defined,misc]
        def oracle_func(self, row: object, said: object) -> tuple[bool, int]:
            right = int(truth[int(row)])
            return right == said, right

    run = theirs.BARGAIN_A(
        Scores(verbose=False, max_workers=1),
        Truth(verbose=False, max_workers=1),
        target=level,
        delta=1 - confidence,
        seed=seed,
        verbose=False,
    )
    values, used = run.process(list(range(len(truth))), return_oracle_usage=True)
    return np.asarray(values), np.asarray(used, dtype=bool)


def foundation_models(say: Callable[[str], object] = print) -> dict[str, Fit]:
    """TabPFN and TabICL where package and weights are present; a sentence for each that is not.

    Weights are files ``tabpfn*classifier*.ckpt`` and ``tabicl*classifier*.ckpt`` in the folder
    THRIFTY_WEIGHTS or in the packages' own caches. Nothing is downloaded.
    """
    found = {}
    for name, package, made in (
        ("TabPFN", "tabpfn", "TabPFNClassifier"),
        ("TabICL", "tabicl", "TabICLClassifier"),
    ):
        weights = _weights(f"{package}*classifier*.ckpt")
        try:
            if weights is None:
                raise FileNotFoundError(f"no {package}*classifier*.ckpt in THRIFTY_WEIGHTS")
            found[name] = _foundation(getattr(import_module(package), made), weights)
        except (ImportError, FileNotFoundError) as error:
            say(f"{name} is left out: {error}.")
    return found


def _weights(pattern: str) -> Path | None:
    folders = [os.environ.get("THRIFTY_WEIGHTS", ""), *CACHES]
    files = (p for f in folders if f for p in sorted(Path(f).expanduser().rglob(pattern)))
    return next(files, None)


def _foundation(made: Callable[..., object], weights: Path) -> Fit:
    def fit(X: np.ndarray, y: np.ndarray, seed: int = 0) -> Predict:
        return _fitted(made(model_path=str(weights), device="cpu", random_state=seed), X, y)

    return fit


def _fitted(model: object, X: np.ndarray, y: np.ndarray) -> Predict:
    model.fit(np.asarray(X, np.float32), y)  # type: ignore[attr-defined]

    def predict(new: np.ndarray) -> np.ndarray:
        told = model.predict_proba(np.asarray(new, np.float32))  # type: ignore[attr-defined]
        return np.asarray(told[:, 1], float)

    return predict


def _told(fit: Fit, X: np.ndarray, y: np.ndarray, seed: int) -> Predict:
    """The base rate where a class has fewer than two rows: nothing can be fitted."""
    if len(y) and min(np.bincount(y.astype(int), minlength=2)) >= 2:
        return fit(X, y.astype(int), seed)
    base = (y.sum() + 0.5) / (len(y) + 1)
    return lambda new: np.full(len(new), base)


def _of_columns(told: Predict, columns: np.ndarray) -> Predict:
    return lambda new: told(np.asarray(new)[:, columns])


def _half_rare(order: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """n rows, half of them of the rarer class, or all that class has."""
    rare = int(y.mean() <= 0.5)
    few, many = order[y[order] == rare], order[y[order] != rare]
    half = max(min(len(few), n // 2), n - len(many))
    return np.concatenate([few[:half], many[: n - half]])


def _by_price(
    orders: Mapping[str, tuple[float, Iterable[int]]],
    fees: Mapping[str, tuple[float, Iterable[int]]],
) -> Iterable[tuple[float, np.ndarray]]:
    """What a row costs with 1, 2, ... orders, the next cheapest each time, and its columns."""
    cost, columns, paid = 0.0, set(), set()
    left = {name: (float(price), set(fills)) for name, (price, fills) in orders.items()}
    once = {name: (float(fee), set(of)) for name, (fee, of) in fees.items()}

    def fees_of(fills: set[int]) -> set[str]:
        return {name for name, (_, of) in once.items() if name not in paid and of & fills}

    while left := {name: line for name, line in left.items() if line[1] - columns}:

        def price(name: str) -> float:
            listed, fills = left[name]
            return listed + sum(once[fee][0] for fee in fees_of(fills))

        name = min(left, key=price)
        cost += price(name)
        fills = left.pop(name)[1]
        paid |= fees_of(fills)
        columns |= fills
        yield cost, np.array(sorted(columns))
