"""``thrifty questions try``: ten texts before anything large is spent."""

import json

import pytest
from typer.testing import CliRunner

from thrifty.cli import app
from thrifty.errors import BadInput
from thrifty.testing.provider import LocalChatServer

ARGS = ["-q", "Is it wet?", "--model", "m", "--rates", "0.15 USD", "0.60 USD", "--key-from", ""]


def test_ten_texts_are_asked_and_all_are_estimated(tmp_path):
    file = tmp_path / "texts.csv"
    texts = [f"rain number {i}" if i % 2 else f"sun number {i}" for i in range(200)]
    file.write_text("text\n" + "\n".join(texts) + "\n")
    with LocalChatServer(lambda text, question: "yes" if "rain" in text else "no") as server:
        run = ["questions", "try", str(file), *ARGS, "--url", server.url]
        done = CliRunner().invoke(app, [*run, "--n", "10", "--json"])
        assert done.exit_code == 0, done.output
        told = json.loads(done.output)
        assert len(server.requests) == 10 == len(told["answers"])
        assert told["cost"] == pytest.approx(server.billed / 1e6)
        said = [
            ("rain" in t, a["Is it wet?"] == "yes") for t, a in zip(told["texts"], told["answers"])
        ]
        assert all(a == b for a, b in said)
        assert 15 * told["cost"] < told["all_cost"] < 25 * told["cost"] < 30 * told["all_at_most"]
        assert "Is it wet?" in told["prompt"]
        shown = CliRunner().invoke(app, [*run, "--n", "3"])
        assert "all 200 would cost about" in " ".join(shown.output.split())


def test_a_column_that_is_not_there(tmp_path):
    file = tmp_path / "texts.csv"
    file.write_text("note\nrain\n")
    with pytest.raises(BadInput, match="--column"):
        CliRunner().invoke(app, ["questions", "try", str(file), *ARGS], catch_exceptions=False)
