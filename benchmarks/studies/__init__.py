"""What the scripts in this folder measure with: tasks on real data, ways to learn them, verdicts.

Each file measures one thing and returns rows of plain data; the scripts beside this folder print
them. None of it ships with Thrifty: what ``thrifty bench`` needs is in ``src/thrifty/benchmarks``.
"""
