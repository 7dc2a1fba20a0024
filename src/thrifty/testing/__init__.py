"""For your own tests: a provider that bills nobody, and what every store must do.

``FakeProvider`` counts and bills calls and injects faults, so that code which pays can be tested
without paying. ``family_checks`` is what every family must do, ``StoreConformance`` the suite that
every store passes. ``Tribunal`` kills and pauses processes that buy, and holds the bill of an
independent provider against the ledger; ``simulate`` runs one seeded history of the real ledger on
simulated time, disk and provider.
"""

from thrifty.testing.chat_server import LocalChatServer
from thrifty.testing.conformance import StoreConformance
from thrifty.testing.crash import Crash, crash_at, kill_at
from thrifty.testing.family_checks import Check, family_checks
from thrifty.testing.malformed import malformed_answers
from thrifty.testing.provider import Bill, FakeProvider
from thrifty.testing.simulator import History, simulate, simulate_many
from thrifty.testing.tribunal import Judgement, Tribunal

__all__ = [
    "Bill",
    "Check",
    "Crash",
    "FakeProvider",
    "History",
    "LocalChatServer",
    "StoreConformance",
    "Tribunal",
    "Judgement",
    "crash_at",
    "family_checks",
    "kill_at",
    "malformed_answers",
    "simulate",
    "simulate_many",
]
