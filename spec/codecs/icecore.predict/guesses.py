"""Predictions of icecore.predict from the elements before one: stencil and linear prediction."""

from itertools import product

import numpy as np


def stencil(known, place, parameters):
    """Return the sum of neighbours by their terms; Lorenzo's stencil where one is outside."""
    axes, terms = parameters

    def inside(back):
        return all(0 <= i - b < n for i, b, n in zip(place, back, known.shape, strict=True))

    if not terms or not all(inside(back) for back, _ in terms):
        terms, free = [], [axis for axis in axes if place[axis] > 0]
        for chosen in product((0, 1), repeat=len(free)):
            back = [0] * known.ndim
            for axis, one in zip(free, chosen[::-1], strict=False):  # the first axis is the lowest bit
                back[axis] = one
            terms.append((back, 1.0 if sum(chosen) % 2 else -1.0))
        terms = terms[1:]
    ordered = [t for t in terms if any(t[0][:-1])] + [t for t in terms if not any(t[0][:-1])]
    total = np.float64(0)
    for back, weight in ordered:
        total = total + known[tuple(i - b for i, b in zip(place, back, strict=False))] * weight
    return total


def linear(known, place, weights):
    """Return the sum of the samples before one in its row; eight sums are added at the end."""
    n = -(-len(weights) // 8) * 8
    row = np.concatenate([np.zeros(n), known[place[:-1]][: place[-1]]])[-n:] if n else np.zeros(0)
    products = row * np.concatenate([np.zeros(n - len(weights)), weights[::-1]])
    s = np.zeros(8)
    for part in products.reshape(-1, 8):
        s = s + part
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
