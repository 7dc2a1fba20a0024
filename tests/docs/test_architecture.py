"""What docs/architecture.md says can be added is added here, each in a file of its own."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import thrifty

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "architecture"
PAGE = ROOT / "docs" / "architecture.md"


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_page_names_every_example():
    named = set(re.findall(r"examples/architecture/(\w+)\.py", PAGE.read_text(encoding="utf-8")))
    assert named == {path.stem for path in FOLDER.glob("*.py")}
    assert named == {
        "a_gain",
        "a_rule",
        "a_source",
        "a_store",
        "a_family",
        "a_model",
        "a_way_to_buy",
    }


def test_a_gain_is_raced_and_stored_by_name(tmp_path):
    example = load("a_gain")
    life = example.main()
    assert life.tasks[-1].route == "reused"
    assert life.family.to_dict()["learner"]["gain"] == "right"
    kept = thrifty.Lifetime(life.family, store=tmp_path / "right.db")
    task = next(iter(thrifty.streams.trees(1, 10, 1, 100, 2, random_state=0)))
    kept.learn(task.name, task.X, task.y)
    with pytest.raises(thrifty.errors.StoreError, match="gain must be one of"):
        thrifty.Lifetime.open(tmp_path / "right.db")
    again = thrifty.Lifetime.open(tmp_path / "right.db", family=life.family)
    assert list(again) == [task.name]


def test_a_rule_forgets_and_opens_its_store(tmp_path):
    example = load("a_rule")
    life = example.main(str(tmp_path / "spring.db"))
    assert 1 <= len(life.representation) <= 3
    again = example.main(str(tmp_path / "spring.db"))
    assert len(again) == len(life) and again.agnostic == example.Spring(3)
    # A rule that the program has defined is known by its name, as ours are.
    assert thrifty.Lifetime.open(tmp_path / "spring.db").agnostic == example.Spring(3)


def test_a_source_is_read_and_predicted_on(tmp_path):
    prediction, bits = load("a_source").main(tmp_path)
    assert (np.asarray(prediction) == (bits[:, 1] & bits[:, 4])).all()


def test_a_store_keeps_a_lifetime(tmp_path):
    store, again = load("a_store").main(tmp_path)
    assert list(again) == ["and"] and store.times["write"] >= 2 and store.times["read"] >= 1


def test_a_family_passes_the_checks_and_opens_its_store(tmp_path):
    example = load("a_family")
    path = tmp_path / "one.db"
    life = example.main(str(path))
    assert [task.route for task in life.tasks] == ["scratch", "reused", "scratch"]
    with pytest.raises(thrifty.errors.StoreError, match="does not know: 'OneFeature'"):
        thrifty.Lifetime.open(path)
    again = thrifty.Lifetime.open(path, family=example.OneFeature())
    assert list(again.representation) == [3, 1]


def test_a_model_of_an_unknown_library_is_metered():
    example = load("a_model")
    lazy, model, X = example.main()
    assert (lazy.predict() == model.predict(X)).all()
    # One cell where the first rule holds, two elsewhere; bought once, whoever asks again.
    assert lazy.receipt.cells == 200 + (X[:, 3] > 0).sum()
    with pytest.raises(thrifty.errors.BadInput, match="a thrifty.wrapped.Readable that you make"):
        thrifty.metered(model, X)


def rooms() -> dict[Path, list[Path]]:
    """The files of each folder of the product."""
    found: dict[Path, list[Path]] = {}
    for path in sorted((ROOT / "src" / "thrifty").rglob("*.py")):
        found.setdefault(path.parent, []).append(path)
    return found


def test_two_classes_of_a_room_never_share_a_name():
    """Whoever reads ``Line`` in a room knows which one it is; another room may have its own."""
    seen = 0
    for room, files in rooms().items():
        names = Counter(
            node.name
            for path in files
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ClassDef)
        )
        seen += len(names)
        assert [name for name, times in names.items() if times > 1] == [], room
    assert seen > 300


def test_a_file_and_a_folder_of_a_room_never_share_a_name():
    """``import thrifty.models.memory`` would be one or the other, by Python's own rules."""
    for room, files in rooms().items():
        folders = {path.name for path in room.iterdir() if (path / "__init__.py").exists()}
        # On disks that take X.py and x.py for the same file there would be one.
        names = Counter([path.stem.casefold() for path in files] + sorted(folders))
        assert [name for name, times in names.items() if times > 1] == [], room


def named_in(begins: str) -> set[str]:
    """What a part of the page names in its tables, as it stands in the tree."""
    text = PAGE.read_text(encoding="utf-8").partition(begins)[2]
    assert text, f"the page has no part that begins with {begins!r}"
    part = re.split(r"^(?:## |Inside `)", text, flags=re.MULTILINE)[0]
    rows = [line for line in part.splitlines() if line.startswith("|")]
    names = re.findall(r"`([\w./]+)`", "\n".join(rows))
    return {name.removesuffix("/").removesuffix(".py") for name in names}


#: rooms that the page draws file by file
DRAWN = [
    "", "trees", "models", "models/buying", "models/evidence", "models/purses", "models/fits",
    "models/asking", "models/memory", "models/held", "lifetime", "labels", "cells", "cells/sources",
    "cells/prices", "cells/ledger", "stores", "lazy",
]  # fmt: skip


@pytest.mark.parametrize("folder", DRAWN)
def test_the_tables_name_every_room_and_nothing_else(folder):
    home = ROOT / "src" / "thrifty" / folder
    there = {path.stem for path in home.glob("*.py")}
    there |= {path.parent.name for path in home.glob("*/__init__.py")}
    named = named_in(f"Inside `{folder}/`" if folder else "## The rooms")
    assert there - {"__init__"} - named == set(), "say on the page what lives there"
    # The text beside a room may name what is in it: cells/ledger, or a class such as Trees.
    paths = {name for name in named if name not in there}
    assert [n for n in paths if not n[0].isupper() and not (home / n).is_dir()] == []


def test_every_room_of_models_is_drawn():
    models = ROOT / "src" / "thrifty" / "models"
    assert {f"models/{path.parent.name}" for path in models.glob("*/__init__.py")} <= set(DRAWN)


def test_a_way_to_buy_is_used_and_its_store_opens(tmp_path):
    way = load("a_way_to_buy").FirstRows()
    X = np.random.default_rng(0).normal(size=(200, 4))
    life = thrifty.Lifetime(thrifty.Models(buying=way), store=str(tmp_path / "way.db"))
    learned = life.learn("first", X, (X[:, 0] > 0).astype(int), spend="25 %")
    assert learned.receipt.cells == 200 and learned.receipt.max_cells_per_example == 4
    assert list(thrifty.Lifetime.open(str(tmp_path / "way.db"))) == ["first"]
