"""Predictors of icecore.predict."""

import numpy as np


def parameters(predictor, read, rank):
    """Return the steps, the axes with the terms, or the weights."""
    if predictor in (1, 2):
        return [(read.number(), read.number()) for _ in range(read.number())]
    if predictor == 3:
        axes = [read.number() for _ in range(read.number())]
        return axes, [
            ([_unfold(read.number()) for _ in range(rank)], _float(read)) for _ in range(read.number())
        ]
    return [_float(read) for _ in range(read.number())] if predictor == 4 else None


def undone(predictor, words, parameters, dtype, sortable, bits, guesses):
    """Return the integers of the elements; sortable bits for predictors 3 and 4."""
    for axis, lag in parameters if predictor in (1, 2) else ():
        view = np.moveaxis(words, axis, 0)
        for i in range(lag, len(view)):
            view[i] = view[i] ^ view[i - lag] if predictor == 1 else view[i] + view[i - lag]
    if predictor < 3:
        return words
    out, known = np.zeros_like(words), np.zeros(words.shape)
    guess = guesses.stencil if predictor == 3 else guesses.linear
    with np.errstate(all="ignore"):
        for place in np.ndindex(words.shape):
            value = guess(known, place, parameters)
            near = np.array([value if np.isfinite(value) else 0.0]).astype(dtype)
            out[place] = sortable(near.view(words.dtype))[0] + words[place]
            known[place] = bits(np.array([out[place]])).view(dtype)[0]
    return out


def _unfold(n):
    return n >> 1 ^ -(n & 1)


def _float(read):
    return float(np.frombuffer(read.take(8), "<f8")[0])
