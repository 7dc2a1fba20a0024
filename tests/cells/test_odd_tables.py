"""Tables that lie about themselves: masked values and indices out of range."""

import numpy as np
import pytest
from scipy import sparse

import thrifty
from tests.market import ledger, seller
from thrifty import Source
from thrifty.errors import BadInput, MalformedAnswer
from thrifty.protocol import Cells

X = np.array([[0.0, 1.5], [1.0, 2.5], [1.0, 3.5], [0.0, 4.5]])
Y = [0, 1, 1, 0]


def test_what_is_masked_is_missing():
    masked = np.ma.array(X, mask=[[0, 0], [0, 1], [0, 0], [0, 0]])
    with pytest.raises(BadInput, match="NaN"):
        Source.from_array(masked)
    values = Cells(Source.from_array(masked, allow_missing=True)).get([0, 1], [0, 1])
    assert np.isnan(values[1, 1]) and values[0].tolist() == [0.0, 1.5]
    unmasked = np.ma.array(X, mask=False)
    assert Cells(Source.from_array(unmasked)).get([1], [1])[0, 0] == 2.5


def test_a_masked_label_is_none():
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    with pytest.raises(BadInput, match="masked"):
        life.learn("t", X, np.ma.array(Y, mask=[0, 1, 0, 0]))
    with pytest.raises(BadInput, match="masked"):
        thrifty.estimators.MonomialRegressor(max_degree=1).fit(
            X + 1, np.ma.array(Y, mask=[0, 1, 0, 0])
        )


def test_a_masked_answer_is_malformed():
    def ask(ids, names):
        return np.ma.array(np.ones((len(ids), len(names))), mask=np.eye(len(ids), len(names)))

    lab = seller(ask, ["p", "q"], ["a", "b"])
    with pytest.raises(MalformedAnswer):
        Cells(lab, ledger=ledger()).get([0, 1], [0, 1])


def bad_matrices():
    for part, at, value in (
        ("indices", 0, 10**6),
        ("indices", 1, -5),
        ("indptr", 4, 10**6),
        ("indptr", 2, 90),
        ("indptr", 0, 3),
    ):
        for make in (sparse.csr_matrix, sparse.csc_matrix, sparse.bsr_matrix):
            matrix = make(np.eye(4))
            getattr(matrix, part)[at] = value
            yield matrix
    coo = sparse.coo_matrix(np.eye(4))
    coo.row[1] = 10**6
    yield coo
    coo = sparse.coo_matrix(np.eye(4))
    coo.col = coo.col[:2]
    yield coo


@pytest.mark.parametrize("matrix", list(bad_matrices()), ids=lambda m: m.format)
def test_indices_out_of_range_are_refused(matrix):
    with pytest.raises(BadInput, match="malformed"):
        Source.from_array(matrix)
