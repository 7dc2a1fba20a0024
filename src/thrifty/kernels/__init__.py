"""Compiled counting on bit-packed data: arrays in, arrays out, no classes.

Letters used throughout: S examples, N features, C classes, W = ceil(S / 64) words of a column.
A *column* is one feature packed over the examples (bit b of word w is example 64 w + b). A *tile*
is 512 features of every example, eight words each, so that one pass over a few rows counts 512
features at once. Every kernel has a plain twin in ``tests/kernels`` that gives the same answer to
the last bit.
"""

from thrifty.kernels.counting import count_columns, count_segments, popcount
from thrifty.kernels.gains import entropy_gains, gini_gains, xlogx_table
from thrifty.kernels.judging import count_ones, judge, rate_draws
from thrifty.kernels.metering import add_to_planes, charge, largest_in_planes, tally
from thrifty.kernels.more_gains import (
    eg2_gains,
    split_information,
    weighted_entropy_gains,
    weighted_gini_gains,
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
from thrifty.kernels.pure_child import best_pure_child_counts
from thrifty.kernels.race import (
    count_interval,
    good_enough,
    leaning_tables,
    log_factorials,
    ruled_out,
    ruled_out_two_classes,
)
from thrifty.kernels.thresholds import (
    BINS,
    ENTROPY,
    GINI,
    best_counts,
    best_counts_sorted,
    bin_values,
)

__all__ = [
    "BINS",
    "ENTROPY",
    "GINI",
    "TILE",
    "add_to_planes",
    "best_counts",
    "best_counts_sorted",
    "best_pure_child_counts",
    "bin_values",
    "charge",
    "columns_of_tiles",
    "count_columns",
    "count_interval",
    "count_ones",
    "count_segments",
    "eg2_gains",
    "empty_tiles",
    "entropy_gains",
    "gini_gains",
    "good_enough",
    "judge",
    "largest_in_planes",
    "leaning_tables",
    "log_factorials",
    "mask_of_rows",
    "pack_columns",
    "pack_tiles",
    "partition_rows",
    "popcount",
    "rate_draws",
    "rows_of_mask",
    "ruled_out",
    "ruled_out_two_classes",
    "split_information",
    "tally",
    "tile_of_columns",
    "unpack_columns",
    "weighted_entropy_gains",
    "weighted_gini_gains",
    "words_for",
    "xlogx_table",
]
