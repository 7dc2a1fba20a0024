"""Speed as ratios measured in one run: each file measures one thing and returns rows of plain data.

``python benchmarks/bench.py`` prints them. Times are CPU time of the whole process, the best of
several repetitions; the noise is how far the median lies above the best.
"""
