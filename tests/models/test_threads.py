"""Small fits run in one thread, whatever the machine has; where threads are is looked up once."""

import sys
from types import ModuleType

from threadpoolctl import threadpool_info, threadpool_limits

from thrifty.models.fits import fitting as fits


def threads() -> set[int]:
    return {one["num_threads"] for one in threadpool_info()}


def test_one_inside_and_as_many_as_before_after():
    with threadpool_limits(2):
        with fits.in_one_thread():
            assert threads() == {1}
        assert threads() == {2}
        with fits.in_one_thread(False):
            assert threads() == {2}


def test_they_are_looked_for_again_when_something_was_loaded(monkeypatch):
    looked = []
    real = fits.ThreadpoolController
    monkeypatch.setattr(fits, "ThreadpoolController", lambda: looked.append(1) or real())
    monkeypatch.setitem(sys.modules, "a module of this test", ModuleType("one"))
    for _ in range(3):
        with fits.in_one_thread():
            pass
    assert len(looked) == 1
    monkeypatch.setitem(sys.modules, "another module of this test", ModuleType("another"))
    with fits.in_one_thread():
        pass
    assert len(looked) == 2
