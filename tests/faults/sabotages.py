"""Ways to break the money on purpose: each must be found by the simulator and by the tribunal.

``SABOTAGES[name]`` takes ``monkeypatch`` and breaks one thing. The first four were found SOUND.
"""

from dataclasses import replace

import numpy as np

from thrifty.cells import account
from thrifty.cells.ledger import buying, compacted, ending, ledger, next_calls, purchase, settlement
from thrifty.cells.ledger.known import Known
from thrifty.cells.sources import answered
from thrifty.lifetime import bill, state
from thrifty.stores.pages import SqlPages


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

    from tests.simulator import judge
    from thrifty.lifetime import learned

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

    patch.setattr(ending, "read_cost", listed)


def reserved_money_is_never_released(patch):
    right = SqlPages.move

    def stuck(self, task, reserved, spent, lifetime=None, over=0):
        right(self, task, max(reserved, 0), spent, lifetime, over)

    patch.setattr(SqlPages, "move", stuck)


def a_fee_is_paid_with_every_call(patch):
    right = next_calls.price_call

    def again(call, known, tariff, paid=None):
        nothing = np.zeros_like(known.known[known.n_features :])
        return right(call, known, tariff, nothing)

    patch.setattr(next_calls, "price_call", again)


def a_discount_is_not_given(patch):
    right = next_calls.price_call

    def expensive(call, known, tariff, paid=None):
        draws, who, costs = right(call, known, tariff, paid)
        return draws, who, costs + (10_000 if call.orders else 0)

    patch.setattr(next_calls, "price_call", expensive)


def resolving_forgets_the_cost(patch):
    patch.setattr(
        ledger.Ledger, "_billed", lambda self, pages, of, cost: settlement.Billed(of.block.costs)
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
    patch.setattr(account.PaidAccount, "cost", lambda self: self._buyer.spent + 1)


def what_has_expired_is_asked_for_under_its_old_key(patch):
    """The provider then says what it said before and bills nothing: an old value taken for new."""
    right_next, right_claim = next_calls.PlannedCalls.next, next_calls.PlannedCalls.can_claim

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

    patch.setattr(next_calls.PlannedCalls, "next", with_expired)
    patch.setattr(next_calls.PlannedCalls, "can_claim", claims)


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
    patch.setattr(next_calls.PlannedCalls, "costs", lambda self, pages, of: bool(of.block.price))


#: shows where what is listed as free is billed; the tribunal's providers leave it free
OF_WHAT_IS_FREE = {made.__name__: made for made in (a_list_is_believed_whatever_was_billed,)}


def what_others_own_meanwhile_is_charged_again(patch):
    patch.setattr(state, "refuse_what_is_owned", lambda *given: None)


#: shows where several learn from one priced table
OF_A_TABLE = {made.__name__: made for made in (what_others_own_meanwhile_is_charged_again,)}


# -- parts of an answer that failed ------------------------------------------------------------


def what_is_unknown_of_an_answer_is_not_billed(patch):
    right = ending.Ending._failed_part

    def hopes(self, part, said):
        return right(self, part._replace(end=1) if part.end == 3 else part, said)

    patch.setattr(ending.Ending, "_failed_part", hopes)


def what_failed_of_an_answer_is_not_counted(patch):
    right = ending.Ending._failed_part

    def forgets(self, part, said):
        return right(self, part, None if said is None else 0 * said)

    patch.setattr(ending.Ending, "_failed_part", forgets)


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
    right = ending.Ending.end
    patch.setattr(
        ending.Ending, "end", lambda self, purchase: right(replace(self, repeated=False), purchase)
    )


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


# -- twelve that were hard to find: each by the simulator within 10,000 histories --------------


def no_last_check_before_a_call(patch):
    """A purchase that was taken away while its call waited its turn is called all the same."""
    patch.setattr(buying.Buyer, "_may_call", lambda self, purchase: not self._stopping)


def an_older_value_wins(patch):
    right = compacted._joined

    def oldest(facts):
        turned = [replace(one, times=-one.times) for one in facts]
        found = right(turned)
        return replace(found, times=-found.times)

    patch.setattr(compacted, "_joined", oldest)


def no_second_read_inside_the_transaction(patch):
    """What others have settled since the reader was opened is not looked at before buying."""
    right = buying.Buyer.catch_up

    def once(self, pages):
        if not getattr(self, "caught_up", False):
            right(self, pages)
        self.caught_up = True

    patch.setattr(buying.Buyer, "catch_up", once)


def a_remainder_of_cents_is_lost(patch):
    def cut_off(sum_, reserved):
        whole = max(int(reserved.sum()), 1)
        return np.array([sum_ * int(r) // whole for r in reserved], dtype=np.int64)

    patch.setattr(answered, "divided", cut_off)
    patch.setattr(settlement, "divided", cut_off)


def a_refused_call_charges_examples(patch):
    right = settlement._book

    def charges(pages, ended, billed):
        done = right(pages, ended, billed)
        if ended.status == "refused":
            pages.add_example_costs(ended.block.examples, ended.block.costs, ended.lifetime)
        return done

    patch.setattr(settlement, "_book", charges)


def a_part_is_claimed_under_the_key_of_the_whole(patch):
    right, call = next_calls.PlannedCalls.can_claim, buying.call_provider

    def claims(self, old):
        if "#" not in old.key or old.key in next_calls.process().in_flight:
            return right(self, old)
        return right(self, old.with_(key=old.key.split("#")[0]))

    async def as_the_whole(source, examples, features, key, *given, **named):
        return await call(source, examples, features, key.split("#")[0], *given, **named)

    patch.setattr(next_calls.PlannedCalls, "can_claim", claims)
    patch.setattr(buying, "call_provider", as_the_whole)


def contradicting_values_are_never_noticed(patch):
    patch.setattr(ending, "find_changes", lambda *given: [])


def a_gap_after_one_failure(patch):
    right = settlement.Failures.__init__
    patch.setattr(
        settlement.Failures, "__init__", lambda self, gaps, tries: right(self, gaps, min(tries, 1))
    )


class _OwesNothing:
    """Pages that forget what is owed."""

    def __init__(self, pages):
        self._pages = pages

    def __getattr__(self, name):
        return getattr(self._pages, name)

    def over(self):
        return 0


def what_is_owed_is_not_counted(patch):
    right = settlement.check_budget

    def forgets(pages, *given):
        right(_OwesNothing(pages), *given)

    patch.setattr(settlement, "check_budget", forgets)
    patch.setattr(next_calls, "check_budget", forgets)


def the_payment_of_a_fee_is_forgotten(patch):
    """Once a task is committed: fees do not become columns."""
    right = compacted._collect

    def forgets(of, *given):
        none = replace(of.block, draws=of.block.draws[:0], draw_rows=of.block.draw_rows[:0])
        right(of.with_(block=none), *given)

    patch.setattr(compacted, "_collect", forgets)


def the_clock_decides_over_a_living_process(patch):
    right = purchase.is_live

    def by_the_clock(of, now):
        mine = of.owner == purchase.me()
        return right(of, now) if mine else of.status == "pending" and now <= of.give_up_at

    for module in (purchase, next_calls, ledger):
        patch.setattr(module, "is_live", by_the_clock)


def a_failed_share_is_rounded_down(patch):
    def down(costs, share):
        return np.array([int(int(c) * share) for c in costs], dtype=np.int64)

    patch.setattr(settlement, "_share", down)


TWELVE = {
    made.__name__: made
    for made in (
        no_last_check_before_a_call, an_older_value_wins, no_second_read_inside_the_transaction,
        a_remainder_of_cents_is_lost, a_refused_call_charges_examples,
        a_part_is_claimed_under_the_key_of_the_whole, contradicting_values_are_never_noticed,
        a_gap_after_one_failure, what_is_owed_is_not_counted, the_payment_of_a_fee_is_forgotten,
        the_clock_decides_over_a_living_process, a_failed_share_is_rounded_down,
    )
}  # fmt: skip
