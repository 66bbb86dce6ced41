"""The keystream of AES-128 in counter mode, by the processor's own instructions.

The same bytes as any other implementation gives (FIPS 197, SP 800-38A; the counter starts at zero),
and no table is read by secret values. It runs without the interpreter's lock, so that threads draw
side by side, and uses vectors of four blocks where the processor has them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from ..compiling import compiled

_ROUNDS = 10
_BLOCK = 16
_REGISTERS = 8  # in flight at once: an instruction's result takes about so long
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_PAIR = ir.VectorType(_I64, 2)


@cache
def lanes() -> int:
    """How many blocks one instruction encrypts: 4, 2 or 1; 0 where there is no such one.

    As the compiler sees the processor, which an environment variable of numba can restrict.
    """
    features = set(cpu_target.target_context.codegen().magic_tuple()[2].split(","))
    if not {"+aes", "+sse2", "+ssse3"} <= features:
        return 0
    if "+vaes" not in features:
        return 1
    return 4 if "+avx512f" in features and "+avx512bw" in features else 2


def _call(builder, name, kind, *arguments):
    function_type = ir.FunctionType(kind, [argument.type for argument in arguments])
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, function_type, name)
    return builder.call(function, arguments)


def _pointer(context, builder, kind, array, to):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(data, to.as_pointer())


@intrinsic
def _expand_key(typing_context, keys):
    """Fill keys[2..] of 22 words with the round keys that follow from the first two words."""

    def generate(context, builder, signature, arguments):
        at = _pointer(context, builder, signature.args[0], arguments[0], _PAIR)
        words = ir.VectorType(_I32, 4)
        key = builder.load(at, align=8)
        constant = 1
        for number in range(1, _ROUNDS + 1):
            assist = _call(
                builder,
                "llvm.x86.aesni.aeskeygenassist",
                _PAIR,
                key,
                ir.Constant(ir.IntType(8), constant),
            )
            constant = constant << 1 ^ (0x11B if constant & 0x80 else 0)
            last = builder.bitcast(assist, words)
            turned = builder.shuffle_vector(
                last, last, ir.Constant(ir.VectorType(_I32, 4), [3, 3, 3, 3])
            )
            mixed = builder.bitcast(key, words)
            zero = ir.Constant(words, [0] * 4)
            for shift in (1, 2):  # together: every word takes up all before it
                places = ir.Constant(words, [max(4 - shift, 0) + k for k in range(4)])
                moved = builder.shuffle_vector(zero, mixed, places)
                mixed = builder.xor(mixed, moved)
            key = builder.bitcast(builder.xor(mixed, turned), _PAIR)
            builder.store(key, builder.gep(at, [_I32(number)]), align=8)
        return context.get_dummy_value()

    return types.void(keys), generate


@intrinsic
def _encrypt(typing_context, keys, counter, out, at):
    """Encrypt the numbers from `counter` on into out[at..], `_REGISTERS` times `lanes()` blocks."""
    width = max(lanes(), 1)
    kind = ir.VectorType(_I64, 2 * width)
    suffix = "" if width == 1 else f".{128 * width}"

    def splat(builder, value):
        nothing = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(nothing, value, _I32(0))
        places = ir.Constant(ir.VectorType(_I32, 2 * width), [0] * (2 * width))
        return builder.shuffle_vector(first, nothing, places)

    def generate(context, builder, signature, arguments):
        table, number, target, place = arguments
        pairs = _pointer(context, builder, signature.args[0], table, _PAIR)
        repeat = ir.Constant(ir.VectorType(_I32, 2 * width), [0, 1] * width)
        round_keys = []
        for r in range(_ROUNDS + 1):
            pair = builder.load(builder.gep(pairs, [_I32(r)]), align=8)
            round_keys.append(builder.shuffle_vector(pair, pair, repeat))
        every = splat(builder, number)
        lower = ir.Constant(kind, [0, -1] * width)  # a block's last eight bytes hold the counter
        blocks = []
        for register in range(_REGISTERS):
            steps = [register * width + k // 2 for k in range(2 * width)]
            numbers = builder.add(every, ir.Constant(kind, steps))
            turned = _call(builder, f"llvm.bswap.v{2 * width}i64", kind, numbers)
            blocks.append(builder.xor(builder.and_(turned, lower), round_keys[0]))
        for r in range(1, _ROUNDS + 1):
            step = "aesenclast" if r == _ROUNDS else "aesenc"
            name = f"llvm.x86.aesni.{step}{suffix}"
            blocks = [_call(builder, name, kind, block, round_keys[r]) for block in blocks]
        data = context.make_array(signature.args[2])(context, builder, target).data
        where = builder.bitcast(builder.gep(data, [place]), kind.as_pointer())
        for register, block in enumerate(blocks):
            builder.store(block, builder.gep(where, [_I32(register)]), align=1)
        return context.get_dummy_value()

    return types.void(keys, types.uint64, out, types.uintp), generate


@compiled
def _expand(keys):
    _expand_key(keys)


@compiled
def _fill(keys, counter, stride, out):
    """Fill bytes, a multiple of `stride`, from block `counter` on."""
    for at in range(0, out.size, stride):
        _encrypt(keys, counter, out, at)
        counter += np.uint64(stride // _BLOCK)


def round_keys(key: bytes) -> Any:
    """The round keys of 16 bytes, as `keystream` takes them."""
    keys = np.zeros(2 * (_ROUNDS + 1), np.uint64)
    keys[:2] = np.frombuffer(key, np.uint64)
    _expand(keys)
    return keys


def keystream(keys: Any, counter: int, out: Any) -> int:
    """Fill bytes with the keystream from block `counter` on; the next unused block."""
    stride = _BLOCK * _REGISTERS * lanes()
    whole = out.size // stride * stride
    _fill(keys, np.uint64(counter), stride, out[:whole])
    if whole < out.size:
        last = np.empty(stride, np.uint8)
        _fill(keys, np.uint64(counter + whole // _BLOCK), stride, last)
        out[whole:] = last[: out.size - whole]
    return counter - int(-out.size // _BLOCK)
