"""Reference decoder of icecore.choice."""


def decode(data, configuration, dtype, shape, nested):
    """Return the elements; the first byte is the index of the list of codecs that encoded the rest."""
    return nested(configuration["choices"][data[0]], data[1:], dtype, shape)
