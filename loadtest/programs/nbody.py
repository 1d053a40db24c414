import time


def nbody(n):
    bodies = [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 39.47841760435743],
        [4.84, -1.16, -0.10, 0.606, 2.81, -0.02, 0.0376],
        [8.34, 4.12, -0.4, -1.01, 1.81, 0.008, 0.0112],
        [12.89, -15.11, -0.22, 1.08, 0.868, -0.01, 0.0017],
        [15.37, -25.9, 0.179, 0.979, 0.594, -0.034, 0.002],
    ]
    pairs = [(a, b) for i, a in enumerate(bodies) for b in bodies[i + 1 :]]
    dt = 0.01
    for _ in range(n):
        for a, b in pairs:
            dx = a[0] - b[0]
            dy = a[1] - b[1]
            dz = a[2] - b[2]
            m = dt * ((dx * dx + dy * dy + dz * dz) ** -1.5)
            am = b[6] * m
            bm = a[6] * m
            a[3] -= dx * am
            a[4] -= dy * am
            a[5] -= dz * am
            b[3] += dx * bm
            b[4] += dy * bm
            b[5] += dz * bm
        for r in bodies:
            r[0] += dt * r[3]
            r[1] += dt * r[4]
            r[2] += dt * r[5]
    return bodies


_began = time.perf_counter()
assert len(nbody(20000)) == 5
print(time.perf_counter() - _began)
