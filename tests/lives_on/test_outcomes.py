"""Observed outcomes: a model is watched, told worse when it is, and purged rows are gone."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import thrifty
from tests.shell import run
from thrifty.errors import BadInput
from thrifty.lifetime.outcomes import read_monitors

pd = pytest.importorskip("pandas")


def month(n, seed, first, noise=0.8):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"t{i}": rng.normal(size=n).round(3) for i in range(4)})
    y = frame["t1"] - frame["t3"] + noise * rng.normal(size=n) > 0.7
    frame.index = [f"p{first + i}" for i in range(n)]
    return frame, y.astype(int).to_numpy()


def source(frame):
    return thrifty.Source.from_frame(frame, examples=list(frame.index), name="clinic")


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.slow), "file"])
def life(request, tmp_path):
    if request.param == "memory":
        return learned_in(None)
    (tmp_path / "clinic.db").write_bytes(_learned())
    return thrifty.Lifetime.open(tmp_path / "clinic.db")


def learned_in(place):
    life = thrifty.Lifetime(store=place, random_state=0)
    X, y = month(500, 0, 0)
    life.learn("ill", source(X), y, spend="100 %")
    return life


@cache
def _learned():
    """The file of its store, learned once for all tests."""
    with TemporaryDirectory() as folder:
        learned_in(Path(folder) / "a.db").close()
        return (Path(folder) / "a.db").read_bytes()


def test_still_as_good_then_worse(life):
    few, y = month(10, 1, 1000)
    life.predict("ill", source(few))
    assert life["ill"].outcomes(few.index, y).sentence == "too few to say"
    same, y = month(400, 2, 2000)
    life.predict("ill", source(same))
    found = life["ill"].outcomes(same.index, y, at=1e9)
    assert found.sentence == "still as good as when it was learned"
    assert found.outcomes == 410 and abs(found.auroc - found.auroc_learned) < 0.08
    other, y = month(400, 3, 3000, noise=8.0)
    life.predict("ill", source(other))
    found = life["ill"].outcomes(other.index, y, at=1.1e9)
    assert found.sentence == "worse since 2004-11-09" and found.since == 1.1e9
    assert [p.outcomes for p in found.periods] == [400, 400, 10]
    assert life["ill"].monitor().sentence == found.sentence


def test_a_new_version_is_watched_anew(life):
    other, y = month(400, 3, 3000, noise=8.0)
    life.predict("ill", source(other))
    assert "worse" in life["ill"].outcomes(other.index, y).sentence
    made = life["ill"].update(source(other), y)  # outcomes are rows for an update
    assert made.taken
    assert life["ill"].monitor().sentence == "too few to say"


def test_bad_outcomes(life):
    new, y = month(30, 1, 1000)
    with pytest.raises(BadInput, match="none of the 30 rows was predicted by 'ill'"):
        life["ill"].outcomes(new.index, y)
    life.predict("ill", source(new))
    with pytest.raises(BadInput, match=r"one of \[0, 1\]; got 2"):
        life["ill"].outcomes(new.index[:2], [0, 2])
    with pytest.raises(BadInput, match="one outcome per id"):
        life["ill"].outcomes(new.index, y[:5])
    life.learn(
        "dose", source(month(100, 8, 7000)[0]), month(100, 8, 7000)[0]["t1"] + 0.25, spend="100 %"
    )
    with pytest.raises(BadInput, match="two classes"):
        life["dose"].outcomes(new.index, y)


def test_on_the_command_line_and_purged(tmp_path):
    place = tmp_path / "clinic.db"
    life = thrifty.Lifetime(store=place, random_state=0)
    old, was = month(500, 0, 0)
    life.learn("ill", source(old), np.where(was, "yes", "no"), spend="100 %")
    new, y = month(400, 1, 1000)
    life.predict("ill", source(new))
    truth = tmp_path / "truth.csv"
    # of one patient nobody knows yet, and it is said in words
    words = [*np.where(y, "yes", "no")[:-1], None]
    frame = pd.DataFrame({"patient": new.index, "ill": words, "days": 3.5})
    frame.to_csv(truth, index=False)
    typed = ["outcomes", truth, "--store", place]
    assert "name it with --id" in str(run(*typed, ok=False).exception)
    said = run(*typed, "--id", "patient").stdout
    assert "still as good as when it was learned" in said
    assert run("outcomes", place, "--task", "ill").stdout == said
    wrong = run(*typed, "--id", "patient", "--label", "died", ok=False)
    assert "has no column 'died'" in str(wrong.exception)
    run("store", "purge", place, "p1000")
    assert thrifty.Lifetime.open(place)["ill"].monitor().outcomes == 398
    kept = life.ledger.book.read(lambda pages: pages.answers("ill"))
    assert [len(a["examples"]) for _, _, a in kept] == [399]


def test_a_prediction_as_a_frame(life):
    new, _ = month(5, 1, 1000)
    prediction = life.predict("ill", source(new), stop=thrifty.Sure(0.9))
    frame = prediction.to_frame()
    assert frame["id"].tolist() == list(new.index)
    columns = "id,value,probability,sure,stopped,probability of 0,probability of 1,cells,cost"
    assert ",".join(frame.columns) == columns
    assert frame["sure"].tolist() == [why == "sure" for why in prediction.stopped]
    assert frame["probability"].tolist() == prediction.probabilities.max(axis=1).tolist()
    assert frame["cost"].sum() == prediction.receipt.cost > 0
    polars = pytest.importorskip("polars")
    other = prediction.to_frame("polars")
    assert isinstance(other, polars.DataFrame)
    assert other.to_dict(as_series=False) == frame.to_dict(orient="list")
    with pytest.raises(thrifty.errors.BadParameter, match="'pandas' or 'polars'"):
        prediction.to_frame("arrow")


def test_a_fall_in_autumn_is_dated_there(life):
    day = 86_400.0
    for k in range(9):
        noise = 0.8 if k < 5 else 12.0
        rows, y = month(150, 20 + k, 5000 + 1000 * k, noise)
        life.predict("ill", source(rows))
        found = life["ill"].outcomes(rows.index, y, at=1.7e9 + 30 * k * day)
        if k < 5:
            assert "worse" not in found.sentence
    assert found.sentence.startswith("worse since")
    assert abs(found.since - (1.7e9 + 150 * day)) <= 31 * day
    assert len(found.periods) >= 8 and all(p.seen_low < p.seen < p.seen_high for p in found.periods)
    assert found.periods[0].auroc_low < found.auroc_learned < found.periods[0].auroc_high + 0.1
    assert found.predictions == 9 * 150 and found.version == 1


def test_inputs_that_have_moved_are_named(life):
    rows, _ = month(300, 30, 20_000)
    life.predict("ill", source(rows))
    assert life["ill"].monitor().moved == ()
    asked = life["ill"].model.feature_names_[int(life["ill"].model.features_[0])]
    for k in range(3):
        rows, _ = month(300, 31 + k, 21_000 + 1000 * k)
        rows[asked] += 1.5
        life.predict("ill", source(rows))
    found = life["ill"].monitor()
    assert [one.feature for one in found.moved] == [asked] and found.moved[0].distance > 0.1
    assert f"Inputs have moved: {asked}" in str(found)


def test_what_predictions_cost_since_is_said():
    prices = thrifty.PriceList({f"t{i}": 2 for i in range(4)}, currency="EUR")
    life = thrifty.Lifetime(prices=prices, random_state=0)
    X, y = month(300, 0, 0)
    life.learn("ill", source(X), y, spend="100 %")
    new, y = month(40, 1, 1000)
    cost = life.predict("ill", source(new)).receipt.cost
    found = life["ill"].outcomes(new.index, y)
    assert found.spent == cost > 0 and found.predictions == 40


def test_the_report_shows_it(tmp_path):
    from thrifty.report import pictures_of, read_store, report_page, view_of

    place = tmp_path / "clinic.db"
    life = thrifty.Lifetime(store=place, random_state=0)
    life.learn("ill", source(month(300, 0, 0)[0]), month(300, 0, 0)[1], spend="100 %")
    assert "outcomes" not in [p.name for p in pictures_of(view_of(life))]
    for k in range(4):
        new, y = month(120, 1 + k, 1000 * (k + 1), 0.8 if k < 2 else 12.0)
        life.predict("ill", source(new))
        said = life["ill"].outcomes(new.index, y, at=1.75e9 + k * 31 * 86_400)
    for view in (view_of(life), read_store(str(place))):
        assert [one.sentence for one in view.monitors] == [said.sentence]
        drawn = {p.name: p for p in pictures_of(view)}
        assert said.sentence in drawn["outcomes"].caption
        assert "AUROC" in drawn["outcomes"].svg()
        page = report_page(view)
        assert "Still as good?" in page and said.sentence in page


def test_after_a_purge_outcomes_are_compared_with_the_model_that_was_fitted_again(tmp_path):
    """In the same process, by a command that only reads, and in the report."""
    place = tmp_path / "clinic.db"
    place.write_bytes(_learned())
    later, y = month(400, 2, 2000)
    with thrifty.Lifetime.open(place) as life:
        life.predict("ill", source(later))
        said = life["ill"].outcomes(later.index, y).sentence
        life.ledger.purge("p7")
        report = read_monitors_of(life)
        assert report.auroc > 0.8 and "not compared" in report.sentence
        life["ill"].outcomes(later.index[:1], y[:1])
        assert life["ill"].monitor().sentence == said != "too few to say"
        life.ledger.purge("p8")
    place.chmod(0o400)
    asked = run("outcomes", place, "--task", "ill")
    assert said in asked.output and "when it was learned" in asked.output


def read_monitors_of(life):
    (one,) = life.ledger.book.read(read_monitors)
    return one
