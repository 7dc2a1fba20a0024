"""The list of small changes fits the code as it is: each line it would change is still there."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from mutated import found_in  # noqa: E402

#: drawn changes whose lines may have gone before others are drawn
STALE = 30


def test_most_listed_changes_have_their_line_and_what_is_accepted_is_listed():
    drawn = json.loads((ROOT / "tests/mutants/drawn.json").read_text("utf-8"))["drawn"]
    lost = [one for one in drawn if found_in(ROOT, one) is None]
    assert len(drawn) >= 300 and len(lost) <= STALE, "python tools/draw_mutants.py"
    accepted = json.loads((ROOT / "tests/mutants/accepted.json").read_text("utf-8"))
    listed = {(one["file"], one["new"]) for one in drawn}
    assert all(one["why"] and (one["file"], one["new"]) in listed for one in accepted)
