"""A cohort of numbers and categories: rows that later tasks take for controls."""

from __future__ import annotations

import numpy as np
import pandas as pd

import thrifty
from thrifty.models.memory.controls import controls_of

FEATURES = 30


def people(n, seed, share=0.06, moved=0.0):
    """Numbers of which each label has five of its own; the label is rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FEATURES)) + moved
    mine = np.random.default_rng(500 + seed).permutation(FEATURES)[:5]
    score = (X[:, mine] - moved).sum(axis=1) + rng.logistic(size=n)
    return X, (score > np.quantile(score, 1 - share)).astype(int)


def rows_of(learned):
    """Own rows of the rare class, own others, rows of the cohort."""
    table = learned.model.table_
    own, rare = table.rows >= 0, table.labels == table.rare_code
    return (own & rare).sum(), (own & ~rare).sum(), (~own).sum()


def test_the_first_task_buys_its_rare_class_and_features():
    X, y = people(1500, 0)
    life, alone = thrifty.Lifetime(thrifty.Models()), thrifty.Lifetime(thrifty.Models())
    assert life.background(people(400, 9)[0], rows=300).cells == 300 * FEATURES
    learned, without = (one.learn("t", X, y, spend="15 %") for one in (life, alone))
    rare, others, lent = rows_of(learned)
    assert lent == 300 and rows_of(without)[2] == 0
    assert rare == y.sum() and others < 0.6 * rows_of(without)[1]
    assert len(learned.model.features_) > 1.5 * len(without.model.features_)


def test_it_is_kept_beside_other_cohorts_and_tasks(tmp_path):
    life = thrifty.Lifetime(thrifty.Models(), store=tmp_path / "s.db")
    first, second = people(50, 1)[0], people(40, 2)[0]
    life.background(first, rows=50)
    X, y = people(600, 3)
    life.learn("t", X, y, spend="10 %")
    life.background(second, rows=40)
    kept = controls_of(thrifty.Lifetime.open(tmp_path / "s.db").representation)
    assert kept.whole == 90 and kept.n_rows > 90
    at, values = kept.of(7)
    assert set(at[-90:].tolist()) == set(range(kept.n_rows - 90, kept.n_rows))
    assert sorted(values[-90:-40]) == sorted(first[:, 7])
    assert sorted(values[-40:]) == sorted(second[:, 7])


def test_a_moved_population_is_not_lent_the_cohort():
    life = thrifty.Lifetime(thrifty.Models())
    life.background(people(400, 9)[0], rows=300)
    X, y = people(1500, 4, moved=1.5)
    assert rows_of(life.learn("t", X, y, spend="6 %"))[2] == 0


def test_categories_mean_the_same_in_a_later_task():
    """The cohort saw other words first: a row's colour is the colour that it had."""
    rng = np.random.default_rng(0)

    def frame(n, colours, shares):
        numbers = {f"n{i}": rng.normal(size=n) for i in range(9)}
        return pd.DataFrame({"colour": rng.choice(colours, n, p=shares), **numbers})

    life = thrifty.Lifetime(thrifty.Models())
    life.background(frame(200, ["violet", "red"], [0.5, 0.5]), rows=200)
    X = frame(900, ["blue", "red", "violet"], [0.02, 0.49, 0.49])
    y = ((X["colour"] == "violet") & (X["n0"] > 0.6)).astype(int)
    learned = life.learn("t", X, y, spend="60 %")
    table = learned.model.table_
    words = life.representation.words["colour"]
    lent = table.values[table.rows < 0, table.features.tolist().index(0)]
    assert {words[int(code)] for code in lent} == {"violet", "red"}


def test_rows_that_are_owned_come_first(tmp_path):
    X, y = people(900, 6)
    order = np.random.default_rng(3).permutation(900)  # the task lists them in another order
    first, later = (
        thrifty.Source.from_array(X[rows], examples=rows.tolist(), name="people")
        for rows in (np.arange(900), order)
    )
    life = thrifty.Lifetime(thrifty.Models(), store=tmp_path / "s.db")
    life.background(first, rows=200)
    learned = life.learn("t", later, y[order], spend="5 %")
    own, lent = (learned.model.table_.rows >= 0).sum(), (learned.model.table_.rows < 0).sum()
    assert learned.receipt.cells <= 0.05 * X.size
    assert learned.receipt.reused_cells >= 190 * len(learned.model.features_) and own >= 200
    assert lent == 0  # their labels are known: no need to take them for controls
