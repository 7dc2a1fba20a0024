"""What is passed around cannot be changed by whoever holds it, nor compared where == would fail.

A frozen object can be shared between threads and kept in a memory; one that holds arrays raises
at ==, in some callers only, unless it is compared by identity.
"""

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
    *("Bases", "Bill", "Chosen", "Digits", "Facts", "LocalChatServer", "MaskPlace", "Pending"),
    *("RowPlace", "SampleCorrelations", "Stream", "Walked", "_Beam", "_KeptModel", "_KeptTable"),
    *("_LatticeSearch", "_Work"),
}
#: their fields are functions of arrays
OF_FUNCTIONS = {"Bar", "Gain"}
#: hold arrays, live within one growing tree or one learning, and are compared nowhere
PASSING = {"CutColumns", "MaskPlace", "Pending", "RacedNode", "RowPlace", "Won"}
ARRAYS = re.compile(r"\b(Floats|Ints|Bools|NDArray|AnyArray)\b")


def value_objects() -> dict[type, str]:
    """Each, with its name alone: files may move."""
    found = {}
    for module in pkgutil.walk_packages(thrifty.__path__, "thrifty."):
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(module.name)
        for name, value in vars(sys.modules.get(module.name, object)).items():
            is_one = inspect.isclass(value) and dataclasses.is_dataclass(value)
            if is_one and value.__module__ == module.name:
                found[value] = name
    return found


def has_arrays(one: type) -> bool:
    fields = dataclasses.fields(one)
    return any(field.compare and ARRAYS.search(field.type) for field in fields)


def test_they_are_frozen_and_those_of_arrays_are_compared_by_identity():
    known = value_objects()
    assert len(known) > 150
    changing = {name for one, name in known.items() if not one.__dataclass_params__.frozen}
    assert changing == FILLED & set(known.values())
    compared = [one for one in known if one.__dataclass_params__.eq]
    with_arrays = {known[one] for one in compared if has_arrays(one)}
    assert with_arrays == (OF_FUNCTIONS | PASSING) & set(known.values())
