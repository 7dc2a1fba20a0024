"""Walks of a cell: which rooms it goes through from a source to a report, which it never enters.

Each walk runs a real piece of work, notes the modules whose functions were entered, and holds the
rooms against what the architecture page draws. A room that is new in a walk is a decision: add it
here and to docs/architecture.md, or find out why it is entered.
"""

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import thrifty
from tests.market import table_seller

#: rooms that any work may pass through: values, words, the reader itself
COMMON = {
    "attempt", "checks", "errors", "kernels", "protocol", "agnostic", "lifetime", "labels",
    "untrusted", "cells", "cells.sources", "cells.prices", "cells.ledger", "stores",
}  # fmt: skip
#: modules of trees that are entered whatever is done with one
HELD = {
    "trees.family", "trees.learned_trees", "trees.model", "trees.representation",
    "trees.tree",
}  # fmt: skip
LEARNING = {
    "trees.columns", "trees.gains", "trees.growing", "trees.improve_rep", "trees.paper",
    "trees.race", "trees.race_bound", "trees.race_node", "trees.use_rep",
}  # fmt: skip
#: what the default family needs to learn
MODELS = {"models", "models.fits"}
#: modules that a cell of the default family may enter, of an array and paid for: a reader has to
#: follow it through all of them. 40 and 60 are wanted; these are what there are, so that it can
#: only become fewer
MOST_OF_AN_ARRAY, MOST_PAID = 59, 81
ARCHITECTURE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"


def modules(work: Callable[[], object]) -> set[str]:
    """The modules of Thrifty whose functions ran during the work."""
    entered: set[str] = set()

    def note(frame: object, event: str, argument: object) -> None:
        if event == "call":
            entered.add(frame.f_globals.get("__name__", ""))  # type: ignore[attr-defined]

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    imports = "thrifty.on_demand"  # what was imported before depends on what ran before
    return {name for name in entered if name.startswith("thrifty.") and name != imports}


def path_of_a_cell(work: Callable[[], object], seller: str) -> set[str]:
    """The modules that wait for a value at any moment at which the seller's module is called.

    Fewer than the work enters: labels, fits and the memory are no part of one cell's way.
    """
    waiting: set[str] = set()

    def note(frame: object, event: str, argument: object) -> None:
        if event == "call" and frame.f_globals.get("__name__") == seller:  # type: ignore[attr-defined]
            while frame is not None:
                waiting.add(frame.f_globals.get("__name__", ""))  # type: ignore[attr-defined]
                frame = frame.f_back  # type: ignore[attr-defined]

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {name.removeprefix("thrifty.") for name in waiting if name.startswith("thrifty.")}


def told_path(heading: str) -> set[str]:
    """The modules that the architecture page names, in order, for one cell's way."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"| {heading} |"))
    return {name.replace("/", ".") for name in re.findall(r"`([a-z_/]+)\.py`", line)}


def rooms(work: Callable[[], object]) -> set[str]:
    """The rooms whose functions ran during the work."""
    return set(map(_room, modules(work)))


def _room(module: str) -> str:
    parts = module.split(".")[1:]
    inner = parts[0] == "trees" or (parts[0] in ("cells", "models") and len(parts) > 2)
    return ".".join(parts[:2] if inner else parts[:1])


def task(seed=0):
    return next(iter(thrifty.streams.trees(1, 20, 2, 300, 3, random_state=seed)))


def numbers(seed):
    """A small table of numbers and two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 8))
    return X, (X[:, 1] + X[:, 4] + rng.normal(size=200) > 1).astype(int)


def clinic(X, prices):
    """A laboratory that sells orders, with free columns."""
    names = [f"t{j}" for j in range(X.shape[1])]
    kinds = dict.fromkeys(names, "number")
    return table_seller(X, names, prices=prices, name="clinic", kinds=kinds)


def orders():
    """Two columns for nothing, two orders that overlap, the rest alone."""
    names = [f"t{j}" for j in range(8)]
    return thrifty.PriceList(
        {name: 0 if j < 2 else 3 for j, name in enumerate(names)},
        orders={"blood": (5, names[2:5]), "urine": (4, names[4:7])},
    )


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Kernels compile, and modules are imported, before anything is walked."""
    one = task()
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    life.learn("warm", one.X, one.y)
    life.predict("warm", one.X)
    life = thrifty.Lifetime(random_state=0)
    life.learn("warm", *numbers(0))
    life.predict("warm", numbers(1)[0], stop=thrifty.Sure(0.9))


def test_from_an_array():
    one = task(1)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    walked = rooms(lambda: life.learn("array", one.X, one.y))
    assert walked <= COMMON | HELD | LEARNING
    assert {"cells", "cells.sources", "trees.race", "lifetime", "protocol"} <= walked
    assert not walked & {"report", "commands", "streams", "testing", "powers", "engines"}


def test_paid_for_with_a_store_and_a_budget(tmp_path):
    one = task(2)
    source = table_seller(one.X, prices=1)
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=3), store=tmp_path / "paid.db", budget=thrifty.Budget(total=10_000)
    )
    walked = rooms(lambda: life.learn("paid", source, one.y))
    assert walked <= COMMON | HELD | LEARNING
    assert {"cells.ledger", "cells.prices", "stores", "trees.race"} <= walked
    assert life.ledger.balance().spent > 0


def test_a_prediction_asks_for_its_own_cells():
    one = task(3)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    life.learn("walk", one.X, one.y)
    walked = rooms(lambda: life.predict("walk", thrifty.Source.from_array(one.X.copy())))
    assert walked <= COMMON | HELD | {"lazy", "stopping"}
    assert {"lazy", "cells"} <= walked
    assert not walked & LEARNING, "a prediction learns nothing"


@pytest.mark.parametrize("family", ["trees", "models"])
def test_a_report_reads_and_never_buys(family):
    pytest.importorskip("matplotlib")
    from thrifty.report import report_page, view_of

    if family == "trees":
        one, life = task(4), thrifty.Lifetime(thrifty.Trees(max_depth=3))
        life.learn("told", one.X, one.y)
    else:
        life = thrifty.Lifetime(random_state=0)
        life.learn("told", *numbers(6), spend="40 %")
    life.balance()  # the first look writes down whose lifetime it is
    entered = modules(lambda: report_page(view_of(life)))
    walked = set(map(_room, entered))
    assert "report" in walked
    buys = LEARNING | {"models.asking", "cells", "cells.sources", "engines"}
    assert not walked & buys, "a report buys nothing"
    assert not entered & {"thrifty.models.acquisition", "thrifty.models.learning"}


def test_the_default_family_from_an_array():
    life = thrifty.Lifetime(random_state=0)
    X, y = numbers(2)
    walked = modules(lambda: life.learn("array", X, y, spend="40 %"))
    entered = set(map(_room, walked))
    print(f"an array cell of the default family: {len(walked)} modules")
    assert entered <= COMMON | MODELS
    assert {"cells", "models.fits", "lifetime", "protocol"} <= entered
    assert {"thrifty.models.acquisition", "thrifty.models.offers"} <= walked
    assert not entered & {"report", "commands", "testing", "models.asking"}
    assert len(walked) <= MOST_OF_AN_ARRAY, sorted(walked)


def test_the_default_family_paid_for_with_orders(tmp_path):
    X, y = numbers(3)
    life = thrifty.Lifetime(
        store=tmp_path / "paid.db", budget=thrifty.Budget(total=5000), random_state=0
    )
    walked = modules(lambda: life.learn("paid", clinic(X, orders()), y, spend=900))
    entered = set(map(_room, walked))
    print(f"a paid cell of the default family: {len(walked)} modules")
    assert entered <= COMMON | MODELS
    assert {"cells.ledger", "cells.prices", "stores"} <= entered
    assert {"thrifty.models.acquisition", "thrifty.models.offers"} <= walked
    assert life.balance().spent > 0
    assert len(walked) <= MOST_PAID, sorted(walked)


def test_the_way_of_one_cell_is_the_one_that_the_architecture_page_tells(tmp_path):
    X, y = numbers(2)
    life = thrifty.Lifetime(random_state=0)
    work = lambda: life.learn("array", X, y, spend="40 %")  # noqa: E731
    free = path_of_a_cell(work, "thrifty.cells.sources.array")
    budget = thrifty.Budget(total=5000)
    paying = thrifty.Lifetime(store=tmp_path / "paid.db", budget=budget, random_state=0)
    source = clinic(X, orders())
    work = lambda: paying.learn("paid", source, y, spend=900)  # noqa: E731
    paid = path_of_a_cell(work, "thrifty.cells.ledger.calls")
    print(f"the way of one cell: {len(free)} modules of an array, {len(paid)} paid for")
    assert free == told_path("of an array")
    assert paid == told_path("paid for")


def test_the_default_family_stops_when_sure():
    life = thrifty.Lifetime(random_state=0)
    life.learn("sure", *numbers(4), spend="40 %")
    new = numbers(5)[0]
    walked = modules(lambda: life.predict("sure", new, stop=thrifty.Sure(0.8)))
    entered = set(map(_room, walked))
    print(f"a cell of a prediction that stops when sure: {len(walked)} modules")
    assert entered <= COMMON | MODELS | {"lazy", "models.asking", "stopping"}
    assert {"models.asking", "cells", "lifetime"} <= entered
    learns = {f"thrifty.models.{name}" for name in ("family", "learning", "acquisition")}
    assert not walked & learns, "it learns nothing"
