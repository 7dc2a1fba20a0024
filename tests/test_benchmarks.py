"""The benchmarks run, compare equals with equals, and say on what machine."""

import ast
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import prices
import thrifty
from bench import app
from rerun import RERUN, figures, rerun, stored_in
from simulated import WIDTH, Promise, simulate
from speed import scratch, thresholds
from studies.kept import Kept, commit, measured_at
from thrifty import kernels
from thrifty.labels import read_classes
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


@pytest.mark.parametrize("part", ["disk", "scratch"])
def test_the_command(part):
    result = run(app, ["--only", part, "--small", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told[part] and "processor" in told["machine"]


def test_the_command_prints_tables():
    result = run(app, ["--only", "disk", "--small"])
    assert "| a reused task" in result.output and "processor:" in result.output


RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"


def stored_files():
    return sorted({path.name for path in RESULTS.glob("*.json*")} - {"golden.json"})


@pytest.mark.parametrize("file", stored_files())
def test_every_stored_figure_says_the_commit_it_was_measured_at(file):
    for line in stored_in(file):
        assert re.fullmatch(r"[0-9a-f]{7,12}\+?", line["at"])


def test_a_line_of_every_stored_file_is_measured_again_by_make_bench():
    assert sorted(RERUN) == stored_files()
    assert "benchmarks/rerun.py" in (RESULTS.parents[1] / "Makefile").read_text()


def test_a_line_that_is_measured_again_stands_beside_the_stored_one():
    old, new = rerun("classes.jsonl")
    assert old is not new and old["at"] and old["ap"] == pytest.approx(new["ap"], abs=0.1)
    assert list(figures({"set": "a", "ap": [0.2, 0.4], "ways": {"b": [[1, 2], [3]]}})) == [
        ("ap", pytest.approx(0.3)),
        ("ways b", pytest.approx(2.25)),
    ]


def imported():
    """What benchmarks take from the package, by where and by name."""
    for path in sorted(RESULTS.parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("thrifty"):
                for name in node.names:
                    yield path.name, node.module, name.name


def test_every_name_that_a_benchmark_imports_exists():
    """Most benchmarks take too long to be run by a test: a name that moved broke one unnoticed."""
    for _, module, name in set(imported()):
        here = importlib.import_module(module)
        assert hasattr(here, name) or importlib.util.find_spec(f"{module}.{name}")


def test_new_figures_say_theirs_and_showing_them_says_which(tmp_path):
    kept = Kept(tmp_path / "a.jsonl")
    kept.add({"set": "spam", "seed": 0})
    assert Kept(tmp_path / "a.jsonl").lines == [{"set": "spam", "seed": 0, "at": commit()}]
    assert measured_at(kept.lines) == f"stored lines, measured at {commit()} (1 line)"


@pytest.mark.parametrize(
    ("chance", "limits", "kept"),
    [
        (0.05, {"at_most": 0.05}, True),
        (0.12, {"at_most": 0.05}, False),
        (0.95, {"at_least": 0.94}, True),
        (0.01, {"at_least": 0.03, "at_most": 0.07}, False),
    ],
)
def test_a_promise_is_simulated_until_its_interval_is_narrow(chance, limits, kept):
    def event(seed):
        return bool(np.random.default_rng(seed).random() < chance)

    found = simulate(Promise("coins", "heads", event, **limits))
    assert found.high - found.low <= WIDTH == 0.04
    assert found.low < found.happened / found.cases < found.high
    assert found.kept is kept and str(found).startswith("kept" if kept else "BROKEN")


def test_a_promise_that_takes_too_long_stays_open():
    def event(seed):
        return bool(np.random.default_rng(seed).random() < 0.5)

    found = simulate(Promise("coins", "heads", event), longest=0.0)
    assert found.high - found.low > WIDTH and not found.known and str(found).startswith("OPEN")


def test_thresholds_compare_trees_of_the_same_accuracy():
    rows = thresholds.measure(300, 120, repeats=1)
    assert [(row["labels"], row["gain"]) for row in rows] == [
        ("clean", "entropy"),
        ("clean", "gini"),
        ("noisy", "entropy"),
        ("noisy", "gini"),
    ]
    assert all(row["accuracy"] == row["scikit-learn accuracy"] == 1.0 for row in rows)


def test_the_cost_of_a_prediction_is_each_test_once():
    rng = np.random.default_rng(0)
    X = rng.random((200, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 1]) > 0.5).astype(int)
    model = thrifty.TreeClassifier(missing="larger-child", max_depth=4).fit(X, y)
    what = np.array([1.0, 10.0, 100.0, 1000.0])
    source = thrifty.Source.from_array(X, allow_missing=True)
    lazy = thrifty.metered(model, source, prices=what)
    lazy.predict()
    assert prices.cost_of(model.tree_, X, what).sum() == pytest.approx(lazy.receipt.cost)


@pytest.mark.skipif(not (prices.DATA / "heart_cost.npz").exists(), reason="no data here")
def test_price_aware_gains_are_cheaper_on_heart():
    rows = {row["gain"]: row for row in prices.measure("heart_cost", ["heart_disease"], 4)}
    costs = {gain: row["cost of a prediction"] for gain, row in rows.items()}
    assert max(costs["eg2"], costs["cs-id3"], costs["idx"]) < 0.5 * costs["entropy"]
    assert costs["eg2"] < costs["eg2:0.5"] < costs["entropy"]
