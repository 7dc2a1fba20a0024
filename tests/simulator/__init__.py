"""A simulator of the ledger: the real code on a clock, a disk and a provider that a seed decides.

Each seed is one history: workers that buy side by side, crashes at writes, disks that fail, answers
that come late, get lost or come twice, clocks that are turned, a user who resolves. In the end
the provider's log, the ledger, the bill, every receipt and every value are held against each other.
A seed that fails replays exactly, and shrinks to the shortest history that still fails.

    clock.py      an event loop in which time passes when nobody has anything to do
    plan.py       what a seed decides: prices, budget, workers and what they ask for
    provider.py   who bills, and never forgets
    disk.py       the store in memory, with crashes at every write
    worker.py     a process that buys; the user who resolves
    learners.py   whole tasks over one priced table, interrupted at their writes
    judge.py      what must hold in the end
    simulate.py   one seed; many; the shortest
"""

from tests.simulator.simulate import History, simulate, simulate_many

__all__ = ["History", "simulate", "simulate_many"]
