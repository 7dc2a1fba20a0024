"""A tribunal over the ledger: processes that buy are killed, paused, cut and refused, and at the
end the provider's own bill is held against what the ledger says.

    rooms.py             what one trial is: a store, a kind of provider, a kind of money
    provider_process.py  the provider, a process of its own, with a log that survives everything
    worker.py            what a buying process does until it is killed
    history.py           the provider's log read from outside: twice, unknown, over, wrong
    tribunal.py          who is killed and paused when, who resolves what, the verdict
"""

from tests.tribunal.history import Judgement
from tests.tribunal.tribunal import Tribunal

__all__ = ["Tribunal", "Judgement"]
