"""What docs/architecture.md says can be added is added here, each in a file of its own."""

import ast
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import thrifty
from tests.shell import load

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "architecture"
PAGE = ROOT / "docs" / "architecture.md"


def test_the_page_names_every_example():
    named = set(re.findall(r"examples/architecture/(\w+)\.py", PAGE.read_text(encoding="utf-8")))
    assert named == {path.stem for path in FOLDER.glob("*.py")}
    assert named == {"a_gain", "a_rule", "a_source", "a_store", "a_family", "a_model"}


def test_a_gain_is_raced_and_stored_by_name(tmp_path):
    example = load(FOLDER / "a_gain.py")
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
    example = load(FOLDER / "a_rule.py")
    life = example.main(str(tmp_path / "spring.db"))
    assert 1 <= len(life.representation) <= 3
    again = example.main(str(tmp_path / "spring.db"))
    assert len(again) == len(life) and again.agnostic == example.Spring(3)
    # A rule that the program has defined is known by its name, as ours are.
    assert thrifty.Lifetime.open(tmp_path / "spring.db").agnostic == example.Spring(3)


def test_a_source_is_read_and_predicted_on(tmp_path):
    prediction, bits = load(FOLDER / "a_source.py").main(tmp_path)
    assert (np.asarray(prediction) == (bits[:, 1] & bits[:, 4])).all()


def test_a_store_keeps_a_lifetime(tmp_path):
    store, again = load(FOLDER / "a_store.py").main(tmp_path)
    assert list(again) == ["and"] and store.times["write"] >= 2 and store.times["read"] >= 1


def test_a_family_passes_the_checks_and_opens_its_store(tmp_path):
    example = load(FOLDER / "a_family.py")
    path = tmp_path / "one.db"
    life = example.main(str(path))
    assert [task.route for task in life.tasks] == ["scratch", "reused", "scratch"]
    with pytest.raises(thrifty.errors.StoreError, match="does not know: 'OneFeature'"):
        thrifty.Lifetime.open(path)
    again = thrifty.Lifetime.open(path, family=example.OneFeature())
    assert list(again.representation) == [3, 1]


def test_a_model_of_an_unknown_library_is_metered():
    example = load(FOLDER / "a_model.py")
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


def part(begins: str) -> list[str]:
    """The rows of the tables in a part of the page, without headings and rules."""
    text = PAGE.read_text(encoding="utf-8").partition(f"## {begins}\n")[2]
    assert text, f"the page has no part {begins!r}"
    rows = [line for line in text.split("\n## ")[0].splitlines() if line.startswith("|")]
    return rows[2:]


def test_the_table_names_every_module_and_nothing_else():
    home = ROOT / "src" / "thrifty"
    there = {path.stem for path in home.glob("*.py")} - {"__init__"}
    there |= {
        f"{path.parent.relative_to(home).as_posix()}/" for path in home.glob("**/__init__.py")
    } - {"./"}
    first = [row.split("|")[1] for row in part("The modules")]
    named = re.findall(r"`([\w./]+)`", " ".join(first))
    assert len(named) == len(set(named))
    assert there - set(named) == set(), "say on the page what lives there"
    assert set(named) - there == set(), "these are gone"


def test_every_file_that_the_page_names_is_there():
    home = ROOT / "src" / "thrifty"
    for row in part("The modules"):
        folder = re.findall(r"`([\w./]+)`", row.split("|")[1])[-1]
        for name in re.findall(r"`(\w+\.py)`", row.split("|")[2]):
            assert (home / folder / name).is_file(), row
    for row in [*part("The way of one cell"), *part("Where a change goes")]:
        for name in re.findall(r"`([\w/]+\.py|[\w/]+/)`", row):
            assert (home / name).exists(), row


def test_a_typical_change_touches_four_files_at_most():
    changes = part("Where a change goes")
    assert len(changes) == 8
    for row in changes:
        said = row.split("|")[2]
        # a file of its own is one too, wherever it is put
        own = len(re.findall(r"a file in `[\w/]+/`|its own file", said))
        assert 1 <= own + len(re.findall(r"`[\w/]+\.py`", said)) <= 4, row


def test_the_page_is_read_in_two():
    text = PAGE.read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    assert len(prose.split()) <= 900
