"""scikit-learn's own checks on the estimators that stand alone; each exception has its reason."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import thrifty

ESTIMATORS = [
    thrifty.TreeClassifier(),
    thrifty.TreeClassifier(gain="gini", missing="larger-child"),
    thrifty.estimators.ListClassifier(),
]
EXPECTED = {
    "check_dtype_object": (
        "it wants a TypeError for a dict among the values; everything wrong with data is a "
        "BadInput here, which is a ValueError"
    )
}


# Strict: a check that passes after all must lose its excuse.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED, xfail_strict=True
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_every_excuse_is_used():
    names = {
        getattr(check, "func", check).__name__
        for estimator in ESTIMATORS
        for _, check in estimator_checks_generator(estimator)
    }
    assert set(EXPECTED) <= names


@pytest.mark.parametrize("max_depth", [0, -2, 1.5, "3", True])
def test_max_depth_outside_its_range(max_depth):
    with pytest.raises(thrifty.errors.BadParameter, match="max_depth must be an integer"):
        thrifty.TreeClassifier(max_depth=max_depth).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("prices", [[1.0, -1.0], [1.0, float("nan")], [1.0], {"x0": 1}])
def test_prices_that_are_none(prices):
    model = thrifty.TreeClassifier(gain="eg2", prices=prices)
    with pytest.raises(thrifty.errors.BadInput, match="price"):
        model.fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert not hasattr(model, "tree_")
