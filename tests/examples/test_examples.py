"""The worked examples run, and show what they say they show."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thrifty
from tests.shell import load

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def test_every_example_is_tested_here() -> None:
    named = {"clinic_year", "filter_texts", "pipeline", "question_bank", "wide_table"}
    assert {path.stem for path in FOLDER.glob("*.py")} == named
    assert {path.stem for path in FOLDER.glob("*.sh")} == {"clinic"}


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The clinic's year from an empty folder, typed as a user types it; what was said."""
    commands, folder = tmp_path_factory.mktemp("bin"), tmp_path_factory.mktemp("clinic")
    shell = {"thrifty": "-c 'from thrifty.cli import main; main()' ", "python3": ""}
    for name, what in shell.items():
        (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable} {what}"$@"\n')
        (commands / name).chmod(0o755)
    home = str(Path(thrifty.__file__).parents[1])
    there = {"PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": home, "COLUMNS": "120"}
    there["THRIFTY_ROW_SEED"] = "1"  # the same patients every time
    typed, how = ["sh", str(FOLDER / "clinic.sh"), str(folder)], {"timeout": 600, "text": True}
    done = subprocess.run(typed, env={**os.environ, **there}, capture_output=True, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout + done.stderr


def test_a_year_in_the_clinic_is_typed(year: tuple[Path, str]) -> None:
    folder, said = year
    assert "all 2 tasks: about" in said and "left of the budget: 3,200 EUR" in said
    assert "Average precision for " in said and "R squared" in said
    assert "A prediction costs at most" in said
    assert "rows are answered and written" in said and "larger --budget" in said
    assert "never predicted" in said and "nobody" in said and "80 outcomes" in said
    bought = re.search(r"(\d+) cells bought for .*: (\d\.\d) a row", said)
    assert float(bought[2]) > 5, "of the rows that were answered before the budget ended"
    assert "Sepsis@2" in said
    assert (folder / "clinic.html").stat().st_size > 50_000
    assert not re.search(r"Traceback|Warning|life\.\w+\(|Lifetime", said)


def test_the_clinics_bill_is_its_answers(year: tuple[Path, str]) -> None:
    folder, _ = year
    rows = list(csv.DictReader((folder / "mai-answers.csv").open(encoding="utf-8")))
    assert len(rows) == 80 and all(row["Sepsis"] in ("ja", "nein") for row in rows)
    with thrifty.Lifetime.open(folder / "clinic.db") as life:
        balance = life.balance()
        assert balance.left == pytest.approx(9000 - balance.spent)
        assert balance.saved == pytest.approx(balance.everything - balance.spent)
        assert 0 < sum(float(row["cost"]) for row in rows) <= balance.predictions
    with thrifty.Lifetime.open(folder / "clinic-december.db") as copy:
        assert copy.balance().spent == balance.spent


def test_the_question_bank_survives_its_provider_and_is_certified(tmp_path: Path, capsys) -> None:
    example = load(FOLDER / "question_bank.py")
    life, answers = example.main(tmp_path, n=500, labelled=120)
    said = capsys.readouterr().out
    assert "was in doubt: billed" in said and life.ledger.open_purchases() == []
    truth = ["yes" if example.is_complaint(text) else "no" for text in example.mails(500)]
    assert np.mean(np.asarray(answers.values) == truth) >= 0.9
    assert answers.certificate.by_model > 0 and life.balance().spent <= 2


def test_a_pipeline_learns_exports_and_serves(tmp_path: Path) -> None:
    found = load(FOLDER / "pipeline.py").main(tmp_path, n=300)
    assert found["scores"].mean() > 0.6
    assert found["learned"].receipt.cells <= 0.3 * 300 * 14
    first = found["answers"].probabilities[0]
    assert np.allclose(list(found["plain"].values()), first), "the file says what the model says"
    assert found["said"]["value"] in ("left", "stayed") and found["asked"]


def test_a_trait_is_read_from_few_columns_in_the_next_cohort(tmp_path: Path) -> None:
    life = load(FOLDER / "wide_table.py").main(tmp_path, markers=2_000, people=600)
    bill = life.bill()
    later = bill[8:]
    assert (later["route"] == "reused").all()
    assert later["max_cells_per_example"].max() < 40


def test_texts_are_filtered_with_a_certificate(capsys) -> None:
    answers = load(FOLDER / "filter_texts.py").main(n=1500, spend="0.004 USD")
    told = capsys.readouterr().out
    assert "agree 0.95, with confidence 0.95, of 1,500 rows" in told
    assert answers.certificate.by_model > 500
    _, truth = load(FOLDER / "filter_texts.py").make_texts(1500)
    right = sum(said == true for said, true in zip(answers.values, truth.values()))
    assert right >= 0.95 * 1500
