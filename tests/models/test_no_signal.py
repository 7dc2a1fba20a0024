"""Where there is nothing to learn a model says so."""

import numpy as np
import pytest

import thrifty
from studies.data import data_folder


def noise(rows: int, width: int, share: float, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, width)), (rng.random(rows) < share).astype(int)


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_noise_is_called_noise(share):
    """In one of five at most an interval says otherwise: the features were chosen on its rows."""
    said = []
    for seed in range(5):
        X, y = noise(900, 30, share, seed)
        learned = thrifty.Lifetime(random_state=0).learn("noise", X, y)
        said.append("nothing beyond guessing" in str(learned.model))
        assert said[-1] != learned.model.quality_.beyond_guessing
    assert sum(said) >= 4


def test_what_was_said_is_spent_on_noise_too():
    X, y = noise(600, 20, 0.5)
    learned = thrifty.Lifetime(random_state=0).learn("noise", X, y, spend="30 %")
    assert learned.receipt.cells > 0.29 * X.size


@pytest.mark.skipif(data_folder() is None, reason="the sets are not here")
def test_cervical_has_next_to_no_signal():
    with np.load(data_folder() / "cervical.npz", allow_pickle=False) as z:
        X, y = z["X"].astype(np.float64), z["Y"][:, 2]  # cytology: AUROC .5 to .6
    source = thrifty.Source.from_array(X, allow_missing=True)
    learned = thrifty.Lifetime(random_state=0).learn("cytology", source, (y == 1).astype(int))
    assert "nothing beyond guessing" in str(learned.model)


def test_rows_that_chose_the_features_do_not_judge_the_model():
    """Of wide tables without any signal: .07 above the truth before, now within the error."""
    stated = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.random((600, 150)) < 0.08, (rng.random(600) < 0.3).astype(int)
        model = thrifty.Lifetime(random_state=seed).learn("noise", X, y, spend="20 %").model
        assert 0 < model.table_.looked < model.table_.n_rows > model.quality_.rows
        stated.append(model.quality_.auc.value)
    assert np.mean(stated) < 0.5 + 2 * np.std(stated) / 8**0.5 and np.mean(stated) < 0.54


def test_rows_that_chose_the_features_are_no_reference_for_outcomes():
    X, y = np.random.default_rng(0).random((600, 150)) < 0.08, np.arange(600) % 3 == 0
    model = thrifty.Lifetime(random_state=0).learn("noise", X, y.astype(int), spend="20 %").model
    negatives, positives = model.held_out_scores()
    assert len(negatives) + len(positives) == model.table_.n_rows - model.table_.looked
