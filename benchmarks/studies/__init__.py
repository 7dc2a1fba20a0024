"""What the scripts in this folder measure with: tasks on real data, ways to learn them, verdicts.

Each file measures one thing and returns rows of plain data; the scripts beside this folder print
them. ``measure`` and ``data`` are what most of them share; ``bench.py`` runs those of speed.
"""
