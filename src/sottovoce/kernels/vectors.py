"""Wide vectors for loops that gain from them."""

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


@intrinsic
def add_sixteen(typing_context, words, at, stride, planes, low, gap, carry, to, ahead):
    """Add sixteen rows of eight words to counters that are spread over bit planes.

    Harley and Seal's carry-save tree. Row r is the eight words from words[at + r stride] on; the
    plane that counts 2^k, k < 4, those from planes[low + k gap] on. What overflows counts sixteen
    and goes to carry[to]. The words `ahead` of each row are fetched into the second-level cache:
    the processor does not foresee by itself that rows which lie apart will be read.
    """

    def generate(context, builder, signature, arguments):
        _, at, stride, _, low, gap, _, to, ahead = arguments
        rows, sums, over = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data
            for k in (0, 3, 6)
        )
        eight = ir.VectorType(ir.IntType(64), 8)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)

        def where(data, index):
            return builder.bitcast(builder.gep(data, [index]), eight.as_pointer())

        def steps(first, step, many):
            index = [first]
            while len(index) < many:
                index.append(builder.add(index[-1], step))
            return index

        def next_row():
            index = next(indices)
            later = builder.gep(rows, [builder.add(index, ahead)])
            builder.call(fetch, [builder.bitcast(later, byte), number(0), number(1), number(1)])
            return builder.load(where(rows, index), align=8)

        def carry_of(level):
            """Add two rows, or two carries of the plane below, to a plane; its carry."""
            a, b = (carry_of(level - 1) if level else next_row() for _ in range(2))
            c = total[level]
            total[level] = builder.xor(builder.xor(a, b), c)
            return builder.or_(builder.and_(a, b), builder.and_(c, builder.or_(a, b)))

        indices = iter(steps(at, stride, 16))
        places = [where(sums, index) for index in steps(low, gap, 4)]
        total = [builder.load(place, align=8) for place in places]
        builder.store(carry_of(3), where(over, to), align=8)
        for place, plane in zip(places, total, strict=True):
            builder.store(plane, place, align=8)
        return context.get_dummy_value()

    index = types.uintp
    arguments = (words, index, index, planes, index, index, carry, index, index)
    return types.void(*arguments), generate
