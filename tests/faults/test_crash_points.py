"""kill -9 at each interesting moment: 12 points x 2 durable stores x 3 kinds of provider."""

import pytest

from tests.crash import kill_at
from thrifty.cells.ledger.book import POINTS

STORES = ("sqlite", "postgres")
KINDS = ("plain", "async", "idempotent")
#: moments of one call come several times in a task; the second time something is settled already
PER_CALL = set(POINTS[:8])


def test_there_are_twelve_points():
    assert len(set(POINTS)) == 12


@pytest.mark.some(36)  # every point at each store and with each kind
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", STORES, indirect=True)
@pytest.mark.parametrize("point", POINTS)
def test_killed_at(point, clinic, tools):
    times = (1, 2) if point in PER_CALL and point != "before-intent" else (1,)
    for nth in times:

        def work(nth=nth):
            kill_at(point, nth)
            clinic.learn(clinic.open())

        assert tools.wait_for(tools.in_child(work)) == tools.KILLED, f"{point} was not reached"
        clinic.check()
        if nth != times[-1]:
            if clinic.kind != "idempotent":
                clinic.resolve(clinic.open())
            clinic.check()
    clinic.finish()
    assert sum(clinic.provider().bill().cells.values()) == 240
    assert clinic.open().bill()["cells"].sum() == 240
