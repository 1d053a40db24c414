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
OF_TWO = {kind: (*functions, np.arctan2, np.hypot) if kind in "df" else functions for kind, functions in OF_TWO.items()}
OF_TWO |= {kind: (*ARITHMETIC, *ORDER) for kind in "iIqQbBhH"}
ROUNDED = (np.sqrt, np.square, np.rint, np.floor, np.ceil, np.trunc, np.absolute, np.negative, np.reciprocal)
TESTS = (np.isnan, np.isinf, np.isfinite, np.signbit)
FUNCTIONS = (
    np.exp, np.exp2, np.expm1, np.tanh, np.sinh, np.cosh, np.log, np.log2, np.log10, np.log1p, np.arctanh, np.arcsinh,
    np.arccosh, np.sin, np.cos, np.tan, np.arctan, np.arcsin, np.arccos, np.cbrt,
)  # fmt: skip
OF_ONE = {kind: ROUNDED + TESTS + FUNCTIONS for kind in "df"} | {"D": (np.absolute,), "?": (np.logical_not,)}


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


def sin(x):
    term, total, k = x, x, 1
    while abs(term) > abs(total) * decimal.Decimal("1e-38"):
        term *= -x * x / ((k + 1) * (k + 2))
        total, k = total + term, k + 2
    return total


def cos(x):
    return 1 - 2 * sin(x / 2) ** 2


def near(f, inverse):
    """The exact result beside numpy's, by a step that leaves the square of its error."""
    return lambda x: (lambda y: y + inverse(x, y))(decimal.Decimal(float(f(float(x)))))


ONE = decimal.Decimal(1)
EXACT = {
    np.exp: lambda x: x.exp(), np.exp2: lambda x: (x * decimal.Decimal(2).ln()).exp(), np.expm1: lambda x: x.exp() - 1,
    np.tanh: lambda x: 1 - 2 / ((2 * x).exp() + 1), np.sinh: lambda x: (x.exp() - (-x).exp()) / 2,
    np.cosh: lambda x: (x.exp() + (-x).exp()) / 2, np.log: lambda x: x.ln(), np.log2: lambda x: x.ln() / decimal.Decimal(2).ln(),
    np.log10: lambda x: x.log10(), np.log1p: lambda x: (1 + x).ln(), np.arctanh: lambda x: ((1 + x) / (1 - x)).ln() / 2,
    np.arcsinh: lambda x: (abs(x) + (x * x + 1).sqrt()).ln().copy_sign(x), np.arccosh: lambda x: (x + (x * x - 1).sqrt()).ln(),
    np.sin: sin, np.cos: cos, np.tan: lambda x: sin(x) / cos(x),
    np.arctan: near(np.arctan, lambda x, y: (x * cos(y) - sin(y)) / (x * sin(y) + cos(y))),
    np.arcsin: near(np.arcsin, lambda x, y: (x - sin(y)) / cos(y)), np.arccos: near(np.arccos, lambda x, y: (cos(y) - x) / sin(y)),
    np.cbrt: near(np.cbrt, lambda x, y: (x - y**3) / (3 * y * y)),
}  # fmt: skip


def error(f, x):
    """The largest one, in units of the last place."""
    worst = 0
    for one, found in zip(x.tolist(), f(x)):
        exact = EXACT[f](decimal.Decimal(one))
        worst = max(worst, abs(float((decimal.Decimal(float(found)) - exact) / decimal.Decimal(float(np.spacing(abs(found)))))))
    return worst


SMALL, LARGE = rng.normal(size=500) * 10.0 ** rng.integers(-4, 1, 500), rng.uniform(-40, 40, 500)
ARGUMENTS = {
    np.exp: (-700, 700, 80), np.exp2: (-1000, 1000, 120), np.expm1: (-700, 700, 80), np.sinh: (-700, 700, 80),
    np.cosh: (-700, 700, 80), np.tanh: (-18, 18, 8), np.arctanh: (-1, 1, 1), np.arcsin: (-1, 1, 1), np.arccos: (-1, 1, 1),
}  # fmt: skip
for f in FUNCTIONS:
    if f in (np.log, np.log2, np.log10):
        sets = [np.exp(rng.uniform(-700, 700, 500)), rng.uniform(0.5, 2, 500), 1 + rng.normal(size=500) * 1e-5, 1 + rng.uniform(-0.03, 0.03, 500)]
    elif f is np.arccosh:
        sets = [1 + abs(SMALL), np.exp(rng.uniform(0.1, 300, 500))]
    elif f is np.log1p:
        sets = [SMALL[SMALL > -1], np.exp(rng.uniform(-30, 300, 500)), rng.uniform(-0.03, 0.03, 500), np.exp(rng.uniform(-14, 0, 500)) - 1]
    elif f in ARGUMENTS:
        least, most, _ = ARGUMENTS[f]
        sets = [rng.uniform(least, most, 500), SMALL[(SMALL > least) & (SMALL < most)]]
    else:
        sets = [SMALL, LARGE]
    limit = 1 if f in (np.exp, np.exp2, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.arccos, np.arcsin, np.arctanh) else 2
    for x in sets:
        single = x.astype("f")
        single = single[(abs(single) < ARGUMENTS.get(f, (0, 0, 80))[2]) & (abs(single) > 1e-30) & (single != 1)]
        assert error(f, x) < limit and error(f, single) < limit, (f, error(f, x), error(f, single))

def error_of_two(f, exact, a, b):
    """The largest one of a function of two numbers, in units of the last place."""
    pairs = zip(a.tolist(), b.tolist(), f(a, b))
    return max(
        abs(float((decimal.Decimal(float(found)) - exact(decimal.Decimal(x), decimal.Decimal(y), found)) / decimal.Decimal(float(np.spacing(abs(found))))))
        for x, y, found in pairs
    )


def angle(y, x, found):
    r = decimal.Decimal(float(found))
    return r + (y * cos(r) - x * sin(r)) / (y * sin(r) + x * cos(r))


for kind in ("d", "f"):
    a, b = (rng.normal(size=500) * 10.0 ** rng.integers(-3, 4, 500) for _ in range(2))
    a, b = a.astype(kind), b.astype(kind)
    assert error_of_two(np.arctan2, angle, a, b) < 2 and error_of_two(np.hypot, lambda x, y, _: (x * x + y * y).sqrt(), a, b) < 2
    assert (np.hypot(a, b) == np.hypot(b, a)).all()
    powers = np.arange(np.finfo(kind).minexp - np.finfo(kind).nmant, np.finfo(kind).maxexp)
    assert (np.log2(np.ldexp(np.ones(len(powers), kind), powers)) == powers).all()
    # What is as large as its argument, as far as these numbers tell.
    least = np.finfo(kind).smallest_subnormal
    tiny = (least * np.array([1, -1, 3, 5, 1001, -77777], kind)).astype(kind)
    assert (np.cbrt(np.arange(-100, 100, dtype=kind) ** 3) == np.arange(-100, 100)).all()
    for f in (np.expm1, np.tanh, np.sinh, np.sin, np.tan, np.arctan, np.arcsin, np.arcsinh, np.arctanh, np.log1p):
        assert (f(tiny) == tiny).all(), f
    assert np.isnan(np.arccosh(-np.logspace(0, 12, 2000).astype(kind))).all()
    for n in (1, 3, 4, 40):
        nothing = np.full(2 * n, np.nan, kind)
        assert not np.signbit(np.abs(nothing[:n])).any() and not np.signbit(np.abs(nothing[::2])).any()
print("the same")
