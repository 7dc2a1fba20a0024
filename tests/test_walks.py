"""Walks of a cell: which rooms it goes through from a source to a report, which it never enters.

Each walk runs a real piece of work, notes the modules whose functions were entered, and holds the
rooms against what the architecture page draws. A room that is new in a walk is a decision: add it
here and to docs/architecture.md, or find out why it is entered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

import thrifty

#: rooms that any work may pass through: values, words, the door itself
COMMON = {
    "attempt", "checks", "errors", "kernels", "protocol", "agnostic", "lifetime", "learned",
    "open_lifetime", "brought", "desk", "doors", "prediction_runs", "progress", "strangers",
    "cells", "cells.sources", "cells.prices", "cells.ledger", "stores", "trees",
}  # fmt: skip
LEARNING = {"trees.gains", "trees.growing", "trees.paper", "trees.race"}


def rooms(work: Callable[[], object]) -> set[str]:
    """The rooms whose functions ran during the work."""
    entered: set[str] = set()

    def note(frame: object, event: str, argument: object) -> None:
        if event == "call":
            entered.add(frame.f_globals.get("__name__", ""))  # type: ignore[attr-defined]

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {_room(name) for name in entered if name.startswith("thrifty.")}


def _room(module: str) -> str:
    parts = module.split(".")[1:]
    inner = parts[0] in ("trees", "cells") and len(parts) > 2
    return ".".join(parts[:2] if inner else parts[:1])


def task(seed=0):
    return next(iter(thrifty.streams.trees(1, 20, 2, 300, 3, random_state=seed)))


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Kernels compile, and modules are imported, before anything is walked."""
    one = task()
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    life.learn("warm", one.X, one.y)
    life.predict("warm", one.X)


def test_from_an_array():
    one = task(1)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    walked = rooms(lambda: life.learn("array", one.X, one.y))
    assert walked <= COMMON | LEARNING
    assert {"cells", "cells.sources", "trees.race", "lifetime", "protocol"} <= walked
    assert not walked & {"report", "commands", "streams", "testing", "powers", "engines"}


def test_paid_for_with_a_store_and_a_budget(tmp_path):
    one = task(2)
    names = [f"x{j}" for j in range(one.X.shape[1])]

    def ask(ids, asked):
        return one.X[np.ix_([int(i) for i in ids], [names.index(name) for name in asked])]

    source = thrifty.Source.from_callable(
        ask, examples=range(len(one.X)), features=names, prices=1, name="lab"
    )
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=3), store=tmp_path / "paid.db", budget=thrifty.Budget(total=10_000)
    )
    walked = rooms(lambda: life.learn("paid", source, one.y))
    assert walked <= COMMON | LEARNING
    assert {"cells.ledger", "cells.prices", "stores", "trees.race"} <= walked
    assert life.ledger.balance().spent > 0


def test_a_prediction_asks_for_its_own_cells():
    one = task(3)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    life.learn("walk", one.X, one.y)
    walked = rooms(lambda: life.predict("walk", thrifty.Source.from_array(one.X.copy())))
    assert walked <= COMMON | {"lazy", "prediction"}
    assert {"lazy", "cells"} <= walked
    assert not walked & LEARNING, "a prediction learns nothing"


def test_a_report_reads_and_never_buys():
    pytest.importorskip("matplotlib")
    from thrifty.report import view_of
    from thrifty.report.page import report_page

    one = task(4)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    life.learn("told", one.X, one.y)
    walked = rooms(lambda: report_page(view_of(life)))
    assert "report" in walked
    learns = {"trees.gains", "trees.growing"}  # a learner's name and parameters are told
    assert not walked & (learns | {"cells", "cells.sources", "engines"}), "a report buys nothing"
