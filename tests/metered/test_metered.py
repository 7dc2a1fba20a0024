"""Wrapped models: the same predictions, no cell that no path asks for."""

import warnings

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import thrifty
from tests.market import seller
from thrifty.errors import BadInput, BadParameter, FeaturesChanged

try:
    import lightgbm
    import xgboost
except (ImportError, OSError) as error:  # OSError: a bare system has no OpenMP library for them
    pytest.skip(f"LightGBM or XGBoost cannot be loaded: {error}", allow_module_level=True)

QUIET = {"n_jobs": 1, "verbose": -1, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    """Real-valued and Boolean columns, three classes, some noise."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 30))
    X[:, ::3] = (X[:, ::3] > 0).astype(float)
    y = (X[:, 0] + X[:, 4] > 0.5).astype(int) + (X[:, 7] * X[:, 9] > 0.3)
    y[rng.random(500) < 0.1] = 0
    return X, y


CLASSIFIERS = [
    DecisionTreeClassifier(random_state=0),
    ExtraTreeClassifier(random_state=0),
    ensemble.RandomForestClassifier(12, random_state=0),
    ensemble.ExtraTreesClassifier(8, random_state=0),
    ensemble.GradientBoostingClassifier(n_estimators=8, random_state=0),
    ensemble.HistGradientBoostingClassifier(max_iter=8, random_state=0),
    thrifty.TreeClassifier(max_depth=6),
    lightgbm.LGBMClassifier(n_estimators=15, **QUIET),
    xgboost.XGBClassifier(n_estimators=15, n_jobs=1, random_state=0),
]
REGRESSORS = [
    DecisionTreeRegressor(random_state=0, max_depth=7),
    ensemble.RandomForestRegressor(7, random_state=0),
    ensemble.ExtraTreesRegressor(5, random_state=0),
    ensemble.GradientBoostingRegressor(n_estimators=9, random_state=0),
    ensemble.HistGradientBoostingRegressor(max_iter=9, random_state=0),
    lightgbm.LGBMRegressor(n_estimators=9, **QUIET),
    xgboost.XGBRegressor(n_estimators=9, n_jobs=1, random_state=0),
]


def name(model):
    return type(model).__name__


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_classifiers_say_the_same(model, data):
    X, y = data
    model.fit(X[:300], y[:300])
    lazy = thrifty.metered(model, X)
    assert np.array_equal(lazy.predict(), model.predict(X))
    assert np.array_equal(lazy.predict_proba(), model.predict_proba(X))
    receipt = lazy.receipt
    assert receipt.cells == lazy.cells_per_example().sum() < X.size
    assert_only_paths(model, X, lazy)
    assert receipt.max_cells_per_example == lazy.cells_per_example().max()


@pytest.mark.parametrize("model", REGRESSORS, ids=name)
def test_regressors_say_the_same(model, data):
    X, y = data
    model.fit(X[:300], y[:300] + X[:300, 2])
    lazy = thrifty.metered(model, X)
    assert np.array_equal(lazy.predict(), model.predict(X))
    assert lazy.receipt.cells < X.size
    assert_only_paths(model, X, lazy)
    with pytest.raises(BadParameter, match="probabilities"):
        lazy.predict_proba()


def assert_only_paths(model, X, lazy):
    expected = [len(path_features(model, x)) for x in X[:25]]
    assert lazy.cells_per_example()[:25].tolist() == expected


def path_features(model, x):
    """The distinct features on the paths of one example, found another way."""
    if name(model).startswith(("Decision", "ExtraTreeC", "ExtraTreeR")):
        return features_on(model.tree_, model.decision_path(x[None]).indices)
    if name(model).startswith(("Random", "ExtraTrees")):
        return set().union(*(path_features(one, x) for one in model.estimators_))
    if name(model).startswith("Gradient"):
        return set().union(*(path_features(one, x) for one in model.estimators_.ravel()))
    if name(model).startswith("TreeClass"):
        return plain_path(model.tree_.to_dict(), x)
    if name(model).startswith("LGBM"):
        trees = [t["tree_structure"] for t in model.booster_.dump_model()["tree_info"]]
        return set().union(*(lightgbm_path(tree, x) for tree in trees))
    if name(model).startswith("XGB"):
        return xgboost_path(model, x)
    return set().union(*(histogram_path(p.nodes, x) for s in model._predictors for p in s))


def features_on(tree, nodes):
    return {int(tree.feature[node]) for node in nodes if tree.children_left[node] >= 0}


def followed(node, step):
    """What is asked on the way to a leaf, of which a step says nothing; else (feature, next)."""
    asked = set()
    while (found := step(node)) is not None:
        asked.add(int(found[0]))
        node = found[1]
    return asked


def plain_path(tree, x):
    def step(node):
        if "feature" in node:
            goes = x[node["feature"]] >= node.get("threshold", 0.5)
            return node["feature"], node["true" if goes else "false"]

    return followed(tree, step)


def lightgbm_path(tree, x):
    def step(node):
        if "split_feature" in node:
            left = x[node["split_feature"]] <= node["threshold"]
            return node["split_feature"], node["left_child" if left else "right_child"]

    return followed(tree, step)


def xgboost_path(model, x):
    frame = model.get_booster().trees_to_dataframe().set_index("ID")

    def step(node):
        row = frame.loc[node]
        if row["Feature"] != "Leaf":
            left = np.float32(x[int(row["Feature"][1:])]) < np.float32(row["Split"])
            return row["Feature"][1:], row["Yes" if left else "No"]

    return set().union(*(followed(f"{tree}-0", step) for tree in range(frame["Tree"].max() + 1)))


def histogram_path(nodes, x):
    def step(i):
        if not nodes[i]["is_leaf"]:
            left = x[nodes[i]["feature_idx"]] <= nodes[i]["num_threshold"]
            return nodes[i]["feature_idx"], nodes[i]["left" if left else "right"]

    return followed(0, step)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        ensemble.HistGradientBoostingClassifier(max_iter=5, random_state=0),
        lightgbm.LGBMClassifier(n_estimators=9, **QUIET),
        lightgbm.LGBMClassifier(n_estimators=9, zero_as_missing=True, **QUIET),
        lightgbm.LGBMClassifier(n_estimators=9, use_missing=False, **QUIET),
        xgboost.XGBClassifier(n_estimators=9, n_jobs=1),
    ],
    ids=lambda m: name(m),
)
def test_missing_values_go_where_the_model_sends_them(model, data):
    X, y = data[0].copy(), data[1]
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model.fit(X[:300], y[:300])
    assert np.array_equal(thrifty.metered(model, X).predict_proba(), model.predict_proba(X))


def test_boosters_without_a_wrapper(data):
    X, y = data
    booster = lightgbm.train({"verbose": -1}, lightgbm.Dataset(X, y), 7)
    assert np.array_equal(thrifty.metered(booster, X).predict(), booster.predict(X))
    matrix = xgboost.DMatrix(X, y)
    booster = xgboost.train({"nthread": 1}, matrix, 7)
    assert np.array_equal(thrifty.metered(booster, X).predict(), booster.predict(matrix))


def test_early_stopped_models_use_their_best_trees(data):
    X, y = data
    kept = {"eval_set": [(X[300:], y[300:])]}
    model = lightgbm.LGBMClassifier(n_estimators=200, early_stopping_round=3, **QUIET)
    model.fit(X[:300], y[:300], **kept)
    assert np.array_equal(thrifty.metered(model, X).predict_proba(), model.predict_proba(X))
    model = xgboost.XGBClassifier(n_estimators=200, early_stopping_rounds=3, n_jobs=1)
    model.fit(X[:300], y[:300], verbose=False, **kept)
    assert np.array_equal(thrifty.metered(model, X).predict_proba(), model.predict_proba(X))


@pytest.mark.parametrize(
    "model",
    [
        ensemble.RandomForestClassifier(5, random_state=0),
        lightgbm.LGBMClassifier(n_estimators=5, **QUIET),
        xgboost.XGBClassifier(n_estimators=5, n_jobs=1),
    ],
    ids=lambda m: name(m),
)
def test_names_find_their_columns(model, data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=[f"lab{i}" for i in range(30)])
    model.fit(frame, y)
    shuffled = frame[frame.columns[::-1]].assign(extra=1.0)
    lazy = thrifty.metered(model, shuffled)
    with warnings.catch_warnings():  # no library's word that its own table lacks names
        warnings.simplefilter("error", UserWarning)
        assert np.array_equal(lazy.predict_proba(), model.predict_proba(frame))
    asked = set(lazy.receipt.per_feature)
    with pytest.raises(FeaturesChanged, match="1 lacking"):
        thrifty.metered(model, frame.drop(columns=[sorted(asked)[0]]))
    never = set(frame.columns) - asked
    if never:  # what no tree asks for need not be there
        thrifty.metered(model, frame.drop(columns=sorted(never))).predict()


def test_prices_and_explanations(data):
    X, y = data
    model = DecisionTreeClassifier(random_state=0, max_depth=4).fit(X, y)
    prices = np.arange(30) / 4
    lazy = thrifty.metered(model, X, prices=prices)
    lazy.predict()
    told = [lazy.explain(i) for i in range(len(X))]
    assert sum(t.cost for t in told) == pytest.approx(lazy.receipt.cost)
    assert [t.cells for t in told] == lazy.cells_per_example().tolist()
    assert [t.answer for t in told] == model.predict(X).tolist()
    assert max(len(t.steps) for t in told) <= 4
    assert str(told[0]).startswith("example 0: ")


def test_few_requests_not_one_per_example(data):
    X, y = data
    model = DecisionTreeClassifier(random_state=0, max_depth=5).fit(X, y)
    calls = []

    def provider(examples, features):
        calls.append(len(examples) * len(features))
        return X[np.ix_([int(e) for e in examples], [int(f[1:]) for f in features])]

    source = seller(provider, range(500), [f"x{i}" for i in range(30)], boolean=False)
    life = thrifty.Lifetime(thrifty.Trees(), prices=5)
    lazy = life.metered(model, source)
    assert np.array_equal(lazy.predict(), model.predict(X))
    assert lazy.receipt.cost == life.balance().predictions == 5 * lazy.receipt.cells
    assert sum(calls) == lazy.receipt.cells
    assert len(calls) <= model.tree_.node_count
    again = life.metered(model, source)
    again.predict()
    assert again.receipt.cells == 0 and sum(calls) == lazy.receipt.cells


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (LogisticRegression(), "Got LogisticRegression"),
        (object(), "Got object"),
        (xgboost.XGBClassifier(booster="gblinear", n_estimators=2), "linear booster"),
        (lightgbm.LGBMRegressor(linear_tree=True, n_estimators=2, verbose=-1), "linear models"),
        (
            ensemble.GradientBoostingClassifier(
                init=ensemble.RandomForestClassifier(2), n_estimators=2
            ),
            "init",
        ),
    ],
)
def test_unknown_models_are_refused_with_the_list_of_known_ones(model, why, data):
    if hasattr(model, "fit"):
        model.fit(data[0], data[1])
    with pytest.raises(BadInput, match=why) as error:
        thrifty.metered(model, data[0])
    assert "LightGBM" in str(error.value)


def test_categorical_splits_are_refused(data):
    X, y = data[0].copy(), data[1]
    X[:, 1] = np.arange(500) % 7
    y = (X[:, 1] % 3 == 0).astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=3, min_data_per_group=1, **QUIET)
    model.fit(X, y, categorical_feature=[1])
    with pytest.raises(BadInput, match="categorical"):
        thrifty.metered(model, X)


def test_wrong_width_without_names(data):
    model = DecisionTreeClassifier().fit(*data)
    with pytest.raises(FeaturesChanged, match="X has 29 features, but the model is expecting 30"):
        thrifty.metered(model, data[0][:, 1:])


def test_boosted_models_do_not_stop_early(data):
    model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(*data)
    with pytest.raises(BadParameter, match="class shares"):
        thrifty.metered(model, data[0], confidence=0.9)
