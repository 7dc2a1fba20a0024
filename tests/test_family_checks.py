"""Every family passes the checks; a family that falls short is found out."""

from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
import scipy.stats

import thrifty
from thrifty.attempt import Found, Traits
from thrifty.testing import family_checks

FAMILIES = [
    thrifty.Trees(max_depth=4),
    thrifty.Trees(max_depth=4, learner=thrifty.trees.Paper(gain="gini")),
    thrifty.Trees(max_depth=4, learner=thrifty.trees.Tested(0.2, 0.8)),
    thrifty.Lists(max_depth=4),
    thrifty.Monomials(max_degree=4),
    thrifty.Polynomials(max_degree=4, max_terms=2),
    thrifty.Polynomials(2, 1, distribution=scipy.stats.uniform(1, 1)),
    thrifty.Models(),
]


@pytest.mark.parametrize(
    "family, check",
    # No repr of a family in the ids: that of a law holds its address, another in every process.
    [
        pytest.param(family, check, id=f"{i}-{type(family).__name__}-{check!r}")
        for i, family in enumerate(FAMILIES)
        for check in family_checks(family)
    ],
)
def test_every_family_passes(family, check):
    check()


def test_trees_over_numbers_pass():
    X = np.random.default_rng(0).random((200, 6))
    for check in family_checks(thrifty.Trees(max_depth=4), X, (X[:, 3] > 0.5).astype(int)):
        check()


@dataclass(frozen=True)
class Forgetful(thrifty.Lists):
    """Forgets what a task taught, and what the features are called."""

    def improve_rep(self, representation, found):
        return representation  # teaches nothing

    def estimator(self, model, labels, feature_names):
        return super().estimator(model, labels, [name.upper() for name in feature_names])


@dataclass(frozen=True)
class Sloppy(thrifty.Lists):
    """Takes any number for a depth, and what it finds is not a Found."""

    def __post_init__(self):
        pass

    def use_rep(self, representation, cells, labels):
        return None

    def from_scratch(self, cells, labels, failed):
        found = super().from_scratch(cells, labels, failed)
        return Found("scratch", replace(found).model)


@dataclass(frozen=True)
class Silent(thrifty.Lists):
    """Does not say what it can."""

    traits = None


@dataclass(frozen=True)
class Misspelt(thrifty.Lists):
    """Says beside its traits what is read from them alone."""

    stops_anywhere = True


@dataclass(frozen=True)
class Boasting(thrifty.Lists):
    """Promises what it has not."""

    @property
    def traits(self):
        return replace(super().traits, draws=True)


def test_a_family_without_traits_is_refused_by_name():
    with pytest.raises(thrifty.errors.BadParameter, match=r"Silent\.traits must be a .*Traits"):
        thrifty.Lifetime(Silent(4), random_state=0)


def test_a_trait_that_is_unknown_or_missing_is_named():
    said = {f.name: getattr(thrifty.Models.traits, f.name) for f in fields(Traits)}
    with pytest.raises(TypeError, match="stops_anywere"):
        Traits(**said, stops_anywere=True)
    for name in said:
        with pytest.raises(TypeError, match=name):
            Traits(**{other: said[other] for other in said if other != name})


@pytest.mark.parametrize(
    "family, falls_short",
    [
        (Silent(4), {"traits_are_declared"}),
        (Misspelt(4), {"traits_are_declared"}),
        (Boasting(4), {"traits_are_declared"}),
        (Forgetful(4), {"the_protocol_is_kept", "names_are_kept", "columns_in_any_order"}),
        (Sloppy(4), {"the_protocol_is_kept", "numpy_integers"}),
    ],
)
def test_what_falls_short_is_found(family, falls_short):
    failed = set()
    for check in family_checks(family):
        try:
            check()
        except Exception as error:
            failed.add(check.name)
            assert isinstance(error, AssertionError) or check.name != "traits_are_declared"
    assert falls_short <= failed
