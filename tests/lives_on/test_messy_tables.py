"""Tables as they are: marks for gaps, decimal commas, empty labels, ids twice, a giveaway."""

import warnings

import numpy as np
import pytest

import thrifty
from tests.market import seller
from tests.shell import run
from thrifty.errors import BadInput, BadParameter, LabelLeakage, RowsLeftOut, TakenForGap

pd = pytest.importorskip("pandas")


def clinic(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"t{i}": rng.normal(size=n).round(2) for i in range(5)})
    ill = frame["t1"] + 0.7 * rng.normal(size=n) > 0.6
    return frame, ill.astype(int).to_numpy()


def learned(frame, y, **given):
    life = thrifty.Lifetime(random_state=0)
    return life, life.learn("ill", frame, y, **{"spend": "100 %", **given})


def with_marks(frame, mark="-"):
    marked = frame.astype({"t1": object})
    gaps = np.random.default_rng(1).random(len(frame)) < 0.6
    marked.loc[gaps, "t1"] = mark
    marked["t1"] = [v if v == mark else str(v) for v in marked["t1"]]
    clean = frame.copy()
    clean.loc[gaps, "t1"] = np.nan
    return marked, clean


def test_a_mark_among_numbers_is_a_gap_and_is_said():
    frame, y = clinic()
    marked, clean = with_marks(frame)
    with pytest.warns(TakenForGap, match=r"'t1' holds numbers but for '-' \(\d+ of 300\)"):
        life, one = learned(marked, y)
    _, other = learned(clean, y)
    assert np.allclose(one.model.predict_proba(clean), other.model.predict_proba(clean))
    assert life._state.settings.na == {"t1": ["-"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error", TakenForGap)
        life.predict("ill", marked[:20])  # known from now on
        assert len(life.predict("ill", marked[marked["t1"] == "-"][:3])) == 3


@pytest.mark.parametrize("na", [["refused", 999], {"t1": ["refused", 999]}])
def test_codes_that_are_told_are_gaps_without_a_word(na):
    frame, y = clinic()
    marked, clean = with_marks(frame, "refused")
    with warnings.catch_warnings():
        warnings.simplefilter("error", TakenForGap)
        _, one = learned(marked, y, na=na)
    _, other = learned(clean, y)
    assert np.allclose(one.model.predict_proba(clean), other.model.predict_proba(clean))


def test_a_number_may_stand_for_a_gap():
    frame, _y = clinic()
    coded = frame.copy()
    coded.loc[::3, "t1"] = 999
    source = thrifty.Source.from_frame(coded, na=[999], allow_missing=True)
    column = source.read(np.arange(300), np.array([1]))[:, 0]
    assert np.isnan(column[::3]).all() and np.isfinite(column[1::3]).all()


@pytest.mark.parametrize(
    "text",
    [
        lambda i: "in situ" if i % 7 == 0 else str(i % 4),  # few codes with a word
        lambda i: f"0{i % 40:02d}" if i % 5 else "-",  # names with leading zeros
    ],
)
def test_what_may_be_names_is_not_guessed_to_be_numbers(text):
    frame, y = clinic()
    frame["stage"] = [text(i) for i in range(300)]
    with pytest.raises(BadInput, match="'stage' holds text.*kinds="):
        learned(frame, y)


@pytest.mark.parametrize("na", [[None], [True], [["-"]]])
def test_codes_that_are_none(na):
    with pytest.raises(BadParameter, match="na must be"):
        thrifty.Source.from_frame(clinic()[0], na=na)


def test_decimal_commas_where_a_number_was_told():
    frame, y = clinic()
    commas = frame.copy()
    commas["t1"] = [f"{v:.2f}".replace(".", ",") for v in frame["t1"]]
    _, one = learned(commas, y, kinds={"t1": "number"})
    _, other = learned(frame, y)
    assert np.allclose(one.model.predict_proba(frame), other.model.predict_proba(frame))


def test_a_comma_that_may_mean_two_things_is_refused():
    frame, y = clinic()
    frame["count"] = [f"{i % 9 + 1},{100 + i}" for i in range(300)]
    with pytest.raises(BadInput, match="decimal point or for thousands"):
        learned(frame, y, kinds={"count": "number"})


@pytest.mark.parametrize(
    "as_labels",
    [
        lambda y: [None if i % 10 == 0 else int(v) for i, v in enumerate(y)],
        lambda y: np.where(np.arange(len(y)) % 10 == 0, np.nan, y),
        lambda y: pd.Series(
            [pd.NA if i % 10 == 0 else bool(v) for i, v in enumerate(y)], dtype="boolean"
        ),
        lambda y: ["" if i % 10 == 0 else str(v) for i, v in enumerate(y)],
    ],
)
def test_rows_without_a_label_are_left_out_and_counted(as_labels):
    frame, y = clinic()
    with pytest.warns(RowsLeftOut, match="30 of 300 rows of 'ill' have no label"):
        _life, one = learned(frame, as_labels(y))
    keep = np.arange(300) % 10 != 0
    _, other = learned(frame[keep], y[keep])
    assert one.receipt.n_examples == 270
    assert len(one.model.classes_) == 2
    assert np.allclose(one.model.predict_proba(frame), other.model.predict_proba(frame))


def test_nothing_is_asked_of_rows_without_a_label():
    frame, y = clinic(60)
    asked = set()

    def ask(ids, names):
        asked.update(ids)
        return frame.loc[ids, list(names)].to_numpy()

    source = seller(ask, range(60), list(frame.columns), boolean=False, prices=1)
    labels = [None if i < 12 else int(v) for i, v in enumerate(y)]
    life = thrifty.Lifetime(random_state=0)
    with pytest.warns(RowsLeftOut, match="12 of 60"):
        life.learn("ill", source, labels, spend="100 %")
    assert asked and min(asked) == 12


def test_what_was_looked_at_beside_empty_labels_is_owned():
    frame, y = clinic()
    life = thrifty.Lifetime(random_state=0)
    with pytest.warns(RowsLeftOut):
        life.learn("ill", frame, [None if i % 10 == 0 else int(v) for i, v in enumerate(y)])
    second = life.learn("well", frame, 1 - y)
    assert second.receipt.reused_cells > 0
    assert second.receipt.cells + second.receipt.reused_cells <= 300 * 5


def test_ids_that_come_twice():
    frame, y = clinic(200)
    ids = [*range(150), *range(50)]
    with pytest.raises(BadInput, match="duplicates='first' or 'newest'"):
        thrifty.Source.from_frame(frame, examples=ids, name="clinic")
    for how, rows in [("first", np.arange(150)), ("newest", np.arange(50, 200))]:
        source = thrifty.Source.from_frame(frame, examples=ids, name="clinic", duplicates=how)
        assert source.n_examples == 150
        assert np.allclose(source.table(), frame.to_numpy()[rows])
        _, one = learned(source, y)
        assert one.receipt.n_examples == 150
    with pytest.raises(BadParameter, match="duplicates must be"):
        thrifty.Source.from_frame(frame, examples=ids, name="clinic", duplicates="last")


def test_a_feature_that_gives_the_label_away_is_named_once_before_more_is_spent():
    frame, y = clinic(400)
    frame["code"] = y * 3.0 + np.random.default_rng(2).random(400)
    asked = 0

    def ask(ids, names):
        nonlocal asked
        asked += len(ids) * len(names)
        return frame.loc[ids, list(names)].to_numpy()

    source = seller(ask, range(400), list(frame.columns), boolean=False)
    at_the_warning = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", LabelLeakage)
        warnings.showwarning = lambda *_, **__: at_the_warning.append(asked)
        thrifty.Lifetime(random_state=0).learn("ill", source, y, spend="100 %")
    assert len(at_the_warning) == 1
    assert at_the_warning[0] < asked


def test_the_giveaway_is_said_and_nothing_else():
    frame, y = clinic(400)
    frame["code"] = y * 3.0 + np.random.default_rng(2).random(400)
    message = r"'code' alone predicts 'ill' \(AUROC 1.000 on \d+ rows\)"
    with pytest.warns(LabelLeakage, match=message) as said:
        learned(frame, y)
    assert sum(w.category is LabelLeakage for w in said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelLeakage)
        learned(frame.drop(columns="code"), y)


def test_a_messy_csv_on_the_command_line(tmp_path):
    frame, y = clinic()
    marked, _ = with_marks(frame)
    marked["t2"] = np.where(np.arange(300) % 9 == 0, 999, marked["t2"])
    marked["t3"] = [f"{v:.1f}".replace(".", ",") for v in marked["t3"]]
    marked.insert(0, "patient", range(300))
    marked["ill"] = [None if i % 10 == 0 else bool(v) for i, v in enumerate(y)]
    twice = pd.concat([marked, marked[:5]])
    path = tmp_path / "clinic.csv"
    twice.to_csv(path, index=False)
    options = ["--label", "ill", "--id", "patient", "--kinds", "t3=number", "--na", "999"]
    said = run("learn", path, *options, ok=False)
    assert "duplicates=" in str(said.exception)
    said = run("learn", path, *options, "--duplicates", "newest")
    assert "'t1' holds numbers but for '-'" in said.stderr
    assert "30 of 300 rows of 'ill' have no label" in said.stderr
    life = thrifty.Lifetime.open(tmp_path / "clinic.db")
    assert life["ill"].model.classes_.tolist() == [False, True]
    assert life._state.settings.na in ({"": ["999"], "t1": ["-"]}, {"t1": ["-"]})
    listed = run("learn", path, *options, "--duplicates", "newest", "--list-features")
    assert listed.stdout.split() == [f"t{i}" for i in range(5)]
