"""Secrets and strangers: what once printed a password, drove a terminal, hung, or ended in a
traceback from somewhere inside; and a few hundred damaged inputs of every kind."""

import json
import os
import random
import subprocess
import sys
import traceback

import numpy as np
import pytest

import thrifty
from tests.faults import damage
from tests.loops import AMPLE
from thrifty.cells.ledger.purchase import pack_arrays, unpack_arrays
from thrifty.commands.task_file import read_any_file
from thrifty.errors import BadInput, NotAStore, StoreError, ThriftyError
from thrifty.protocol import Cells
from thrifty.stores import PostgresStore
from thrifty.testing import FakeProvider


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return damage.Sound(tmp_path_factory.mktemp("sound"))


@pytest.mark.slow
def test_damaged_inputs_end_in_errors_of_ours(tmp_path):
    """The short version of ``python tests/faults/damage.py 2000``, in a process of its own."""
    script = os.path.join(os.path.dirname(__file__), "damage.py")
    done = subprocess.run([sys.executable, script, "12"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "other errors   0" in done.stdout


# -- secrets ---------------------------------------------------------------------------------------


def test_no_password_in_messages_or_tracebacks():
    secret = "hunter2-and-more"
    for url in (
        f"postgresql://me:{secret}@127.0.0.1:1/db",
        f"postgresql://me:{secret}@127.0.0.1:1/db?bad_option=1",
        f"postgresql://127.0.0.1:1/db?user=me&password={secret}",
        f"postgresql://me:{secret}@[::1/db",
    ):
        try:
            PostgresStore(url, wait=0.0)
        except ThriftyError as error:
            shown = "".join(traceback.format_exception(error))
            assert secret not in shown.replace(url, ""), shown
            assert secret not in str(error)
        else:
            raise AssertionError("there is no server")


def test_resolve_and_bill_do_not_print_the_password(postgres):
    where = postgres.new_database()
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=where, budget=AMPLE)
    cut = FakeProvider(faults=lambda n: "error-after")
    with pytest.raises(ThriftyError):
        Cells(cut.source(["p"], ["a"], name="lab", prices=1), ledger=life.ledger).get(0, 0)
    scheme, _, rest = where.partition("://")
    user, _, host = rest.rpartition("@")
    told = f"{scheme}://{user.split(':')[0] or 'postgres'}:hunter2@{host}"
    for command in ("resolve", "bill"):
        done = damage.CliRunner().invoke(damage.COMMAND, [command, told])
        assert done.exit_code == 0, done.output
        assert "thrifty resolve" in done.output
        assert "hunter2" not in done.output


def test_names_do_not_drive_the_terminal(tmp_path):
    path = tmp_path / "s.db"
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=path, budget=AMPLE)
    name = "\x1b[2J\x1b]0;owned\x07[bold]red"
    X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], dtype=bool)
    life.learn(name, thrifty.Source.from_array(X, feature_names=["\x1b[31ma", "b"]), [0, 1, 1, 0])
    for words in (["show"], ["bill"], ["show", name]):
        done = damage.CliRunner().invoke(damage.COMMAND, [words[0], str(path), *words[1:]])
        assert done.exit_code == 0
        assert "\x1b" not in done.output and "\x07" not in done.output
        assert "[bold]red" in done.output or words[0] == "bill"


# -- sizes -----------------------------------------------------------------------------------------


def test_a_small_block_does_not_become_gigabytes():
    blocks = {damage._large(), *(damage.bomb(random.Random(seed)) for seed in range(20))}
    assert len(blocks) > 5
    for block in blocks:
        with pytest.raises(StoreError):
            unpack_arrays(block)
    assert unpack_arrays(pack_arrays({"a": np.arange(9, dtype=np.int64)}))["a"].tolist()[-1] == 8


def test_a_store_with_views_or_triggers_is_refused(sound, tmp_path):
    refused = 0
    for seed in range(12):
        place = tmp_path / str(seed)
        place.mkdir()
        try:
            damage.a_schema_of_a_store(sound, place, random.Random(seed))
        except NotAStore:
            refused += 1
        except ThriftyError:
            pass
    assert refused


# -- before money is spent -------------------------------------------------------------------------


@pytest.mark.parametrize("y", [[b"a", b"b"] * 3, np.array([b"a", b"b"] * 3), ["a", "\ud800"] * 3])
def test_labels_that_cannot_be_kept_are_refused_before_buying(y):
    provider = FakeProvider()
    lab = provider.source([f"p{i}" for i in range(6)], ["a", "b"], name="lab", prices=1)
    with pytest.raises(BadInput):
        thrifty.Lifetime(thrifty.Trees(max_depth=2), budget=AMPLE).learn("t", lab, y)
    assert provider.bill().calls == 0


def test_half_a_character_in_a_name_is_refused_before_buying():
    provider = FakeProvider()
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), budget=AMPLE)
    lab = provider.source([f"p{i}" for i in range(4)], ["a"], name="lab", prices=1)
    with pytest.raises(BadInput, match="name of a task"):
        life.learn("\ud800", lab, [0, 1, 0, 1])
    with pytest.raises(BadInput, match="feature name"):
        thrifty.Source.from_array(np.eye(2, dtype=bool), feature_names=["a", "\ud800"])
    assert provider.bill().calls == 0


@pytest.mark.parametrize(
    "change",
    [
        {"source": {"csv": None}}, {"source": {"csv": 5}}, {"family": [1]},
        {"family": {"name": [1]}},
        {"tasks": [{"name": "t", "labels": 5}]}, {"tasks": [{"name": "t", "labels": None}]},
        {"tasks": 5}, {"source": 5}, {"budget": [1]}, {"budget": int("9" * 4000)},
        {"prices": {"c0": "9" * 5000}}, {"source": {"csv": "a\x00b"}},
    ],
    ids=range(12),
)  # fmt: skip
def test_odd_task_files_are_refused(change, sound, tmp_path):
    damage.table(sound, tmp_path)
    path = tmp_path / "t.yaml"
    path.write_text(json.dumps({**damage.TASK_FILE, **change}))
    with pytest.raises(ThriftyError):
        damage.run_command(["learn", str(path)])


@pytest.mark.parametrize(
    "text", [damage.BOMB, "&a [*a]", "a: &a {b: *a}", "store: " + "9" * 5000, "a: 2001-99-99"]
)
def test_yaml_that_never_ends_is_refused(text, tmp_path):
    path = tmp_path / "t.yaml"
    path.write_text(text)
    with pytest.raises(BadInput):
        read_any_file(path)
