"""Ten processes on one budget; a database server that goes away under them."""

import random
import time

import pytest

import thrifty
from thrifty.cells import Budget, Cells
from thrifty.errors import BudgetExceeded

FEATURES = [f"f{i}" for i in range(6)]
SPENT_IT_ALL, FINISHED = 5, 0


def shopper(clinic, seed, budget, stop=None):
    """Buy here and there until the money is gone, or a file says stop."""

    def work():
        chance = random.Random(seed)
        family = thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper())
        life = thrifty.Lifetime(family, store=clinic.where, budget=budget)
        cells = Cells(clinic.source(prices=1), ledger=life.ledger, task=f"task-{seed % 3}")
        while stop is None or not stop.exists():
            rows = chance.sample(range(len(clinic.examples)), 3)
            features = chance.sample(range(len(FEATURES)), 2)
            try:
                values = cells.get(rows, features)
            except BudgetExceeded as error:
                assert error.needed > error.left
                return SPENT_IT_ALL
            for i, r in enumerate(rows):
                for j, f in enumerate(features):
                    right = clinic.provider().value(clinic.examples[r], FEATURES[f])
                    assert values[i, j] == right
        return FINISHED

    return work


@pytest.mark.parametrize("kind", ["plain"])
@pytest.mark.parametrize("where", ["sqlite", "postgres"], indirect=True)
def test_ten_processes_never_exceed_one_budget(clinic, tools):
    budget = Budget(total=100)
    clinic.open()  # the first one makes the tables
    pids = [tools.in_child(shopper(clinic, seed, budget)) for seed in range(10)]
    ends = [tools.wait_for(pid) for pid in pids]
    assert set(ends) == {SPENT_IT_ALL}, "only the budget may stop a shopper: no lock error"
    bill, balance = clinic.provider().bill(), clinic.open().balance()
    assert bill.twice == []
    billed = sum(bill.cells.values())
    assert balance.spent == billed <= 100
    assert balance.reserved == 0
    assert billed > 94, "what is left is less than one request"


@pytest.mark.parametrize("kind", ["plain"])
@pytest.mark.parametrize("where", ["sqlite", "postgres"], indirect=True)
def test_limits_per_task_and_per_example_hold_across_processes(clinic, tools):
    budget = Budget(per_task=30, per_example=4)
    clinic.open()
    pids = [tools.in_child(shopper(clinic, seed, budget)) for seed in range(6)]
    assert {tools.wait_for(pid) for pid in pids} == {SPENT_IT_ALL}
    life = clinic.open()
    for task in range(3):
        spent = life.ledger.book.read(lambda p, t=task: p.balance(f"task-{t}"))
        assert sum(spent) <= 30_000_000
    per_example: dict[str, int] = {}
    for (example, _), n in clinic.provider().bill().cells.items():
        per_example[example] = per_example.get(example, 0) + n
    assert max(per_example.values()) <= 4


def wait_for_more_calls(clinic, calls=8):
    """Until the processes have bought something since we asked."""
    until = time.monotonic() + 120
    enough = clinic.provider().bill().calls + calls
    while clinic.provider().bill().calls < enough:
        assert time.monotonic() < until, "the processes have stopped buying"
        time.sleep(0.02)


@pytest.mark.parametrize("restarts", [2, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("where", ["postgres"], indirect=True)
def test_postgres_restarted_under_load(where, tools, postgres, restarts, fast_path):
    """Processes that are buying go on; nothing is lost and nothing is paid twice."""
    clinic, stop = tools.Clinic(fast_path, where, "plain", n_examples=300), fast_path / "stop"
    clinic.price = 1
    clinic.open()
    pids = [tools.in_child(shopper(clinic, seed, None, stop)) for seed in range(3)]
    for i in range(restarts):
        wait_for_more_calls(clinic)
        postgres.restart(crash=i % 2 == 1)
    wait_for_more_calls(clinic)
    stop.touch()
    assert [tools.wait_for(pid) for pid in pids] == [FINISHED] * 3
    print(f"{restarts} restarts under {clinic.provider().bill().calls} calls")
    clinic.check()
    balance = clinic.open().balance()
    assert balance.reserved + balance.spent >= sum(clinic.provider().bill().cells.values())
    assert clinic.resolve(clinic.open()) == 0, "nobody died, so nothing is in doubt"
