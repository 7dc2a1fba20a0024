"""The README leads to files that exist, and claims what was measured."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import price_lists

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_links_to_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    files = [link for link in links if not link.startswith("https://")]
    assert [link for link in files if not (ROOT / link).exists()] == []


@pytest.fixture(scope="module")
def leads() -> dict[str, list[float]]:
    """Of each price list at each budget: ours less the best other way, from the kept lines."""
    lines = [json.loads(line) for line in price_lists.KEPT.open(encoding="utf-8")]
    found: dict[str, list[float]] = {}
    for row in price_lists.shown(lines):
        found.setdefault(str(row["set"]), []).append(float(str(row["lead"]).split()[0]))
    return found


def test_the_leads_on_price_lists_are_those_that_were_measured(leads: dict) -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "ahead: the price list above, at every budget shown" in text
    assert len(leads["nhanes"]) == 5 and min(leads["nhanes"]) > 0
    level = "physionet_icu", "physionet_icu, laboratory", "support2"
    assert "level with" in text and max(abs(np.mean(leads[name])) for name in level) < 0.01
    least, most = re.search(r"behind by (\.\d\d) to (\.\d\d): SAT solvers", text).groups()
    behind = [-lead for name in ("aslib_sat12_indu", "heart_cost") for lead in leads[name]]
    assert round(min(behind), 2) == float(least) and round(max(behind), 2) == float(most)
