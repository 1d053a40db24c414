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


def check_selection(a, *kth):
    """Checks that each of the kth numbers is where it belongs, and all before and after it are on the right side."""
    expected, bits = np.sort(a), f"u{a.itemsize}"
    whole = a.copy()
    whole.partition(kth)
    positions = np.argpartition(a, kth)
    assert np.sort(positions).tolist() == list(range(len(a)))
    for found in (whole, np.partition(np.stack([a, a], axis=1), kth, axis=0)[:, 1], a[positions]):
        assert np.sort(found.view(bits)).tolist() == np.sort(a.view(bits)).tolist(), (a.dtype, len(a), kth)
        ends = [0, *sorted({k % len(a) for k in kth}), len(a)]
        for k, following in zip(ends, ends[1:]):
            # What is between two of them, sorted, is what it is when all is sorted.
            same = np.array_equal(np.sort(found[k:following]), expected[k:following], equal_nan=a.dtype.kind == "f")
            assert same and (k == 0 or found[k] == expected[k] or np.isnan(expected[k])), (a.dtype, len(a), kth)


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
for n in (1, 2, 5, 127, 128, 129, 400, 2999, 20_000):
    bits, few = rng.integers(0, 2**64, n, dtype="u8"), rng.integers(0, 3, n)
    for a in (
        bits, bits.view("i8"), bits.view("f8"), bits.astype("u4"), bits.astype("i4"), bits.astype("u4").view("f4"), bits.astype("i2"),
        rng.random(n).astype("f2"), rng.random(n), rng.normal(size=n).astype("f4"), np.arange(n), np.arange(n)[::-1] * 1.0, np.zeros(n), few,
        abs(np.arange(n) - n // 2), np.roll(np.arange(n), n // 2), np.arange(n) % 100 * 1.0, few % 2 * 1.0, np.arange(2.0 * n)[::2],
        np.where(few == 0, -0.0, 0.0), np.where(few == 0, np.nan, rng.random(n)), np.where(few > 0, np.nan, rng.random(n)),
        np.where(few == 0, np.inf, np.where(bits % 3 == 0, -np.inf, few)), np.where(bits % 2 == 0, -np.nan, np.nan),
    ):  # fmt: skip
        k = int(rng.integers(0, n))
        check_selection(a, k)
        check_selection(a, -1 - k // 2, k, n // 2)
        if n < 20_000:
            check_selection(a, 0, n - 1, n - 1)
            check_selection(a, *rng.integers(0, n, 20).tolist())
            check_selection(a, (n - 1) // 2, n // 2, -1)
for a in (np.zeros(20_000), np.where(np.arange(20_000) % 3, np.nan, 1.0), rng.integers(0, 3, 20_000)):
    check_selection(a, *range(0, 20_000, 20))
table = rng.random((4, 5000, 3))[:, ::2]
for axis in range(3):
    k = table.shape[axis] // 2
    found = np.partition(table, k, axis)
    assert np.array_equal(found.take(k, axis), np.sort(table, axis).take(k, axis)) and np.array_equal(np.sort(found, axis), np.sort(table, axis))
assert np.array_equal(np.median(table, axis=1), np.sort(table, axis=1)[:, 1249:1251].mean(axis=1))
print("sorted")
