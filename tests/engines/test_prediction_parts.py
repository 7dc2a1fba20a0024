"""A table of Parquet files on real workers: the answers of one table, each part booked once."""

import os
import signal
from functools import cache

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LogisticRegression

import thrifty
from tests.loops import AMPLE
from tests.shell import python
from thrifty.errors import BadInput, BadParameter, BudgetExceeded
from thrifty.lifetime.prediction_parts import AnswerFolder

NAMES = [f"f{i}" for i in range(5)] + ["ward"]
PRICES = thrifty.PriceList(
    dict.fromkeys(NAMES, 2), orders={"panel": (3, NAMES[:2])}, fees={"draw": (5, NAMES[:4])}
)


@cache
def table(seed=0, n=700):
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(rng.normal(size=(n, 5)), columns=NAMES[:5])
    frame["ward"] = rng.choice(["north", "south"], n)
    frame.loc[::17, "f3"] = np.nan
    frame["patient"] = [f"p{i}" for i in range(n)]
    return frame


def labels(frame):
    return (frame["f0"] + frame["f1"] + (frame["ward"] == "north") > 0.5).to_numpy().astype(int)


def life_in(store, quick=True):
    """A lifetime with one task, the same each time; a quick estimator is not in its store."""
    family = thrifty.Models(LogisticRegression() if quick else None)
    life = thrifty.Lifetime(family, store=store, prices=PRICES, random_state=0)
    learned_on = table(seed=1, n=220)
    life.learn("ill", learned_on[NAMES], labels(learned_on), spend="100 %")
    return life


@pytest.fixture
def folder(tmp_path):
    """The table in three files, one of them in row groups; the rest of it is another column."""
    at = tmp_path / "in"
    at.mkdir()
    frame = table()
    frame.iloc[:200].to_parquet(at / "a.parquet")
    frame.iloc[200:260].to_parquet(at / "b.parquet")
    frame.iloc[260:].to_parquet(at / "c.parquet", row_group_size=150)
    return at


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr("thrifty.lifetime.prediction_parts._ROWS", 150)


@cache
def whole(how):
    """One prediction of the whole table: what parts must give."""
    life = life_in(None, how != "kept")
    stop = {"sure": thrifty.Sure(0.9), "dies": kills_its_worker("")}.get(how)
    before = life.balance().spent
    made = life.predict("ill", table()[NAMES], stop=stop)
    return made.to_frame(), life.balance().spent - before


class KillsItsWorker(thrifty.Sure):
    """Ends the process that asks it, once: the flag file remembers."""

    flag, here = "", 0

    def stops(self, p, class_shares, price_next=0.0, fall_next=None):
        if os.getpid() != self.here and not os.path.exists(self.flag):
            open(self.flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().stops(p, class_shares, price_next, fall_next)


def kills_its_worker(flag):
    rule = KillsItsWorker(0.9)
    object.__setattr__(rule, "flag", str(flag))
    object.__setattr__(rule, "here", os.getpid())
    return rule


@pytest.fixture
def dask_threads():
    """A cluster of Dask within this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as made:
        yield made


# Processes are held against the whole table below, with a death on the way; those of Dask are
# started by tests/models/test_many_workers.py, too.
@pytest.mark.parametrize(
    ("engine", "how"),
    [
        ("threads", "plain"),
        ("threads", "sure"),
        ("dask_threads", "plain"),
        pytest.param("dask_client", "plain", marks=pytest.mark.slow),
        pytest.param("dask_client", "sure", marks=pytest.mark.slow),
        pytest.param("processes", "plain", marks=pytest.mark.slow),
        pytest.param("processes", "sure", marks=pytest.mark.slow),
    ],
)
def test_parts_are_the_whole_table(engine, how, folder, small_parts, tmp_path, request):
    life = life_in(tmp_path / "life.db")
    before = life.balance().spent
    engine = request.getfixturevalue(engine) if engine.startswith("dask") else engine
    stop = thrifty.Sure(0.9) if how == "sure" else None
    given = {"out": tmp_path / "out", "engine": engine, "n_jobs": 2, "stop": stop}
    made = life.predict("ill", folder, **given)
    frame, spent = whole(how)
    assert len(made) == len(frame) == 700
    assert len(made.files) == 5
    pandas.testing.assert_frame_equal(made.to_frame(), frame, check_exact=True)
    assert life.balance().spent - before == spent == made.receipt.cost > 0
    assert life.bill()["cost"].sum() == life.balance().spent
    assert made.receipt.cells == frame["cells"].sum()


# Workers of Dask that die: tests/models/test_many_workers.py
@pytest.mark.parametrize(
    ("engine", "n_jobs"),
    [
        ("processes", 1),  # each process, also those in place of the dead ones, loads everything
        pytest.param("processes", 2, marks=pytest.mark.slow),
        pytest.param("dask", 2, marks=pytest.mark.slow),
        pytest.param("ray", 2, marks=pytest.mark.slow),
    ],
)
def test_a_worker_that_dies_is_not_paid_twice(
    engine, n_jobs, folder, small_parts, tmp_path, request, monkeypatch
):
    if engine == "ray":
        monkeypatch.setenv("RAY_ADDRESS", request.getfixturevalue("ray_address"))
    life = life_in(tmp_path / "life.db")
    before = life.balance().spent
    flag = tmp_path / "killed"
    engine = request.getfixturevalue("dask_client") if engine == "dask" else engine
    given = {"out": tmp_path / "out", "engine": engine, "n_jobs": n_jobs}
    given |= {"stop": kills_its_worker(flag), "id": "patient", "source": "clinic"}
    made = life.predict("ill", str(folder / "*.parquet"), **given)
    assert flag.exists(), "a worker was killed"
    frame, spent = whole("dies")  # here nobody is killed
    assert life.balance().spent - before == spent == made.receipt.cost
    found = made.to_frame()
    assert found["id"].tolist() == table()["patient"].tolist()
    pandas.testing.assert_frame_equal(found.drop(columns="id"), frame.drop(columns="id"))


def test_what_is_owned_by_ids_is_not_paid_again(folder, small_parts, tmp_path):
    life = life_in(tmp_path / "life.db")
    some = table().iloc[100:300]
    mine = thrifty.Source.from_frame(
        some[NAMES], examples=some["patient"], name="clinic", allow_missing=True
    )
    first = life.predict("ill", mine, stop=None).receipt
    said = {"id": "patient", "source": "clinic", "stop": None}
    made = life.predict("ill", folder, out=tmp_path / "out", n_jobs=2, **said)
    assert made.receipt.cost + first.cost == whole("plain")[1]
    assert made.receipt.reused_cells == first.cells
    assert not made.to_frame()["cost"].iloc[100:300].any()
    again = life.predict("ill", folder, out=tmp_path / "again", **said)
    assert again.receipt.cost == 0
    monitor = life["ill"].outcomes(table()["patient"].tolist(), labels(table()))
    assert monitor.outcomes == 700


def test_the_same_call_again_finds_its_answers(folder, small_parts, tmp_path):
    life = life_in(None)
    first = life.predict("ill", folder, out=tmp_path / "out", stop=None)
    spent = life.balance().spent
    again = life.predict("ill", folder, out=tmp_path / "out", stop=None)
    assert again.receipt.cost == 0
    assert life.balance().spent == spent
    pandas.testing.assert_frame_equal(first.to_frame(), again.to_frame())


@pytest.mark.parametrize("at", ["before the bill", "after the bill"])
def test_what_broke_off_goes_on(at, folder, small_parts, tmp_path, monkeypatch):
    """The process dies with the third part half done; another goes on."""
    name = {"before the bill": "write", "after the bill": "booked"}[at]
    real, done = getattr(AnswerFolder, name), []

    def dies(self, *given):
        done.append(1)
        if len(done) == 3:
            raise KeyboardInterrupt
        return real(self, *given)

    life_in(tmp_path / "life.db", quick=False)
    life = thrifty.Lifetime.open(tmp_path / "life.db")
    before = life.balance().spent
    with monkeypatch.context() as broken:
        broken.setattr(AnswerFolder, name, dies)
        with pytest.raises(KeyboardInterrupt):
            life.predict("ill", folder, out=tmp_path / "out", stop=None)
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 2
    other = thrifty.Lifetime.open(tmp_path / "life.db")
    made = other.predict("ill", folder, out=tmp_path / "out", stop=None)
    frame, spent = whole("kept")
    assert other.balance().spent - before == spent
    pandas.testing.assert_frame_equal(made.to_frame(), frame)


def test_a_process_that_is_killed_goes_on(folder, small_parts, tmp_path):
    """A real one, with everything that it holds."""
    life = life_in(tmp_path / "life.db", quick=False)
    before = life.balance().spent
    script = (
        "import os, signal, sys, thrifty\n"
        "from thrifty.lifetime import prediction_parts as parts\n"
        "parts._ROWS, booked, n = 150, parts.AnswerFolder.booked, []\n"
        "def dies(self, part):\n"
        "    n.append(1)\n"
        "    if len(n) == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    booked(self, part)\n"
        "parts.AnswerFolder.booked = dies\n"
        "thrifty.Lifetime.open(sys.argv[1]).predict('ill', sys.argv[2], out=sys.argv[3], "
        "stop=None)\n"
    )
    paths = [str(tmp_path / "life.db"), str(folder), str(tmp_path / "out")]
    ended = python(script, *paths)
    assert ended.returncode == -signal.SIGKILL
    made = life.predict("ill", folder, out=tmp_path / "out", stop=None)
    assert life.balance().spent - before == whole("kept")[1]
    pandas.testing.assert_frame_equal(made.to_frame(), whole("kept")[0])


def test_a_budget_ends_before_a_part_and_not_within_it(folder, small_parts, tmp_path):
    life = life_in(tmp_path / "life.db")
    spent, everything = life.balance().spent, whole("plain")[1]
    life.change(budget=thrifty.Budget(total=spent + everything / 2))
    with pytest.raises(BudgetExceeded):
        life.predict("ill", folder, out=tmp_path / "out", n_jobs=2, stop=None)
    assert life.balance().spent <= spent + everything / 2
    files = sorted((tmp_path / "out").glob("*.parquet"))
    assert sum(pandas.read_parquet(f)["cost"].sum() for f in files) == life.balance().spent - spent
    life.change(budget=thrifty.Budget(total=spent + everything))
    life.predict("ill", folder, out=tmp_path / "out", stop=None)
    assert life.balance().spent == spent + everything


@pytest.mark.parametrize("family", [thrifty.Trees(max_depth=3), thrifty.Models()])
def test_features_without_names_go_by_place(family, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((200, 6)) < 0.5
    life = thrifty.Lifetime(family, prices=np.arange(1.0, 7), random_state=0, budget=AMPLE)
    life.learn("both", X, X[:, 1] & X[:, 4])
    pandas.DataFrame(X, columns=[f"x{i}" for i in range(6)]).to_parquet(tmp_path / "x.parquet")
    made = life.predict("both", tmp_path / "x.parquet", out=tmp_path / "out").to_frame()
    wanted = life.predict("both", X.copy()).to_frame()
    pandas.testing.assert_frame_equal(made, wanted)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"X": "nowhere"}, "no Parquet file"),
        ({"out": None}, "out= the folder"),
        ({"spend": 3}, "per_row="),
        ({"name": ["ill"]}, "one task at a time"),
        ({"id": "patient"}, "say both"),
        ({"id": "nobody", "source": "clinic"}, "no column"),
        ({"engine": "horses"}, "engine must be one of"),
    ],
)
def test_what_cannot_be_is_said(given, said, folder, tmp_path):
    asked = {"name": "ill", "X": folder, "out": tmp_path / "out", **given}
    with pytest.raises((BadInput, BadParameter), match=said):
        _life().predict(asked.pop("name"), asked.pop("X"), **asked)


@cache
def _life():
    return life_in(None)


def test_other_answers_are_not_written_over(folder, tmp_path):
    life = life_in(None)
    life.predict("ill", folder, out=tmp_path / "out", stop=None)
    with pytest.raises(BadInput, match="another prediction"):
        life.predict("ill", folder, out=tmp_path / "out", stop=thrifty.Sure(0.9))
    with pytest.raises(BadInput, match="a new or an empty folder"):
        life.predict("ill", folder, out=folder)
    with pytest.raises(BadParameter, match="table in parts"):
        life.predict("ill", table()[NAMES], engine="dask")
