"""What a feature is, told by dtype or by the user; derived bits that one bought cell fills."""

import numpy as np
import pytest
import scipy.sparse

from tests.market import ledger, seller
from thrifty import kernels
from thrifty.cells import Cells, Source, as_source
from thrifty.cells.bit_cells import Bit, BitCells, bits_of, bits_to_dict, read_bits
from thrifty.errors import BadInput, BadParameter, MalformedAnswer, UnknownFeature

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

MESSY = {
    "age": [31.0, None, 47.0, 52.0],
    "colour": ["red", "green", None, "red"],
    "smokes": [True, False, True, True],
    "alleles": [0, 1, 2, 1],
}


@pytest.mark.parametrize("frame", [pd.DataFrame(MESSY), pl.DataFrame(MESSY)])
def test_a_frame_says_what_its_columns_are(frame):
    source = Source.from_frame(frame, allow_missing=True)
    assert source.boolean.tolist() == [False, False, True, False]
    assert dict(source.categories) == {1: ("green", "red")}
    values = source.table()
    assert np.isnan(values[1, 0]) and np.isnan(values[2, 1])
    assert values[[0, 1, 3], 1].tolist() == [1, 0, 1]
    assert values[:, 3].tolist() == [0, 1, 2, 1], "small integers are numbers"


def test_pandas_own_gaps_and_categories():
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3], dtype="Int64"),
            "b": pd.array([True, None, False], dtype="boolean"),
            "c": pd.Categorical(["x", "y", None]),
        }
    )
    source = Source.from_frame(frame, allow_missing=True)
    assert not source.boolean.any(), "a Boolean with a gap is a number that is 0, 1 or missing"
    assert np.array_equal(source.table()[:, 1], [1, np.nan, 0], equal_nan=True)
    assert source.categories[2] == ("x", "y")


def test_integer_arrays_are_numbers_column_by_column():
    X = np.array([[0, 2], [1, 1], [1, 0]])
    assert as_source(X).boolean.tolist() == [True, False]
    assert as_source(scipy.sparse.csr_matrix(X)).boolean.tolist() == [True, False]
    assert Cells(X).get([0], [1]).tolist() == [[2]]


def test_an_object_array_is_read_column_by_column():
    X = np.array([["a", 1, 0.5], ["b", 0, None]], dtype=object)
    source = as_source(X, allow_missing=True, categories=True)
    assert source.boolean.tolist() == [False, True, False]
    assert list(source.categories) == [0]


def test_the_user_says_otherwise():
    X = np.array([[1, 3], [2, 4], [1, 3]])
    source = as_source(X, categories=True, kinds={"x0": "category", "x1": [3, 4, 5]})
    assert dict(source.categories) == {0: ("1", "2"), 1: ("3", "4", "5")}
    frame = pd.DataFrame({"n": ["1.5", "NA", "7"], "yes": ["yes", "no", "yes"]})
    source = Source.from_frame(frame, kinds={"n": "number", "yes": "boolean"}, allow_missing=True)
    assert np.array_equal(source.table()[:, 0], [1.5, np.nan, 7.0], equal_nan=True)
    assert source.boolean.tolist() == [False, True]


def test_two_categories_are_no_booleans():
    source = as_source(np.array([["no"], ["si"], ["no"]], dtype=object), categories=True)
    assert not source.boolean.any()


BAD = [
    ({"t": ["1", "2", "low", "4"]}, None, r"3 of its 4 values look like numbers.*'low'.*kinds"),
    ({"t": [f"word {i}" for i in range(80)]}, None, r"free text or an identifier: 80 different"),
    ({"t": pd.to_datetime(["2020-01-01", "2021-01-01"])}, None, r"dates or times"),
    ({"t": [[1], [2]]}, None, r"holds a list"),
    ({"t": [b"a", b"b"]}, None, r"holds a bytes"),
    ({"t": ["a", "b"]}, {"t": "number"}, r"must hold numbers; got 'a' on example 0"),
    ({"t": ["maybe", "no"]}, {"t": "boolean"}, r"must be yes or no.*'maybe'"),
    ({"t": ["a", "z"]}, {"t": ["a", "b"]}, r"must be one of \['a', 'b'\]; got 'z' on example 1"),
]


@pytest.mark.parametrize("columns, kinds, message", BAD)
def test_what_cannot_be_a_feature_is_named_with_what_to_do(columns, kinds, message):
    with pytest.raises(BadInput, match=message):
        Source.from_frame(pd.DataFrame(columns), kinds=kinds)


@pytest.mark.parametrize(
    "kinds, message",
    [
        ({"t": "date"}, "must be 'number'"),
        ({"u": "number"}, "not there: .'u'"),
        (["number"], "must be a mapping"),
        ({"t": ["a", "a"]}, "distinct"),
    ],
)
def test_bad_kinds(kinds, message):
    with pytest.raises(BadParameter, match=message):
        as_source(pd.DataFrame({"t": [1, 2]}), kinds=kinds)


def test_tables_on_disk_hold_categories_too(tmp_path):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    frame = pd.DataFrame({"id": [1, 2, 3], "c": ["x", "y", None], "n": [0.5, 1.5, 2.5]})
    frame.to_parquet(tmp_path / "t.parquet")
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/t.db")
    frame.to_sql("t", engine, index=False)
    parquet = Source.from_parquet(tmp_path / "t.parquet", without=["id"], allow_missing=True)
    for source in (parquet, Source.from_sql(engine, "t", id="id", allow_missing=True)):
        values = source.read(np.arange(3), np.arange(2))
        assert source.categories[0] == ("x", "y")
        assert np.array_equal(values[:, 0], [0, 1, np.nan], equal_nan=True)
        there = source.recoded({"c": ("y", "z")})
        assert there.read(np.arange(3), np.arange(1))[:2, 0].tolist() == [2, 0]
        assert there.categories[0] == ("y", "z", "x")


def test_a_provider_answers_categories_by_their_text():
    def ask(ids, names):
        return [[{"colour": "red" if i == "a" else "green", "n": 2}[n] for n in names] for i in ids]

    source = seller(
        ask, ["a", "b"], ["colour", "n"], kinds={"colour": ["green", "red"], "n": "number"}
    )
    assert Cells(source, ledger=ledger()).get([0, 1], [0, 1]).tolist() == [[1, 2], [0, 2]]
    wrong = seller(ask, ["a"], ["colour"], kinds={"colour": ["green", "blue"]})
    with pytest.raises(MalformedAnswer, match="'red'"):
        Cells(wrong, ledger=ledger()).get([0], [0])
    with pytest.raises(BadInput, match="what can be answered"):
        seller(ask, ["a"], ["c"], kinds={"c": "category"})


# -- bits --------------------------------------------------------------------------------------


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 300
    age = rng.normal(50, 10, n)
    age[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "colour": rng.choice(["red", "green", "blue"], n),
            "smokes": rng.random(n) < 0.3,
        }
    )


def test_one_cell_answers_all_bits_of_its_feature(table):
    cells = Cells(Source.from_frame(table, allow_missing=True), prices=[3.0, 2.0, 1.0])
    bits = bits_of(cells)
    assert cells.receipt().cells == 0, "nothing is bought to see what bits there are"
    reader = BitCells(cells, bits)
    assert reader.boolean.tolist() == [False, True, True, True, True, True]
    rows = np.arange(200, 300)
    values = reader.get(rows, np.arange(reader.n_features))
    assert cells.receipt().cells == 300
    assert reader.receipt().cost == cells.receipt().cost == 100 * 6
    raw = table.iloc[rows]
    for j, bit in enumerate(bits):
        column = raw[bit.feature]
        wanted = {
            "is": lambda c, b=bit: c == b.what,
            "missing": lambda c: c.isna(),
            "value": lambda c: c,
        }[bit.test](column)
        np.testing.assert_array_equal(values[:, j], wanted.astype(float), bit.name)
    packed = reader.columns(
        np.arange(1, 4), reader.columns(np.array([5]), kernels.mask_of_rows(np.arange(300), 300))[0]
    )
    assert packed.shape == (3, 5)


def test_the_price_of_a_cell_is_a_fee_for_all_its_bits(table):
    reader = BitCells(
        c := Cells(Source.from_frame(table, allow_missing=True), [3.0, 2.0, 1.0]), bits_of(c)
    )
    assert [(fee, len(members)) for fee, members in reader.fees] == [(2.0, 4)]


def test_bits_stay_what_they_were_and_grow(table):
    bits = bits_of(Cells(Source.from_frame(table, allow_missing=True)))
    assert read_bits(bits_to_dict(bits)) == bits
    more = table.assign(weight=np.arange(300.0))
    more.loc[0, "colour"] = "violet"
    turned = more[["weight", "colour", "smokes", "age"]]
    cells = Cells(Source.from_frame(turned, allow_missing=True))
    after = bits_of(cells, bits)
    assert after[: len(bits)] == bits
    assert Bit("colour", "is", "violet") in after[len(bits) :]
    assert {b.feature for b in after[len(bits) :]} == {"colour", "weight"}


def test_a_feature_that_is_not_there_is_named(table):
    bits = bits_of(Cells(Source.from_frame(table, allow_missing=True)))
    with pytest.raises(UnknownFeature, match="'age' is needed"):
        BitCells(Cells(Source.from_frame(table.drop(columns="age"))), bits)
