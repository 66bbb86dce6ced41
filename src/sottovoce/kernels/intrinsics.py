"""What `vectors` has, as instructions for the compiler."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
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
def transform_eight(typing_context, cells, at):
    """The Walsh-Hadamard transform of cells[at : at + 8] in place.

    For each distance, neighbours change places in a copy w of v; where the first of two stands,
    v + w is kept, and where the second does, w − v. The caller sees to it that eight cells are
    there.
    """

    def generate(context, builder, signature, arguments):
        array, index = arguments
        kind = signature.args[0]
        data = context.make_array(kind)(context, builder, array).data
        eight = ir.VectorType(context.get_data_type(kind.dtype), 8)
        places = ir.VectorType(ir.IntType(32), 8)
        whole = isinstance(kind.dtype, types.Integer)
        add, subtract = (builder.add, builder.sub) if whole else (builder.fadd, builder.fsub)
        where = builder.bitcast(builder.gep(data, [index]), eight.as_pointer())
        v = builder.load(where, align=8)
        for distance in (1, 2, 4):
            swapped = ir.Constant(places, [k ^ distance for k in range(8)])
            chosen = ir.Constant(places, [k + 8 * (k & distance != 0) for k in range(8)])
            w = builder.shuffle_vector(v, v, swapped)
            v = builder.shuffle_vector(add(v, w), subtract(w, v), chosen)
        builder.store(v, where, align=8)
        return context.get_dummy_value()

    return types.void(cells, types.intp), generate


@intrinsic
def count_bits(typing_context, word):
    """How many bits of an unsigned integer are set."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return word(word), generate


@intrinsic
def compare_planes(typing_context, words, at, stride, planes, threshold, less, equal, to):
    """Compare 2,048 random numbers, spread over bit planes, with the top bits of a threshold.

    Plane k, of `planes`, is the 32 words from words[at + k stride] on and holds bit 63 − k of each
    number. less[to] and the words after it get the numbers below the threshold, equal those that
    tie. From the last plane to the first, with t the threshold's bit and r the random one:
    less = majority(less, t, not r), equal = equal and not (t xor r).
    """

    def generate(context, builder, signature, arguments):
        _, at, stride, planes, threshold, _, _, to = arguments
        random, below, ties = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data
            for k in (0, 5, 6)
        )
        word = ir.IntType(64)
        eight, places = ir.VectorType(word, 8), ir.VectorType(ir.IntType(32), 8)
        nothing = ir.Constant(eight, ir.Undefined)
        first = ir.Constant(places, [0] * 8)
        state = []
        for k in range(4):
            lower, same = (cgutils.alloca_once(builder, eight) for _ in range(2))
            builder.store(ir.Constant(eight, [0] * 8), lower)
            builder.store(ir.Constant(eight, [-1] * 8), same)
            state.append((8 * k, lower, same))

        def where(data, index, offset):
            place = builder.gep(data, [builder.add(index, index.type(offset))])
            return builder.bitcast(place, eight.as_pointer())

        with cgutils.for_range(builder, planes) as loop:
            plane = builder.sub(builder.sub(planes, loop.index), planes.type(1))
            bit = builder.ashr(builder.shl(threshold, plane), word(63))
            one = builder.insert_element(nothing, bit, ir.Constant(ir.IntType(32), 0))
            t = builder.shuffle_vector(one, nothing, first)
            index = builder.add(at, builder.mul(plane, stride))
            for offset, lower, same in state:
                zero = builder.not_(builder.load(where(random, index, offset), align=8))
                either = builder.and_(builder.load(lower), builder.or_(t, zero))
                builder.store(builder.or_(builder.and_(t, zero), either), lower)
                builder.store(builder.and_(builder.load(same), builder.xor(t, zero)), same)
        for offset, lower, same in state:
            builder.store(builder.load(lower), where(below, to, offset), align=8)
            builder.store(builder.load(same), where(ties, to, offset), align=8)
        return context.get_dummy_value()

    index = types.uintp
    arguments = (words, index, index, index, types.uint64, less, equal, index)
    return types.void(*arguments), generate


@intrinsic
def add_sixteens(
    typing_context, words, at, stride, groups, planes, low, gap, carry, to, ahead, apart
):
    """Add groups of sixteen rows of eight words to counters that are spread over bit planes.

    Harley and Seal's carry-save tree. Row r is the eight words from words[at + r stride] on; the
    plane that counts 2^k, k < 4, those from planes[low + k gap] on, which stay in registers. What
    overflows of group g counts sixteen and goes to carry[to + g gap]. With row r, the line of
    words[at + ahead + r apart] is fetched into the cache, if it exists: the processor does not
    foresee by itself that rows which lie apart will be read.
    """

    def generate(context, builder, signature, arguments):
        _, at, stride, groups, _, low, gap, _, to, ahead, apart = arguments
        rows, sums, over = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data
            for k in (0, 4, 7)
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

        def next_row(indices):
            index, fetched = next(indices)
            later = builder.gep(rows, [fetched])
            builder.call(fetch, [builder.bitcast(later, byte), number(0), number(3), number(1)])
            return builder.load(where(rows, index), align=8)

        def carry_of(level, indices, total):
            """Add two rows, or two carries of the plane below, to a plane; its carry."""
            a, b = (
                carry_of(level - 1, indices, total) if level else next_row(indices)
                for _ in range(2)
            )
            c = total[level]
            total[level] = builder.xor(builder.xor(a, b), c)
            return builder.or_(builder.and_(a, b), builder.and_(c, builder.or_(a, b)))

        places = [where(sums, index) for index in steps(low, gap, 4)]
        # The compiler knows that nobody else writes to variables, and keeps them in registers.
        kept = [cgutils.alloca_once(builder, eight) for _ in places]
        for place, own in zip(places, kept, strict=True):
            builder.store(builder.load(place, align=8), own)
        height = builder.mul(stride, stride.type(16))
        with cgutils.for_range(builder, groups) as loop:
            first = builder.add(at, builder.mul(loop.index, height))
            total = [builder.load(own) for own in kept]
            fetched = steps(builder.add(first, ahead), apart, 16)
            full = carry_of(3, zip(steps(first, stride, 16), fetched, strict=True), total)
            end = builder.add(to, builder.mul(loop.index, gap))
            builder.store(full, where(over, end), align=8)
            for own, plane in zip(kept, total, strict=True):
                builder.store(plane, own)
        for place, own in zip(places, kept, strict=True):
            builder.store(builder.load(own), place, align=8)
        return context.get_dummy_value()

    index = types.uintp
    arguments = (words, index, index, index, planes, index, index, carry, index, index, index)
    return types.void(*arguments), generate


@intrinsic
def high_half(typing_context, x, y):
    """The upper 16 of the 32 bits of a product of two numbers of 16 bits.

    Written out with wider integers, the compiler multiplies 64 bits; so it uses the one
    instruction that does this for 32 numbers at once.
    """

    def generate(context, builder, signature, arguments):
        wide, narrow = ir.IntType(32), ir.IntType(16)
        product = builder.mul(*(builder.zext(number, wide) for number in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 16)), narrow)

    return types.uint16(types.uint16, types.uint16), generate
