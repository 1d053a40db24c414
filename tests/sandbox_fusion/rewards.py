"""Rewards of verl's own function over mixed samples (right, wrong, slow, endless, sleeping, cheating), first from an
idle service, a few samples at a time, then while it is overloaded: none may differ. With --known the first pass is left
out, and rewards are compared with what follows from the samples themselves, as the first pass does too.

    PYTHONPATH=<site> PROOFBOX_URL=http://127.0.0.1:8080 python3 rewards.py --samples 1000 --overload 5

verl gives up after three attempts of compile_timeout + run_timeout + 10 s each. A queue that needs longer makes rewards
differ: with 64 slots on 2 cores and a time limit of 2 s, 320 requests under way are such a queue.

Overload 5 means that five times as many requests are under way as the service runs at once, all the time: `--slots` is
the number that it runs at once (workers x slots of the service)."""

import argparse
import logging
import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from parts import module_of

compute_score = module_of("verl", "verl.utils.reward_score.sandbox_fusion").compute_score
logging.disable(logging.CRITICAL)

URL = os.environ["PROOFBOX_URL"] + "/sandbox-fusion/run_code"
# Steps of a slow sample, which take about half of verl's time limit in fuel.
SLOW_STEPS = 9_600_000


def sample(index):
    """A kind, an answer, its cases."""
    chance = random.Random(index)
    kind = chance.choices(
        ["right", "wrong", "partly", "error", "slow", "endless", "sleeps", "cheat", "syntax", "function"],
        [30, 15, 10, 8, 8, 5, 4, 8, 4, 8],
    )[0]
    # Not 0: what the cheat prints would be right.
    numbers = [chance.randrange(1, 1000) for _ in range(3)]
    cases = {"inputs": [f"{n}\n" for n in numbers], "outputs": [f"{n * n + index}\n" for n in numbers]}
    right = f"n = int(input())\nprint(n * n + {index})"
    code = {
        "right": right,
        "wrong": f"n = int(input())\nprint(n * n + {index} + 1)",
        "partly": f"n = int(input())\nprint(n * n + {index} if n != {numbers[0]} else 'no')",
        "error": f"n = int(input())\nprint(n * n + {index})\nraise ValueError(n)",
        "slow": f"for i in range({SLOW_STEPS}): j = i * i\n{right}",
        "endless": f"print({index})\nwhile True: pass",
        "sleeps": f"import time\ntime.sleep(0.4)\n{right}",
        "cheat": f"import os, sys\nprint({index}, flush=True)\nos._exit(0)",
        "syntax": f"n = int(input()\nprint(n * n + {index})",
        "function": f"def square(n):\n    return n * n + {index}",
    }[kind]
    if kind == "function":
        cases = {"inputs": [str(n) for n in numbers], "outputs": cases["outputs"], "fn_name": "square"}
    return kind, f"```python\n{code}\n```", cases


def reward(index, timeout, places=None):
    kind, answer, cases = sample(index)
    score, facts = compute_score(URL, places, 1024, answer, cases, timeout=timeout)
    return kind, score, tuple(fact.get("status") for fact in facts)


# Rewards by kind; "partly" is right but for its first number.
KNOWN = {"right": 1.0, "wrong": 0.0, "error": 0.0, "slow": 1.0, "endless": 0.0, "sleeps": 1.0, "cheat": 0.0,
         "syntax": 0.0, "function": 1.0}


def known(index):
    kind, _, cases = sample(index)
    others = [given for given in cases["inputs"] if given != cases["inputs"][0]]
    return kind, KNOWN.get(kind, len(others) / 3), None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--overload", type=float, default=5)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--timeout", type=int, default=2)
    parser.add_argument("--together", type=int, default=1, help="samples at a time before the overload, of 3 requests each")
    parser.add_argument("--known", action="store_true", help="leave out the pass before the overload")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of the overload, then no sample is begun")
    arguments = parser.parse_args()
    began = time.monotonic()
    assert 3 * arguments.together <= arguments.slots, "requests would wait"
    with ThreadPoolExecutor(arguments.together) as threads:
        first = known if arguments.known else lambda index: reward(index, arguments.timeout)
        idle = list(threads.map(first, range(arguments.samples)))
    middle = time.monotonic()
    print(f"idle: {middle - began:.1f} s, {dict(Counter(kind for kind, _, _ in idle))}", flush=True)
    for index, got in enumerate(idle):
        assert got[1] == known(index)[1], got
    under_way = int(arguments.slots * arguments.overload)
    places = threading.Semaphore(under_way)
    # Each sample sends its three cases at once; samples are repeated until there are enough of them to fill the queue.
    rounds = max(1, -(-2 * under_way // (3 * arguments.samples)))
    order = list(range(arguments.samples)) * rounds
    random.Random(0).shuffle(order)

    def graded(index):
        if time.monotonic() - middle > arguments.seconds:
            return None
        return index, reward(index, arguments.timeout, places)

    with ThreadPoolExecutor(under_way // 3 + 1) as threads:
        busy = [done for done in threads.map(graded, order) if done is not None]
    print(f"overloaded: {time.monotonic() - middle:.1f} s, {len(busy)} samples, {under_way} requests under way")
    # A reward is the score. Reasons are counted apart: an endless program earns nothing, whether it was stopped or its
    # client gave up.
    reasons = [(index, idle[index], got) for index, got in busy if idle[index][2] is not None and got != idle[index]]
    differing = [(index, idle[index], got) for index, got in busy if got[1] != idle[index][1]]
    for index, before, after in [*differing, *reasons][:20]:
        print(f"DIFFERS {index}: {before} {after}")
    print(f"{len(reasons)} reasons differ")
    print(f"{dict(Counter(got[0] for _, got in busy))}")
    print(f"{len(busy)} rewards, {len(differing)} differ")
    raise SystemExit(bool(differing))


if __name__ == "__main__":
    main()
