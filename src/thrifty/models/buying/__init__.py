"""Which cells a task buys: the search, and the ways that it goes."""
