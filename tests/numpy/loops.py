"""Arrays contiguous in memory are calculated by other loops than strided ones: both must give the same results."""

import decimal
import warnings

import numpy as np

warnings.simplefilter("ignore")
decimal.getcontext().prec = 40
rng = np.random.default_rng(1)
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e308, 709.9, -745.5, 0.5]
ARITHMETIC = (np.add, np.subtract, np.multiply)
ORDER = (np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal, np.maximum, np.minimum)
REAL = (*ARITHMETIC, np.divide, *ORDER, np.fmax, np.fmin)
OF_TWO = {"d": REAL, "f": REAL, "D": ARITHMETIC, "?": (np.logical_and, np.logical_or, np.bitwise_or)}
OF_TWO |= {kind: (*ARITHMETIC, *ORDER) for kind in "iIqQbBhH"}
OF_ONE = {kind: (np.sqrt, np.square, np.rint, np.exp, np.log) for kind in "df"} | {"D": (np.absolute,), "?": (np.logical_not,)}


def numbers(kind, n):
    if kind in "fdD":
        a = np.where(rng.integers(0, 5, n) == 0, rng.permutation(np.resize(SPECIAL, n)), rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n))
        return a + 1j * rng.permutation(np.resize(SPECIAL, n)) if kind == "D" else a.astype(kind)
    return rng.integers(0, 2, n).astype(kind) if kind == "?" else rng.integers(-(2**63), 2**63 - 1, n).astype(kind)


def apart(a):
    wide = np.zeros(3 * len(a), a.dtype)
    wide[::3] = a
    return wide[::3]


def same(a, b):
    assert a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if a.dtype.kind == "f":
        assert np.array_equal(np.signbit(a) & (a == a), np.signbit(b) & (b == b))


def check_two(f, a, b):
    expected = f(apart(a), apart(b))
    same(f(a, b), expected)
    same(f(a, b[0]), f(apart(a), apart(b)[0]))
    same(f(a[0], b), f(apart(a)[0], apart(b)))
    if expected.dtype == a.dtype:
        first, second, shifted = a.copy(), b.copy(), np.concatenate([a, a[:1]])
        same(f(first, b, out=first), expected)
        same(f(a, second, out=second), expected)
        same(f(shifted[:-1], b, out=shifted[1:]), expected)
        same(f.accumulate(a), f.accumulate(apart(a)))
    if f in (np.maximum, np.minimum, np.fmax, np.fmin, np.add) and a.dtype.kind in "iu" or f in ORDER[-2:] + REAL[-2:]:
        for c in (a, np.where(a == a, a, 1).astype(a.dtype)):
            assert np.array_equal(f.reduce(c), f.reduce(apart(c)), equal_nan=c.dtype.kind == "f"), (f, c.dtype, len(c))


for n in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 70, 2500):
    for kind, functions in OF_TWO.items():
        a, b = numbers(kind, n), numbers(kind, n)
        for f in functions:
            check_two(f, a, b)
    for kind, functions in OF_ONE.items():
        a = numbers(kind, n)
        for f in functions:
            same(f(a), f(apart(a)))
            same(f(a), np.array([f(one) for one in a]))
            if f(a).dtype == a.dtype:
                same(f(a.copy(), out=a.copy()), f(a))


for n in (1, 2, 16, 17, 33, 500):
    for kind in "dfiIqQbBhH":
        a = numbers(kind, n)
        for c in (a, np.where(a == a, a, 1).astype(kind), np.sort(a), np.sort(a)[::-1].copy(), np.zeros(n, kind)):
            for f, best in ((np.argmax, max), (np.argmin, min)):
                listed = c.tolist()
                nan = [i for i, one in enumerate(listed) if one != one]
                assert f(c) == (nan[0] if nan else listed.index(best(listed)))


def error(f, x):
    """The largest one, in units of the last place."""
    worst = 0
    for one, found in zip(x.tolist(), f(x)):
        exact = decimal.Decimal(one).exp() if f is np.exp else decimal.Decimal(one).ln()
        worst = max(worst, abs(float((decimal.Decimal(float(found)) - exact) / decimal.Decimal(float(np.spacing(abs(found)))))))
    return worst


for f, x in (
    (np.exp, rng.uniform(-700, 700, 2000)), (np.exp, rng.uniform(-1, 1, 2000)), (np.log, np.exp(rng.uniform(-700, 700, 2000))),
    (np.log, rng.uniform(0.5, 2, 2000)), (np.log, 1 + rng.normal(size=2000) * 1e-5),
):  # fmt: skip
    single = x.astype("f")
    single = single[(np.abs(single) < 80) & (single > (-80 if f is np.exp else 1e-30)) & (single != 1)]
    assert error(f, x) < 1 and error(f, single) < 1
print("the same")
