"""A clinic's own spreadsheets: semicolons, commas, limits, remarks, and another file next month."""

import re

import numpy as np
import pytest

import thrifty
from tests import shell
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


def run(*typed, **how):
    asked = shell.run(*typed, **how)
    return asked, in_commands(f"{asked.stderr}{asked.exception or ''}")


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.setenv("THRIFTY_ROW_SEED", "1")
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "jan.csv", 300, 0)
    return tmp_path


LEARN = ("learn", "jan.csv", "--label", "Sepsis", "--id", "Nr", "--spend", "50 %")


def test_numbers_as_laboratories_write_them_are_numbers(clinic):
    """Commas, thousands, limits and remarks on few rows: none of the columns is left out."""
    _, told = run(*LEARN)
    listed = re.search(r"\d+ features: (.*?) \(", told)[1].split(", ")
    assert set(listed) == {"Alter", "CRP", "Hb", "Kosten", "Laktat"}, told
    assert "the same on every row: 'Notiz', 'Klinik'" in told
    with thrifty.Lifetime.open("jan.db") as life:
        model = life["Sepsis"].model
        assert not set(model.words_) & set(listed[:5])
        assert {"nicht bestimmt", "Probe verloren"} <= set(life._state.settings.na["CRP"])
        kosten = model.table_.values[:, model.features_.tolist().index(listed.index("Kosten"))]
        assert np.nanmin(kosten) > 1000


def test_codes_that_are_told_leave_numbers_with_commas(clinic):
    told = [part for word in REMARKS for part in ("--na", word)]
    _, said = run(*LEARN, *told)
    assert "'CRP' holds text" not in said and "Hb" in re.search(r"features: (.*)", said)[1]
    assert "taken for gaps" not in said


def test_a_class_is_one_however_it_is_spelt(clinic):
    """At learning, as the class of interest, in next month's file and among outcomes."""
    _, told = run(*LEARN, "--positive", "JA")
    assert re.search(r"labels are read in one spelling: .*'[Jj]a', '[Jj]a' as", told), told
    ill = write(clinic / "feb.csv", 80, 1, spellings=("j", "YES", "no", "n"))
    store = ("--id", "Nr", "--store", "jan.db")
    run("learn", "feb.csv", "--label", "Sepsis", *store, "--update", "--spend", "50 %")
    run("predict", "feb.csv", *store)
    seen, _ = run("outcomes", "feb.csv", *store)
    assert f"80 outcomes, {ill.sum()} " in seen.output


def test_next_months_file_says_what_is_new_and_nothing_twice(clinic):
    """Dates, empty columns and limits were said at learning; a model's column may be constant."""
    run(*LEARN)
    write(clinic / "feb.csv", 60, 1, label=False, drop=["Hb"], add=["Ferritin"])
    ask = ("predict", "feb.csv", "--id", "Nr", "--store", "jan.db")
    _, told = run(*ask)
    assert re.search(
        r"note: the file lacks Hb: \d+% of .* The file has new columns: Ferritin\.\n", told
    ), told
    assert told.count("\n") == 2, told
    write(clinic / "mar.csv", 60, 2, label=False)
    lines = [line.split(";") for line in (clinic / "mar.csv").read_text("utf-8-sig").splitlines()]
    at = lines[0].index("Alter")
    rows = [";".join([*row[:at], "40", *row[at + 1 :]]) for row in lines[1:]]
    (clinic / "mar.csv").write_text("\n".join([";".join(lines[0]), *rows]) + "\n")
    text = (clinic / "mar.csv").read_text().replace("\n", ";5;1.4.2025\n")
    (clinic / "mar.csv").write_text(text.replace("5;1.4.2025", "Laune;Entlassung", 1))
    _, told = run(ask[0], "mar.csv", *ask[2:])
    assert "lacks" not in told and "does not use: Laune." in told  # the same on every row
    assert "left out: 'Entlassung' holds dates" in told and "Aufnahme" not in told


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["empty.csv", "--label", "a"], "empty.csv is empty"),
        (["head.csv", "--label", "a"], "has a header and no rows"),
        (["jan.csv"], "which column to learn with --label; there are 'Alter', 'CRP'"),
        (["jan.csv", "--label", "sepsis"], "no label column 'sepsis'. Is it 'Sepsis'?"),
        (["jan.csv", "--label", "Sepsis", "--id", "nr"], "no column 'nr'. Is it 'Nr'?"),
        (["jan.csv", "--label", "Aufnahme"], "the labels are dates"),
        (["jan.csv", "--label", "Klinik"], "one class"),
    ],
)
def test_what_cannot_be_learned_is_said_and_nothing_else(clinic, typed, said):
    (clinic / "empty.csv").write_text("")
    (clinic / "head.csv").write_text("a;b\n")
    _, told = run("learn", *typed, ok=False)
    assert said in told and "learned, " not in told


def test_whole_numbers_are_amounts_unless_they_are_said_to_be_classes(clinic):
    _, told = run("learn", "jan.csv", "--label", "Alter", "--id", "Nr")
    assert "taken for amounts" in told and "--kinds 'LABEL=category'" in told
    assert "R squared" in told
    kinds = ("--kinds", "Alter=category", "--store", "b.db")
    assert "class" in run("learn", "jan.csv", "--label", "Alter", *kinds, ok=False)[1]


def test_a_task_file_leaves_out_what_a_table_leaves_out_and_says_so_once(clinic):
    (clinic / "k.yaml").write_text(
        "source: {csv: jan.csv, id: Nr}\ntasks: [{name: Sepsis, label: Sepsis, spend: 50 %}]\n"
    )
    assert "'Aufnahme' holds dates" in run("quote", "k.yaml")[1]
    _, told = run("learn", "k.yaml")
    assert "'Aufnahme' holds dates" in told and "the same on every row: 'Notiz', 'Klinik'" in told
    assert "left out" not in run("predict", "k.yaml")[1]


def test_a_label_of_one_file_is_no_feature_of_another(clinic):
    """Next month's table is a source of its own name; its label columns are labels all the same."""
    (clinic / "k.yaml").write_text(
        "store: jan.db\nsource: {csv: jan.csv, id: Nr, name: ward}\n"
        "tasks: [{name: Sepsis, label: Sepsis, spend: 50 %}, {name: Hb, label: Hb, spend: 20 %}]\n"
    )
    run("learn", "k.yaml")
    write(clinic / "feb.csv", 80, 1)
    more = ("--id", "Nr", "--store", "jan.db", "--spend", "50 %", "--update")
    _, told = run("learn", "feb.csv", "--label", "Sepsis", *more)
    assert "Hb" not in re.search(r"features: (.*?) \(", told)[1], told
    with thrifty.Lifetime.open("jan.db") as life:
        assert "Hb" not in life["Sepsis"].model.feature_names_
        assert life["Hb"].quality.r2 is not None, "marks among its numbers are no classes"


def test_categories_in_several_spellings_are_one_and_like_notes_are_one_note(clinic):
    lines = [line.split(";") for line in (clinic / "jan.csv").read_text("utf-8-sig").splitlines()]
    fever = ["Fieber", *(["nein", "Nein", "ja", "NEIN "][i % 4] for i in range(300))]
    limits = ["TSH", *("<0,5" if i % 3 == 0 else f"{i % 17},3" for i in range(300))]
    rows = [";".join([f, t, *r]) for r, f, t in zip(lines, fever, limits)]
    (clinic / "jan.csv").write_text("\n".join(rows), encoding="utf-8-sig")
    _, told = run(*LEARN)
    assert told.count("beyond a limit") == 1 and "'TSH' and 'CRP' hold" in told, told
    assert told.count("taken for gaps") == 1 and "'CRP', 'Hb' and 'Laktat' hold numbers" in told
    assert "'Fieber' has categories in several spellings: 'Nein' as 'nein', 'NEIN '" in told
    rows = [row.replace("ja;", "JA;", 1).replace("Nein;", "nein;", 1) for row in rows]
    (clinic / "feb.csv").write_text("\n".join(rows), encoding="utf-8-sig")
    answers = []
    for month in ("jan", "feb"):
        asked, said = run("predict", f"{month}.csv", "--id", "Nr", "--store", "jan.db")
        answers.append([row.split(",")[:6] for row in asked.stdout.splitlines()])
        assert "spelling" not in said
    assert answers[0] == answers[1]
    with thrifty.Lifetime.open("jan.db") as life:
        assert life["Sepsis"].model.words_["Fieber"] == ("ja", "nein")


def test_rows_without_an_id_are_left_out_and_named(clinic):
    text = (clinic / "jan.csv").read_text("utf-8-sig").replace("\njan7;", "\n;")
    (clinic / "jan.csv").write_text(text, encoding="utf-8-sig")
    assert "if it names them, say --id Nr" in run("learn", "jan.csv", "--label", "Sepsis")[1]
    _, told = run(*LEARN, "--store", "b.db")
    assert "1 of 300 rows have no 'Nr' and are left out (rows 8 below the header)" in told
    rows = run("predict", "jan.csv", "--id", "Nr", "--store", "b.db")[0].stdout.splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == [f"jan{i}" for i in range(300) if i != 7]


def test_a_code_for_gaps_is_no_class(clinic):
    text = (clinic / "jan.csv").read_text("utf-8-sig").replace(";NEIN", ";-", 4)
    (clinic / "jan.csv").write_text(text, encoding="utf-8-sig")
    assert "have no label" in run(*LEARN, "--na", "-")[1]
    with thrifty.Lifetime.open("jan.db") as life:
        classes = {str(c).lower().strip() for c in life["Sepsis"].model.classes_}
        assert classes == {"ja", "nein"} and len(life["Sepsis"].model.classes_) == 2


def test_an_interview_takes_gaps_and_words_as_learning_took_them(clinic):
    """Remarks that were found to be gaps, marks for gaps, words in any case."""
    lines = [line.split(";") for line in (clinic / "jan.csv").read_text("utf-8-sig").splitlines()]
    at = lines[0].index("Sepsis")
    fever = ["Fieber", *(["ja", "nein"][i % 2] for i in range(300))]
    text = "\n".join(";".join([*r[:at], f, r[at]]) for r, f in zip(lines, fever))
    (clinic / "jan.csv").write_text(text, encoding="utf-8-sig")
    run(*LEARN)
    words = {"CRP": "Probe verloren", "Hb": "-", "Laktat": "n.d.", "Alter": "40", "Fieber": " JA "}
    with thrifty.Lifetime.open("jan.db") as life:
        asked = life.ask("Sepsis")
        while (wanted := asked.next) is not None:
            asked.tell(words.get(wanted.feature, "1.200,50"))
        assert asked.known["CRP"] is None and asked.known.get("Hb") is None
        assert asked.known.get("Fieber", "ja") == "ja"


def test_an_interview_answers_in_commands(clinic):
    run(*LEARN)
    said = run("ask", "jan.db", "--task", "Sepsis", answers="hoch\nq\n")[0].output
    assert "is a number; got 'hoch'. return alone says" in said and "skip()" not in said
