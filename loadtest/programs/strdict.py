import time


def strdict(n):
    d = {}
    for i in range(n):
        k = "key" + str(i % 5003)
        d[k] = d.get(k, 0) + len(k)
        s = k.upper().replace("K", "c")
        if s in d:
            d[s] += 1
    out = []
    for k, v in d.items():
        out.append(f"{k}={v}")
    t = ",".join(out)
    return sum(len(x.split("=")[1]) for x in t.split(",")) + sum(1 for c in t if c.isdigit())


_began = time.perf_counter()
assert strdict(250000) > 0
print(time.perf_counter() - _began)
