"""Write pco.json: chunks of pco's own library (`pip install pcodec numpy`), every mode and delta."""

import base64
import hashlib
import json
from pathlib import Path

import numpy as np
from pcodec import ChunkConfig, DeltaSpec, ModeSpec, PagingSpec, standalone

random = np.random.default_rng(46)
N = 700
MODES = {
    "classic": ModeSpec.classic(),
    "auto": ModeSpec.auto(),
    "dict": ModeSpec.try_dict(),
    "int": ModeSpec.try_int_mult(7),
    "float": ModeSpec.try_float_mult(0.1),
    "quant": ModeSpec.try_float_quant(5),
}
DELTAS = {
    "none": DeltaSpec.no_op(),
    "auto": DeltaSpec.auto(),
    **{f"consecutive{n}": DeltaSpec.try_consecutive(n) for n in (1, 2, 7)},
    "lookback": DeltaSpec.try_lookback(),
    **{f"conv{n}": DeltaSpec.try_conv1(n) for n in (1, 6, 9)},
}


def data(kind: str) -> dict[str, np.ndarray]:
    """Return arrays that suit the modes, and numbers at the ends of the type."""
    dtype = np.dtype(kind)
    t = np.arange(N)
    found = {
        "walk": np.cumsum(random.integers(-3, 4, N)) % 100,
        "few": random.choice([1, 5, 90, 17], N),
        "sevens": random.integers(0, 15, N) * 7 + (t % 50 == 0),
        "period": np.tile(random.integers(0, 120, 35), N // 35),
    }
    if dtype.kind == "f":
        found |= {"tenths": random.integers(-400, 400, N) / 10, "wave": np.sin(t / 30) * 50}
        found["wild"] = np.where(t % 9 == 0, np.nan, random.normal(0, 1, N) * 10.0 ** (t % 5))
        found["quanta"] = random.normal(0, 1, N).astype("f2")
        found["large"] = random.integers(-(1 << 15), 1 << 15, N) * 1.0
    else:
        info = np.iinfo(dtype)
        found["ends"] = random.choice([info.min, info.max, 0, 1], N)
        found["noise"] = random.integers(info.min, info.max, N, dtype=dtype, endpoint=True)
    with np.errstate(all="ignore"):
        return {name: values.astype(dtype) for name, values in found.items()}


def main() -> None:
    """Write a case for each combination that the library accepts; equal chunks once."""
    cases, seen = [], set()
    for kind in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"):
        for name, values in data(kind).items():
            for mode, mode_spec in MODES.items():
                for delta, delta_spec in DELTAS.items():
                    for level in (0, 8):
                        config = ChunkConfig(
                            level, mode_spec, delta_spec, PagingSpec.equal_pages_up_to(N), enable_8_bit=True
                        )
                        try:
                            encoded = standalone.simple_compress(values, config)
                        except (TypeError, RuntimeError, ValueError):
                            continue
                        key = encoded[:60] + encoded[-20:]
                        if key in seen or (level == 0 and mode != "classic"):
                            continue
                        seen.add(key)
                        digest = hashlib.sha256(values.tobytes()).hexdigest()[:16]
                        cases.append(
                            [
                                f"{kind} {name} {mode} {delta} {level}",
                                base64.b64encode(encoded).decode(),
                                digest,
                            ]
                        )
    chosen = cases if ALL else [case for i, case in enumerate(cases) if i % 18 == 0]
    Path(__file__).with_name(NAME).write_text(json.dumps(chosen, indent=0) + "\n")
    print(len(cases), len(chosen))


ALL, NAME = False, "pco.json"
if __name__ == "__main__":
    import sys

    if sys.argv[1:] == ["--all"]:
        ALL, NAME = True, "pco-all.json"
    main()
