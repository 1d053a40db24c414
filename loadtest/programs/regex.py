import time
import re


def rx(n):
    t = (
        "The quick brown fox jumps over 12 lazy dogs at 10:45 on 2024-05-06, mail bob.smith@example.com or http://x.org/a?b=c "
        * 40
    )
    c = 0
    for _ in range(n):
        c += len(re.findall(r"\b[\w.]+@[\w.]+\b", t)) + len(re.findall(r"(\d{4})-(\d\d)-(\d\d)", t))
        c += len(re.sub(r"(?i)(o)(.)", r"\2\1", t)) + len(re.split(r"\s+", t))
    return c


_began = time.perf_counter()
assert rx(40) > 0
print(time.perf_counter() - _began)
