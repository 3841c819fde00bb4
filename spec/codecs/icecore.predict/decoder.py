"""Reference decoder of icecore.predict: residuals, mask and exceptions. The files beside it have the rest."""

import numpy as np

PCO = [{"name": "numcodecs.pcodec"}]


def decode(data, configuration, dtype, shape, nested, predictors, numbers, guesses):
    """Return the elements of a chunk."""
    if not data:
        return np.empty(shape, dtype)
    count, size, read = int(np.prod(shape)), dtype.itemsize, Reader(data, 3, nested)
    word, signed = np.dtype(f"u{size}"), np.dtype(f"i{size}")
    index, flags, predictor = data[:3]
    parameters = predictors.parameters(predictor, read, len(shape))
    kept, masked = np.ones(count, bool), np.zeros(1, word)
    if flags & 1:
        masked = np.frombuffer(read.take(size), word)
        runs = read.list().astype("i8")
        kept = np.repeat(np.arange(len(runs)) % 2 == 0, runs)
    kind = read.take(1)[0]
    power = int.from_bytes(read.take(2), "little", signed=True) if kind in (2, 3) else 0
    ranks = read.list() if kind == 4 else None
    places, exact = (np.cumsum(read.list()).astype("i8"), read.list()) if flags & 2 else ([], [])
    codecs = configuration.get("codecs", [PCO])[index]
    is_pco = codecs[0]["name"].endswith("pcodec")
    stored = dtype if predictor == 0 and kind == 0 else signed if is_pco else word
    words = np.zeros(count, word)
    words[kept] = nested(codecs, data[read.at :], stored, (int(kept.sum()),)).view(word)
    if predictor >= 2 and not is_pco:  # unfold: 0, 1, 2, 3 are 0, -1, 1, -2
        words = words >> word.type(1) ^ (word.type(0) - (words & word.type(1)))
    order = (numbers.sortable, numbers.bits)
    words = predictors.undone(predictor, words.reshape(shape), parameters, dtype, *order, guesses).reshape(-1)
    out = numbers.values(words, 1 if predictor >= 3 else kind, power, ranks, dtype).copy()
    out.view(word)[~kept] = masked[0]
    out.view(word)[places] = exact
    return out.reshape(shape)


class Reader:
    """Reads numbers of seven bits a byte, and lists of them."""

    def __init__(self, data, at, nested):
        self.data, self.at, self.nested = data, at, nested

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self):
        value = shift = 0
        while (byte := self.take(1)[0]) & 128:
            value, shift = value | (byte & 127) << shift, shift + 7
        return value | byte << shift

    def list(self):
        count, length = self.number(), self.number()
        stored = self.take(length)
        return self.nested(PCO, stored, "u8", (count,)) if count else np.empty(0, "u8")
