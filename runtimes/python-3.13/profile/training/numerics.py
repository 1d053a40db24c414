"""Decimals, fractions, statistics, dates, random numbers."""

import random
import statistics
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal, getcontext, localcontext
from fractions import Fraction


def instalments(principal, rate, months):
    monthly = Decimal(rate) / 12
    payment = principal * monthly / (1 - (1 + monthly) ** -months)
    cent = Decimal("0.01")
    balance, paid = principal, Decimal(0)
    for _ in range(months):
        interest = (balance * monthly).quantize(cent, ROUND_HALF_UP)
        balance -= payment.quantize(cent) - interest
        paid += interest
    return paid


def decimal_pi():
    with localcontext() as context:
        context.prec += 2
        three = Decimal(3)
        last, t, s, n, na, d, da = 0, three, 3, 1, 0, 0, 24
        while s != last:
            last = s
            n, na = n + na, na + 8
            d, da = d + da, da + 32
            t = (t * n) / d
            s += t
    return +s


def harmonic(n):
    return sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))


def work_days(start, end):
    days = 0
    while start < end:
        if start.weekday() < 5:
            days += 1
        start += timedelta(days=1)
    return days


def parse(text):
    return datetime.strptime(text, "%Y-%m-%d %H:%M")


def linear_fit(xs, ys):
    n = len(xs)
    mean_x, mean_y = sum(xs) / n, sum(ys) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)
    return slope, mean_y - slope * mean_x


def shuffled_deck(generator):
    deck = [rank + suit for suit in "SHDC" for rank in "23456789TJQKA"]
    generator.shuffle(deck)
    return [deck[i : i + 5] for i in range(0, 50, 5)]


def random_walk(generator, steps):
    x = y = 0
    for _ in range(steps):
        dx, dy = generator.choice([(0, 1), (0, -1), (1, 0), (-1, 0)])
        x, y = x + dx, y + dy
    return abs(x) + abs(y)


getcontext().prec = 40
generator = random.Random(3)
for repetition in range(5):
    assert instalments(Decimal("25000"), "0.049", 120) > 1000
    assert str(decimal_pi()).startswith("3.14159265358979")
    assert Decimal("1.1") + Decimal("2.2") == Decimal("3.3") and Decimal(2).sqrt() ** 2 < 3 and f"{Decimal('1e3'):,.2f}"
    assert harmonic(60).denominator > 1 and Fraction("3/4") + Fraction(0.25) == 1
    assert work_days(date(2023, 1, 1), date(2024, 6, 1)) == 370
    moments = [parse(f"2024-0{i % 9 + 1}-1{i % 9} 1{i % 9}:2{i % 6}") for i in range(60)]
    assert max(moments) - min(moments) > timedelta(days=200)
    assert all(datetime.fromisoformat(moment.isoformat()) == moment for moment in moments)
    assert [moment.replace(tzinfo=timezone.utc).strftime("%A, %d %B %Y %H:%M %z") for moment in moments]
    assert sorted({(moment.year, moment.month) for moment in moments})
    values = [generator.gauss(10, 2) for _ in range(300)]
    assert 9 < statistics.mean(values) < 11 and statistics.median(values) and statistics.pstdev(values) > 1
    slope, _ = linear_fit(range(300), [2.0 * x + noise for x, noise in enumerate(values)])
    assert abs(slope - 2) < 0.1
    assert len(shuffled_deck(generator)) == 10 and random_walk(generator, 1500) >= 0
    rolls = [generator.randint(1, 6) + generator.randrange(1, 7) for _ in range(800)]
    assert set(rolls) <= set(range(2, 13)) and generator.sample(range(100), 10)
    assert sum(generator.random() < 0.5 for _ in range(2000)) > 800 and generator.choices("ab", k=20)
