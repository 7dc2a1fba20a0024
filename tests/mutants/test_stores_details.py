"""Details of stores that a small change would break unnoticed."""

import os
import threading
from dataclasses import dataclass
from typing import ClassVar

import pytest

import thrifty
from thrifty.agnostic import Restart
from thrifty.errors import StoreError
from thrifty.stores import SQLiteStore
from thrifty.stores.base import Store
from thrifty.stores.settings import family_from_dict


def test_a_store_without_write_cannot_be_made():
    class Half(Store):
        def read(self, lifetime, work): ...
        def close(self): ...

    with pytest.raises(TypeError, match="write"):
        Half()


def test_a_link_to_nowhere_is_not_followed(tmp_path):
    """A file is made by us with its rights, or is there; nobody chooses where it is made."""
    (tmp_path / "s.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(StoreError):
        SQLiteStore(tmp_path / "s.db")
    assert not (tmp_path / "elsewhere.db").exists()


def test_options_of_a_store_are_named(tmp_path):
    with pytest.raises(TypeError):
        SQLiteStore(tmp_path / "s.db", 5.0)
    assert SQLiteStore(path=tmp_path / "s.db").lifetimes() == []


def test_parameters_that_a_family_does_not_take_are_an_error_of_the_store():
    data = thrifty.Trees(max_depth=3).to_dict()
    with pytest.raises(StoreError, match="cannot be read"):
        family_from_dict({"family": "Monomials", "nonsense": 1})
    assert family_from_dict(data).to_dict() == data


def test_after_a_fork_another_thread_of_the_parent_may_use_the_store(tmp_path):
    store = SQLiteStore(tmp_path / "s.db")
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    listed = []
    thread = threading.Thread(target=lambda: listed.append(store.lifetimes()), daemon=True)
    thread.start()
    thread.join(timeout=20)
    assert listed == [[]]


def test_a_rule_of_ones_own_goes_on_as_it_was_given(tmp_path):
    """Not as a copy from its parameters: what else it holds, a connection say, is not stored."""

    @dataclass(frozen=True)
    class Watched(Restart):
        seen: ClassVar[list[int]]

        def before_improving(self, counts, n_features):
            self.seen.append(n_features)
            return super().before_improving(counts, n_features)

    for _ in range(2):
        rule = Watched(3)
        object.__setattr__(rule, "seen", [])
        with thrifty.Lifetime(store=tmp_path / "s.db", agnostic=rule) as life:
            assert life.agnostic is rule
