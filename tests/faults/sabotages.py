"""Ways to break the money on purpose: each must be found by the simulator and by the tribunal.

``SABOTAGES[name]`` takes ``monkeypatch`` and breaks one thing. The first four were found SOUND.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from thrifty.cells.ledger import (
    buying,
    compacted,
    ending,
    ledger,
    next_calls,
    paid,
    plan,
    purchase,
    real_costs,
    settlement,
)
from thrifty.cells.ledger.known import Known
from thrifty.lifetime import bill
from thrifty.stores.pages import SqlPages

__all__ = ["HISTORIC", "IN_PARTS", "OF_A_DISK", "OF_WHAT_IS_FREE", "SABOTAGES"]


def seven_millionths_too_high(patch):
    right = settlement._book

    def high(pages, ended, billed):
        counted = billed.counted.copy()
        if ended.status == "settled" and len(counted):
            counted[0] += 7
        return right(pages, ended, replace(billed, counted=counted))

    patch.setattr(settlement, "_book", high)


def the_bill_is_tripled(patch):
    right = bill.rows_beside

    def tripled(*given, **named):
        return [{**row, "cost": 3 * row["cost"]} for row in right(*given, **named)]

    from thrifty.lifetime import learned
    from thrifty.testing.simulator import judge

    cells = bill.bill_cells

    def more(receipt):
        return {**cells(receipt), "cost": 3 * receipt.cost}

    patch.setattr(bill, "rows_beside", tripled)
    patch.setattr(judge, "rows_beside", tripled)
    patch.setattr(bill, "bill_cells", more)
    patch.setattr(learned, "bill_cells", more)


def limits_of_tasks_and_examples_are_unchecked(patch):
    right = settlement.check_budget

    def unchecked(pages, limits, *more):
        right(pages, replace(limits, per_task=None, per_example=None), *more)

    patch.setattr(settlement, "check_budget", unchecked)
    patch.setattr(next_calls, "check_budget", unchecked)


def stored_values_are_rounded(patch):
    right = purchase.pack_values

    def rounded(values, boolean):
        return right(np.round(values, 3), boolean)

    patch.setattr(settlement, "pack_values", rounded)


def what_is_over_is_dropped(patch):
    right = settlement._book
    patch.setattr(
        settlement,
        "_book",
        lambda pages, ended, billed: right(pages, ended, replace(billed, over=0)),
    )


def a_late_or_real_cost_is_the_list_price(patch):
    def listed(pages, of, answer, limits):
        from thrifty.cells import Answered

        return (answer.values if isinstance(answer, Answered) else answer), None, ""

    patch.setattr(settlement, "read_cost", listed)


def reserved_money_is_never_released(patch):
    right = SqlPages.move

    def stuck(self, task, reserved, spent, lifetime=None, over=0):
        right(self, task, max(reserved, 0), spent, lifetime, over)

    patch.setattr(SqlPages, "move", stuck)


def a_fee_is_paid_with_every_call(patch):
    right = plan.price_call

    def again(call, known, tariff, paid=None):
        nothing = np.zeros_like(known.known[known.n_features :])
        return right(call, known, tariff, nothing)

    patch.setattr(next_calls, "price_call", again)


def a_discount_is_not_given(patch):
    right = plan.price_call

    def dear(call, known, tariff, paid=None):
        draws, who, costs = right(call, known, tariff, paid)
        return draws, who, costs + (10_000 if call.orders else 0)

    patch.setattr(next_calls, "price_call", dear)


def resolving_forgets_the_cost(patch):
    patch.setattr(
        ledger.Ledger, "_billed", lambda self, pages, of, cost: real_costs.Billed(of.block.costs)
    )


def receipts_leave_out_the_lines_of_real_costs(patch):
    right = buying.Buyer._book

    def without(self, of):
        right(self, of.with_(block=replace(of.block, paid=None), spent=of.block.price))

    patch.setattr(buying.Buyer, "_book", without)


def receipts_count_rows_twice(patch):
    right = buying.Buyer._book

    def twice(self, of):
        right(self, of)
        self.row_costs[0] += of.spent

    patch.setattr(buying.Buyer, "_book", twice)


def a_refused_purchase_is_spent(patch):
    right = ending.close

    def spent(pages, of, status, now, **more):
        share = 1.0 if status == "refused" else more.pop("share", 0.0)
        more.pop("share", None)
        return right(pages, of, status, now, share=share, **more)

    patch.setattr(ending, "close", spent)


def a_window_never_ends(patch):
    right = Known.__init__

    def endless(self, examples, features, draws, boolean, valid, *more, **named):
        right(self, examples, features, draws, boolean, np.full_like(valid, np.inf), *more, **named)

    patch.setattr(Known, "__init__", endless)


def examples_are_not_charged(patch):
    patch.setattr(SqlPages, "add_example_costs", lambda self, *given: None)


def a_receipt_is_the_account_of_the_name(patch):
    patch.setattr(paid.PaidCells, "_cost", lambda self: self._buyer.spent + 1)


def what_has_expired_is_asked_for_under_its_old_key(patch):
    """The provider then says what it said before and bills nothing: an old value taken for new."""
    right_next, right_claim = next_calls.Asking.next, next_calls.Asking.can_claim

    def with_expired(self, pages, *given):
        blocking = pages.blocking

        def more():
            old = [p for p in pages.purchases() if p.status == "settled" and has_expired(self, p)]
            return blocking() + old

        pages.blocking = more
        try:
            return right_next(self, pages, *given)
        finally:
            del pages.blocking

    def has_expired(self, old):
        at, rows = self.known.place(old.block)
        if (at < 0).any() or (rows < 0).any() or not np.isfinite(self.known.valid[at]).all():
            return False
        return not self.known.known_somewhere(at, rows).any()

    def claims(self, old):
        if old.status == "settled":
            return self.source.idempotent and has_expired(self, old)
        return right_claim(self, old)

    patch.setattr(next_calls.Asking, "next", with_expired)
    patch.setattr(next_calls.Asking, "can_claim", claims)


def columns_are_younger_than_their_values(patch):
    right = compacted._collect

    def younger(of, *given):
        right(of.with_(settled_at=of.settled_at + 1e6), *given)

    patch.setattr(compacted, "_collect", younger)


def columns_are_rounded(patch):
    right = compacted.write_column

    def rounded(kind, number, boolean, facts):
        return right(kind, number, boolean, replace(facts, values=np.round(facts.values, 3)))

    patch.setattr(compacted, "write_column", rounded)


def what_was_written_late_counts_from_then(patch):
    """Not from when it was answered: it outlives its window."""
    right = buying.Buyer.save
    patch.setattr(
        buying.Buyer, "save", lambda self, of, outcome, at: right(self, of, outcome, None)
    )


SABOTAGES = {
    made.__name__: made
    for made in (
        seven_millionths_too_high, the_bill_is_tripled, limits_of_tasks_and_examples_are_unchecked,
        stored_values_are_rounded, what_is_over_is_dropped, a_late_or_real_cost_is_the_list_price,
        reserved_money_is_never_released, a_fee_is_paid_with_every_call, a_discount_is_not_given,
        resolving_forgets_the_cost, receipts_leave_out_the_lines_of_real_costs,
        receipts_count_rows_twice, a_refused_purchase_is_spent, a_window_never_ends,
        examples_are_not_charged, a_receipt_is_the_account_of_the_name,
        what_has_expired_is_asked_for_under_its_old_key, columns_are_younger_than_their_values,
        columns_are_rounded,
    )
}  # fmt: skip

#: only a disk that fails shows it, and the tribunal has none
OF_A_DISK = {made.__name__: made for made in (what_was_written_late_counts_from_then,)}


def a_list_is_believed_whatever_was_billed(patch):
    """What it says is free is asked for again, though bills beyond it have come."""
    patch.setattr(next_calls.Asking, "costs", lambda self, pages, of: bool(of.block.price))


#: shows where what is listed as free is billed; the tribunal's providers leave it free
OF_WHAT_IS_FREE = {made.__name__: made for made in (a_list_is_believed_whatever_was_billed,)}


# -- parts of an answer that failed ------------------------------------------------------------


def what_is_unknown_of_an_answer_is_not_billed(patch):
    right = ending._failed_part

    def hopes(asking, pages, part, said):
        return right(asking, pages, part._replace(end=1) if part.end == 3 else part, said)

    patch.setattr(ending, "_failed_part", hopes)


def what_failed_of_an_answer_is_not_counted(patch):
    right = ending._failed_part

    def forgets(asking, pages, part, said):
        return right(asking, pages, part, None if said is None else 0 * said)

    patch.setattr(ending, "_failed_part", forgets)


def parts_of_an_answer_are_counted_twice(patch):
    right = ending.cut

    def twice(pages, *given):
        parts = right(pages, *given)
        for part in parts[1:]:
            pages.move(part.purchase.task, 0, int(part.costs.sum()))
        return parts

    patch.setattr(ending, "cut", twice)


IN_PARTS = {
    made.__name__: made
    for made in (
        what_is_unknown_of_an_answer_is_not_billed, what_failed_of_an_answer_is_not_counted,
        parts_of_an_answer_are_counted_twice,
    )
}  # fmt: skip


# -- bugs that this repository once had --------------------------------------------------------


def a_refused_repetition_charged_twice(patch):
    """The refusal of a repetition was taken for a refusal of the purchase."""
    right = buying.end

    def forgetful(*given, repeated, **more):
        return right(*given, repeated=False, **more)

    patch.setattr(buying, "end", forgetful)


def invented_zeros_after_a_cancel(patch):
    """What was asked for and never answered was read as 0."""
    patch.setattr(buying.Buyer, "_check_answered", lambda self, *given: None)

    right = buying.Buyer._step

    def gives_up(self, done, features, mask, *, start):
        started, _ = right(self, done, features, mask, start=start)
        if any(outcome.kind != "answer" for _, outcome in done):
            self._stopping = True
        return started, None

    patch.setattr(buying.Buyer, "_step", gives_up)


HISTORIC = {
    made.__name__: made
    for made in (a_refused_repetition_charged_twice, invented_zeros_after_a_cancel)
}
