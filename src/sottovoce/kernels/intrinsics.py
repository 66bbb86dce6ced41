"""What `vectors` has, as instructions for the compiler."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def wide_vectors(typing_context):
    """Ask the compiler for 512-bit vectors in the function that calls this.

    On processors that have them it uses 256 bits unless asked, for fear of lower clock rates;
    loops that only add, multiply and compare gain about a third. Elsewhere it changes nothing.
    """

    def generate(context, builder, signature, arguments):
        attributes = builder.function.attributes
        # The binding lets only attributes through that it knows; this one is LLVM's own.
        if isinstance(attributes, set):
            set.add(attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def add_bits(typing_context, lanes, at, word):
    """Add each bit of `word` to a counter of 8 bits: bit 8 j + k to byte j of lanes[at + k].

    One shift, mask and sum of eight words. Written as a loop, the compiler unrolls it first and
    then finds no vectors in it. The caller sees to it that eight words follow lanes[at].
    """

    def generate(context, builder, signature, arguments):
        array, index, bits = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        eight, places = ir.VectorType(ir.IntType(64), 8), ir.VectorType(ir.IntType(32), 8)
        nothing = ir.Constant(eight, ir.Undefined)
        first = builder.insert_element(nothing, bits, ir.Constant(ir.IntType(32), 0))
        every = builder.shuffle_vector(first, nothing, ir.Constant(places, [0] * 8))
        shifted = builder.lshr(every, ir.Constant(eight, list(range(8))))
        lowest = builder.and_(shifted, ir.Constant(eight, [0x0101010101010101] * 8))
        where = builder.bitcast(builder.gep(data, [index]), eight.as_pointer())
        total = builder.add(builder.load(where, align=8), lowest)
        builder.store(total, where, align=8)
        return context.get_dummy_value()

    return types.void(lanes, types.uintp, types.uint64), generate
