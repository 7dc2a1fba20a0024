"""What is bought: cheap orders on many rows, expensive ones where a sample of them is cheap."""

import numpy as np
import pytest

import thrifty
from thrifty.cells import Cells
from thrifty.labels import Labels, labels_of_numbers
from thrifty.models.acquisition import acquire

SCANS = {"blood": (1, [f"x{f}" for f in range(6)]), "scan": (60, [f"x{f}" for f in range(6, 12)])}


def drawn(n, width, told, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    score = X[:, list(told)].sum(axis=1) + noise * rng.normal(size=n)
    return X, Labels((score > 0).astype(np.int64), np.arange(2))


def test_a_cheap_order_is_bought_on_many_rows_and_an_expensive_one_is_not_sampled():
    """Twelve rows of everything would cost more than there is."""
    X, target = drawn(600, 12, (1, 4))
    cells = Cells(X, thrifty.PriceList({}, orders=SCANS))
    bought = acquire(cells, [target], 500.0)
    assert sorted(bought.columns) == list(range(6))
    assert len(bought.order) == 500 and cells.receipt().cost == 500


def test_an_expensive_decisive_test_is_found_where_a_sample_is_cheap():
    X, target = drawn(1500, 15, (7,), noise=0.1)
    prices = {f"x{f}": 20 if f == 7 else 1 for f in range(15)}
    cells = Cells(X, thrifty.PriceList(prices))
    bought = acquire(cells, [target], 0.12 * 1500 * 34)
    assert 7 in bought.last and len(bought.columns[7]) > 100
    assert cells.receipt().cost <= 0.12 * 1500 * 34


@pytest.mark.parametrize("several", [False, True])
def test_the_same_list_written_in_two_ways_buys_the_same_cells(several):
    """An order of price 5, or a fee of 5 and nothing for the tests."""
    X, target = drawn(400, 10, (0, 4, 8))
    targets = [target, drawn(400, 10, (2, 9))[1]] if several else [target]
    panels = {"p": (5, ["x0", "x1", "x2"]), "q": (2, ["x3", "x4", "x5"])}
    alone = {f"x{f}": 1 for f in range(6, 10)}
    nothing = {f"x{f}": 0 for f in range(6)}
    ways = [
        thrifty.PriceList(alone, orders=panels),
        thrifty.PriceList({**alone, **nothing}, fees=panels),
    ]
    found = []
    for prices in ways:
        cells = Cells(X, prices)
        bought = acquire(cells, targets, 900.0)
        found.append((bought.order.tolist(), {f: len(c) for f, c in bought.columns.items()}))
        assert cells.receipt().cost <= 900
    assert found[0] == found[1] and len(found[0][1]) > 2


def test_free_columns_are_read_on_all_rows_and_learned_from_without_any_money():
    X, target = drawn(300, 6, (0, 5))
    prices = thrifty.PriceList({f"x{f}": 0 if f < 2 else 3 for f in range(6)})
    for allowance in (0.0, 200.0):
        cells = Cells(X, prices)
        bought = acquire(cells, [target], allowance)
        assert bought.free.tolist() == [0, 1]
        np.testing.assert_array_equal(bought.free_values, X[:, :2])
        assert cells.receipt().cost <= allowance and bool(bought.columns) == (allowance > 0)


def test_owned_cells_come_first_and_cost_nothing():
    X, target = drawn(500, 8, (1, 2))
    cells = Cells(X)
    owned = np.random.default_rng(1).choice(500, 90, replace=False)
    cells.get(owned, np.arange(8))
    before = cells.receipt().cost
    bought = acquire(cells, [target], 160.0)
    assert cells.receipt().cost - before <= 160
    assert set(owned.tolist()) <= set(bought.order.tolist())
    assert len(bought.order) > 90


def any_prices(rng, width):
    """A random list: single tests, orders that overlap, fees, something free."""
    names = [f"x{f}" for f in range(width)]
    each = dict(zip(names, rng.choice([0, 0.5, 1, 3, 40], width).tolist()))

    def some():
        return rng.choice(names, min(int(rng.integers(2, 5)), width), replace=False).tolist()

    orders = {f"o{i}": (float(rng.choice([1, 4, 30])), some()) for i in range(rng.integers(0, 4))}
    fees = {f"f{i}": (float(rng.choice([2, 15])), some()) for i in range(rng.integers(0, 3))}
    return thrifty.PriceList(each, orders=orders, fees=fees)


def test_never_more_is_spent_than_allowed_whatever_the_list():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        width, n = int(rng.integers(3, 9)), int(rng.integers(30, 120))
        X, target = drawn(n, width, (0, 1), seed)
        if seed % 4 == 0:
            X[rng.random(X.shape) < 0.3] = np.nan
        if seed % 3 == 0:
            target = labels_of_numbers(rng.normal(size=n))
        source = thrifty.Source.from_array(X, allow_missing=True)
        cells = Cells(source, any_prices(rng, width))
        whole = cells.price_of(np.arange(n), np.arange(width))
        allowance = float(rng.uniform(0, 1)) ** 2 * whole
        try:
            bought = acquire(cells, [target], allowance)
        except thrifty.errors.BadInput:
            assert cells.receipt().cost == 0
            continue
        assert cells.receipt().cost <= allowance + 1e-6
        for f, column in bought.columns.items():
            np.testing.assert_array_equal(column, X[bought.order[: len(column)], f])


def test_the_same_seed_buys_the_same_and_a_class_is_never_left_out():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(600, 10)), np.repeat([0, 1, 2], [560, 30, 10])
    bought = [acquire(Cells(X), [Labels(codes, np.arange(3))], 120.0, seed=4) for _ in range(2)]
    assert bought[0].order.tolist() == bought[1].order.tolist()
    np.testing.assert_array_equal(bought[0].score, bought[1].score)
    assert set(codes[bought[0].order]) == {0, 1, 2}


def test_noise_may_keep_money_and_says_so_and_a_signal_never_does():
    stopped = 0
    for seed in range(5):
        X, target = drawn(900, 150, (3,), seed, noise=0.5)
        assert not acquire(Cells(X), [target], 30_000.0, seed=seed).stopped
        cells = Cells(X)
        codes = np.random.default_rng(100 + seed).integers(0, 2, 900)
        found = acquire(cells, [Labels(codes, np.arange(2))], 30_000.0, seed=seed)
        stopped += bool(found.stopped)
        assert bool(found.stopped) == (cells.receipt().cost < 28_000)
    assert stopped > 0


def test_gaps_are_paid_for_and_kept_as_gaps():
    rng = np.random.default_rng(0)
    X, target = drawn(600, 24, range(0, 24, 3))
    X[rng.random(X.shape) < 0.8] = np.nan
    source = thrifty.Source.from_array(X, allow_missing=True)
    learned = thrifty.Lifetime(random_state=0).learn("a", source, target.codes, spend="20 %")
    assert 0.19 * X.size <= learned.receipt.cost <= 0.2 * X.size
    table = learned.model.table_
    np.testing.assert_array_equal(table.values, X[np.ix_(table.rows, table.features)])


def test_offers_that_cost_next_to_nothing_are_bought_on_all_rows():
    """Ten features at a cent that tell half of it, ten at ten times the mean that tell the rest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = (X[:, :3].sum(axis=1) + X[:, 12] + rng.normal(size=300) > 0).astype(int)
    prices = thrifty.PriceList(
        {}, orders={"cheap": (0.1, [f"f{j}" for j in range(10)]),
                    **{f"test {j}": (20.0, [f"f{j}"]) for j in range(10, 20)}}
    )  # fmt: skip
    source = thrifty.Source.from_array(X, feature_names=[f"f{j}" for j in range(20)])
    life = thrifty.Lifetime(prices=prices, random_state=0)
    learned = life.learn("t", source, y, spend="25 %")
    assert learned.model.table_.n_rows == 300 and learned.model.table_.first == 10
    assert set(range(3)) <= set(learned.model.table_.features.tolist())


@pytest.mark.parametrize("seed", range(3))
def test_what_others_predict_is_not_paid_for(seed):
    """Expensive copies of cheap features look as good as they do, and are left out."""
    rng = np.random.default_rng(seed)
    cheap = rng.normal(size=(400, 6))
    X = np.column_stack([cheap, cheap @ rng.normal(size=(6, 6)) + 0.1 * rng.normal(size=(400, 6))])
    y = (cheap[:, 0] + rng.normal(size=400) > 0).astype(int)
    names = [f"f{j}" for j in range(12)]
    prices = thrifty.PriceList({f: 1.0 if j < 6 else 10.0 for j, f in enumerate(names)})
    life = thrifty.Lifetime(prices=prices, random_state=0)
    source = thrifty.Source.from_array(X, feature_names=names)
    learned = life.learn("t", source, y, spend="20 %")
    assert (learned.model.table_.features >= 6).sum() <= 2
