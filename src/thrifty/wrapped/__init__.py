"""Fitted trees of other libraries, predicting from a source that is paid for cell by cell."""

from thrifty.wrapped.metered import Metered, metered
from thrifty.wrapped.reading import Readable

__all__ = ["Metered", "Readable", "metered"]
