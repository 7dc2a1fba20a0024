"""Details of cells, prices and sources, each of which a small change would break unnoticed."""

import numpy as np
import pandas
import pytest
from scipy import sparse

import thrifty
from tests.market import ledger, seller
from thrifty import PriceList, Source
from thrifty.cells import as_source
from thrifty.cells.bit_cells import Bit, BitCells
from thrifty.cells.features import Match, match_features
from thrifty.cells.ledger.book import on_point
from thrifty.cells.prices import cover
from thrifty.cells.sources import packed_file, parquet, sql
from thrifty.cells.sources.checks import unmasked
from thrifty.errors import FeaturesChanged
from thrifty.packed import pack
from thrifty.protocol import Cells
from thrifty.testing import FakeProvider


def test_before_the_first_good_answer_one_call_is_made_at_a_time():
    """Three texts in calls of one: a provider whose first answer is bad is asked once."""
    provider = FakeProvider(faults=["error"] * 9)
    source = provider.source(["p", "q", "r"], ["a"], prices=1, max_examples=1, concurrency=3)
    with pytest.raises(thrifty.errors.ThriftyError):
        Cells(source, ledger=(book := ledger()), task="t").get(range(3), [0])
    assert len(book.open_purchases()) == 1


def test_many_integer_columns_of_a_table_are_all_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(sql, "_COLUMNS_AT_ONCE", 6)
    pandas, sa = pytest.importorskip("pandas"), pytest.importorskip("sqlalchemy")
    frame = pandas.DataFrame(np.tile([[0], [1]], (1, 8)), columns=[f"x{i}" for i in range(8)])
    frame["x4"] = [2, 3]
    engine = sa.create_engine(f"sqlite:///{tmp_path / 't.db'}")
    frame.rename_axis("id").to_sql("t", engine)
    source = Source.from_sql(engine, "t", id="id")
    assert source.boolean.tolist() == [name != "x4" for name in source.feature_names]


def test_what_a_row_paid_for_orders_is_told_feature_by_feature():
    prices = PriceList({"c": 2}, orders={"panel": (7, ["a", "b"])})
    cells = Cells(Source.from_array(np.eye(3, dtype=bool), feature_names="abc"), prices)
    cells.get([0], [0, 1, 2])
    assert cells.paid_on(0, [0, 1, 2]) == [7.0, 0.0, 2.0]


def test_a_message_shows_dots_only_where_it_leaves_something_out():
    few = Source.from_array(np.eye(3), feature_names="abc")
    many = Source.from_array(np.eye(6), feature_names="abcdef")
    with pytest.raises(FeaturesChanged) as short:
        match_features(["z"], few)
    with pytest.raises(FeaturesChanged) as long:
        match_features(["z"], many)
    assert "..." not in str(short.value) and "'e', ..." in str(long.value)


def test_a_gap_in_an_answer_is_malformed_unless_gaps_were_allowed():
    def made(**how):
        ask = lambda ids, names: [[float("nan")] for _ in ids]  # noqa: E731
        source = seller(ask, ["p"], ["a"], kinds={"a": "number"}, prices=1, **how)
        return Cells(source, ledger=ledger(), task="t").get([0], [0])

    with pytest.raises(thrifty.errors.MalformedAnswer):
        made()
    assert np.isnan(made(allow_missing=True)).all()


def test_many_names_that_differ_are_taken():
    names = [f"f{i}" for i in range(1000)]
    assert Source.from_array(np.zeros((1, 1000)), feature_names=names).n_features == 1000


def test_once_interrupted_nothing_more_is_called():
    """The last look before a call: a call that waits for its turn then is not made."""
    provider = FakeProvider()
    cells = Cells(provider.source(["p"], ["a"], prices=1), ledger=ledger(), task="t")
    buyer = cells._account._buyer

    def interrupted(point):
        if point == "before-call":
            buyer._stopping = True

    on_point(interrupted)
    try:
        with pytest.raises(thrifty.errors.ThriftyError):
            cells.get([0], [0])
    finally:
        on_point(None)
    assert provider.bill().calls == 0


@pytest.mark.parametrize("rows, features", [([4], [0]), ([-1], [0]), ([0], [3]), ([0], [-1])])
def test_a_place_on_either_side_of_the_table_is_refused(rows, features):
    with pytest.raises(thrifty.errors.ThriftyError):
        Cells(np.eye(4, 3, dtype=bool)).get(rows, features)


def test_nothing_masked_changes_nothing():
    for table in ([True, False], ["a", "b"]):
        assert unmasked(np.ma.array(table)).dtype == np.array(table).dtype


def test_kinds_of_columns_behind_a_text_are_looked_at(tmp_path):
    frame = pandas.DataFrame({"colour": ["r", "g"] * 4, "ill": [True, False] * 4, "n": range(8)})
    frame.to_parquet(tmp_path / "t.parquet")
    source = Source.from_parquet(tmp_path / "t.parquet")
    assert source.boolean.tolist() == [False, True, False]


def test_a_frame_without_rows_is_refused_as_one_without_columns_is():
    for frame in (pandas.DataFrame({"a": []}), pandas.DataFrame(index=[0, 1])):
        with pytest.raises(thrifty.errors.BadInput, match="at least one example and one feature"):
            Source.from_frame(frame)


def test_a_computed_boolean_is_0_or_1_and_a_computed_number_any():
    kinds = {"a": "number", "half": "number", "large": "boolean"}
    for name, function, good in (("half", lambda a: a / 2, True), ("large", lambda a: a, False)):
        prices = PriceList({"a": 1}, derived={name: (["a"], function)})
        ask = lambda ids, names: [[3.0] * len(names) for _ in ids]  # noqa: E731
        source = seller(
            ask, ["p"], ["a", name], kinds={f: kinds[f] for f in ("a", name)}, prices=prices
        )
        cells = Cells(source, ledger=ledger(), task="t")
        if good:
            assert cells.get([0], [1])[0, 0] == 1.5
        else:
            with pytest.raises(thrifty.errors.BadInput, match="0 or 1"):
                cells.get([0], [1])


def test_a_receipt_of_predictions_shows_no_rows():
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    life.learn("t", [[0], [1]], [0, 1])
    assert "per_row" not in repr(life.predict("t", [[0], [1]]).receipt)


def test_what_each_row_cost_with_and_without_orders():
    X = np.eye(3, dtype=bool)
    plain = Cells(X, [1.0, 2.0, 4.0])
    plain.get([0, 2], [0, 1])
    assert plain.cost_per_row().tolist() == [3.0, 0.0, 3.0]
    orders = PriceList({"c": 2}, orders={"panel": (7, ["a", "b"])})
    panels = Cells(Source.from_array(X, feature_names="abc"), orders)
    panels.get([0], [0, 1])
    panels.get([2], [2])
    assert panels.cost_per_row().tolist() == [7.0, 0.0, 2.0]


def test_a_task_that_goes_on_has_bought_what_it_bought():
    source, book = FakeProvider().source(list("pqrs"), ["a", "b"], prices=1), ledger()
    Cells(source, ledger=book, task="t").get([0, 1, 2], [0])
    again = Cells(source, ledger=book, task="t")
    again.get([0, 1, 2], [0])
    told = again.receipt()
    assert (told.cells, told.max_cells_per_example, told.per_feature) == (3, 1, {"a": 3})


def test_what_is_all_boolean_is_known_without_a_look_at_the_file(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.eye(5))
    packed = packed_file.PackedSource(pack(tmp_path / "x.npy", tmp_path / "x.cells").path)
    monkeypatch.setattr(packed_file.PackedSource, "_small", None)
    assert packed.boolean.all()


def test_bits_show_what_is_absent_what_fees_there_are_and_what_may_be_spent():
    source = Source.from_array(np.array([[0.5, 1.0], [1.5, 2.0]]), feature_names="ab")
    cells = Cells(source, match=Match(("b", "z"), np.array([1, -1])))
    bits = BitCells(cells, [Bit("b", "missing"), Bit("z")])
    assert bits.absent.tolist() == [False, True]
    assert isinstance(bits.fees, tuple) and bits.allowance is None


def test_a_zero_that_a_sparse_table_stores_is_a_zero():
    table = sparse.csr_matrix(([1.0, 0.0], ([0, 1], [0, 0])), shape=(2, 1))
    assert table.nnz == 2 and as_source(table).boolean.tolist() == [True]


def test_a_list_in_a_cell_is_named_by_its_column_and_example():
    X = np.zeros((3, 2), dtype=object)
    X[1, 0] = [2, 3]
    with pytest.raises(thrifty.errors.BadInput, match="column 0 of X holds a list on example 1"):
        Source.from_array(X)


def test_messages_show_five_categories_and_four_limits():
    frame = pytest.importorskip("pandas").DataFrame
    life = thrifty.Lifetime(random_state=0)
    kinds, y = list("abcdef") * 6, [0, 1, 1] * 12
    life.learn("ill", frame({"ward": kinds, "age": range(36)}), y, spend="100 %")
    with pytest.raises(thrifty.errors.BadInput, match=r"a category \(a, b, c, d, e\); X holds"):
        life.learn("old", frame({"ward": range(36), "age": range(36)}), y, spend="100 %")
    texts = ["<1", "<2", "<3", "<4", "<5", *"67890"]
    with pytest.warns(thrifty.errors.Censored, match=r"5 of 10 .* \(<1, <2, <3, <4\)"):
        Source.from_frame(frame({"crp": texts}))


def test_ends_that_a_wide_file_states_are_believed_without_reading_it(tmp_path, monkeypatch):
    values = np.zeros((4, 300))
    values[2, 299] = 7
    pandas.DataFrame(values, columns=[f"f{i}" for i in range(300)]).to_parquet(tmp_path / "x.pq")
    table = parquet.ParquetSource(tmp_path / "x.pq")
    monkeypatch.setattr(table, "_file", Unread(table._file))
    assert table.of_bits(["f299"]) == [False]


class Unread:
    """A file of which only what it states of itself may be used."""

    def __init__(self, file):
        self.metadata, self.schema_arrow = file.metadata, file.schema_arrow


def test_where_no_search_ends_no_order_is_bought_that_others_make_needless(monkeypatch):
    """The first order has the best rate; those for the other two features fill its own, too."""
    monkeypatch.setattr(cover, "_programme", lambda *_: None)
    offers = [cover.Offer(20, 0b0011), cover.Offer(22, 0b0101), cover.Offer(22, 0b1010)]
    choice = cover.Cover(offers, patience=0).cheapest(0b1111)
    assert (choice.offers, choice.price, choice.exact) == ((1, 2), 44, False)
