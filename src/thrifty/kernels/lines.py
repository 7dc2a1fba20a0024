"""One cache line as one register: the innermost steps of counting, written for vector units.

A *line* is eight 64-bit words, 512 features of one example. Left to itself the compiler turns the
loops below into narrow code, several times slower; so they are given to it as operations on whole
lines (``<8 x i64>``), which LLVM maps to whatever vectors the processor has. Without the JIT the
plain versions at the end of the file stand in; they give the same bits.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from thrifty.typing import Ints, Words

#: what numba and llvmlite make code of, which has no types
Llvm: TypeAlias = Any
_cgutils: Llvm = cgutils
_BIT, _BYTE, _I32, _I64 = (ir.IntType(width) for width in (1, 8, 32, 64))
_LINE = ir.VectorType(_I64, 8)
_COUNTS = ir.VectorType(_I32, 64)


def _pointer(context: Llvm, builder: Llvm, kind: Llvm, array: Llvm, to: Llvm) -> Llvm:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(data, to.as_pointer())


def _line_at(builder: Llvm, words: Llvm, index: Llvm) -> Llvm:
    """The address of the index-th line."""
    start = builder.gep(words, [builder.mul(index, _I64(8))])
    return builder.bitcast(start, _LINE.as_pointer())


def _full_adder(builder: Llvm, a: Llvm, b: Llvm, c: Llvm) -> tuple[Llvm, Llvm]:
    """Sum and carry of three bits, 512 times at once."""
    either = builder.xor(a, b)
    carry = builder.or_(builder.and_(a, b), builder.and_(either, c))
    return builder.xor(either, c), carry


def _prefetch(builder: Llvm, address: Llvm) -> None:
    """Ask for a line ahead of its use; an address past the end does no harm."""
    byte = builder.bitcast(address, _BYTE.as_pointer())
    shape = ir.FunctionType(ir.VoidType(), [byte.type, _I32, _I32, _I32])
    function = _cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")
    read, not_for_long, data = _I32(0), _I32(1), _I32(1)
    builder.call(function, [byte, read, not_for_long, data])


def _emit_sixteen(context: Llvm, builder: Llvm, signature: Llvm, args: Llvm) -> Llvm:
    """Fifteen full adders in a tree: sixteen rows into planes 0..3, one carry of weight 16 out."""
    kinds = signature.args
    tile = _pointer(context, builder, kinds[0], args[0], _I64)
    rows = _pointer(context, builder, kinds[1], args[1], _I64)
    planes = _pointer(context, builder, kinds[3], args[3], _I64)
    carry = _pointer(context, builder, kinds[4], args[4], _I64)
    at = args[2]
    shape = context.make_array(kinds[0])(context, builder, args[0]).shape
    next_tile = builder.gep(tile, [builder.mul(builder.extract_value(shape, 0), _I64(8))])
    sums = [builder.load(_line_at(builder, planes, _I64(p)), align=8) for p in range(4)]

    def row(k: int) -> Llvm:
        index = builder.load(builder.gep(rows, [builder.add(at, _I64(k))]))
        # The same row of the next tile comes soon; rows lie apart, so no prefetcher guesses it.
        _prefetch(builder, _line_at(builder, next_tile, index))
        return builder.load(_line_at(builder, tile, index), align=8)

    def add(level: int, k: int) -> Llvm:
        """Add 2**(level + 1) rows from the k-th on; the carry has weight 2**(level + 1)."""
        if level == 0:
            first, second = row(k), row(k + 1)
        else:
            first, second = add(level - 1, k), add(level - 1, k + 2**level)
        sums[level], out = _full_adder(builder, sums[level], first, second)
        return out

    builder.store(add(3, 0), _line_at(builder, carry, _I64(0)), align=8)
    for p in range(4):
        builder.store(sums[p], _line_at(builder, planes, _I64(p)), align=8)
    return context.get_dummy_value()


def _emit_merge(context: Llvm, builder: Llvm, signature: Llvm, args: Llvm) -> Llvm:
    """planes[p], carry = the sum and the carry of planes[p], waiting[p] and carry."""
    planes, waiting, carry = (
        _pointer(context, builder, signature.args[i], args[i], _I64) for i in (0, 2, 3)
    )
    lines = [_line_at(builder, planes, args[1]), _line_at(builder, waiting, args[1])]
    lines.append(_line_at(builder, carry, _I64(0)))
    total, out = _full_adder(builder, *(builder.load(line, align=8) for line in lines))
    builder.store(total, lines[0], align=8)
    builder.store(out, lines[2], align=8)
    return context.get_dummy_value()


def _emit_ripple(context: Llvm, builder: Llvm, signature: Llvm, args: Llvm) -> Llvm:
    """Half adders from plane ``first`` up to ``last``."""
    planes = _pointer(context, builder, signature.args[0], args[0], _I64)
    carry = _pointer(context, builder, signature.args[3], args[3], _I64)
    line = builder.load(_line_at(builder, carry, _I64(0)), align=8)
    rest = _cgutils.alloca_once_value(builder, line)
    with _cgutils.for_range(builder, args[2], start=args[1]) as loop:
        where = _line_at(builder, planes, loop.index)
        plane, line = builder.load(where, align=8), builder.load(rest)
        builder.store(builder.xor(plane, line), where, align=8)
        builder.store(builder.and_(plane, line), rest)
    return context.get_dummy_value()


def _emit_counts(context: Llvm, builder: Llvm, signature: Llvm, args: Llvm) -> Llvm:
    """A word of plane p is a mask of 64 lanes; where it is set, 2**p is added."""
    planes = _pointer(context, builder, signature.args[0], args[0], _I64)
    counts = _pointer(context, builder, signature.args[2], args[2], _I32)
    nothing = ir.Constant(_COUNTS, [0] * 64)
    undefined = ir.Constant(_COUNTS, ir.Undefined)
    for j in range(8):
        total = _cgutils.alloca_once_value(builder, nothing)
        with _cgutils.for_range(builder, args[1]) as loop:
            word = builder.gep(planes, [builder.add(builder.mul(loop.index, _I64(8)), _I64(j))])
            lanes = builder.bitcast(builder.load(word), ir.VectorType(_BIT, 64))
            weight = builder.shl(_I32(1), builder.trunc(loop.index, _I32))
            first = builder.insert_element(undefined, weight, _I32(0))
            weights = builder.shuffle_vector(first, undefined, nothing)
            part = builder.select(lanes, weights, nothing)
            builder.store(builder.add(builder.load(total), part), total)
        start = builder.gep(counts, [builder.add(args[3], _I64(64 * j))])
        where = builder.bitcast(start, _COUNTS.as_pointer())
        builder.store(builder.load(total), where, align=4)
    return context.get_dummy_value()


@intrinsic
def _compiled_sixteen(_: Llvm, tile: Llvm, rows: Llvm, at: Llvm, planes: Llvm, carry: Llvm) -> Llvm:
    return types.void(tile, rows, types.int64, planes, carry), _emit_sixteen


@intrinsic
def _compiled_merge(_: Llvm, planes: Llvm, p: Llvm, waiting: Llvm, carry: Llvm) -> Llvm:
    return types.void(planes, types.int64, waiting, carry), _emit_merge


@intrinsic
def _compiled_ripple(_: Llvm, planes: Llvm, first: Llvm, last: Llvm, carry: Llvm) -> Llvm:
    return types.void(planes, types.int64, types.int64, carry), _emit_ripple


@intrinsic
def _compiled_counts(_: Llvm, planes: Llvm, n_planes: Llvm, counts: Llvm, at: Llvm) -> Llvm:
    return types.void(planes, types.int64, counts, types.int64), _emit_counts


def _plain_sixteen(tile: Words, rows: Ints, at: int, planes: Words, carry: Words) -> None:
    """Add sixteen rows to planes 0..3; what overflows plane 3 is left in ``carry``."""

    def add(level: int, k: int) -> Words:
        if level == 0:
            first, second = tile[rows[at + k]], tile[rows[at + k + 1]]
        else:
            first, second = add(level - 1, k), add(level - 1, k + 2**level)
        total = planes[level].copy()
        planes[level] = total ^ first ^ second
        out: Words = (total & first) | ((total ^ first) & second)
        return out

    carry[:] = add(3, 0)


def _plain_merge(planes: Words, p: int, waiting: Words, carry: Words) -> None:
    """Two carries of weight 2**p meet at plane p; what overflows is left in ``carry``."""
    a, b, c = planes[p].copy(), waiting[p], carry.copy()
    planes[p] = a ^ b ^ c
    carry[:] = (a & b) | ((a ^ b) & c)


def _plain_ripple(planes: Words, first: int, last: int, carry: Words) -> None:
    """Add one carry of weight 2**first into the planes first..last - 1."""
    rest = carry.copy()
    for p in range(first, last):
        planes[p], rest = planes[p] ^ rest, planes[p] & rest


def _plain_counts(planes: Words, n_planes: int, counts: NDArray[np.int32], at: int) -> None:
    """Write the 512 counts that the planes hold to ``counts[at:at + 512]``."""
    bits = np.unpackbits(planes[:n_planes].view(np.uint8), axis=1, bitorder="little")
    weights = np.int32(1) << np.arange(n_planes, dtype=np.int32)
    counts[at : at + 512] = (bits * weights[:, None]).sum(axis=0)


_plain: Llvm = (_plain_sixteen, _plain_merge, _plain_ripple, _plain_counts)
_compiled: Llvm = (_compiled_sixteen, _compiled_merge, _compiled_ripple, _compiled_counts)
_config: Llvm = numba.config
add_sixteen, merge, ripple, write_counts = _plain if _config.DISABLE_JIT else _compiled
