"""Eight numbers at once, for loops that the compiler does not turn into vectors by itself.

Sums over a few rows of few numbers spend most of their time on loop counters. Written with these,
a row is one operation: `load`, `+`, `-`, `*`, `/`, `max`, `store`. The compiler splits them for
processors with narrower vectors.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

_EIGHT = 8
_NUMBERS = ir.VectorType(ir.DoubleType(), _EIGHT)
_WORDS = ir.VectorType(ir.IntType(64), _EIGHT)
_PLACES = ir.VectorType(ir.IntType(32), _EIGHT)
_FLAGS = ("reassoc", "contract", "nsz")


class Lanes(types.Type):
    """The type of eight numbers."""

    def __init__(self) -> None:
        super().__init__("Lanes")


LANES = Lanes()


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _NUMBERS)


def _address(context, builder, kind, array, at):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), _NUMBERS.as_pointer())


@intrinsic
def load(typing_context, array, at):
    """array[at : at + 8]; the caller sees to it that they are there."""

    def generate(context, builder, signature, arguments):
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=8)

    return LANES(array, types.intp), generate


@intrinsic
def store(typing_context, array, at, x):
    """array[at : at + 8] = x."""

    def generate(context, builder, signature, arguments):
        where = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], where, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, LANES), generate


@intrinsic
def lanes(typing_context, a, b, c, d, e, f, g, h):
    """Eight numbers as one."""

    def generate(context, builder, signature, arguments):
        x = ir.Constant(_NUMBERS, ir.Undefined)
        for k, number in enumerate(arguments):
            x = builder.insert_element(x, number, ir.Constant(ir.IntType(32), k))
        return x

    return LANES(*[types.float64] * _EIGHT), generate


def _everywhere(builder, kind, value):
    one = builder.insert_element(
        ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
    )
    return builder.shuffle_vector(one, one, ir.Constant(_PLACES, [0] * _EIGHT))


@intrinsic
def fill(typing_context, number):
    """One number eight times."""

    def generate(context, builder, signature, arguments):
        return _everywhere(builder, _NUMBERS, arguments[0])

    return LANES(types.float64), generate


@intrinsic
def choose(typing_context, mask, x, y):
    """x where the mask is −1, y where it is 0, without a branch."""

    def generate(context, builder, signature, arguments):
        every = _everywhere(builder, _WORDS, arguments[0])
        x, y = (builder.bitcast(vector, _WORDS) for vector in arguments[1:])
        either = builder.or_(builder.and_(x, every), builder.and_(y, builder.not_(every)))
        return builder.bitcast(either, _NUMBERS)

    return LANES(types.int64, LANES, LANES), generate


def _shuffle(places):
    @intrinsic
    def apply(typing_context, x, y):
        def generate(context, builder, signature, arguments):
            return builder.shuffle_vector(*arguments, ir.Constant(_PLACES, places))

        return LANES(LANES, LANES), generate

    return apply


#: x0 y0 x1 y1 …: the first eight of these, and the others.
first_mixed = _shuffle([0, 8, 1, 9, 2, 10, 3, 11])
second_mixed = _shuffle([4, 12, 5, 13, 6, 14, 7, 15])
#: Every other number of x and then y, from the first or the second on.
evens, odds = _shuffle(list(range(0, 16, 2))), _shuffle(list(range(1, 16, 2)))
#: Of x and x: neighbours at a distance of 1, 2 or 4 have changed places.
swap_one, swap_two, swap_four = (_shuffle([k ^ d for k in range(_EIGHT)]) for d in (1, 2, 4))


def _extractor(place):
    @intrinsic
    def lane(typing_context, x):
        def generate(context, builder, signature, arguments):
            return builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), place))

        return types.float64(LANES), generate

    return lane


#: One of the eight numbers.
lane0, lane1, lane2, lane3, lane4, lane5, lane6, lane7 = map(_extractor, range(_EIGHT))


def _operation(function, build):
    @intrinsic
    def apply(typing_context, x, y):
        def generate(context, builder, signature, arguments):
            return build(builder, *arguments)

        return LANES(LANES, LANES), generate

    @overload(function)
    def of_lanes(x, y):
        if x is LANES and y is LANES:
            return lambda x, y: apply(x, y)
        return None


_operation(operator.add, lambda builder, x, y: builder.fadd(x, y, flags=_FLAGS))
_operation(operator.sub, lambda builder, x, y: builder.fsub(x, y, flags=_FLAGS))
_operation(operator.mul, lambda builder, x, y: builder.fmul(x, y, flags=_FLAGS))
_operation(operator.truediv, lambda builder, x, y: builder.fdiv(x, y, flags=_FLAGS))
_operation(max, lambda builder, x, y: builder.select(builder.fcmp_ordered(">", x, y), x, y))
