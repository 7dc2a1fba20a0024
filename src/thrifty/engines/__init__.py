"""Many workers: attempts made side by side, and tables too large for one machine.

Thrifty decides what is done and in which order; an *engine* (threads, joblib's processes, Dask,
Ray) only runs it. An engine may run a piece of work twice: it never holds a purse, so nothing is
bought again.
"""

from thrifty.engines.pools import ENGINES, Pool, open_pool
from thrifty.engines.sharded import grow_sharded

__all__ = ["ENGINES", "Pool", "grow_sharded", "open_pool"]
