"""Reference decoder of icecore.h5lzf."""


def decode(data, configuration, nested):
    """Return the bytes: literals, and copies of earlier bytes."""
    out, at = bytearray(), 0
    while at < len(data):
        control = data[at]
        at += 1
        if control < 32:
            out += data[at : at + control + 1]
            at += control + 1
            continue
        length = control >> 5
        if length == 7:
            length += data[at]
            at += 1
        distance = ((control & 31) << 8) + data[at] + 1
        at += 1
        for _ in range(length + 2):  # a copy may overlap itself
            out.append(out[-distance])
    return bytes(out)
