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
