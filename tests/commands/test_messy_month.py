"""A clinic's own spreadsheets: semicolons, commas, limits, remarks, and another file next month."""

from __future__ import annotations

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import thrifty
from thrifty.cli import app
from thrifty.commands.options import in_commands

pytest.importorskip("pandas")

HEAD = ["Nr", "Aufnahme", "Alter", "CRP", "Hb", "Kosten", "Laktat", "Notiz", "Klinik"]
REMARKS = ["k.A.", "-", "nicht bestimmt", "N/A", "Probe verloren"]


def commas(value, digits=1):
    return f"{value:.{digits}f}".replace(".", ",")


def write(path, n, seed, label=True, drop=(), add=(), spellings=("Ja", "ja", "NEIN", "Nein ")):
    """A month with a byte order mark; the label hangs on CRP and age."""
    rng = np.random.default_rng(seed)
    crp, hb, age = rng.lognormal(2, 1, n), rng.normal(13, 2, n), rng.integers(18, 95, n)
    ill = rng.random(n) < 1 / (1 + np.exp(3 - 1.6 * np.log(crp) + (60 - age) / 20))
    head = [h for h in [*HEAD, *add] if h not in drop]
    head = [head[0], *rng.permutation(head[1:])] if drop else head
    lines = [";".join([*head, "Sepsis"] if label else head)]
    for i in range(n):
        row = {
            "Nr": f"{path.stem}{i}", "Aufnahme": f"{i % 28 + 1:02d}.03.2025", "Alter": str(age[i]),
            "CRP": "<5" if crp[i] < 5 else commas(crp[i]), "Hb": commas(hb[i]),
            "Kosten": f"{rng.integers(1, 9)}.{rng.integers(100, 999)},50", "Notiz": "",
            "Laktat": commas(rng.lognormal(0, 0.5)), "Klinik": "Nord",
            "Ferritin": commas(rng.lognormal(5, 1)),
        }  # fmt: skip
        for test in ("CRP", "Hb", "Laktat"):
            if rng.random() < 0.08:
                row[test] = str(rng.choice(REMARKS))
        yes, no = spellings[i % 2], spellings[2 + i % 2]
        said = [row[h] for h in head]
        lines.append(";".join([*said, yes if ill[i] else no] if label else said))
    path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8-sig", newline="")
    return ill


def run(*arguments, ok=True):
    asked = CliRunner().invoke(app, [str(a) for a in arguments])
    assert (asked.exit_code == 0) == ok, f"{asked.output}{asked.exception!r}"
    return asked, in_commands(f"{asked.stderr}{asked.exception or ''}")


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.setenv("THRIFTY_ROW_SEED", "1")
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "jan.csv", 300, 0, spellings=("Ja", "Ja", "Nein", "Nein"))
    return tmp_path


LEARN = ("learn", "jan.csv", "--label", "Sepsis", "--id", "Nr", "--spend", "50 %")


def test_numbers_as_laboratories_write_them_are_numbers(clinic):
    """Commas, thousands, limits and remarks on few rows: none of the columns is left out."""
    _, told = run(*LEARN)
    listed = re.search(r"\d+ features: (.*?) \(", told)[1].split(", ")
    assert set(listed) >= {"Alter", "CRP", "Hb", "Kosten", "Laktat"}, told
    with thrifty.Lifetime.open("jan.db") as life:
        model = life["Sepsis"].model
        assert not set(model.words_) & set(listed[:5])
        assert {"nicht bestimmt", "Probe verloren"} <= set(life._na["CRP"])
        kosten = model.table_.values[:, model.features_.tolist().index(listed.index("Kosten"))]
        assert np.nanmin(kosten) > 1000


def test_codes_that_are_told_leave_numbers_with_commas(clinic):
    told = [part for word in REMARKS for part in ("--na", word)]
    _, said = run(*LEARN, *told)
    assert "'CRP' holds text" not in said and "Hb" in re.search(r"features: (.*)", said)[1]
    assert "taken for gaps" not in said
