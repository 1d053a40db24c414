"""Speed of numpy in the sandbox against native numpy of the same version, as a table.

    python3 loadtest/arrays.py --server http://127.0.0.1:8080 --python NATIVE_PYTHON

Each line is the best of several; natively one thread calculates, as here."""

import argparse

import beside_native

PROGRAM = '''
import json, time
import numpy as np
rng = np.random.default_rng(0)
A, B, v, i = rng.random((300, 300)), rng.random((300, 300)), rng.random(1_000_000), rng.integers(0, 1000, 1_000_000)
f = v.astype("f4")
WORK = {
    "matmul 300 x 300": (lambda: A @ B, 10),
    "matmul 300 x 300, float32": (lambda: A.astype("f4") @ B.astype("f4"), 10),
    "matmul 300 x 300, complex": (lambda: (A + 0j) @ (B + 0j), 5),
    "dot of 1e6": (lambda: v @ v, 10),
    "sum of 1e6": (lambda: v.sum(), 20),
    "add 1e6": (lambda: v + v, 20),
    "multiply 1e6, float32": (lambda: f * f, 20),
    "sqrt 1e6": (lambda: np.sqrt(v), 10),
    "exp 1e6": (lambda: np.exp(v), 5),
    "sin 1e6": (lambda: np.sin(v), 5),
    "exp 1e6, float32": (lambda: np.exp(f), 5),
    "log 1e6": (lambda: np.log(v), 5),
    "tanh 1e6": (lambda: np.tanh(v), 5),
    "tanh 1e6, float32": (lambda: np.tanh(f), 5),
    "log1p 1e6": (lambda: np.log1p(v), 5),
    "expm1 1e6": (lambda: np.expm1(v), 5),
    "tan 1e6": (lambda: np.tan(v), 5),
    "arctan 1e6": (lambda: np.arctan(v), 5),
    "arctan2 1e6": (lambda: np.arctan2(v, 1 - v), 5),
    "arcsin 1e6": (lambda: np.arcsin(v), 5),
    "isnan 1e6": (lambda: np.isnan(v), 5),
    "compare and select 1e6": (lambda: v[v > 0.5], 5),
    "cumsum 1e6": (lambda: np.cumsum(v), 5),
    "max of 1e6": (lambda: v.max(), 10),
    "sort 1e6": (lambda: np.sort(v), 3),
    "argsort 1e6": (lambda: np.argsort(v), 3),
    "partition 1e5": (lambda: np.partition(v[:100000], 50000), 5),
    "median of 1e5": (lambda: np.median(v[:100000]), 5),
    "unique of 1e6 integers": (lambda: np.unique(i), 3),
    "fft of 65536": (lambda: np.fft.fft(v[:65536]), 5),
    "solve 300 x 300": (lambda: np.linalg.solve(A, B[:, 0]), 5),
    "inv 200 x 200": (lambda: np.linalg.inv(A[:200, :200]), 5),
    "cholesky 300 x 300": (lambda: np.linalg.cholesky(A @ A.T + np.eye(300)), 5),
    "eig 100 x 100": (lambda: np.linalg.eig(A[:100, :100]), 3),
    "svd 100 x 100": (lambda: np.linalg.svd(A[:100, :100]), 3),
    "normal numbers, 1e6": (lambda: rng.normal(size=1_000_000), 3),
    "add 10 numbers, 1000 times": (lambda: [v[:10] + v[:10] for _ in range(1000)], 5),
    "iterate over 1e5 numbers": (lambda: sum(x for x in v[:100000]), 3),
}
def best(function, rounds):
    function()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times) * 1e3
print(json.dumps({name: best(*work) for name, work in WORK.items()}))
'''


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--python", required=True)
    arguments = parser.parse_args()
    limits = {"wall_seconds": 300, "fuel": 10**13, "memory_bytes": 2**30}
    beside_native.print_table(beside_native.compare(arguments.server, arguments.python, PROGRAM, limits=limits), 1)


if __name__ == "__main__":
    main()
