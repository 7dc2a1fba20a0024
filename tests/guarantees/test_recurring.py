"""A model that keeps less than half of its gain is accepted with a probability of 5 % at most.

At other sites a share of the rows is as at home and the others have features that tell nothing of
their label, so that the gain there is known, and the share can be chosen just below the border.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.guarantees.seeds import seeds, seen, shifted

import thrifty
from thrifty.cells import Cells
from thrifty.labels.classes import read_classes
from thrifty.models.memory.memory import Lesson
from thrifty.models.recurring import _candidates, _gains, recognise

N, RARE = 24, 0.25


def rows_of(rng, labels, told):
    """Features of rows with these labels, which tell the label in the rows of ``told``."""
    claimed = np.where(told, labels, rng.random(len(labels)) < RARE)
    X = rng.random((len(labels), N)) < 0.15
    X[:, :4] = rng.random((len(labels), 4)) < np.where(claimed, 0.6, 0.15)[:, None]
    return X


@pytest.fixture(scope="module")
def home():
    """The memory of one task, and the share of rows at which half of its gain is left."""
    rng = np.random.default_rng(shifted(5))
    y = rng.random(1500) < RARE
    life = thrifty.Lifetime(thrifty.Models(recurring=True), random_state=shifted(0))
    life.learn("home", rows_of(rng, y, np.ones(1500, bool)), y.astype(int), spend="60 %")
    memory = life.representation
    (one,) = _candidates(memory, read_classes(y.astype(int)))
    each = []
    for told in (False, True):
        codes = np.repeat([0, 1], 50_000)
        X = rows_of(rng, codes == 1, np.full(len(codes), told))[:, one.features]
        gains = _gains(one.core, X.astype(float), codes, one.shares, one.lost)
        each.append(np.mean([gains[codes == c].mean() for c in (0, 1)]))
    return memory, lambda part: (part * one.gain - each[0]) / (each[1] - each[0])


def accepted(home, part, n, rows=700):
    """Of n sites that keep this part of the gain, those where the model is accepted."""
    memory, share_at = home
    found = 0
    for seed in seeds(n):
        rng = np.random.default_rng([7, seed])
        y = rng.random(rows) < RARE
        cells = Cells(rows_of(rng, y, rng.random(rows) < share_at(part)))
        found += recognise(memory, cells, read_classes(y.astype(int)), None, seed) is not None
    return found


@pytest.mark.parametrize("n", [300, pytest.param(2000, marks=pytest.mark.slow)])
def test_just_below_the_border_at_most_one_in_twenty_is_accepted(home, n):
    assert accepted(home, 0.49, n) <= 0.05 * n


def test_what_is_the_same_is_accepted(home):
    assert accepted(home, 0.95, 40) >= seen(36, 32)


def test_the_error_is_shared_by_all_models_that_were_asked(home):
    """The same model beside seven copies of itself needs eight times the evidence.

    The 5 % are over all of them; without that as many sites would accept it as alone.
    """
    memory, share_at = home
    (note,) = memory.hypotheses
    more = {f"copy {i}": {**note, "copy": i} for i in range(7)}
    among = memory.after(Lesson(hypotheses=more, is_task=False), memory.n_features)
    assert len(among.hypotheses) == 8
    alone, together = (accepted((one, share_at), 0.75, 40) for one in (memory, among))
    apart = seen(5, 2)
    assert apart <= together <= alone - apart


def test_of_many_earlier_models_the_forty_newest_are_kept_in_mind(home):
    memory, _ = home
    (note,) = memory.hypotheses
    more = {f"copy {i}": {**note, "copy": i} for i in range(44)}
    among = memory.after(Lesson(hypotheses=more, is_task=False), memory.n_features)
    labels = read_classes(np.repeat([0, 1], [75, 25]))
    newest = [one.note["copy"] for one in _candidates(among, labels)]
    assert newest == list(range(43, 3, -1))


def test_a_model_of_other_shares_is_not_asked(home):
    """Where its class was a hundredth it says nothing of one that is a tenth."""
    memory, _ = home
    (note,) = memory.hypotheses
    rare = {"rare": {**note, "shares": [0.99, 0.01]}}
    among = memory.after(Lesson(hypotheses=rare, is_task=False), memory.n_features)
    assert not _candidates(among, read_classes(np.repeat([0, 1], [90, 10])))
    assert len(_candidates(among, read_classes(np.repeat([0, 1], [989, 11])))) == 1
