"""Integers that fit one digit and that don't, floats, bits; in functions and at module level."""

import cmath
import math


def primes_below(limit):
    is_prime = [True] * limit
    is_prime[0:2] = [False, False]
    for i in range(2, int(limit**0.5) + 1):
        if is_prime[i]:
            for j in range(i * i, limit, i):
                is_prime[j] = False
    return [i for i, prime in enumerate(is_prime) if prime]


def is_prime(n):
    if n < 2:
        return False
    i = 2
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    return True


def collatz_steps(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def greatest_common_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


def digits_sum(n):
    total = 0
    while n > 0:
        total += n % 10
        n //= 10
    return total


def power_modulo(base, exponent, modulus):
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        exponent >>= 1
        base = base * base % modulus
    return result


def multiply(a, b):
    rows, inner, columns = len(a), len(b), len(b[0])
    product = [[0] * columns for _ in range(rows)]
    for i in range(rows):
        for j in range(columns):
            for k in range(inner):
                product[i][j] += a[i][k] * b[k][j]
    return product


def escape_times(width, height, limit):
    for row in range(height):
        for column in range(width):
            c = complex(3.0 * column / width - 2.0, 2.0 * row / height - 1.0)
            z = 0j
            count = 0
            while abs(z) <= 2 and count < limit:
                z = z * z + c
                count += 1
            yield count


def mandelbrot_row(y, width, limit):
    counts = []
    for i in range(width):
        x0 = -2.0 + 3.0 * i / width
        x = y0 = 0.0
        n = 0
        while x * x + y0 * y0 < 4.0 and n < limit:
            x, y0 = x * x - y0 * y0 + x0, 2.0 * x * y0 + y
            n += 1
        counts.append(n)
    return counts


def integrate(f, low, high, steps):
    width = (high - low) / steps
    total = 0.5 * (f(low) + f(high))
    for i in range(1, steps):
        total += f(low + i * width)
    return total * width


def newton_root(x, tolerance=1e-12):
    guess = x / 2 or 1.0
    while abs(guess * guess - x) > tolerance * max(x, 1.0):
        guess = (guess + x / guess) / 2
    return guess


def monte_carlo_pi(samples):
    state, inside = 12345, 0
    for _ in range(samples):
        state = (1103515245 * state + 12345) & 0x7FFFFFFF
        x = state / 0x7FFFFFFF
        state = (1103515245 * state + 12345) & 0x7FFFFFFF
        y = state / 0x7FFFFFFF
        if x * x + y * y <= 1.0:
            inside += 1
    return 4 * inside / samples


def pi_digits(count):
    q, r, t, k, n, l = 1, 0, 1, 1, 3, 3
    digits = []
    while len(digits) < count:
        if 4 * q + r - t < n * t:
            digits.append(n)
            q, r, n = 10 * q, 10 * (r - n * t), 10 * (3 * q + r) // t - 10 * n
        else:
            q, r, t, k, n, l = q * k, (2 * q + r) * l, t * l, k + 1, (q * (7 * k + 2) + r * l) // (t * l), l + 2
    return digits


def fibonacci_iterative(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def hamming_weight(n):
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


assert len(primes_below(60_000)) == 6057
assert sum(1 for n in range(4000) if is_prime(n)) == 550
assert max(range(1, 2500), key=collatz_steps) == 2463
assert sum(greatest_common_divisor(a, 360) for a in range(1, 8000)) > 0
assert sum(map(digits_sum, range(20_000))) > 300_000
assert power_modulo(7, 10**40, 10**9 + 7) == pow(7, 10**40, 10**9 + 7)
matrix = [[(i * j) % 7 + 1 for j in range(22)] for i in range(22)]
for _ in range(3):
    matrix = [[value % 1000 for value in row] for row in multiply(matrix, matrix)]
assert sum(escape_times(26, 20, 60)) > 0
for step in range(12):
    mandelbrot_row(step / 12, 60, 60)
assert abs(integrate(lambda x: x * x, 0.0, 3.0, 20_000) - 9.0) < 1e-6
assert abs(integrate(math.sin, 0.0, math.pi, 10_000) - 2.0) < 1e-6
assert abs(sum(newton_root(float(n)) for n in range(1500)) - sum(math.sqrt(n) for n in range(1500))) < 1e-3
assert 3.0 < monte_carlo_pi(25_000) < 3.3
assert pi_digits(200)[:5] == [3, 1, 4, 1, 5]
assert fibonacci_iterative(3000) % 10 == fibonacci_iterative(3000 % 60) % 10
assert sum(hamming_weight(n) for n in range(8000)) > 0
assert math.factorial(300) // math.factorial(298) == 300 * 299
assert str(2**2000).isdigit() and int(str(3**500)) == 3**500

# At module level, where names are looked up in dictionaries.
total = 0
for i in range(40_000):
    if i % 3 == 0 or i % 5 == 0:
        total += i
squares = 0
n = 0
while n < 20_000:
    n += 1
    squares += n * n
    if n & 1:
        continue
    squares ^= n
average = sum([i * 0.5 for i in range(10_000)]) / 10_000
rounded = [round(math.sqrt(i) * 100) / 100 for i in range(4000)]
spread = math.sqrt(sum((x - average) ** 2 for x in rounded) / len(rounded))
roots = [cmath.exp(2j * math.pi * k / 64) for k in range(64)]
bounds = [min(a, b) + max(a, b) + abs(a - b) + divmod(a, 7)[1] for a in range(60) for b in range(60)]
