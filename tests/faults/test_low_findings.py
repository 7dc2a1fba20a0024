"""Small things that once ended raw, in silence, or in a log: each from outside."""

import contextlib
import csv
import json
import sqlite3
import unicodedata

import numpy as np
import pytest
from typer.testing import CliRunner

import thrifty
from tests.shell import run
from thrifty.cells.ledger.answers import keep_answer, redacted
from thrifty.cells.ledger.purchase import unpack_arrays
from thrifty.cli import app
from thrifty.errors import BadInput, ThriftyError

pandas = pytest.importorskip("pandas")
#: what a command may end with: a sentence
OURS = (SystemExit, ThriftyError)


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


# -- formulas ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tasks", [["=danger"], ["=danger", "+more"]])
@pytest.mark.parametrize("written", [True, False])
def test_predictions_hold_no_formulas(tmp_path, tasks, written):
    X, y = table()
    store, file, out = tmp_path / "s.db", tmp_path / "new.csv", tmp_path / "out.csv"
    words = np.array(["=1+1", "+cmd|' /C calc'!A0"])[y]
    life = thrifty.Lifetime(store=store, random_state=0)
    for task in tasks:
        life.learn(task, pandas.DataFrame(X, columns=list("abc")), words)
    life.close()
    frame = pandas.DataFrame(X[:4], columns=list("abc"))
    frame.insert(0, "who", ["=HYPERLINK(1)", "-2", "@SUM(1)", "plain"])
    frame.to_csv(file, index=False)
    named = [part for task in tasks for part in ("--task", task)]
    asked = ["predict", file, "--store", store, "--id", "who", *named]
    done = run(*asked, *(["--out", out] if written else []))
    text = out.read_text() if written else done.stdout
    rows = list(csv.reader(text.splitlines()))
    assert len(rows) >= 5 and rows[1][0] == "'=HYPERLINK(1)" and rows[4][0] == "plain"
    for row in rows[:5]:
        assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for cell in row), row


# -- one form of letters -----------------------------------------------------------------------

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Ren\u00e9") for form in ("NFC", "NFD"))


def test_known_labels_are_of_the_same_letters(tmp_path):
    ids = [f"p{i}" for i in range(40)] + [COMPOSED]
    X = np.arange(41.0)[:, None]
    source = thrifty.Source.from_array(X, examples=ids, name="clinic")
    asked = []

    def ask(some):
        asked.extend(some)
        return [float(X[ids.index(i), 0]) > 20 for i in some]

    oracle = thrifty.Oracle(ask, price=1, known={DECOMPOSED: True}, name="doctor")
    life = thrifty.Lifetime(random_state=0)
    life.learn("late", source, oracle, spend=82)
    assert sorted(asked) == sorted(ids[:-1]), "all but the one whose label is known"


@pytest.mark.parametrize("how", ["python", "command"])
def test_a_purge_finds_the_same_letters(tmp_path, how):
    X, y = table(30)
    where = tmp_path / "s.db"
    ids = [f"p{i}" for i in range(29)] + [COMPOSED]
    source = thrifty.Source.from_array(X, examples=ids, name="clinic")
    life = thrifty.Lifetime(store=where, random_state=0)
    life.learn("t", source, y, spend="100 %")
    if how == "python":
        assert life.ledger.purge(DECOMPOSED).features > 0
    life.close()
    if how == "command":
        run("store", "purge", where, DECOMPOSED)
    with sqlite3.connect(where) as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        texts = [str(row) for (name,) in tables for row in db.execute(f"SELECT * FROM {name}")]
    assert not any(COMPOSED in text or DECOMPOSED in text for text in texts)


# -- raw errors --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def updated(tmp_path_factory):
    """A store with a task, an update and outcomes."""
    X, y = table(300)
    where = tmp_path_factory.mktemp("updated") / "s.db"
    life = thrifty.Lifetime(store=where, random_state=0)
    names = [f"p{i}" for i in range(300)]

    def rows(some):
        part = X[some]
        return thrifty.Source.from_array(part, examples=[names[i] for i in some], name="clinic")

    life.learn("t", rows(range(150)), y[:150])
    life["t"].update(rows(range(150, 280)), y[150:280])
    life.predict("t", rows(range(280, 300)))
    life.close()
    return where


ODD = [None, -1, 2.5, 1e308, b"\x00\xff", "x", "{", "[]", "5", '{"a": 1}', "NaN", "[[["]
ODD += ['"\\ud800"']
ODD += ['{"loss": "x", "loss_before": [], "judged": {}}', '{"loss": null, "judged": 1e400}']


@pytest.mark.parametrize("column", ["state", "receipt", "learned_at", "note", "version", "model"])
def test_versions_of_a_stranger_end_in_errors_of_ours(updated, tmp_path, column):
    X, _ = table(4)
    for k, value in enumerate(ODD):
        where = tmp_path / f"{k}.db"
        where.write_bytes(updated.read_bytes())
        db = sqlite3.connect(where)
        try:
            with db:
                db.execute(f"UPDATE versions SET {column} = ? WHERE version = 2", (value,))
        except sqlite3.IntegrityError:
            continue  # no store can hold it
        finally:
            db.close()
        look_at_versions(where, X, tmp_path)


def look_at_versions(where, X, tmp_path):

    def look():
        life = thrifty.Lifetime.open(where)
        str(life["t"].versions)
        life.bill()
        life.balance()
        life.predict("t@2", X)
        life["t"].rollback()
        life.close()

    for act in (look, lambda: life_report(where, tmp_path)):
        with contextlib.suppress(ThriftyError):
            act()
    for words in (["store", "versions", str(where), "t"], ["bill", str(where)]):
        done = CliRunner().invoke(app, words)
        assert done.exception is None or isinstance(done.exception, OURS), done.exception


def life_report(where, folder):
    done = CliRunner().invoke(app, ["report", str(where), "--out", str(folder / "life.html")])
    assert done.exception is None or isinstance(done.exception, OURS), done.exception


@pytest.mark.parametrize("family", [thrifty.Trees(max_depth=3), thrifty.Monomials(max_degree=2)])
def test_metafeatures_of_a_stranger_end_in_errors_of_ours(tmp_path, family):
    where = tmp_path / "s.db"
    rng = np.random.default_rng(0)
    life = thrifty.Lifetime(family, store=where, random_state=0)
    if isinstance(family, thrifty.Trees):
        X = rng.random((64, 6)) < 0.5
        life.learn("t", X, X[:, 0] & X[:, 1])
    else:
        X = rng.random((64, 6)) + 0.5
        life.learn("t", X, X[:, 0] * X[:, 1])
    life.close()
    sound = where.read_bytes()
    with sqlite3.connect(where) as db:
        (text,) = db.execute("SELECT representation FROM lifetimes").fetchone()
        blocks = db.execute("SELECT name FROM known_blocks").fetchall()
    db.close()
    assert json.loads(text) or blocks
    changed = [*_changes(json.loads(text))]
    assert changed
    for odd in changed:
        where.write_bytes(sound)
        with sqlite3.connect(where) as db:
            db.execute("UPDATE lifetimes SET representation = ?", (json.dumps(odd),))
        db.close()
        try:
            opened = thrifty.Lifetime.open(where)
            str(opened.representation), len(opened.representation), list(opened.tasks)
            opened.learn("u", X, X[:, 0] if X.dtype == bool else X[:, 0] * X[:, 1])
            life_report(where, tmp_path)
        except ThriftyError:
            continue


def _changes(data, depth=0):
    """The same data with one thing in it replaced by something odd."""
    odd = (None, "x", -1, 10**30, 2.5, [], {}, [[1]], {"feature": 10**9}, True, 10**9)
    if depth > 6:
        return
    if isinstance(data, dict):
        for key, value in data.items():
            for other in odd:
                yield {**data, key: other}
            yield {k: v for k, v in data.items() if k != key}
            for other in _changes(value, depth + 1):
                yield {**data, key: other}
    elif isinstance(data, list) and data:
        for other in odd:
            yield [other, *data[1:]]
        for other in _changes(data[0], depth + 1):
            yield [other, *data[1:]]


@pytest.mark.parametrize(
    "y", [[[0, 1], [1, 0]], np.zeros((2, 1)), np.zeros((2, 2, 2)), 1, "01", [[0], [1, 2]]],
    ids=["list", "column", "cube", "number", "text", "ragged"],
)  # fmt: skip
def test_outcomes_are_one_for_each_id(updated, tmp_path, y):
    where = tmp_path / "s.db"
    where.write_bytes(updated.read_bytes())
    life = thrifty.Lifetime.open(where)
    with pytest.raises(BadInput, match=r"outcome|label"):
        life["t"].outcomes(["p280", "p281"], y)


@pytest.mark.parametrize("ids", [[], 5, None, ["p280", "p280"], [b"p280"], [["p280"]]], ids=str)
def test_outcomes_are_of_ids(updated, tmp_path, ids):
    where = tmp_path / "s.db"
    where.write_bytes(updated.read_bytes())
    with pytest.raises(BadInput, match=r"outcome|id"):
        thrifty.Lifetime.open(where)["t"].outcomes(ids, [1] if ids else [])


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e999, float("nan"), "one", None, [1], 1j])
def test_a_value_that_is_no_number_is_not_told(value):
    X, y = table()
    life = thrifty.Lifetime(random_state=0)
    life.learn("t", X, y)
    interview = life.ask("t")
    with pytest.raises(BadInput, match="is a number"):
        interview.tell(value)
    interview.tell(10**30)


# -- secrets -----------------------------------------------------------------------------------

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAhunter2\n-----END RSA PRIVATE KEY-----"
SECRETS = [
    KEY,
    KEY.replace("RSA ", ""),
    KEY.replace("RSA", "OPENSSH"),
    KEY[:60],
    KEY.replace("\n", "\\n"),
    "postgresql://me:p@hunter2@lab.example/db",
    "https://me:p/@:hunter2@lab.example/v1",
    "{'password': ['a', 'hunter2']}",
    "{'tokens': {'read': 'hunter2', 'write': 'x'}}",
    "[('api_key', 'hunter2')]",
    "['Authorization', 'Bearer hunter2']",
    "{'headers': [['x-api-key', 'hunter2']]}",
    "{'password': ('hunter2',)}",
    '{"secret": [{"value": "hunter2"}]}',
    "(b'token', b'hunter2')",
    "{'passphrase': 'hunter2'}",
    "{'credentials': ['me', 'hunter2']}",
    "password = 'two words hunter2'",
    'PASSWORD: "it\'s hunter2"',
]


@pytest.mark.parametrize("text", SECRETS, ids=range(len(SECRETS)))
def test_secrets_in_lists_keys_and_addresses_are_not_written_down(text):
    assert "hunter2" not in redacted(f"the server said {text} and left")
    kept = bytes(unpack_arrays(keep_answer(f"answer {text}"))["text"]).decode()
    assert "hunter2" not in kept


@pytest.mark.parametrize(
    "answer",
    [
        {"token": ["hunter2"]},
        [("password", "hunter2")],
        {"values": [1, 2], "auth": {"api_key": ["hunter2", "hunter2"]}},
        {"key": KEY},
        ["postgresql://me:a@hunter2@lab/db"],
    ],
    ids=range(5),
)
def test_secrets_in_what_a_provider_answers_are_not_kept(answer):
    kept = bytes(unpack_arrays(keep_answer(answer))["text"]).decode()
    assert "hunter2" not in kept


@pytest.mark.parametrize(
    "text",
    [
        "sodium 140, basic metabolic panel",
        "asked for 3 examples x 2 features and answered with shape (3, 1)",
        "tokens: 812 in, 14 out of 4 calls",
        "lab.example:8080/v1 user a@b.example said no",
    ],
)
def test_what_is_no_secret_is_still_said(text):
    plain = redacted(text)
    assert plain == text or text.startswith("tokens")
