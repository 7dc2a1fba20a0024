"""What starting costs, counted by what is imported: nobody waits for what is not used."""

import json

import pytest
import typer.main

from tests.shell import python

#: what takes long to import, and is not needed to say a version or to print a bill
HEAVY = ("numba", "sklearn", "scipy.stats", "scipy.optimize", "pandas", "flint", "matplotlib")


def imported_by(code: str) -> set[str]:
    """The modules that are there after a piece of code ran in a fresh interpreter."""
    told = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = python(told)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def typed(*words: str) -> str:
    """The code that runs a command."""
    return f"""
import contextlib, sys
sys.argv = ["thrifty", *{words!r}]
from thrifty.cli import main
with contextlib.suppress(SystemExit):
    main()
"""


def test_importing_thrifty_imports_no_library():
    there = imported_by("import thrifty")
    assert not there & {*HEAVY, "numpy", "scipy", "rich", "typer"}


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_and_version_import_no_library(word):
    there = imported_by(typed(word))
    assert not there & {*HEAVY, "numpy", "scipy"}


def test_the_help_says_what_each_command_says_of_itself():
    from thrifty.cli import app

    group = typer.main.get_command(app)
    for name in list(group.commands):
        line = group.commands[name].help
        group.load(name)
        first = (group.commands[name].help or "").split("\n\n")[0]
        assert " ".join(first.split()) == line, name


def test_stores_and_families_as_values_import_no_library():
    there = imported_by("import thrifty, thrifty.stores; thrifty.Models(); thrifty.Trees()")
    assert not there & {*HEAVY, "scipy"}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A store of the default family and one of trees, each with a task and a prediction."""
    import numpy as np

    import thrifty

    X = np.random.default_rng(0).integers(0, 2, (200, 6))
    made = {}
    for name, family in (("models", thrifty.Models()), ("trees", thrifty.Trees(max_depth=3))):
        made[name] = tmp_path_factory.mktemp("start") / f"{name}.db"
        life = thrifty.Lifetime(family, store=made[name], random_state=0)
        life.learn("both", X, X[:, 1] & X[:, 4])
        life.predict("both", X[:3])
    return made


@pytest.mark.parametrize("family", ["models", "trees"])
@pytest.mark.parametrize("command", ["bill", "show"])
def test_a_bill_is_printed_without_a_solver_or_a_compiler(stores, command, family):
    there = imported_by(typed(command, str(stores[family])))
    assert "thrifty.lifetime.lifetime" in there
    assert not there & {*HEAVY, "scipy"}
    assert not there & {"asyncio", "ssl", "urllib.request"}, "nobody is called"
    assert not {name for name in there if name.startswith("thrifty.models.fits")}
