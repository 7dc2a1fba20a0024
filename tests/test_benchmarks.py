"""The benchmarks run, compare equals with equals, and say on what machine."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from thrifty import kernels
from thrifty.benchmarks import measure as m
from thrifty.benchmarks import scratch
from thrifty.cli import app
from thrifty.errors import BadParameter
from thrifty.labels.classes import read_classes
from thrifty.trees.tree import EMPTY, Node, Split, stump

run = CliRunner().invoke


def test_scratch_grows_the_trees_of_scikit_learn():
    rows = scratch.measure(600, 200, repeats=2, peers=1)
    planted, noise = rows
    assert planted["same tree"] == "identical" and planted["splits"] >= 2
    assert noise["same tree"] == "up to ties"
    assert planted["training accuracy"] == planted["theirs"] == 1.0
    assert planted["x faster"] > 1


def test_another_tree_is_noticed():
    problem = scratch.planted(600, 200)
    codes = read_classes(problem.y).codes
    model = scratch._scikit_learn(problem, 1).result
    assert scratch.same_tree(stump(0), model, problem, codes) == "no"
    worse = scratch.Problem("noise", problem.X, problem.y, 3)
    assert scratch.same_tree(EMPTY, model, worse, codes) == "up to ties"
    model.tree_.feature[0] = next(
        f for f in range(200) if f not in set(model.tree_.feature.tolist())
    )
    assert scratch.same_tree(EMPTY, model, worse, codes) == "no"


def test_the_floor_counts_the_rows_that_must_be_read():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 16, dtype=np.uint8)
    tiles, codes = kernels.pack_tiles(X), np.zeros(64, dtype=np.int64)
    everyone = np.ones(64, dtype=np.bool_)
    deep = Node(Split(0), stump(1), EMPTY)
    assert scratch._rows_counted(tiles, codes, stump(0), everyone) == 0  # its children are leaves
    assert scratch._rows_counted(tiles, codes, deep, everyone) == 32


def test_memory_is_measured_in_a_process_of_its_own():
    row = scratch.memory(2_000, 3_000)
    assert row["input MB"] == 6.0
    assert 1 <= row["bits per cell"] < 1.1
    assert row["beyond the input MB"] < 60


def test_timing_and_noise():
    timing = m.Timing((2.0, 1.0, 4.0))
    assert timing.best == 1.0 and timing.noise == 1.0
    ticks = iter([0.0, 3.0, 5.0, 6.0])
    assert m.best_of(lambda: "done", 2, clock=lambda: next(ticks)).seconds == (3.0, 1.0)


def test_the_machine_is_told():
    told = m.machine()
    assert {"processor", "cores", "load", "numpy", "scikit-learn"} <= set(told)


@pytest.mark.parametrize("part", ["disk", "scratch"])
def test_the_command(part):
    result = run(app, ["bench", "--only", part, "--small", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told[part] and "processor" in told["machine"]


def test_the_command_prints_tables():
    result = run(app, ["bench", "--only", "disk", "--small"])
    assert "| a reused task" in result.output and "processor:" in result.output


def test_an_unknown_part():
    result = run(app, ["bench", "--only", "jumping"])
    assert isinstance(result.exception, BadParameter) and "'scratch'" in str(result.exception)
