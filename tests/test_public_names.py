"""The public names: sorted, present, and none missing from design."""

import pytest

import thrifty
from thrifty import errors
from thrifty.lifetime.task import Task

#: those of the design, and no other
TOP = """
    Answered Budget ChatServer Lifetime Lists ModelClassifier ModelRegressor Models Monomials Oracle
    Polynomials PriceList Question Rates Source Sure TreeClassifier Trees Worth agnostic bounds
    errors metered streams
"""
BY_MODULE = {
    "agnostic": "Balanced Doubling Expansion Restart",
    "estimators": "ListClassifier ModelClassifier ModelRegressor MonomialRegressor "
    "PolynomialRegressor ScorecardClassifier TreeClassifier",
    "protocol": "Cells Family",
    "results": "Answers Certificate JointPrediction Learned Prediction PredictionFiles Quote "
    "Receipt Reply",
    "stopping": "StoppingRule",
    "stores": "open_store copy_store",
    "testing": "FakeProvider StoreConformance family_checks",
    "trees": "Gain Learner Paper Race Tested WarmUp",
}


def test_the_top_level_has_the_names_of_the_design():
    assert thrifty.__all__ == TOP.split() and len(thrifty.__all__) == 24


@pytest.mark.parametrize("module", BY_MODULE)
def test_a_module_is_there_without_importing_it_and_has_its_names(module):
    room = getattr(thrifty, module)
    for name in BY_MODULE[module].split():
        assert name in room.__all__ and getattr(room, name) is not None
        assert not hasattr(thrifty, name) or name in thrifty.__all__


#: what a lifetime has, what one of its tasks has, and what is asked of its ledger
MEMBERS = {
    "Lifetime": """
        agnostic answer ask background balance bill budget change close family forget learn
        learn_many ledger metered open predict prices quote refit report representation retire tasks
    """,
    "Task": """
        model monitor outcomes positive quality receipt rollback route show update versions
    """,
}


@pytest.mark.parametrize("kind", MEMBERS)
def test_members_are_those_of_the_design(kind):
    held = thrifty.Lifetime if kind == "Lifetime" else Task
    assert [name for name in dir(held) if not name.startswith("_")] == MEMBERS[kind].split()


def test_a_task_says_where_the_attributes_of_its_model_are():
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    learned = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    task = life["either"]
    assert task.model is learned.model and task.receipt == learned.receipt
    assert task.route == "scratch" and task.quality is None
    assert [version.name for version in task.versions] == ["either@1"]
    with pytest.raises(AttributeError, match=r"life\['either'\]\.model\.tree_"):
        _ = task.tree_
    with pytest.raises(errors.UnknownTask, match="begin with 'either'"):
        life["neither"]


def test_all_is_sorted_and_true():
    for module in (thrifty, errors, thrifty.results, thrifty.estimators):
        assert list(module.__all__) == sorted(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)


def test_every_error_is_drawn_in_the_tree():
    for name in errors.__all__:
        assert name in (errors.__doc__ or "")
        assert issubclass(getattr(errors, name), errors.ThriftyError | UserWarning)
