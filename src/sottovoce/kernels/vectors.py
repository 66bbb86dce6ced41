"""Wide vectors for loops that gain from them."""

from __future__ import annotations

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
