"""Thrifty against its peers and against the machine, as ratios measured in one run.

Each file measures one thing and returns rows of plain data; ``thrifty bench`` and the scripts in
``benchmarks/`` print them. Times are CPU time of the whole process, the best of several
repetitions; the noise is how far the median lies above the best. What only the scripts need is
beside them, in ``benchmarks/studies``.
"""

from thrifty.benchmarks.measure import Timing, best_of, machine, table

__all__ = ["Timing", "best_of", "machine", "table"]
