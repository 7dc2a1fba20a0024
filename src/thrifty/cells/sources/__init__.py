"""Where cells come from. Each kind of source is one file; ``Source`` is what they share."""

from thrifty.cells.sources.base import Source, as_source

__all__ = ["Source", "as_source"]
