"""Details of commands and certificates that a small change would break unnoticed."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import thrifty
from tests.shell import run
from thrifty.certified.certify import _too_few
from thrifty.certified.plan import least_checks
from thrifty.commands.task_file import read_any_file
from thrifty.commands.task_source import _function, _with_points
from thrifty.errors import BadInput

pandas = pytest.importorskip("pandas")


@pytest.mark.parametrize(("words", "numbers"), [(["-", "NA"], True), (["a", "b", "c"], False)])
def test_marks_for_gaps_are_few_words(words, numbers):
    """A column with more words than two is of categories, though some look like numbers."""
    found = _with_points(pandas.DataFrame({"dose": ["1,5", "2,25", *words]}))
    assert found["dose"].tolist()[:2] == (["1.5", "2.25"] if numbers else ["1,5", "2,25"])


def test_rows_are_few_up_to_twice_what_is_checked():
    needed = least_checks(1 - 0.95, 0.95)
    for level, rows, few in (
        (0.95, 2 * needed, True),
        (0.95, 2 * needed + 1, False),
        (1.0, 9, False),
    ):
        done = SimpleNamespace(
            by_chance=False, target=SimpleNamespace(level=level), bought=np.zeros(rows, bool)
        )
        assert bool(_too_few(done, 0.95)) == few


def test_a_function_that_is_not_in_its_module_is_said():
    with pytest.raises(BadInput, match="the module 'json' has no 'no.such'"):
        _function("json:no.such", Path("."))


def test_only_the_features_that_were_named_are_offered():
    asked = read_any_file(Path("ward.csv"), ["ill"], feature=["age", "weight"])
    assert asked.source["features"] == ["age", "weight"]
    assert "features" not in read_any_file(Path("ward.csv"), ["ill"]).source


@pytest.mark.parametrize("sure", [[], ["--sure", "0.9"]])
def test_asking_goes_until_it_is_sure_or_has_everything(tmp_path, sure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    with thrifty.Lifetime(store=str(tmp_path / "ward.db"), random_state=0) as life:
        life.learn("ill", X, X @ [3, 1, 1] > 0, spend="100 %")
    done = run("ask", tmp_path / "ward.db", "--task", "ill", *sure, answers="9\n9\n9\nq\n")
    assert "ill: " in done.output
    assert done.output.count("price 1") == (1 if sure else 3)
