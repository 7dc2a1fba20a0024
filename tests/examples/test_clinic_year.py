"""A year in a clinic, step by step, on a real PostgreSQL server at its end.

Each step has quick tests of its own (tests/lives_on, tests/stores/test_copying.py,
tests/test_quote.py); the year as a whole is run by make faults.
"""

import importlib.util
import warnings
from pathlib import Path

import pytest

import thrifty

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "clinic_year.py"
pytestmark = pytest.mark.slow
TASK = "died in hospital"
#: patients a month
EACH = 300


@pytest.fixture(scope="module")
def clinic(tmp_path_factory, postgres):
    """The whole year, with made-up patients, so that it is the same everywhere."""
    spec = importlib.util.spec_from_file_location("clinic_year", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setitem(__import__("sys").modules, "clinic_year", module)
        patch.setenv("THRIFTY_DATA", "nowhere")
        spec.loader.exec_module(module)
        folder = tmp_path_factory.mktemp("year")
        yield module.main(folder, postgres.new_database(), each=EACH)


def test_files_are_as_clinics_write_them(clinic):
    text = (clinic.folder / "2025-03.csv").read_text().splitlines()
    assert text[0].startswith("patient;age;") and len(text) == 1 + EACH + 3
    assert ";-;" in text[5] + text[6] + text[7] and any(line.endswith(";") for line in text)


def test_what_was_quoted_in_january_was_paid(clinic):
    assert abs(clinic.quote.cost - clinic.facts["learned for"]) <= 0.05 * clinic.quote.cost
    assert clinic.facts["learned for"] <= clinic.quote.spend


def test_two_price_changes_are_on_record(clinic):
    changes = [what for _, what, _, _ in clinic.life.ledger.changes()]
    assert changes.count("prices") == 2


def test_a_withdrawn_test_stops_nothing(clinic):
    lines = clinic.life._bill_rows()
    assert sum(str(row["route"]).startswith("prediction") for row in lines) == 11
    assert all("alb" in clinic.facts[f"lacking {m}"] or not clinic.facts[f"lacking {m}"]
               for m in range(5, 13))  # fmt: skip
    assert not any(clinic.facts[f"lacking {m}"] for m in range(2, 5))


def test_nothing_is_wrong_before_autumn(clinic):
    assert all("worse" not in clinic.said[month] for month in range(2, 9))
    assert "still as good as when it was learned" in clinic.said.values()


def test_the_monitor_finds_the_fall_of_autumn(clinic):
    worse = [month for month in range(9, 12) if "worse" in clinic.said[month]]
    assert worse and worse[0] <= 11
    since = clinic.said[11].removeprefix("worse since ")
    assert "2025-09-01" <= since <= "2025-12-01"


def test_updates_made_versions_and_one_was_rolled_back(clinic):
    assert clinic.facts["April"] in ("present", "aside")
    assert len(clinic.facts["versions"]) == 4
    states = {v.name: v.state for v in clinic.life[TASK].versions}
    assert states[clinic.facts["rolled back to"]] == "present"


def test_everything_moved_to_postgresql(clinic):
    copied = clinic.facts["copied"]
    assert copied.lifetimes == ("lifetime",) and copied.tables["versions"] == 4
    assert copied.tables["outcomes"] == 11
    assert clinic.life.balance().spent == clinic.facts["spent"]
    assert thrifty.Lifetime.open(clinic.folder / "clinic.db").balance().spent > 0


def test_a_patient_is_forgotten(clinic):
    gone = clinic.facts["purged"]
    assert gone.features > 0 and TASK in gone.fitted_again and gone.forgotten == ()
    rows = clinic.life.ledger.book.read(lambda p: p.numbers("example", [clinic.facts["patient"]]))
    assert rows.tolist() == [-1]


def test_the_one_who_pays_gets_a_report(clinic):
    page = (clinic.folder / "clinic_year.html").read_text()
    assert "Still as good?" in page and "saved" in page and "blood draw" in page
    names = {path.name for path in clinic.facts["pictures"]}
    assert {"outcomes.png", "costs.png", "bill.png"} <= names
