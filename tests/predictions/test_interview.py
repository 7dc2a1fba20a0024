"""One row, interactively: in Python, after a crash, and in a real terminal."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import numpy as np
import pandas
import pytest

import thrifty
from tests.shell import run
from thrifty.errors import BadInput, BadParameter
from thrifty.stores.pages import SqlPages

NAMES = ["age", "pulse", "na", "k"]


def learned(store=None, prices=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 4))
    frame = pandas.DataFrame(X, columns=NAMES)
    frame["sex"] = np.where(rng.random(160) < 0.5, "f", "m")
    source = thrifty.Source.from_frame(frame, examples=[f"p{i}" for i in range(160)], name="ward")
    life = thrifty.Lifetime(store=store, prices=prices, random_state=0)
    life.learn("ill", source, (2 * X[:, 0] + X[:, 2] > 0).astype(int), spend="100 %")
    other = X[:, 2] + (frame["sex"] == "f").to_numpy() > 0.5
    life.learn("stroke", source, other.astype(int), spend="100 %")
    return life


@pytest.fixture(scope="module")
def life():
    """Learned once; what it makes for predictions is made once."""
    return learned()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The same in a store, with its prefixes."""
    place = tmp_path_factory.mktemp("kept") / "life.db"
    with learned(place, prices=2.0) as made:
        made.ask("ill")
    return place


@pytest.fixture
def place(kept, tmp_path):
    shutil.copy(kept, tmp_path / "life.db")
    return tmp_path / "life.db"


def walked(interview, row):
    asked = []
    while interview.next is not None:
        wanted = interview.next
        asked.append(wanted.feature)
        interview.tell(row[wanted.feature], feature=wanted.feature)
    return asked


ROW = {"age": 1.5, "pulse": 0.1, "na": 1.2, "k": -0.3, "sex": "f"}


def test_it_asks_until_every_task_has_stopped_and_says_why(life):
    interview = life.ask(["ill", "stroke"], stop=thrifty.Sure(0.8))
    first = interview.next
    assert first.price == 1 and "so far ill is" in first.why
    assert set(first.serves) <= {"ill", "stroke"}
    assert interview.answers["ill"].stopped == ""
    asked = walked(interview, ROW)
    assert len(asked) == len(set(asked)) <= 5 and interview.cost == 0
    told = interview.answers
    assert told["ill"].value == 1 and told["stroke"].value == 1
    assert all(answer.stopped in ("sure", "finished") for answer in told.values())
    with pytest.raises(BadInput, match="has ended"):
        interview.tell(1.0)


def test_one_task_asks_and_answers_as_a_prediction_does(life):
    made = life.predict("ill", pandas.DataFrame([ROW]), stop=thrifty.Sure(0.8))
    interview = life.ask("ill", stop=thrifty.Sure(0.8))
    asked = walked(interview, ROW)
    assert len(asked) == made.receipt.cells
    assert interview.answers["ill"].probability == pytest.approx(made.probabilities.max())


def test_what_is_told_is_owned_and_paid_only_where_said(place):
    life = thrifty.Lifetime.open(place)
    before = life.balance().spent
    interview = life.ask("ill", id="p900", source="ward")
    feature = interview.next.feature
    interview.tell(ROW[feature])
    assert life.balance().spent == before
    paid = interview.next.feature
    interview.tell(ROW[paid], paid=True)
    assert interview.cost == 2.0 and life.balance().spent == before + 2
    assert life.bill()["cost"].sum() == pytest.approx(life.balance().spent)
    row = thrifty.Source.from_frame(pandas.DataFrame([ROW]), examples=["p900"], name="ward")
    assert life.predict("ill", row).receipt.reused_cells == 2


def test_it_goes_on_after_a_crash(place):
    life = thrifty.Lifetime.open(place)
    interview = life.ask("ill", id="p901", source="ward")
    one = interview.next.feature
    interview.tell(ROW[one])
    two = interview.next.feature
    interview.skip()
    life.close()
    with thrifty.Lifetime.open(place) as again:
        resumed = again.ask("ill", id="p901", source="ward")
        assert resumed.known == {one: ROW[one], two: None}
        assert resumed.next.feature not in (one, two)
        assert resumed.answers["ill"] == interview.answers["ill"]
        resumed.close()
        assert again.ask("ill", id="p901", source="ward").known == {one: ROW[one]}  # owned


def test_a_value_is_booked_and_kept_or_neither(place, monkeypatch):
    """Else the limit of the row began anew after a crash between the two."""

    class Lost(BaseException):
        pass

    def lost(*_):
        raise Lost

    life = thrifty.Lifetime.open(place)
    before = life.balance().spent
    interview = life.ask("ill", id="p904", source="ward", stop=None, per_row=4)
    with monkeypatch.context() as patched, pytest.raises(Lost):
        patched.setattr(SqlPages, "keep", lost)
        interview.tell(ROW[interview.next.feature], paid=True)
    interview = thrifty.Lifetime.open(place).ask(
        "ill", id="p904", source="ward", stop=None, per_row=4
    )
    while interview.next is not None:
        interview.tell(ROW[interview.next.feature], paid=True)
    assert interview.cost == life.balance().spent - before == 4


def test_it_begins_with_what_is_owned_of_the_example(place):
    """Whatever bought it: no cell is asked for twice, and words stay words."""
    with thrifty.Lifetime.open(place) as life:
        row = thrifty.Source.from_frame(pandas.DataFrame([ROW]), examples=["p902"], name="ward")
        life.predict("stroke", row)
        spent = life.balance().spent
        interview = life.ask("stroke", id="p902", source="ward")
        assert interview.next is None and interview.known == {
            name: ROW[name] for name in interview.known
        }
        assert interview.known["sex"] == "f" and interview.answers["stroke"].stopped == "finished"
        assert life.balance().spent == spent and interview.cost == 0
        assert life.ask("stroke", id="p902", source="another ward").known == {}


def test_a_value_that_has_expired_is_asked_for_again(tmp_path):
    prices = thrifty.PriceList(2.0, valid_for=0.001)
    with learned(tmp_path / "life.db", prices=prices) as life:
        interview = life.ask("ill", id="p0", source="ward")
        assert interview.known == {} and interview.next is not None


def test_bad_input(life):
    interview = life.ask(["ill", "stroke"])
    for value in ("tall", None, float("nan"), [1]):
        while interview.next.words:
            interview.skip()
        with pytest.raises(BadInput, match="is a number"):
            interview.tell(value)
    with pytest.raises(BadInput, match="the interview wants"):
        interview.tell(1.0, feature="height")
    while not interview.next.words:
        interview.skip()
    with pytest.raises(BadInput, match="is one of 'f', 'm'"):
        interview.tell("x")
    with pytest.raises(BadParameter, match="named twice"):
        life.ask(["ill", "ill"])
    trees = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    trees.learn("or", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    with pytest.raises(BadParameter, match="models of classes"):
        trees.ask("or")


def read_until(fd, pattern, seconds=120):
    """What a terminal shows until it matches."""
    shown, end = "", time.monotonic() + seconds
    while not re.search(pattern, shown):
        assert time.monotonic() < end, shown
        if select.select([fd], [], [], 1)[0]:
            try:
                shown += os.read(fd, 4096).decode(errors="replace")
            except OSError:
                break
    assert re.search(pattern, shown), shown
    return shown


def test_the_command_in_a_real_terminal(place):
    ours, theirs = pty.openpty()
    program = "import sys; from thrifty.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "ask", str(place), "--task", "ill"]
    command += ["--id", "n77", "--source", "ward"]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    try:
        shown = read_until(ours, r"price 2.*: $")
        first = re.findall(r"(\w+)(?: \[f, m\])?, price 2", shown)[-1]
        os.write(ours, b"what?\n")
        shown = read_until(ours, r"(is a number|is one of)[\s\S]*price 2: $")
        os.write(ours, f"{ROW[first]}\n".encode())
        read_until(ours, r"price 2: $")
        os.write(ours, b"q\n")
        shown = read_until(ours, r"ill: \d with")
        assert "The same --id continues" in shown
        assert child.wait(timeout=30) == 0
    finally:
        child.kill()
        os.close(ours)
    with thrifty.Lifetime.open(place) as life:
        assert list(life.ask("ill", id="n77", source="ward").known) == [first]


def test_a_purge_takes_the_interviews_of_its_example_alone(place):
    with thrifty.Lifetime.open(place) as life:
        for name in ("p902", "p903"):
            life.ask("ill", id=name, source="ward").tell(0.5)
    run("store", "purge", place, "p902")
    with thrifty.Lifetime.open(place) as life:
        assert life.ask("ill", id="p902", source="ward").known == {}
        assert list(life.ask("ill", id="p903", source="ward").known.values()) == [0.5]
