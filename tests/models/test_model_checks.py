"""scikit-learn's own checks on models that stand alone, and how they go with its tools."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from thrifty import ModelClassifier, ModelRegressor

pd = pytest.importorskip("pandas")

QUICK = [ModelClassifier(LogisticRegression()), ModelRegressor(Ridge())]
EXPECTED = {
    "check_dtype_object": (
        "it wants a TypeError for a dict among the values; everything wrong with data is a "
        "BadInput here, which is a ValueError"
    ),
    **dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "weights count in their mean, so that a penalty is the same however they are scaled, and "
        "a class of one row is refused whatever it weighs; test_weights_and_groups.py has it "
        "without a penalty",
    ),
}


# How X is read is the same code with every estimator. Those that are quick to fit meet every form
# of X; of our own, which take long, these are left out, being the same checks in another form.
OTHER_FORMS = {
    "check_estimator_sparse_matrix",
    "check_dtype_object",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    *(
        f"check_{kind}_train{form}"
        for kind in ("classifiers", "regressors")
        for form in ("", " readonly_memmap")
    ),
}


def checks_of_our_own():
    for estimator in (ModelClassifier(), ModelRegressor()):
        for _, check in estimator_checks_generator(estimator):
            name = " ".join([check.func.__name__, *check.keywords])
            if name not in OTHER_FORMS:
                yield pytest.param(estimator, check, id=f"{type(estimator).__name__} {name}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), list(checks_of_our_own()))
def test_scikit_learn_check_of_our_own(estimator, check):
    check(estimator)


# Strict: a check that passes after all must lose its excuse.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    QUICK, expected_failed_checks=lambda estimator: EXPECTED, xfail_strict=True
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_every_excuse_and_every_other_form_is_used():
    names = {
        " ".join([check.func.__name__, *check.keywords])
        for estimator in QUICK
        for _, check in estimator_checks_generator(estimator)
    }
    assert set(EXPECTED) | OTHER_FORMS <= names


def shop(n=500, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "price": rng.normal(10, 2, n),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "size": rng.choice(["s", "m", "l"], n),
            "sale": rng.random(n) < 0.3,
            **{f"noise {i}": rng.normal(size=n) for i in range(4)},
        }
    )
    sold = (frame["colour"] == "red") | (frame["price"] < 8)
    return frame, np.where(sold ^ (rng.random(n) < 0.05), "sold", "kept")


def test_cross_validation_on_a_frame_with_categories():
    frame, y = shop()
    assert cross_val_score(ModelClassifier(spend="80 %"), frame, y, cv=3).min() > 0.85


@pytest.mark.parametrize("at", ["first", "last"])
def test_in_pipelines(at):
    frame, y = shop()
    numbers = frame.select_dtypes("number")
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    model = (
        ModelClassifier(inner, spend="60 %")
        if at == "first"
        else make_pipeline(StandardScaler(), ModelClassifier(spend="60 %"))
    )
    model.fit(numbers, y)
    assert model.score(numbers, y) > np.mean(y == "kept") - 0.05
    assert not hasattr(inner[-1], "coef_"), "what was given is cloned"


def test_weights_reach_the_last_step_of_a_pipeline():
    """Rare rows are bought more often; only weights give the probabilities their true level."""
    rng = np.random.default_rng(3)
    X = rng.random((3000, 30)) < 0.2
    y = (rng.random(3000) < 0.02 + 0.1 * X[:, 0]).astype(int)
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    model = ModelClassifier(inner, spend="10 %").fit(X, y)
    assert model.table_.labels.mean() > 2 * y.mean()
    assert 0.5 < model.predict_proba(X)[:, 1].mean() / y.mean() < 2.0


def test_clone_and_search():
    frame, y = shop(300)
    model = ModelClassifier(LogisticRegression(C=0.5), spend="50 %", random_state=4)
    twin = clone(model)
    assert twin.get_params()["estimator__C"] == 0.5 and twin.spend == "50 %"
    numbers = frame.select_dtypes("number")
    search = GridSearchCV(model, {"estimator__C": [0.01, 1.0], "spend": ["30 %", "90 %"]}, cv=2)
    assert search.fit(numbers, y).best_score_ >= 0.5
