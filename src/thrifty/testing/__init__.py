"""For your own tests: a provider that bills nobody, and what every store must do.

``FakeProvider`` counts and bills calls and injects faults, so that code which pays can be tested
without paying; ``LocalChatServer`` is a language model of this machine. ``family_checks`` is what
every family must do, ``StoreConformance`` the suite that every store passes.
"""

from thrifty.testing.conformance import StoreConformance
from thrifty.testing.family_checks import Check, family_checks
from thrifty.testing.provider import Bill, FakeProvider, LocalChatServer

__all__ = ["Bill", "Check", "FakeProvider", "LocalChatServer", "StoreConformance", "family_checks"]
