"""The demo: one command, a bill that adds up, a picture."""

import json

import pytest

from tests.shell import run

pytest.importorskip("matplotlib")


QUICK = ["demo", "--quick", "--out"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder of one demo, and what it said: for tests that only look."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, json.loads(run(*QUICK, folder, "--json").stdout)


def test_json_adds_up(ran):
    folder, said = ran
    assert said["exact"] == len(said["tasks"]) == 10
    assert said["totals"]["Thrifty"] == sum(row["cells"] for row in said["tasks"])
    assert said["totals"]["the paper's protocol"] <= said["bound"]
    assert said["totals"]["scratch every time"] == 10 * 1000 * 200
    assert [row["question"] for row in said["digits"]] == [f"is it a {d}?" for d in range(3)]
    means = {k: sum(row[k] for row in said["digits"]) for k in ("by_hand", "thrifty")}
    assert means["thrifty"] > means["by_hand"] - 0.06  # of three; whole scans are hard to beat
    assert (folder / "bill.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_people_get_sentences_and_the_path_of_the_picture(tmp_path):
    text = " ".join(run(*QUICK, tmp_path).output.split())
    assert "Ten questions about handwritten digits" in text and "766.08" in text
    assert "10 of 10 trees equal the hidden target" in text
    assert "bill.png" in text and "bound" in text


def test_ten_answers_share_the_pixels_of_a_scan(ran):
    from thrifty import Lifetime
    from thrifty.commands.demo import judge_digits

    folder, said = ran
    here, pixels = judge_digits(folder / "digits.db", 3)  # again, in this process
    assert here["thrifty"] == [row["thrifty"] for row in said["digits"]]
    with Lifetime.open(folder / "digits.db") as life:
        assert pixels == max(len(life[name].model.features_) for name in life)
        learning = life.balance().learning
    assert sum(row["cost"] for row in said["digits"]) == pytest.approx(learning)
    assert learning <= 0.15 * 766.08
