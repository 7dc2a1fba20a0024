"""Whatever a provider says of costs and failures, a purchase ends, and the lifetime goes on."""

from decimal import Decimal

import numpy as np
import pytest

import thrifty
from tests.market import seller
from thrifty.cells import Cells
from thrifty.errors import MalformedAnswer
from thrifty.testing import FakeProvider


class Odd:
    """Fails whatever is done with it."""

    def _fail(self, *_: object) -> object:
        raise RuntimeError("odd")

    __array__ = __iter__ = __len__ = __float__ = __str__ = __repr__ = __eq__ = __le__ = _fail
    __lt__ = __ge__ = __gt__ = __bool__ = __getitem__ = _fail  # type: ignore[assignment]
    __hash__ = object.__hash__

    @property
    def index(self) -> object:
        raise RuntimeError("odd")

    iloc = columns = shape = index


SAID = {
    "cost NaN": {"cost": Decimal("NaN")},
    "cost sNaN": {"cost": Decimal("sNaN")},
    "cost infinite": {"cost": Decimal("-Infinity")},
    "costs NaN": {"cost": [Decimal("NaN"), 1, 1]},
    "cost odd": {"cost": Odd()},
    "costs odd": {"cost": [Odd(), 1, 1]},
    "cost a set": {"cost": {1, 2}},
    "costs in a table": {"cost": [[1], [1], [1]]},
    "costs masked": {"cost": np.ma.array([1.0, 1.0, 1.0], mask=[True, False, False])},
    "failed odd": {"failed": Odd()},
    "failures odd": {"failed": ["", Odd(), ""]},
    "failed a number": {"failed": 3},
    "failed masked": {"failed": np.ma.array(["", "", ""], mask=[True, False, False])},
    "values odd": {"values": Odd()},
    "a value odd": {"values": [[Odd()], [1], [0]]},
    "a value odd, another failed": {"values": [[Odd()], [1], [0]], "failed": ["", "", "billed"]},
    "values odd, one failed": {"values": Odd(), "failed": ["", "", "not-billed"]},
}


@pytest.mark.parametrize("what", SAID)
def test_an_odd_answer_is_malformed_and_listed(tmp_path, what):
    said = {"values": [[1], [0], [1]], **SAID[what]}
    life = thrifty.Lifetime(thrifty.Trees(), store=tmp_path / "s.db")
    odd = seller(lambda ids, names: thrifty.Answered(**said), "abc", ["f"], prices=1, name="odd")
    with pytest.raises(MalformedAnswer):
        Cells(odd, ledger=life.ledger, task="t").get([0, 1, 2], [0])
    waiting = life.ledger.open_purchases()
    assert [one.status for one in waiting] == ["malformed"]
    # another source is bought from as if nothing had happened, and the first once it is resolved
    good = FakeProvider()
    Cells(good.source("abc", ["f"], prices=1), ledger=life.ledger, task="u").get([0], [0])
    life.ledger.resolve(waiting[0].id, "not-billed")
    assert not life.ledger.open_purchases()
    again = good.source("abc", ["f"], prices=1, name="odd")
    Cells(again, ledger=life.ledger, task="v").get([0, 1, 2], [0])
    spent = life.ledger.balance().spent
    assert spent <= 1 + 3 + 3 and life.ledger.balance().reserved == 0
