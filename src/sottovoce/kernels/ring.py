"""Products of matrices modulo 2^32 or 2^64, where words simply wrap around.

A one-hot matrix V is given by the column that is 1 in each row (`codes`, negative where there is
none), so that a product with it only moves and adds words. Rows are people.
"""

from __future__ import annotations

from .compiling import compiled


@compiled(interpreted=False)
def matrix_product(left, right, out):
    """out += leftᵀ right."""
    for row in range(left.shape[0]):
        for i in range(left.shape[1]):
            word = left[row, i]
            for j in range(right.shape[1]):
                out[i, j] += word * right[row, j]


@compiled
def matrix_product_codes(left, codes, out):
    """out[j] += the rows of `left` whose code is j: the transpose of leftᵀ V."""
    for row in range(left.shape[0]):
        code = codes[row]
        if 0 <= code < out.shape[0]:
            for i in range(left.shape[1]):
                out[code, i] += left[row, i]


@compiled
def row_product(left, right, out):
    """Row by row, out += left ⊗ right; the last index of `right` moves fastest."""
    width = right.shape[1]
    for row in range(left.shape[0]):
        for i in range(left.shape[1]):
            word = left[row, i]
            for j in range(width):
                out[row, i * width + j] += word * right[row, j]


@compiled
def row_product_codes(left, codes, width, out):
    """Row by row, out += left ⊗ V."""
    for row in range(left.shape[0]):
        code = codes[row]
        if 0 <= code < width:
            for i in range(left.shape[1]):
                out[row, i * width + code] += left[row, i]


@compiled
def hide_codes(codes, mask):
    """Overwrite `mask` by V − mask."""
    for row in range(mask.shape[0]):
        for i in range(mask.shape[1]):
            mask[row, i] = -mask[row, i]
        code = codes[row]
        if 0 <= code < mask.shape[1]:
            mask[row, code] += 1
