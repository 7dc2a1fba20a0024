"""Paid categories: an answer is checked before it is coded, and a word stays the word it was."""

import asyncio

import numpy as np
import pytest

import thrifty
from tests.malformed import malformed_answers
from tests.market import seller
from thrifty import Source
from thrifty.cells import Ledger
from thrifty.errors import BadInput, MalformedAnswer
from thrifty.protocol import Cells
from thrifty.stores import MemoryStore, SQLiteStore

pd = pytest.importorskip("pandas")

IDS = [f"p{i}" for i in range(8)]
NAMES = ["colour", "size"]
WORDS = ["red", "green", "blue"]


def word(example: str) -> str:
    return WORDS[int(example[1:]) % 3]


def true_rows(ids, names):
    return [[word(e) if n == "colour" else float(e[1:]) for n in names] for e in ids]


def ledger(store=None, name="test") -> Ledger:
    return Ledger((store or MemoryStore()).book(name, {"family": name}, {}))


def source(answer, words=WORDS, **options):
    options = {"kinds": {"colour": words}, **options}
    return seller(answer, IDS, NAMES, boolean=False, name="look", prices=1, **options)


def frame(ids, names):
    return pd.DataFrame(true_rows(ids, names), index=list(ids), columns=list(names))


GOOD = {
    "rows": true_rows,
    "frame": frame,
    "array": lambda i, n: np.array(true_rows(i, n), dtype=object),
    "categorical": lambda i, n: frame(i, n).astype({"colour": "category"}),
    "places": lambda i, n: [[WORDS.index(r[0]), r[1]] for r in true_rows(i, n)],
    "nothing-masked": lambda i, n: np.ma.array(np.array(true_rows(i, n), dtype=object)),
}


@pytest.mark.parametrize("kind", GOOD)
def test_words_and_places_become_cells(kind):
    cells = Cells(source(GOOD[kind]), ledger=ledger(), task="t")
    got = cells.get(range(8), [0, 1])
    assert [WORDS[int(v)] for v in got[:, 0]] == [word(e) for e in IDS]
    assert got[:, 1].tolist() == [float(i) for i in range(8)]


def masked(ids, names):
    table = np.ma.array(np.array(true_rows(ids, names), dtype=object))
    table[2, 0] = np.ma.masked
    return table


def with_code(code):
    def answer(ids, names):
        rows = true_rows(ids, names)
        rows[-1][0] = code
        return rows

    return answer


BAD = {
    "rows sorted by another id": lambda i, n: frame(i, n).iloc[::-1],
    "columns in another order": lambda i, n: frame(i, n).iloc[:, ::-1],
    "masked": masked,
    "masked codes": lambda i, n: np.ma.array(
        [[0.0, 1.0] for _ in i], mask=[[j == 1, False] for j in range(len(i))]
    ),
    **{f"code {c!r}": with_code(c) for c in
       (99, -1, 0.5, 3, "violet", "Red", True, None, float("nan"), float("inf"), b"red", ["red"])},
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_what_is_refused_without_categories_is_refused_with_them(kind):
    book = ledger()
    cells = Cells(source(BAD[kind]), ledger=book, task="t")
    with pytest.raises(MalformedAnswer):
        cells.get(range(8), [0, 1])
    assert not cells._account.known.known.any(), "nothing became a value"
    assert book.balance().spent == 16.0


def test_every_malformed_answer_is_one_with_categories_too():
    for name, bad in malformed_answers():
        if name.startswith(("text-yes", "array-of-text", "frame-of-text")):
            continue  # text is an answer here
        ask = lambda ids, names, bad=bad: bad([[1, 0] for _ in ids], ids, names)  # noqa: E731
        made = seller(ask, IDS[:3], ["a", "b"], prices=1, kinds={"a": ["no", "yes"]})
        cells = Cells(made, ledger=ledger(), task="t")
        with pytest.raises(MalformedAnswer):
            cells.get(range(3), [0, 1])
        assert not cells._account.known.known.any(), name


def test_a_gap_is_a_gap_where_gaps_are_allowed():
    def answer(ids, names):
        rows = true_rows(ids, names)
        rows[0][0], rows[1][0] = None, float("nan")
        return rows

    cells = Cells(source(answer, allow_missing=True), ledger=ledger(), task="t")
    got = cells.get(range(3), [0])[:, 0]
    assert np.isnan(got[:2]).all() and WORDS[int(got[2])] == "blue"


def test_an_object_that_is_called_asynchronously_may_answer_in_words():
    class Looks:
        async def __call__(self, ids, names):
            await asyncio.sleep(0)
            return thrifty.Answered(true_rows(ids, names), cost=[0.5 for _ in ids])

    book = ledger()
    cells = Cells(source(Looks()), ledger=book, task="t")
    assert [WORDS[int(v)] for v in cells.get(range(4), [0])[:, 0]] == [word(e) for e in IDS[:4]]
    assert book.balance().spent == 2.0


def test_words_that_are_numbers_are_words():
    grades = ["3", "1", "2"]
    ask = lambda ids, names: [[int(e[1:]) % 3 + 1] for e in ids]  # noqa: E731
    made = seller(ask, IDS, ["grade"], prices=1, kinds={"grade": grades})
    got = Cells(made, ledger=ledger(), task="t").get(range(3), [0])[:, 0]
    assert [grades[int(v)] for v in got] == ["1", "2", "3"]


# -- a word stays the word it was ----------------------------------------------------------------


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    return MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "s.db")


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("words", [["blue", "red", "green"], ["violet", "blue", "green", "red"]])
def test_another_order_of_the_words_is_read_by_word(store, words, compacted):
    first = ledger(store, "first")
    Cells(source(true_rows), ledger=first, task="t").get(range(4), [0])
    if compacted:
        first.book.write(lambda pages: first.compact(pages, "t"))
    second = ledger(store, "second")
    cells = Cells(source(true_rows, words), ledger=second, task="t")
    got = cells.get(range(8), [0])[:, 0]
    assert [words[int(v)] for v in got] == [word(e) for e in IDS]
    assert second.balance().spent == 4.0, "what was paid for is not paid again"
    again = Cells(source(true_rows), ledger=first, task="u").get(range(8), [0])[:, 0]
    assert [WORDS[int(v)] for v in again] == [word(e) for e in IDS]


def test_fewer_words_than_the_store_has_cells_of_are_refused(store):
    Cells(source(true_rows), ledger=ledger(store, "first"), task="t").get(range(4), [0])
    with pytest.raises(BadInput, match="'blue'"):
        Cells(source(true_rows, ["green", "red"]), ledger=ledger(store, "second"), task="t")


def test_words_of_which_nothing_was_bought_bind_nobody(store):
    Cells(source(true_rows), ledger=ledger(store, "first"), task="t")
    words = ["blue", "green", "red", "grey"]
    cells = Cells(source(true_rows, words), ledger=ledger(store, "second"), task="t")
    assert [words[int(v)] for v in cells.get(range(4), [0])[:, 0]] == [word(e) for e in IDS[:4]]


def test_a_category_is_never_read_as_a_number_nor_a_number_as_a_category(store):
    Cells(source(true_rows), ledger=ledger(store, "first"), task="t").get(range(4), [0, 1])
    with pytest.raises(BadInput, match="'colour' is a category"):
        Cells(source(true_rows, kinds=None), ledger=ledger(store, "second"), task="t")
    said = {"colour": WORDS, "size": ["0", "1", "2", "3"]}
    with pytest.raises(BadInput, match="'size'.*bought as a number"):
        Cells(source(true_rows, kinds=said), ledger=ledger(store, "third"), task="t")


def test_a_purchase_in_doubt_is_resolved_in_words(store):
    def breaks(ids, names):
        raise RuntimeError

    book = ledger(store)
    words = ["blue", "red", "green"]
    cells = Cells(source(breaks, words), ledger=book, task="t")
    with pytest.raises(thrifty.errors.PurchaseInDoubt):
        cells.get([0, 1], [0])
    with pytest.raises(MalformedAnswer):
        book.resolve(1, "billed", [["red"], [7]])
    book.resolve(1, "billed", [["red"], ["green"]])
    got = Cells(source(breaks), ledger=book, task="t").get([0, 1], [0])[:, 0]
    assert [WORDS[int(v)] for v in got] == ["red", "green"]


def test_tables_with_ids_keep_their_words_in_the_store(tmp_path):
    def table(words):
        made = pd.DataFrame({"colour": [word(e) for e in IDS], "n": np.arange(8.0)})
        made["colour"] = pd.Categorical(made["colour"], words)
        return Source.from_frame(made, examples=IDS, name="table")

    y = [i % 2 for i in range(8)]
    thrifty.Lifetime(store=tmp_path / "s.db", name="one").learn("t", table(WORDS), y)
    thrifty.Lifetime(store=tmp_path / "s.db", name="two").learn("t", table(WORDS[::-1]), y)
    frame_ = pd.DataFrame({"colour": ["red"] * 8, "n": np.arange(8.0)})
    changed = Source.from_frame(frame_, examples=IDS, name="table")
    with pytest.raises(thrifty.errors.ChangedValue):
        thrifty.Lifetime(store=tmp_path / "s.db", name="three").learn("t", changed, y)
