"""scikit-learn's own checks on the scorecard."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from thrifty.estimators import ScorecardClassifier


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [ScorecardClassifier(), ScorecardClassifier(whole_points=True, calibrated=False)]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
