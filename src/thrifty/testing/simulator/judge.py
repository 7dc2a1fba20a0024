"""What must hold, whatever happened: provider, ledger, bill, receipts, values are one account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from thrifty.cells.ledger.purchase import Purchase, unpack_values
from thrifty.cells.prices.budget import Limits
from thrifty.cells.prices.money import minor_units
from thrifty.lifetime.bill import rows_beside
from thrifty.stores.pages import SqlPages
from thrifty.testing.simulator.plan import WINDOW, WORDS, Plan, truth
from thrifty.testing.simulator.worker import World

__all__ = ["after_each_write", "judge"]


def after_each_write(plan: Plan, limits: Limits, found: list[str], pages: SqlPages) -> None:
    """reserved + spent never exceeds the budget, not in total, on a task or on an example."""
    reserved, spent = pages.balance(None)
    accounts = pages.accounts() if limits.per_task is not None else {}
    if limits.total is not None and reserved + spent > limits.total:
        found.append(f"over: {reserved} + {spent} of {limits.total}")
    if limits.per_task is not None:
        for task, (r, s) in accounts.items():
            if r + s > limits.per_task:
                found.append(f"over: {r} + {s} on {task} of {limits.per_task}")
    if limits.per_example is not None:
        numbers = pages.numbers("example", plan.examples)
        costs = pages.example_costs(numbers[numbers >= 0])
        if len(costs) and int(costs.max()) > limits.per_example:
            found.append(f"over: {int(costs.max())} on an example of {limits.per_example}")


def judge(world: World) -> list[str]:
    """What is wrong in the end; nothing, where all is well."""
    found = list(world.found)
    log, plan = world.provider.log, world.plan
    billed = sum(b.amount for b in log)

    def work(pages: SqlPages) -> None:
        reserved, spent = pages.balance(None)
        over, accounts = pages.over(), pages.accounts()
        if reserved or pages.blocking():
            found.append(f"{reserved} reserved, {len(pages.blocking())} open at the end")
        # a policy that asks again counts what is in doubt as billed, which it may not have been
        # in fact, or at another price
        if plan.on_doubt != "ask again" and spent + over != billed:
            found.append(f"{spent} spent and {over} over, {billed} billed")
        rows = rows_beside({}, [], accounts, over=pages.over_by_task())
        for column, kept in (("cost", spent), ("over", over)):
            told = sum(minor_units(float(str(row[column]))) for row in rows)
            if told != kept:
                found.append(f"the bill says {told} of {kept} {column}")
        numbers = pages.numbers("example", plan.examples)
        each = pages.example_costs(numbers[numbers >= 0])
        if int(each.sum()) != spent:
            found.append(f"examples cost {int(each.sum())} of {spent}")
        purchases = pages.purchases()
        if sum(p.spent for p in purchases) != spent or sum(p.over for p in purchases) != over:
            found.append("purchases do not sum to the balance")
        _values(pages, found)

        ours.update(_accounts(world, pages))

    ours: dict[str, tuple[int, bool]] = {}
    world.book.read(work)
    _twice(world, found)
    _receipts(world, ours, found)
    return found


def _values(pages: SqlPages, found: list[str]) -> None:
    """What is stored is what was answered, to the last digit."""
    for p in pages.all_settled():
        if p.answer is None:
            continue
        values = unpack_values(p.answer, p.block)
        examples = pages.names("example", p.block.examples.tolist())
        names = pages.names("feature", p.block.features.tolist())
        words = pages.words()
        for j, name in enumerate(names):
            want = np.array([truth(e, name) for e in examples])
            if name == "c":
                stored = words[int(p.block.features[j])]
                want = np.array([float(stored.index(WORDS[int(v)])) for v in want])
            if (values[:, j] != want).any():
                found.append(f"stored: {name} of purchase {p.id} is not what was answered")


def _twice(world: World, found: list[str]) -> None:
    left = world.given_up.copy()
    last: dict[tuple[str, str], float] = {}
    turned = any(step.turn for steps in world.plan.workers for step in steps)
    lost = world.plan.on_doubt == "ask again"
    for bill in world.provider.log:
        for cell in ((e, n) for e in bill.ids for n in bill.names):
            before = last.get(cell)
            last[cell] = bill.at
            if before is None:
                continue
            window = WINDOW if world.plan.expires and cell[1] == "w" else float("inf")
            if window < float("inf") and (turned or bill.at - before >= window):
                continue
            if left[cell] > 0:
                left[cell] -= 1
            elif not lost:
                found.append(f"twice: {cell[0]} {cell[1]} at {before:.1f} and {bill.at:.1f}")
        nothing = [e for e in bill.ids if bill.failed.get(e) == "billed"]
        left.update((e, n) for e in nothing for n in bill.names)


def _accounts(world: World, pages: SqlPages) -> dict[str, tuple[int, bool]]:
    """Of each task what its account has spent, and whether only its door has ended purchases."""
    return {
        task: (pages.balance(task)[1], _by_itself(world, pages.purchases_of(task)))
        for task in world.receipts
    }


def _receipts(world: World, accounts: Mapping[str, tuple[int, bool]], found: list[str]) -> None:
    """Every receipt is its account, in all, line by line, and row by row."""
    for task, door in world.receipts.items():
        spent, alone = accounts[task]
        cost, lines = door._cost(), sum(line.amount for line in door.lines.sorted())
        if not cost == lines == spent:
            found.append(f"receipt of {task}: {cost}, lines {lines}, account {spent}")
        own = sum(line.amount for line in door._buyer.lines.sorted())
        if not int(door.row_costs.sum()) == own == door._buyer.spent:
            found.append(f"rows of {task} cost {int(door.row_costs.sum())}, lines {own}")
        if alone and own != spent:
            found.append(f"the door of {task} says {own} of {spent} spent")


def _by_itself(world: World, some: Sequence[Purchase]) -> bool:
    """Whether nobody but the door itself has ended a purchase of this task."""
    if world.plan.keyed:  # others may ask again for what is in doubt
        return False
    return all(
        not world.crashed(p.owner)
        and not p.note.startswith(("resolved", "late"))
        and p.status in ("settled", "refused", "failed", "malformed")
        for p in some
    )
