"""Processes that are killed, and what must be true of the ledger afterwards."""

import os
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np
import pytest

import thrifty
from thrifty.cells.ledger.purchase import is_live
from thrifty.testing import FakeProvider

FEATURES = [f"f{i}" for i in range(6)]
KINDS = ("plain", "async", "idempotent")


@pytest.fixture
def fast_path():
    """A folder in memory where there is one: kill -9 does not ask for a slow disk."""
    shm = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="thrifty-", dir=shm if shm.is_dir() else None))
    yield place
    shutil.rmtree(place, ignore_errors=True)


class Clinic:
    """A lifetime, a provider that outlives every crash, and the checks of the promises."""

    def __init__(self, folder: Path, where: str, kind: str, n_examples: int = 40) -> None:
        self.where, self.kind, self.price = where, kind, 2
        self.examples = [f"p{i}" for i in range(n_examples)]
        self.log = folder / f"bill-{os.urandom(4).hex()}.log"

    def provider(self, **options) -> FakeProvider:
        return FakeProvider(idempotent=self.kind == "idempotent", log=self.log, **options)

    def source(self, examples=None, delay=0.0, **options):
        provider = self.provider(delay=delay)
        options = {"prices": self.price, "max_cells": 60, "max_examples": 10, **options}
        awaited = self.kind == "async"
        return provider.source(examples or self.examples, FEATURES, awaited=awaited, **options)

    def open(self, **options):
        family = thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper())
        options = {"budget": thrifty.Budget(10**9), **options}
        return thrifty.Lifetime(family, store=self.where, **options)

    def learn(self, life, task="t0", examples=None, **options):
        examples = examples or self.examples
        target = FEATURES[int(task[1:]) % len(FEATURES)]
        y = [self.provider().value(e, target) for e in examples]
        return life.learn(task, self.source(examples, **options), y)

    # -- the promises -------------------------------------------------------------------------

    def check(self) -> None:
        """0 paid twice, 0 billed but unknown, 0 wrong, all doubts listed, money covered."""
        life = self.open()
        bill = self.provider().bill()
        assert bill.twice == []
        # The bill first, then what is open, then what is known: others go on meanwhile.
        open_cells = self.being_bought(life)
        known = self.known(life)
        for (example, feature), value in known.items():
            assert value == self.provider().value(example, feature)
        for cell in bill.cells:
            assert cell in known or cell in open_cells, f"billed but unknown: {cell}"
        balance = life.balance()
        assert balance.reserved + balance.spent >= self.price * sum(bill.cells.values())

    def being_bought(self, life) -> set:
        """Cells of purchases that are open: being made, or listed as in doubt at that moment."""
        now = life.ledger.clock()

        def work(pages):
            # Who lives is asked first: a process may end between the two questions, none begins.
            live = {p.id for p in pages.blocking() if is_live(p, now)}
            waiting = {p.id for p in life.ledger.waiting(pages)}
            assert all(p.id in waiting | live for p in pages.blocking())
            return {
                (e, f)
                for p in pages.blocking()
                for e in pages.names("example", p.block.examples)
                for f in pages.names("feature", p.block.features)
            }

        return life.ledger.book.read(work)

    def known(self, life) -> dict:
        """What the ledger knows, read from its pages and nothing else."""
        from thrifty.cells.ledger.known import Known

        def work(pages):
            examples = pages.number("example", self.examples)
            features = pages.number("feature", FEATURES, "provider")
            none = np.zeros(0, dtype=np.int32)
            forever = np.full(len(FEATURES), np.inf)
            known = Known(examples, features, none, np.ones(len(FEATURES), bool), forever, 0.0)
            known.follow(pages)
            return known

        known = life.ledger.book.write(work)
        rows = np.arange(len(self.examples))
        out = {}
        for f, name in enumerate(FEATURES):
            there, values = known.is_known(f, rows), known.column(f, rows)
            out |= {(self.examples[r], name): values[r] for r in rows[there]}
        return out

    def resolve(self, life) -> int:
        """Do what a user does: compare the list of doubts with the provider's bill."""
        billed = self.provider().bill().cells
        waiting = life.ledger.open_purchases()
        for p in waiting:
            assert p.status == "doubt"
            cells = [(e, f) for e in p.examples for f in p.features]
            was = {cell in billed for cell in cells}
            assert len(was) == 1, "a call is billed as a whole"
            if was == {True}:
                value = self.provider().value
                values = [[value(e, f) for f in p.features] for e in p.examples]
                life.ledger.resolve(p.id, "billed", values)
            else:
                life.ledger.resolve(p.id, "not-billed")
        return len(waiting)

    def finish(self, tasks=("t0",), **options) -> None:
        """Resolve, learn the rest, and find that everything was paid exactly once."""
        life = self.open()
        if self.kind != "idempotent":
            self.resolve(life)
        for task in tasks:
            if task not in life:
                self.learn(life, task, **options)
        if self.kind == "idempotent":
            assert self.resolve(life) == 0, "with keys it resolves itself"
        self.check()
        bill, balance = self.provider().bill(), life.balance()
        assert balance.reserved == 0
        assert balance.spent == self.price * sum(bill.cells.values())


def in_child(work) -> int:
    """Run work in a forked child; its exit status, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            code = work() or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return pid


def wait_for(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture
def where(request, fast_path):
    """The place of a store: a file, or a database of the real server."""
    if request.param == "sqlite":
        return str(fast_path / "clinic.db")
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def clinic(where, fast_path, kind):
    return Clinic(fast_path, where, kind)


@pytest.fixture
def tools():
    """What tests call without importing this file."""

    class Tools:
        KILLED = -signal.SIGKILL

    Tools.Clinic = Clinic
    Tools.in_child, Tools.wait_for = staticmethod(in_child), staticmethod(wait_for)
    return Tools
