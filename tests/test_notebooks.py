"""Notebooks: what objects look like there, the running line, and the tutorial, executed."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import thrifty
from thrifty.cells import Receipt
from thrifty.trees.tree import Leaf, Node, Split

TUTORIAL = Path(__file__).resolve().parents[1] / "docs" / "tutorial.ipynb"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
TAGS = re.compile(r"</?(?!table|thead|tbody|tr|th|td|caption|p|pre|b)\w+", re.I)


@pytest.fixture(scope="module")
def life() -> thrifty.Lifetime:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {HOSTILE: rng.normal(size=200).round(2), "ward": rng.choice([HOSTILE, "south"], 200)}
    )
    y = np.where(frame[HOSTILE] + rng.normal(size=200) > 0, HOSTILE, "well")
    prices = thrifty.PriceList(0.5, currency="<i>EUR</i>")
    made = thrifty.Lifetime(prices=prices, random_state=0)
    made.learn(HOSTILE, frame, y, spend="100 %")
    made.predict(HOSTILE, frame.iloc[:12])
    return made


def shown(life: thrifty.Lifetime) -> dict[str, Any]:
    (learned,) = life.tasks
    tree = thrifty.TreeClassifier().fit(pd.DataFrame({HOSTILE: [0.0, 1.0]}), [0, 1])
    return {
        "lifetime": life,
        "learned": learned,
        "receipt": learned.receipt,
        "bill": life.bill(),
        "model": learned.model,
        "card": learned.model.card_,
        "prediction": life.predict(HOSTILE, pd.DataFrame({HOSTILE: [0.1], "ward": ["south"]})),
        "tree model": tree,
        "tree": Node(Split(0), Leaf(HOSTILE), Leaf("b")),
        "an unfitted model": thrifty.models.ModelClassifier(),
        "a laboratory's receipt": Receipt(2, 3.0, 0, 0, 1, 1, 2, lines=((HOSTILE, 1, 3.0),)),
    }


def test_every_object_is_html_and_every_name_in_it_is_only_a_name(life: thrifty.Lifetime) -> None:
    for what, thing in shown(life).items():
        page = thing._repr_html_()
        assert "<table" in page or "<pre" in page, what
        assert HOSTILE not in page and "<i>EUR" not in page, what
        if what != "bill":  # pandas has tags of its own
            assert not TAGS.findall(page), what


def test_they_say_what_counts(life: thrifty.Lifetime) -> None:
    balance = life.balance()
    assert f"<td>{balance.learning:,.0f}</td>" in life._repr_html_()
    (learned,) = life.tasks
    assert f"<td>{learned.receipt.cells:,}</td>" in learned._repr_html_()
    assert learned.model.card_.legend.replace("<", "&lt;").split(HOSTILE)[0][:10] in (
        learned.model._repr_html_()
    )
    bundle = learned.model._repr_mimebundle_()
    assert bundle["text/html"] == learned.model._repr_html_()


def executed(notebook: Any, folder: Path) -> Any:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    with pytest.MonkeyPatch.context() as patch:  # the kernel runs the package that is tested
        patch.setenv("PYTHONPATH", str(Path(thrifty.__file__).parents[1]))
        there = {"kernel_name": "python3", "resources": {"metadata": {"path": folder}}}
        return nbclient.NotebookClient(notebook, timeout=240, **there).execute()


SLOW = """
import time, thrifty
def ask(ids, names):
    time.sleep(0.35)
    return [[(int(i) + len(n)) % 2 for n in names] for i in ids]
source = thrifty.Source.from_callable(
    ask, name="lab", examples=[str(i) for i in range(40)], features=["a", "bb", "ccc"],
    max_cells=15, prices=thrifty.PriceList(2, currency="EUR"))
life = thrifty.Lifetime(thrifty.Trees(max_depth=2, learner=thrifty.trees.Paper()),
                        budget=thrifty.Budget(10**9))
learned = life.learn("stroke", source, [i % 2 for i in range(40)])
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], list[Any], Path]:
    """The tutorial, and after it a slow provider, executed by one kernel; and where."""
    nbformat = pytest.importorskip("nbformat")
    folder = tmp_path_factory.mktemp("notebook")
    kept = nbformat.read(TUTORIAL, as_version=4)
    n_cells = len(kept.cells)
    kept.cells += [nbformat.v4.new_code_cell(SLOW), nbformat.v4.new_code_cell("learned")]
    cells = executed(kept, folder).cells
    return cells[:n_cells], cells[n_cells:], folder


def test_the_running_line_writes_itself_over_in_a_notebook(done: Any) -> None:
    _, (running, shown_last), _ = done
    said = "".join(out.get("text", "") for out in running.outputs)
    states = [part for part in said.split("\r") if part.startswith("stroke: ")]
    assert len(states) >= 2 and len(set(states)) >= 2, said
    assert "EUR" in states[-1] and "\x1b" not in said
    assert "<table" in shown_last.outputs[0]["data"]["text/html"]


def test_the_tutorial_runs(done: Any) -> None:
    cells, _, folder = done
    assert len([cell for cell in cells if cell.cell_type == "code"]) >= 8
    pages = [
        out["data"]["text/html"]
        for cell in cells
        for out in cell.get("outputs", ())
        if "text/html" in out.get("data", {})
    ]
    assert len(pages) >= 5 and any("points double the odds" in page for page in pages)
    assert (folder / "clinic.html").stat().st_size > 20_000
