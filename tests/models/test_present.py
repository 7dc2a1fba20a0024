"""Learning where it is known which cells exist: no kind of label buys a gap, at any spend."""

import numpy as np
import pandas as pd
import pytest

import thrifty
from tests.market import seller
from tests.shell import run

N, WIDTH = 240, 9
PRICES = thrifty.PriceList(
    {f"x{f}": 0.5 + f % 3 for f in range(WIDTH)},
    orders={"panel": (2, ["x3", "x4", "x5"])},
    fees={"draw": (1, ["x6", "x7"])},
)


def ward(seed: int = 0, there: float = 0.4):
    """Values, which of them exist (panels of three columns), and a label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, WIDTH))
    mask = np.repeat(rng.random((N, WIDTH // 3)) < there, 3, axis=1)
    y = np.where(mask[:, 0], X[:, 0], 0) + mask[:, 3] + 0.4 * rng.normal(size=N)
    return X, mask, y


def lab(X, mask, prices, boolean=False) -> thrifty.Source:
    """A provider that will not be asked for what does not exist."""

    def ask(ids, names):
        at = np.ix_([int(i) for i in ids], [int(name[1:]) for name in names])
        assert mask[at].all(), "asked for a cell that does not exist"
        return X[at]

    features = [f"x{f}" for f in range(X.shape[1])]
    return seller(ask, range(len(X)), features, boolean=boolean, prices=prices, present=mask)


@pytest.mark.some(8)
@pytest.mark.parametrize("kind", ["classes", "three", "numbers", "at once"])
@pytest.mark.parametrize("spend", ["3 %", "60 %", "100 %"])
@pytest.mark.parametrize("prices", [1, PRICES])
def test_nobody_pays_for_a_gap(kind, spend, prices):
    X, mask, y = ward()
    life = thrifty.Lifetime(random_state=0)
    source = lab(X, mask, prices)
    labels = {
        "classes": (y > 0.8).astype(int),
        "three": np.digitize(y, [0.2, 1.0]),
        "numbers": y,
        "at once": np.column_stack([y > 0.8, X[:, 4] > 0]).astype(int),
    }[kind]
    if kind == "at once":
        many = life.learn(["a", "b"], source, labels, spend=spend)
        model = many["a"].model
    else:
        model = life.learn("a", source, labels, spend=spend).model
    if prices == 1:  # orders bought one by one may cost more than all at once
        assert life.balance().spent <= mask.sum()
    if spend is not None:
        whole = N * thrifty.protocol.Cells(X, prices).price_of([0], range(WIDTH))
        assert life.balance().spent <= float(spend[:-2]) / 100 * whole + 1e-6
    assert len(model.predict(np.where(mask, X, np.nan))) == N


def test_rows_without_a_label_leave_the_gaps_of_the_others_where_they_are():
    X, mask, y = ward()
    labels = [None if i % 3 == 0 else int(v > 0.8) for i, v in enumerate(y)]
    life = thrifty.Lifetime(random_state=0)
    with pytest.warns(thrifty.errors.RowsLeftOut):
        life.learn("a", lab(X, mask, 1), labels, spend="60 %")
    assert 0 < life.balance().spent <= mask[np.arange(N) % 3 > 0].sum()


def test_yes_and_no_with_gaps():
    X, mask, y = ward()
    source = lab(X > 0, mask, 1, boolean=True)
    learned = thrifty.Lifetime(random_state=0).learn("a", source, y > 0.8, spend="30 %")
    assert learned.receipt.cost <= 0.3 * N * WIDTH


def test_a_row_is_predicted_without_paying_for_its_gaps():
    X, mask, y = ward()
    life = thrifty.Lifetime(random_state=0)
    life.learn("a", lab(X, mask, 1), (y > 0.8).astype(int), spend="50 %")
    new, there, _ = ward(1)
    source = thrifty.Source.from_array(
        new, present=there, examples=range(N), name="new", feature_names=[f"x{f}" for f in range(9)]
    )
    prediction = life.predict("a", source)
    assert prediction.receipt.cells <= there.sum()
    same = life["a"].model.predict(np.where(there, new, np.nan))
    np.testing.assert_array_equal(prediction.values, same)


def test_the_command_knows_what_is_empty(tmp_path):
    X, mask, y = ward()
    frame = pd.DataFrame(np.where(mask, X, np.nan), columns=[f"x{f}" for f in range(WIDTH)])
    frame["ill"] = y > 0.8
    frame.to_csv(tmp_path / "ward.csv", index=False)
    cost = {}
    for known in ([], ["--gaps-known"]):
        store = tmp_path / f"{len(known)}.db"
        typed = ["--label", "ill", "--spend", "100 %", "--store", store, *known]
        run("learn", tmp_path / "ward.csv", *typed)
        cost[len(known)] = thrifty.Lifetime.open(store).balance().spent
    assert cost[1] <= mask.sum() < cost[0]
