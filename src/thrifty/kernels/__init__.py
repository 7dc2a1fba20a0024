"""Compiled counting on bit-packed data: arrays in, arrays out, no classes.

Letters used throughout: S examples, N features, C classes, W = ceil(S / 64) words of a column.
A *column* is one feature packed over the examples (bit b of word w is example 64 w + b). A *tile*
is 512 features of every example, eight words each, so that one pass over a few rows counts 512
features at once. Every kernel has a plain twin in ``tests/kernels`` that gives the same answer to
the last bit.
"""

# ruff: noqa: F401

from thrifty.kernels.counting import charge, count_columns, count_segments, largest_in_planes
from thrifty.kernels.gains import (
    eg2_gains,
    entropy_gains,
    gini_gains,
    split_information,
    xlogx_table,
)
from thrifty.kernels.packing import (
    TILE,
    columns_of_tiles,
    empty_tiles,
    mask_of_rows,
    pack_columns,
    pack_tiles,
    partition_rows,
    rows_of_mask,
    tile_of_columns,
    unpack_columns,
    words_for,
)
from thrifty.kernels.race import (
    count_interval,
    good_enough,
    leaning_tables,
    log_factorials,
    ruled_out_two_classes,
)
from thrifty.kernels.thresholds import (
    BINS,
    ENTROPY,
    GINI,
    best_counts,
    best_counts_sorted,
    best_pure_child_counts,
    bin_values,
)
