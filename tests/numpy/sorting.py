import math

import numpy as np

rng = np.random.default_rng(1)


def reference(a):
    """Positions in order, NaN and NaT last, by Python's own stable sort."""
    if a.dtype.kind == "f":
        return sorted(range(len(a)), key=lambda i: (math.isnan(a[i]), 0.0 if math.isnan(a[i]) else float(a[i])))
    if a.dtype.kind in "mM":
        return sorted(range(len(a)), key=lambda i: (bool(np.isnat(a[i])), int(a[i].view("i8"))))
    return sorted(range(len(a)), key=lambda i: int(a[i]))


def check(a):
    order = np.array(reference(a), dtype=np.intp)
    assert np.argsort(a, kind="stable").tolist() == order.tolist(), (a.dtype, len(a))
    assert np.sort(a, kind="stable").tobytes() == a[order].tobytes(), (a.dtype, len(a))
    for found in (np.sort(a), a[np.argsort(a)]):
        assert np.array_equal(found, a[order], equal_nan=a.dtype.kind in "fmM"), (a.dtype, len(a))
        # Nothing is lost: signs of zeros, bits of NaN.
        bits = f"u{a.itemsize}"
        assert sorted(found.astype(a.dtype).view(bits).tolist()) == sorted(np.ascontiguousarray(a).view(bits).tolist())


for n in (0, 1, 2, 127, 128, 129, 500, 3000, 20000):
    bits, small = rng.integers(0, 2**64, n, dtype="u8"), rng.integers(-50, 50, n)
    for a in (
        bits, bits.view("i8"), bits.view("f8"), bits.astype("u4"), bits.astype("u4").view("i4"), bits.astype("u4").view("f4"),
        small, small.astype("i4"), np.arange(n), np.arange(n)[::-1], np.arange(2.0 * n)[::2], np.zeros(n), rng.random(n).astype(">f8"),
        rng.random(n), rng.normal(size=n), rng.normal(size=n).astype("f4"), np.sort(rng.random(n)), 1 + rng.random(n) * 1e-12,
        np.where(bits % 1000 == 0, 1e300, 1 + rng.random(n) * 1e-9), np.where(bits % 7 == 0, -0.0, np.where(bits % 5 == 0, 0.0, small)),
        np.where(bits % 9 == 0, np.nan, np.where(bits % 11 == 0, -np.inf, small)), np.where(bits % 2 == 0, -np.nan, np.nan),
        bits.view("M8[s]"), np.where(bits % 3 == 0, np.datetime64("NaT"), small.astype("M8[D]")), small.astype("m8[s]"),
    ):  # fmt: skip
        check(a)
keys = rng.integers(0, 5, (2, 999))
assert np.lexsort(keys).tolist() == sorted(range(999), key=lambda i: (keys[1, i], keys[0, i]))
table = rng.random((300, 200))
assert np.sort(table, axis=0).T.tolist() == [sorted(column) for column in table.T.tolist()]
for kind in ("i1", "u2", "i4", "i8", "u8"):
    a = rng.integers(0, 2**64, 5000, dtype="u8").astype(kind)
    a[::3] = 0
    assert np.unique(a).tolist() == sorted(set(a.tolist()))
print("sorted")
