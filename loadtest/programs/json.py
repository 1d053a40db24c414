import time
import json


def js(n):
    o = {
        "a": [i * 1.5 for i in range(200)],
        "b": {str(i): {"x": i, "y": "s" * (i % 20), "z": [True, None, i]} for i in range(200)},
    }
    for _ in range(n):
        s = json.dumps(o)
        p = json.loads(s)
    return p == json.loads(json.dumps(p, indent=1))


_began = time.perf_counter()
assert js(150)
print(time.perf_counter() - _began)
