"""Packages that make calls write no lines of their own, unless somebody asks for them."""

import logging

import numpy as np
import pytest

import thrifty
from thrifty.testing import FakeProvider
from thrifty.testing.provider import pseudo_random


@pytest.mark.parametrize("wanted", [False, True])
def test_a_call_that_is_tried_again_is_not_logged_unless_asked_for(caplog, monkeypatch, wanted):
    logger = logging.getLogger("stamina")
    monkeypatch.setattr(logger, "level", logging.WARNING if wanted else logging.NOTSET)
    logger.manager._clear_cache()
    names = ["a", "b"]
    source = FakeProvider(faults=["refuse"]).source(list("pqrstuvw"), names, prices=1, name="lab")
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), budget=thrifty.Budget(total=100))
    life.learn("t", source, np.array([pseudo_random(e, "a") for e in "pqrstuvw"]))
    assert bool([r for r in caplog.records if r.name == "stamina"]) == wanted
