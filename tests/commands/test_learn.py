"""thrifty learn, predict, tasks, bill, show, export and resolve, from the shell."""

import csv
import json
import os
import sqlite3
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

from tests import shell
from thrifty.errors import BadInput, StoreError, ThriftyError
from thrifty.testing.provider import pseudo_random

FEATURES = [f"f{i}" for i in range(6)]
IDS = [f"p{i}" for i in range(40)]


def run(*arguments, fails=False):
    sys.modules.pop("lab", None)  # each command imports the provider anew
    return shell.run(*arguments, ok=not fails)


def run_json(*arguments, fails=False):
    return json.loads(run(*arguments, "--json", fails=fails).stdout)


@pytest.fixture
def clinic(tmp_path):
    """A folder with a table, labels and a provider, and task files over them."""
    rows = [[pseudo_random(e, f) for f in FEATURES] for e in IDS]
    frame = pd.DataFrame(rows, columns=FEATURES)
    frame.insert(0, "pid", IDS)
    frame["sick"] = np.where(frame["f3"] == 1, "yes", "no")
    frame.to_csv(tmp_path / "patients.csv", index=False)
    frame.drop(columns="sick").assign(sick=frame["f3"]).to_parquet(tmp_path / "patients.parquet")
    with sqlite3.connect(tmp_path / "source.db") as connection:
        frame.assign(sick=frame["f3"]).to_sql("patients", connection, index=False)
    pd.DataFrame({"id": IDS}).to_csv(tmp_path / "ids.csv", index=False)
    pd.DataFrame({"id": IDS[::-1], "ill": frame["f1"][::-1]}).to_csv(
        tmp_path / "ill.csv", index=False
    )
    (tmp_path / "lab.py").write_text(
        textwrap.dedent("""
        import json, os
        from thrifty.testing import FakeProvider
        faults = json.loads(os.environ.get("LAB_FAULTS", "[]"))
        folder = os.path.dirname(__file__)
        ask = FakeProvider(log=os.path.join(folder, "bill.log"), faults=faults).ask
        """)
    )
    return tmp_path


def write(folder, name, text):
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


TASKS = """
    tasks:
      - {name: sick, label: sick}
      - {name: ill, labels: ill.csv}
"""


@pytest.mark.parametrize(
    "source",
    [
        "{csv: patients.csv, id: pid}",
        "{parquet: patients.parquet, id: pid}",
        "{sql: 'sqlite:///${CLINIC}/source.db', table: patients, id: pid}",
    ],
)
def test_learn_from_a_table(clinic, source, monkeypatch):
    monkeypatch.setenv("CLINIC", str(clinic))
    text = (
        "store: s.db\nfamily: {name: Trees, max_depth: 4, learner: {name: Paper, gain: gini}}\n"
        f"source: {source}\nprices: {{per_feature: 1.5, currency: EUR}}\n"
    )
    file = write(clinic, "tasks.yaml", text + textwrap.dedent(TASKS))
    first = run_json("learn", file)
    assert [t["task"] for t in first["learned"]] == ["sick", "ill"]
    assert first["learned"][0]["cost"] == 360.0
    assert first["learned"][1]["cells"] == 0, "the same patients: paid for already"
    assert (first["spent"], first["currency"], first["error"]) == (360.0, "EUR", None)
    assert run_json("learn", file)["learned"] == [], "run again, there is nothing left to do"
    shown = run_json("show", clinic / "s.db", "ill")
    assert shown["model"]["tree"]["feature"] == FEATURES.index("f1")
    answers = run_json("predict", file, "--task", "ill")["predictions"]
    assert answers == {e: pseudo_random(e, "f1") for e in IDS}


def paid_file(clinic, **more):
    extra = "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())
    return write(
        clinic,
        "paid.toml",
        'store = "paid.db"\nfamily = {name = "Trees", learner = "Paper"}\n'
        'prices = "2 EUR"\n' + extra + '[source]\ncallable = "lab:ask"\nexamples = "ids.csv"\n'
        f"features = {json.dumps(FEATURES)}\nmax_examples = 10\n"
        '[[tasks]]\nname = "ill"\nlabels = "ill.csv"\n',
    )


def in_shell(clinic, *arguments, **environment):
    """A process of its own: the provider is imported anew."""
    main, there = "from thrifty.cli import main; main()", {**os.environ, **environment}
    return shell.python(main, *arguments, cwd=clinic, env=there)


def test_learn_from_a_provider_stops_in_doubt_and_goes_on_when_resolved(clinic):
    file, store = paid_file(clinic, budget="9999 EUR"), clinic / "paid.db"
    stopped = in_shell(clinic, "learn", file, LAB_FAULTS='["", "error-after"]')
    assert stopped.returncode == 1
    assert "paid.db 2 --billed" in stopped.stderr and "Traceback" not in stopped.stderr
    listed = run_json("resolve", store)
    assert [(p["id"], p["status"], len(p["examples"])) for p in listed] == [(2, "doubt", 10)]
    assert "--not-billed" in run("resolve", store).stdout
    bill = run_json("bill", store)
    assert (bill["spent"], bill["reserved"], len(bill["in_doubt"])) == (120.0, 120.0, 1)

    assert run_json("learn", file, fails=True)["in_doubt"] == [2]

    values = clinic / "values.csv"
    with values.open("w", newline="") as target:
        rows = [[e, *[pseudo_random(e, f) for f in FEATURES]] for e in listed[0]["examples"]]
        csv.writer(target).writerows([["id", *FEATURES], *rows])
    resolved = run_json("resolve", store, 2, "--billed", "--values", values)
    assert resolved == {"resolved": 2, "spent": 240.0, "reserved": 0.0, "over": 0.0}
    done = run_json("learn", file)
    assert (done["spent"], done["error"]) == (480.0, None)
    billed = [json.loads(line) for line in (clinic / "bill.log").read_text().splitlines()]
    cells = [(e, f) for line in billed for e in line["ids"] for f in line["names"]]
    assert len(cells) == len(set(cells)) == 240

    assert run("show", store).stdout == "ill\tscratch\t480 EUR\n"
    assert "ill" in run("bill", store).stdout
    assert "f1?" in run("show", store, "ill").stdout
    run("store", "export", store, "--out", clinic / "all.json")
    assert [t["task"] for t in json.loads((clinic / "all.json").read_text())["tasks"]] == ["ill"]
    predicted = run("predict", file, "--task", "ill")
    assert predicted.stdout.splitlines()[0] == (
        "id,ill,probability,sure,stopped,probability of 0,probability of 1,cells,cost"
    )
    assert "0 cells bought" in predicted.stderr


def test_learn_within_a_budget(clinic):
    file = paid_file(clinic, budget="100 EUR")
    stopped = str(run("learn", file, fails=True).exception)
    assert "needs 480 EUR for 240 cells" in stopped and "100 EUR is left" in stopped
    assert not (clinic / "bill.log").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source: {csv: nowhere.csv}\ntasks: [sick]", "cannot be read"),
        ("source: {csv: patients.csv}\ncolour: red\ntasks: [sick]", "'colour' that is not known"),
        ("source: {csv: patients.csv, excel: x}\ntasks: [sick]", "'excel' that is not known"),
        ("source: {csv: patients.csv, sql: x}\ntasks: [sick]", "one of csv, parquet"),
        ("tasks: [sick]", "must name a source"),
        ("source: {csv: patients.csv, id: pid}", "names no tasks"),
        ("source: {csv: patients.csv, id: pid}\ntasks: [{name: x}]", "either label"),
        ("source: {csv: patients.csv, id: pid}\ntasks: [a, a]", "distinct names"),
        (
            "source: {csv: patients.csv, id: pid, without: [sick]}\ntasks: [nobody]",
            "no label column 'nobody'",
        ),
        ("source: {csv: patients.csv, id: nobody}\ntasks: [sick]", "no column 'nobody'"),
        ("source: {callable: lab, examples: [a], features: [b]}\ntasks: []", "names no tasks"),
        (
            "source: {callable: lab, examples: [a], features: [b]}\ntasks: "
            "[{name: t, labels: ill.csv}]",
            "module:function",
        ),
        (
            "source: {callable: 'nope:x', examples: [a], features: [b]}\ntasks: "
            "[{name: t, labels: ill.csv}]",
            "cannot be imported",
        ),
        ("family: Forests\nsource: {csv: patients.csv, id: pid}\ntasks: [sick]", "family must be"),
        (
            "family: {name: Trees, colour: 3}\nsource: {csv: patients.csv, id: pid}\ntasks: [sick]",
            "no parameter 'colour'",
        ),
        ("source: {csv: '${NO_SUCH_VARIABLE}'}\ntasks: [sick]", "not in the environment"),
        ("budget: {most: 3}\nsource: {csv: patients.csv}\ntasks: [sick]", "'most' that is not"),
        ("[1, 2", "is not YAML"),
        ("just text", "must be a mapping"),
        ("!!python/object/apply:os.system ['true']", "is not YAML"),
    ],
)
def test_a_file_that_is_wrong_says_what_is_wrong(clinic, text, message):
    file = write(clinic, "bad.yaml", text)
    result = run("learn", file, fails=True)
    error = result.exception
    assert isinstance(error, BadInput), result.output
    assert message in str(error)


def test_stores_that_are_not_there(tmp_path):
    for command in ("show", "bill", "resolve"):
        error = run(command, tmp_path / "no.db", fails=True).exception
        assert isinstance(error, StoreError) and "no store" in str(error)
    assert not (tmp_path / "no.db").exists(), "looking makes no store"


def test_resolving_what_is_not_open(clinic):
    file = write(
        clinic, "t.yaml", "store: s.db\nsource: {csv: patients.csv, id: pid}\ntasks: [sick]\n"
    )
    run("learn", file)
    assert "no purchase waits" in run("resolve", clinic / "s.db").stdout
    for arguments in ((7, "--billed"), (7,)):
        error = run("resolve", clinic / "s.db", *arguments, fails=True).exception
        assert isinstance(error, ThriftyError)
    error = run("show", clinic / "s.db", "nobody", fails=True).exception
    assert isinstance(error, ThriftyError) and "no task named" in str(error)
