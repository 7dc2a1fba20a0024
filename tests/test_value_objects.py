"""What is passed around cannot be changed by whoever holds it, nor compared where == would fail.

A frozen object can be shared between threads and kept in a memory; one that holds arrays raises
at ==, in some callers only, unless it is compared by identity.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys

import thrifty

#: those that are filled while they are used, and handed to nobody
FILLED = {
    "cells.ledger.compacted.Facts", "cells.ledger.meter._KeptTable",
    "commands.demo.Demo", "commands.demo.Digits", "commands.demo.Stream",
    "lazy.walk.Walked",
    "lifetime.purging._KeptModel", "lifetime.many._Work", "powers.pursuit._Beam",
    "powers.paper_polynomials.Bases",
    "powers.paper_polynomials.SampleCorrelations", "powers.lattice._LatticeSearch",
    "testing.provider.Bill", "trees.scratch.Pending",
    "trees.columns.MaskPlace", "trees.columns.RowPlace",
    "trees.growing.Chosen",
}  # fmt: skip
#: their fields are functions of arrays
OF_FUNCTIONS = {"trees.gains.Gain", "trees.race_node.Bar"}
#: hold arrays, live within one growing tree or one learning, and are compared nowhere
PASSING = {
    "models.learning.LearnedClasses", "models.learning.LearnedNumbers",
    "trees.thresholds.CutColumns",
    "trees.scratch.Pending", "trees.columns.MaskPlace",
    "trees.columns.RowPlace", "trees.race_node.RacedNode", "trees.race_node.Won",
}  # fmt: skip
ARRAYS = re.compile(r"\b(Floats|Ints|Bools|NDArray|AnyArray)\b")


def value_objects() -> dict[str, type]:
    found = {}
    for module in pkgutil.walk_packages(thrifty.__path__, "thrifty."):
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(module.name)
        for name, value in vars(sys.modules.get(module.name, object)).items():
            is_one = inspect.isclass(value) and dataclasses.is_dataclass(value)
            if is_one and value.__module__ == module.name:
                found[f"{module.name.removeprefix('thrifty.')}.{name}"] = value
    return found


def has_arrays(one: type) -> bool:
    fields = dataclasses.fields(one)
    return any(field.compare and ARRAYS.search(field.type) for field in fields)


def test_they_are_frozen_and_those_of_arrays_are_compared_by_identity():
    known = value_objects()
    assert len(known) > 200
    changing = {name for name, one in known.items() if not one.__dataclass_params__.frozen}
    assert changing == FILLED & set(known)
    compared = {name for name, one in known.items() if one.__dataclass_params__.eq}
    with_arrays = {name for name in compared if has_arrays(known[name])}
    assert with_arrays == (OF_FUNCTIONS | PASSING) & set(known)
