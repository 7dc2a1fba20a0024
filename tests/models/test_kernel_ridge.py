"""Kernel ridge: leaving a row out by formula is leaving it out; kept and served as it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import thrifty
from thrifty.errors import StoreError
from thrifty.models.fits.for_all import fit_for_all
from thrifty.models.fits.kernel_ridge import KernelRidge, fit_kernel, kernel_from_dict
from thrifty.models.fits.line import Columns
from thrifty.models.fits.mixture import fit_mixture_left_out, mixture_from_dict
from thrifty.models.fits.target import Target


def rows(n: int, seed: int = 0) -> np.ndarray:
    """Two numbers, a category, gaps."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n)])
    X[rng.random(n) < 0.2, 0] = np.nan
    return X


NAMED = np.array([False, False, True])


def fitted(n: int = 60) -> tuple[np.ndarray, np.ndarray, KernelRidge, np.ndarray]:
    X = rows(n)
    y = np.column_stack([np.sin(2 * X[:, 1]), X[:, 2] == 1]).astype(float)
    columns = Columns.of(X, NAMED)
    kernel, left_out = fit_kernel(columns, columns.matrix(X), np.array([1.0, 4.0, 2.0]), y)
    return X, y, kernel, left_out


def by_hand(kernel: KernelRidge, asked: np.ndarray) -> np.ndarray:
    """The plain twin: one row, one label, one distance at a time."""
    z = kernel.columns.matrix(asked) * kernel.scale
    found = np.tile(kernel.means, (len(z), 1))
    for i, at in enumerate(z):
        for there, said in zip(kernel.rows, kernel.coefficients):
            found[i] += np.exp(-((at - there) ** 2).sum()) * said
    return found


def test_scores_are_what_their_formula_says() -> None:
    _, _, kernel, _ = fitted()
    asked = rows(20, seed=3)
    np.testing.assert_allclose(kernel.scores(asked), by_hand(kernel, asked), atol=1e-10)


def test_a_row_left_out_by_formula_is_a_row_left_out() -> None:
    """The system is solved again without each row, with the same kernel, penalty and mean."""
    X, y, kernel, left_out = fitted()
    K = np.exp(-((kernel.rows[:, None] - kernel.rows[None]) ** 2).sum(axis=2))
    off = y - kernel.means
    # (K + penalty) a = y - mean: the penalty that was chosen is what is left over
    penalty = float(np.median((off - K @ kernel.coefficients) / kernel.coefficients))
    for i in (0, 7, 59):
        rest = np.arange(len(X)) != i
        a = np.linalg.solve(K[np.ix_(rest, rest)] + penalty * np.eye(rest.sum()), off[rest])
        np.testing.assert_allclose(left_out[i], kernel.means + K[i, rest] @ a, atol=1e-8)


def test_features_that_tell_nothing_count_for_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    columns = Columns.of(X, np.zeros(2, dtype=bool))
    y = (X[:, :1] > 0).astype(float)
    kernel, _ = fit_kernel(columns, columns.matrix(X), np.array([1.0, 0.0]), y)
    moved = X.copy()
    moved[:, 1] = 0.0
    np.testing.assert_allclose(kernel.scores(X), kernel.scores(moved), atol=1e-12)


def test_many_rows_are_fitted_with_the_width_that_some_ask_for() -> None:
    X = np.linspace(-3, 3, 900)[:, None]
    columns = Columns.of(X, np.array([False]))
    shuffled = np.random.default_rng(0).permutation(900)
    y = np.sin(4 * X[shuffled])
    kernel, left_out = fit_kernel(columns, columns.matrix(X[shuffled]), np.ones(1), y)
    assert len(kernel.rows) == 900 and np.abs(left_out - y).mean() < 0.05


@pytest.mark.parametrize("same", [0.0, 5.0])
def test_rows_that_are_all_alike(same: float) -> None:
    """Nothing to tell them apart: the mean is said of all."""
    X = np.column_stack([np.full(30, same), np.arange(30) % 2])
    columns = Columns.of(X, np.zeros(2, dtype=bool))
    y = (np.arange(30) < 15).astype(float)[:, None]
    kernel, _ = fit_kernel(columns, columns.matrix(X), np.array([0.0, 0.0]), y)
    np.testing.assert_allclose(kernel.scores(X), 0.5, atol=0.05)


def test_kept_as_plain_data() -> None:
    X, _, kernel, _ = fitted()
    again = kernel_from_dict(json.loads(json.dumps(kernel.to_dict())), 3)
    np.testing.assert_array_equal(again.scores(X), kernel.scores(X))


@pytest.mark.parametrize("part", ["rows", "scale", "coefficients", "means"])
def test_a_kernel_that_does_not_fit_is_refused(part: str) -> None:
    data = fitted()[2].to_dict()
    data[part] = data[part][:-1]
    with pytest.raises(StoreError, match="do not fit"):
        kernel_from_dict(data, 3)
    data = fitted()[2].to_dict()
    data["columns"]["low"] = data["columns"]["low"][:-1]
    with pytest.raises(StoreError, match="must have one length"):
        kernel_from_dict(data, 3)


@pytest.mark.parametrize("feature", [-1, 3, 10**9])
def test_a_kernel_that_asks_for_what_is_not_there_is_refused(feature: int) -> None:
    data = fitted()[2].to_dict()
    data["columns"]["feature"][0] = feature
    with pytest.raises(StoreError, match="asks for feature"):
        kernel_from_dict(data, 3)


def test_labels_on_other_rows_have_a_kernel_of_their_own() -> None:
    X = rows(150)
    codes = (X[:, 1] > 0).astype(np.int64)
    partly = np.where(np.arange(150) < 90, codes, -1)
    whole, part = (Target(c, 2) for c in (codes, partly))
    one, other = fit_for_all(X, [whole, part], [np.ones(150)] * 2, (0, 0, 3), 0)
    assert one.model.kernel is not None and len(one.model.kernel.rows) == 150
    assert other.model.kernel is not None and len(other.model.kernel.rows) == 90
    assert 0.25 < one.model.shares[3] < 0.45 and sum(one.model.shares) == pytest.approx(1)


def test_few_rows_of_a_class_have_none_and_models_of_0_2_open() -> None:
    X = rows(60)
    rare = (np.arange(60) < 4).astype(np.int64)
    (one,) = fit_for_all(X, [Target(rare, 2)], [np.ones(60)], (0, 0, 3), 0)
    assert one.model.kernel is None
    data = one.model.to_dict()
    data["shares"] = data["shares"][:3]  # as 0.2 has written it
    again = mixture_from_dict(json.loads(json.dumps(data)))
    np.testing.assert_array_equal(again.predict_proba(X), one.model.predict_proba(X))


def test_in_a_mixture_it_stands_on_the_scale_of_log_odds() -> None:
    """Alone it says 0 to 1; beside trees that would be next to nothing, whatever its share."""
    X, _, kernel, _ = fitted()
    np.testing.assert_allclose(kernel.times(3.0).scores(X), 3 * kernel.scores(X))
    X = rows(300)
    y = (X[:, 1] + np.random.default_rng(1).normal(size=300) > 0).astype(np.int64)
    alone, _ = fit_mixture_left_out(X, y, np.ones(300), categories=NAMED)
    (shared,) = fit_for_all(X, [Target(y, 2)], [np.ones(300)], (0, 0, 3), 0)
    for made in (alone, shared.model):
        assert made.kernel is not None and np.ptp(made.kernel.scores(X)) > 2


def test_a_task_of_its_own_has_a_fifth_and_rows_of_groups_have_none() -> None:
    X = rows(200)
    y = (X[:, 1] > 0).astype(np.int64)
    made, left_out = fit_mixture_left_out(X, y, np.ones(200), categories=NAMED)
    assert made.kernel is not None and sum(made.shares) == pytest.approx(1)
    assert made.shares[3] == pytest.approx(0.2)
    # left out it is said of each row what the whole says, within what a row of 200 can change
    assert np.abs(left_out - made.predict_proba(X)).mean() < 0.1
    groups = np.arange(200) // 4
    apart, _ = fit_mixture_left_out(X, y, np.ones(200), categories=NAMED, groups=groups)
    assert apart.kernel is None and apart.shares[3] == 0


def test_a_store_keeps_it(tmp_path: Path) -> None:
    X = rows(200)
    Y = {"up": X[:, 1] > 0, "one": X[:, 2] == 1}
    life = thrifty.Lifetime(store=tmp_path / "a.db", random_state=0)
    many = life.learn(["up", "one"], X, Y, spend="60 %")
    assert "rows that are like it" in str(many["up"].model)
    asked = rows(40, seed=5)
    told = life.predict("up", asked).probabilities
    life.close()
    again = thrifty.Lifetime.open(tmp_path / "a.db")
    np.testing.assert_array_equal(again.predict("up", asked).probabilities, told)


def test_importances_just_below_zero_are_none():
    """Sums of what cuts gain may round to less than nothing, whose root is no number."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    columns = Columns.of(x, np.zeros(2, dtype=bool))
    told = [np.array([1.0, least]) for least in (0.0, -3e-18)]
    made = [fit_kernel(columns, columns.matrix(x), one, x[:, :1]) for one in told]
    assert np.array_equal(made[0][1], made[1][1])
