"""Writes numpy_cases.txt: what NumPy itself makes of random indexes. Run by hand; the tests read the result.

Each line: shape | indexes | shape of the result | source element numbers (C order), or ``error`` in their place.
Indexes: ``i3`` an integer, ``s1:5:-2`` a slice, ``l2,1/0,4`` a list (shape/values), ``m3/101`` a mask, ``e`` an ellipsis.
"""

import random
from pathlib import Path

import numpy as np


def numbers(values):
    return ",".join(str(int(v)) for v in values)


def random_index(rng, shape, axis):
    """One index for the axes from `axis` on, the number of axes it covers, and its text."""
    n = shape[axis]
    kind = rng.choice("iisssslllme")
    low, high = (-n, n) if rng.random() < 0.97 else (-n - 2, n + 2)
    if kind == "i" and n:
        at = rng.randrange(low, high)
        return at, 1, f"i{at}"
    if kind == "l":
        of = rng.choice([(2,), (2,), (1,), (0,), (2, 1), (1, 2), (), (3,)])
        if n == 0:
            of = (0,)
        values = np.array([rng.randrange(low, high) for _ in range(int(np.prod(of)))], dtype=np.int64).reshape(of)
        return values, 1, f"l{numbers(of)}/{numbers(values.ravel())}"
    if kind == "m":
        rank = rng.choice([1, 1, 2])
        of = shape[axis : axis + rank]
        mask = np.array([rng.random() < 0.4 for _ in range(int(np.prod(of)))], dtype=bool).reshape(of)
        return mask, len(of), f"m{numbers(of)}/{''.join('01'[int(v)] for v in mask.ravel())}"
    if kind == "e":
        return Ellipsis, 0, "e"
    part = [rng.choice([None, rng.randrange(-n - 2, n + 3)]) for _ in range(2)] + [rng.choice([None, 1, 2, -1, -3])]
    return slice(*part), 1, "s" + ":".join("" if p is None else str(p) for p in part)


def random_case(rng):
    shape = tuple(rng.choice([0, 1, 2, 3, 4, 5]) if rng.random() < 0.3 else rng.choice([2, 3, 4]) for _ in range(rng.randrange(0, 5)))
    indexes, texts, axis, ellipsis = [], [], 0, False
    while axis < len(shape) and rng.random() < 0.9:
        index, covers, text = random_index(rng, shape, axis)
        if text == "e" and ellipsis:
            continue
        ellipsis |= text == "e"
        indexes.append(index)
        texts.append(text)
        axis += covers
    array = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    try:
        result = np.asarray(array[tuple(indexes)])
    except IndexError:
        return f"{numbers(shape)}|{';'.join(texts)}|error|", 0
    return f"{numbers(shape)}|{';'.join(texts)}|{numbers(result.shape)}|{numbers(result.ravel())}", result.size


def main():
    rng = random.Random(20261121)
    lines = []
    while len(lines) < 1200:
        line, size = random_case(rng)
        if size <= 24 and line not in lines:
            lines.append(line)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
