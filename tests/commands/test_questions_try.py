"""``thrifty questions try``: ten texts before anything large is spent."""

import json

import pytest

from tests.shell import run
from thrifty.errors import BadInput
from thrifty.testing.provider import LocalChatServer

ARGS = ["-q", "Is it wet?", "--model", "m", "--rates", "0.15 USD", "0.60 USD", "--key-from", ""]


def test_ten_texts_are_asked_and_all_are_estimated(tmp_path):
    file = tmp_path / "texts.csv"
    texts = [f"rain number {i}" if i % 2 else f"sun number {i}" for i in range(200)]
    file.write_text("text\n" + "\n".join(texts) + "\n")
    with LocalChatServer(lambda text, question: "yes" if "rain" in text else "no") as server:
        typed = ["questions", "try", file, *ARGS, "--url", server.url]
        told = json.loads(run(*typed, "--n", 10, "--json").output)
        assert len(server.requests) == 10 == len(told["answers"])
        assert told["cost"] == pytest.approx(server.billed / 1e6)
        for text, answer in zip(told["texts"], told["answers"]):
            assert ("rain" in text) == (answer["Is it wet?"] == "yes")
        assert 15 * told["cost"] < told["all_cost"] < 25 * told["cost"] < 30 * told["all_at_most"]
        assert "Is it wet?" in told["prompt"]
        shown = run(*typed, "--n", 3)
        assert "all 200 would cost about" in " ".join(shown.output.split())


def test_a_column_that_is_not_there(tmp_path):
    file = tmp_path / "texts.csv"
    file.write_text("note\nrain\n")
    refused = run("questions", "try", file, *ARGS, ok=False).exception
    assert isinstance(refused, BadInput) and "--column" in str(refused)
