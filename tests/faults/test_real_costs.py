"""What a provider says it billed: counted to the millionth, never past a limit, never lost."""

import threading
from contextlib import contextmanager, nullcontext
from decimal import Decimal

import numpy as np
import pytest

import thrifty
from tests.crash import from_another_machine
from tests.market import seller
from tests.shell import run
from thrifty import Answered, Budget, PriceList, Source
from thrifty.cells import Ledger
from thrifty.cells.ledger.ending import LateAnswer
from thrifty.errors import BadInput, BudgetExceeded, CostAboveReservation, MalformedAnswer
from thrifty.protocol import Cells
from thrifty.stores import MemoryStore, SQLiteStore

IDS = [f"p{i}" for i in range(10)]


def ledger(budget=None, store=None) -> Ledger:
    return Ledger((store or MemoryStore()).book("test", {}, {}), budget)


def source(cost, price="4 EUR", bad=False, **options):
    def look_up(ids, names):
        said = cost(ids) if callable(cost) else cost
        return Answered([[7 if bad else 1 for _ in names] for _ in ids], cost=said)

    options = {"examples": IDS, "features": ["x"], "name": "lab", **options}
    return Source.from_callable(look_up, prices=PriceList(price), **options)


def left_in_doubt(book, rows, price="4 EUR"):
    """A purchase whose call broke off."""

    def breaks(ids):
        raise RuntimeError

    with pytest.raises(thrifty.errors.PurchaseInDoubt):
        Cells(source(breaks, price), ledger=book, task="t").get(rows, [0])


def test_a_float_is_the_nearest_millionth_whatever_its_last_bit():
    wrong = []
    for cents in range(1, 2000):
        price = cents / 100
        got = Answered([[1]], cost=price).in_minor_units(np.array([cents * 10_000]))
        if got.tolist() != [cents * 10_000]:
            wrong.append(price)
    assert wrong == []
    book = ledger()
    Cells(source(4.03, "4.03 EUR"), ledger=book, task="t").get([0], [0])
    assert (book.balance().spent, book.balance().over) == (4.03, 0.0)


@pytest.mark.parametrize("cost", [Decimal("4.030001"), "4.030001 EUR", "4.030001"])
def test_decimals_and_text_are_exact(cost):
    book = ledger()
    with pytest.raises(CostAboveReservation):
        Cells(source(cost, "4.03 EUR"), ledger=book, task="t").get([0], [0])
    assert (book.balance().spent, book.balance().over) == (4.03, 1e-6)


@pytest.mark.parametrize("budget", [None, Budget(total="6 EUR"), Budget(total="100 EUR")])
def test_what_is_billed_beyond_the_reservation_is_on_the_balance(budget):
    book = ledger(budget)
    cells = Cells(source("9 EUR", "6 EUR"), ledger=book, task="t")
    with pytest.raises(CostAboveReservation, match="values are kept and usable"):
        cells.get([0], [0])
    balance = book.balance()
    assert (balance.spent, balance.reserved, balance.over) == (6.0, 0.0, 3.0)
    assert cells.get([0], [0]).tolist() == [[1]]


def test_what_is_owed_is_not_there_to_be_spent(tmp_path):
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=2), store=tmp_path / "s.db", budget=Budget(total="14 EUR")
    )
    cells = Cells(source("9 EUR", "6 EUR"), ledger=life.ledger, task="t")
    with pytest.raises(CostAboveReservation):
        cells.get([0], [0])
    assert (life.balance().over, life.balance().left) == (3.0, 5.0)
    with pytest.raises(BudgetExceeded):
        cells.get([1], [0])
    again = thrifty.Lifetime.open(tmp_path / "s.db")
    assert again.balance().over == 3.0
    assert again.balance().to_dict()["over"] == 3.0


def test_a_malformed_answer_that_was_billed_too_high_is_over_too():
    book = ledger()
    with pytest.raises(MalformedAnswer):
        Cells(source("9 EUR", "6 EUR", bad=True), ledger=book, task="t").get([0], [0])
    assert (book.balance().spent, book.balance().over) == (6.0, 3.0)
    book.resolve(1, "not-billed")
    assert (book.balance().spent, book.balance().over) == (0.0, 0.0)


def test_a_cost_per_example_does_not_pass_its_limit_silently():
    book = ledger(Budget(per_example="2 EUR"))
    uneven = source(lambda ids: [6] + [0] * (len(ids) - 1), "2 EUR")
    with pytest.raises(CostAboveReservation, match="example"):
        Cells(uneven, ledger=book, task="t").get([0, 1, 2], [0])
    assert (book.balance().spent, book.balance().over) == (2.0, 4.0)
    costs = book.book.read(lambda pages: pages.example_costs(pages.numbers("example", IDS[:3])))
    assert costs.tolist() == [2_000_000, 0, 0]


def test_resolving_books_what_the_provider_had_said():
    book = ledger(Budget(total="25 EUR"))
    cells = Cells(source("22 EUR", "2.5 EUR", bad=True), ledger=book, task="t")
    with pytest.raises(MalformedAnswer):
        cells.get(range(10), [0])
    assert book.balance().spent == 22.0
    book.resolve(1, "billed", [[1]] * 10)
    assert (book.balance().spent, book.balance().reserved) == (22.0, 0.0)
    assert cells.receipt().cost == 22.0


@pytest.mark.parametrize("values", [None, [[1]] * 10])
@pytest.mark.parametrize(
    ("cost", "spent", "over"),
    [
        (None, 20.0, 0.0),
        ("12.5 EUR", 12.5, 0.0),
        (0, 0.0, 0.0),
        ("21 EUR", 20.0, 1.0),
        ([1] * 10, 10.0, 0.0),
        (Decimal("0.000001"), 1e-6, 0.0),
    ],
)
def test_resolving_may_say_the_cost(cost, spent, over, values):
    book = ledger()
    left_in_doubt(book, range(10), "2 EUR")
    assert book.balance().reserved == 20.0
    book.resolve(1, "billed", values, cost=cost)
    balance = book.balance()
    assert (balance.spent, balance.reserved, balance.over) == (spent, 0.0, over)


def test_a_cost_that_cannot_be_is_refused():
    book = ledger()
    left_in_doubt(book, [0, 1])
    for cost in (-1, "3 USD", [1, 2, 3], "much"):
        with pytest.raises((BadInput, MalformedAnswer)):
            book.resolve(1, "billed", cost=cost)
    with pytest.raises(BadInput, match="not billed"):
        book.resolve(1, "not-billed", cost=1)
    assert book.balance().reserved == 8.0


def test_the_command_takes_the_cost(tmp_path):
    where = str(tmp_path / "s.db")
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=where)
    left_in_doubt(life.ledger, [0, 1])
    done = run("resolve", where, "1", "--billed", "--cost", "3.25 EUR")
    assert life.balance().spent == 3.25
    assert "owed" not in done.output
    run("resolve", where, "1", "--not-billed", "--cost", "3", ok=False)


def test_the_command_names_what_is_owed_beyond_the_prices(tmp_path):
    where = str(tmp_path / "s.db")
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=where)
    left_in_doubt(life.ledger, [0])
    done = run("resolve", where, "1", "--billed", "--cost", "9")
    assert "4 EUR spent and 0 EUR reserved; 5 EUR owed beyond the prices." in done.output


@contextmanager
def asked_for(book, answer, rows, caught=nullcontext):
    """A purchase whose call still runs: what is done inside is done before its answer comes."""
    asked, go = threading.Event(), threading.Event()

    def look_up(ids, names):
        asked.set()
        assert go.wait(20)
        return answer(ids)

    lab = seller(look_up, IDS, ["x"], prices=PriceList("4 EUR"), timeout=60)
    cells, found = Cells(lab, ledger=book, task="t"), []

    def buy():
        with pytest.warns(LateAnswer), caught():
            found.append(cells.get(rows, [0]))

    thread = threading.Thread(target=buy)
    thread.start()
    assert asked.wait(20)
    with from_another_machine():
        yield cells, found
    go.set()
    thread.join(30)


@pytest.mark.parametrize(
    ("outcome", "total", "want"),
    [("billed", 100, (3.0, 0.0)), ("not-billed", 100, (3.0, 0.0)), ("not-billed", 1, (1.0, 2.0))],
)
def test_a_late_answer_counts_its_own_cost_and_no_more_than_there_is(
    tmp_path, outcome, total, want
):
    """The purchase is resolved while its call still runs."""
    book = ledger(Budget(total=4), SQLiteStore(tmp_path / "s.db"))
    with asked_for(book, lambda ids: Answered([[1]], cost="3 EUR"), [0]) as (_cells, found):
        book.resolve(1, outcome)
        book.budget = Budget(total=total)
    assert (book.balance().spent, book.balance().over) == want
    assert len(found) == 1


@pytest.mark.parametrize(
    "outcome, said, spent", [("billed", "1.25 EUR", 1.25), ("not-billed", None, 4.0)]
)
def test_a_late_answer_without_a_cost_leaves_what_the_user_said(outcome, said, spent):
    """The invoice was at hand when the purchase was resolved; the list says something else.

    Who said that it was not billed was wrong, since it was answered: it costs what is listed.
    """
    book = ledger()
    with asked_for(book, lambda ids: Answered([[1]]), [0]):
        book.resolve(1, outcome, cost=said)
    assert (book.balance().spent, book.balance().over) == (spent, 0.0)
    assert book.open_purchases() == []


def test_a_late_answer_that_cannot_tell_leaves_what_the_user_said():
    """Of one example it does not know whether it was billed; the user has seen the invoice."""

    def answer(ids):
        return Answered([[1] for _ in ids], cost=[0, 3], failed=["unknown", ""])

    def fails():
        return pytest.raises(thrifty.errors.ThriftyError)

    book = ledger()
    with asked_for(book, answer, [0, 1], fails):
        book.resolve(1, "billed", cost="7.5 EUR")
    spent = book.book.read(lambda pages: [p.spent for p in pages.purchases()])
    assert spent[0] == 7_500_000  # and the cells are bought again, since none came of it


def test_a_fee_that_is_due_on_no_row_of_what_came_is_no_trouble_at_the_end_of_a_task():
    """Twice the row that it was due on is the one that failed; then the task becomes columns."""
    prices = PriceList({"x": 1, "z": 1}, fees={"needle": (2, ["x", "z"])}, currency="EUR")

    def look_up(ids, names):
        failed = ["not-billed" if i in ("p1", "p3") else "" for i in ids]
        return Answered([[1 for _ in names] for _ in ids], failed=failed if any(failed) else None)

    lab = seller(look_up, IDS, ["x", "z"], prices=prices)
    book = ledger()
    Cells(lab, ledger=book, task="first").get([0, 2], [0])
    cells = Cells(lab, ledger=book, task="second")
    for rows in ([0, 1], [2, 3]):
        with pytest.raises(thrifty.errors.ThriftyError):
            cells.get(rows, [1])
    book.book.write(lambda pages: book.compact(pages, "second"))
    assert Cells(lab, ledger=book, task="third").get([0, 2], [0, 1]).tolist() == [[1, 1], [1, 1]]
    assert book.balance().spent == 2 * 3 + 2


def test_lines_and_rows_of_a_receipt_say_what_was_billed():
    prices = PriceList({"x": 3, "z": 1}, fees={"needle": (2, ["x", "z"])}, currency="EUR")

    def look_up(ids, names):
        return Answered([[1 for _ in names] for _ in ids], cost=[4.5 for _ in ids])

    made = seller(look_up, IDS, ["x", "z"], prices=prices)
    cells = Cells(made, ledger=ledger(), task="t")
    cells.get(range(4), [0, 1])
    receipt = cells.receipt()
    assert receipt.cost == 18.0
    assert sum(amount for _, _, amount in receipt.lines) == 18.0
    assert cells._account.row_costs[:4].tolist() == [4_500_000] * 4
