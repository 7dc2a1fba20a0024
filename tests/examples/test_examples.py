"""The worked examples run, and show what they say they show."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested_here() -> None:
    named = {"clinic", "clinic_year", "filter_texts", "question_bank", "wide_table"}
    assert {path.stem for path in FOLDER.glob("*.py")} == named


def test_the_clinic_saves_most_of_the_money_and_its_models_say_something(tmp_path: Path) -> None:
    life = load("clinic").main(tmp_path, n_patients=400, asked=("diabetes",))
    balance = life.balance()
    assert 0 < balance.predictions < balance.learning
    assert balance.learning < 0.3 * balance.everything and balance.left > 0
    assert all(task.receipt.reused_cells > 0 for task in life.tasks[1:])
    better = [
        task.model.quality_.average_precision.value > 1.5 * task.model.quality_.guessing
        for task in life.tasks
    ]
    assert sum(better) >= 3
    assert (tmp_path / "clinic.html").stat().st_size > 50_000


def test_the_question_bank_pays_once_and_survives_its_provider(tmp_path: Path, capsys) -> None:
    life = load("question_bank").main(tmp_path, n_mails=80, n_labels=2)
    said = capsys.readouterr().out
    assert "billed, given up" in said
    assert life.ledger.open_purchases() == []
    assert [task.receipt.reused_cells > 0 for task in life.tasks] == [False, True]
    assert life.balance().spent <= 20


def test_a_trait_is_read_from_few_columns_in_the_next_cohort(tmp_path: Path) -> None:
    life = load("wide_table").main(tmp_path, markers=2_000, people=600)
    bill = life.bill()
    later = bill[8:]
    assert (later["route"] == "reused").all()
    assert later["max_cells_per_example"].max() < 40


def test_texts_are_filtered_with_a_certificate(capsys) -> None:
    answers = load("filter_texts").main(n=1500, spend="0.004 USD")
    told = capsys.readouterr().out
    assert "agree 0.95, with confidence 0.95, of 1,500 rows" in told
    assert answers.certificate.by_model > 500
    _, truth = load("filter_texts").make_texts(1500)
    right = sum(said == true for said, true in zip(answers.values, truth.values()))
    assert right >= 0.95 * 1500
