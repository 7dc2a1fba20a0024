"""The list of small changes fits the code as it is: each line it would change is still there."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from mutated import found_in  # noqa: E402

#: drawn changes whose lines may have gone before they are to be drawn again
STALE = 15


def test_every_listed_change_has_its_line():
    drawn = json.loads((ROOT / "tests/mutants/drawn.json").read_text(encoding="utf-8"))
    named = json.loads((ROOT / "tests/mutants/named.json").read_text(encoding="utf-8"))
    listed = [*named, *(one for area in drawn.values() for one in area)]
    lost = [one for one in listed if found_in(ROOT, one) is None]
    assert len(listed) >= 300
    by_hand = [f"{one['file']}: {one['old']}" for one in lost if one in named]
    assert not by_hand, "say where these lines went (tests/mutants/README.md): " + str(by_hand)
    assert len(lost) <= STALE, "python tools/draw_mutants.py --redraw"


def test_every_listed_change_has_tests_that_exist():
    nearest = json.loads((ROOT / "tests/mutants/nearest.json").read_text(encoding="utf-8"))
    drawn = json.loads((ROOT / "tests/mutants/drawn.json").read_text(encoding="utf-8"))
    named = json.loads((ROOT / "tests/mutants/named.json").read_text(encoding="utf-8"))
    for one in (one for area in drawn.values() for one in area):
        at = found_in(ROOT, one) or one["file"]
        assert any(at.startswith(known) for known in nearest), f"nearest.json names no test of {at}"
    lists = [*nearest.values(), *(one["tests"] for one in named)]
    lost = {test for tests in lists for test in tests if not (ROOT / test.split("::")[0]).exists()}
    assert not lost, f"tests that went elsewhere: {sorted(lost)}"
