"""Lists, tuples, dicts and sets, by loop, method and comprehension, and what `collections` makes of them."""

import bisect
import heapq
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from itertools import chain, groupby


def two_sum(numbers, target):
    seen = {}
    for i, number in enumerate(numbers):
        if target - number in seen:
            return [seen[target - number], i]
        seen[number] = i
    return None


def group_anagrams(words):
    groups = defaultdict(list)
    for word in words:
        groups["".join(sorted(word))].append(word)
    return [group for group in groups.values() if len(group) > 1]


def rotate(matrix):
    return [list(row) for row in zip(*matrix[::-1])]


def flatten(nested):
    flat = []
    for item in nested:
        if isinstance(item, (list, tuple)):
            flat.extend(flatten(item))
        else:
            flat.append(item)
    return flat


def unique_in_order(items):
    seen = set()
    return [item for item in items if not (item in seen or seen.add(item))]


def maximum_in_windows(numbers, width):
    window, result = deque(), []
    for i, number in enumerate(numbers):
        while window and numbers[window[-1]] <= number:
            window.pop()
        window.append(i)
        if window[0] == i - width:
            window.popleft()
        if i >= width - 1:
            result.append(numbers[window[0]])
    return result


def invert(mapping):
    inverted = {}
    for key, value in mapping.items():
        inverted.setdefault(value, []).append(key)
    return inverted


def merged_intervals(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


class LeastRecentlyUsed:
    def __init__(self, capacity):
        self.capacity = capacity
        self.items = OrderedDict()

    def get(self, key):
        if key not in self.items:
            return None
        self.items.move_to_end(key)
        return self.items[key]

    def put(self, key, value):
        self.items[key] = value
        self.items.move_to_end(key)
        if len(self.items) > self.capacity:
            self.items.popitem(last=False)


Point = namedtuple("Point", "x y label")

for repetition in range(12):
    numbers = [(i * 7919 + repetition) % 1009 for i in range(1000)]
    assert two_sum(numbers, numbers[400] + numbers[900])
    assert len(rotate(rotate([[i * 10 + j for j in range(20)] for i in range(20)]))) == 20
    assert flatten([numbers[:50], [numbers[50:80], (1, [2, [3]])], 4] * 4)
    assert len(unique_in_order(numbers)) == len(set(numbers))
    assert maximum_in_windows(numbers, 10)
    assert sum(map(len, invert({n: n % 17 for n in numbers}).values())) == len(set(numbers))
    assert merged_intervals([(n, n + n % 9) for n in numbers])
    words = ["".join(chr(97 + (i * k) % 11) for k in range(5)) for i in range(300)]
    assert group_anagrams(words)
    cache = LeastRecentlyUsed(60)
    for number in numbers:
        if cache.get(number % 90) is None:
            cache.put(number % 90, number)

    queue = deque(numbers[:200])
    for _ in range(400):
        queue.append(queue.popleft() + 1)
    heap = []
    for number in numbers[:400]:
        heapq.heappush(heap, (number, str(number)))
    ordered = [heapq.heappop(heap)[0] for _ in range(len(heap))]
    assert ordered == sorted(ordered) and heapq.nlargest(3, numbers) == sorted(numbers)[:-4:-1]
    kept = []
    for number in numbers[:300]:
        bisect.insort(kept, number)
        assert kept[bisect.bisect_left(kept, number)] == number
    counts = Counter(words) + Counter("".join(words))
    assert counts.most_common(3) and counts["nothing"] == 0
    points = [Point(n % 31, n % 17, str(n)) for n in numbers[:300]]
    nearest = min(points, key=lambda p: (p.x - 9) ** 2 + (p.y - 9) ** 2)
    moved = [point._replace(x=point.x + 1) for point in points if point.y > nearest.y]
    assert {label for _, _, label in moved} <= {point.label for point in points}
    layers = ChainMap({"a": 1}, {"b": 2, "a": 3})
    assert layers["a"] == 1 and list(chain.from_iterable([[1], [2, 3]])) == [1, 2, 3]
    by_digit = {key: len(list(group)) for key, group in groupby(sorted(numbers), key=lambda n: n // 100)}
    assert sum(by_digit.values()) == 1000

    evens, odds = {n for n in numbers if n % 2 == 0}, {n for n in numbers if n % 2}
    assert not evens & odds and len(evens | odds) == len(evens) + len(odds) and evens - odds == evens ^ (evens & odds)
    assert frozenset(evens) >= {min(evens)} and sorted(evens)[0] == min(evens)
    grid = [[(row * column) % 5 for column in range(40)] for row in range(40)]
    grid = [[sum(grid[(r + dr) % 40][(c + dc) % 40] for dr in (-1, 0, 1) for dc in (-1, 0, 1)) for c in range(40)]
            for r in range(0, 40, 3)]
    squares = {n: n * n for n in range(300)}
    squares.update({str(n): n for n in range(300)})
    for key in list(squares):
        if isinstance(key, str) and key.endswith("7"):
            del squares[key]
    pairs = list(zip(numbers, numbers[1:], strict=False))
    rises = [b - a for a, b in pairs if b > a]
    (first, *middle), last = numbers[:-1], numbers[-1]
    numbers[10:20] = reversed(numbers[10:20])
    del numbers[::7]
    numbers.insert(3, 5)
    numbers.remove(5)
    assert last in numbers and numbers.index(last) >= 0 and numbers.count(last) >= 1 and first >= 0 and sum(rises) > 0 and [*middle, last]
    assert any(n > 1000 for n in numbers) and all(n >= 0 for n in numbers)
    record = {"name": "x", "tags": ["a", "b"], "size": {"w": 1, "h": 2}}
    copies = [{**record, "id": i, "size": dict(record["size"], w=i)} for i in range(200)]
    assert sum(entry["size"]["w"] for entry in copies if entry.get("tags") and "a" in entry["tags"]) == 19_900
    totals = {}
    for entry in copies:
        totals[entry["id"] % 7] = totals.get(entry["id"] % 7, 0) + entry["id"]
    assert tuple(sorted(totals.items(), key=lambda item: item[1], reverse=True))[0][1] == max(totals.values())
