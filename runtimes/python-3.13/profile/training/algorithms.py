"""What exercises and contests ask for: graphs, tables, searches, simulations."""

import heapq
from collections import defaultdict, deque


def shortest_paths(graph, start):
    distances = {node: float("inf") for node in graph}
    distances[start] = 0
    heap = [(0, start)]
    while heap:
        distance, node = heapq.heappop(heap)
        if distance > distances[node]:
            continue
        for neighbour, weight in graph[node].items():
            through = distance + weight
            if through < distances[neighbour]:
                distances[neighbour] = through
                heapq.heappush(heap, (through, neighbour))
    return distances


def breadth_first(grid, start, goal):
    rows, columns = len(grid), len(grid[0])
    queue = deque([(start, 0)])
    seen = {start}
    while queue:
        (r, c), steps = queue.popleft()
        if (r, c) == goal:
            return steps
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            nr, nc = r + dr, c + dc
            if 0 <= nr < rows and 0 <= nc < columns and grid[nr][nc] != "#" and (nr, nc) not in seen:
                seen.add((nr, nc))
                queue.append(((nr, nc), steps + 1))
    return -1


def count_islands(grid):
    grid = [row[:] for row in grid]

    def sink(r, c):
        if r < 0 or c < 0 or r >= len(grid) or c >= len(grid[0]) or grid[r][c] != 1:
            return
        grid[r][c] = 0
        sink(r + 1, c)
        sink(r - 1, c)
        sink(r, c + 1)
        sink(r, c - 1)

    count = 0
    for r in range(len(grid)):
        for c in range(len(grid[0])):
            if grid[r][c] == 1:
                count += 1
                sink(r, c)
    return count


def topological_order(edges):
    graph, degree = defaultdict(list), defaultdict(int)
    for before, after in edges:
        graph[before].append(after)
        degree[after] += 1
        degree[before] += 0
    ready = [node for node in degree if degree[node] == 0]
    order = []
    while ready:
        node = ready.pop()
        order.append(node)
        for after in graph[node]:
            degree[after] -= 1
            if degree[after] == 0:
                ready.append(after)
    return order


def knapsack(weights, values, capacity):
    best = [0] * (capacity + 1)
    for weight, value in zip(weights, values):
        for room in range(capacity, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[capacity]


def coin_change(coins, amount):
    table = [0] + [float("inf")] * amount
    for total in range(1, amount + 1):
        for coin in coins:
            if coin <= total and table[total - coin] + 1 < table[total]:
                table[total] = table[total - coin] + 1
    return table[amount]


def longest_rising(numbers):
    tails = []
    for number in numbers:
        low, high = 0, len(tails)
        while low < high:
            middle = (low + high) // 2
            if tails[middle] < number:
                low = middle + 1
            else:
                high = middle
        if low == len(tails):
            tails.append(number)
        else:
            tails[low] = number
    return len(tails)


def largest_sum(numbers):
    best = current = numbers[0]
    for number in numbers[1:]:
        current = max(number, current + number)
        best = max(best, current)
    return best


def binary_search(items, wanted):
    low, high = 0, len(items) - 1
    while low <= high:
        middle = (low + high) // 2
        if items[middle] == wanted:
            return middle
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1


class DisjointSets:
    def __init__(self, size):
        self.parent = list(range(size))
        self.rank = [0] * size

    def find(self, x):
        if self.parent[x] != x:
            self.parent[x] = self.find(self.parent[x])
        return self.parent[x]

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.rank[a] < self.rank[b]:
            a, b = b, a
        self.parent[b] = a
        self.rank[a] += self.rank[a] == self.rank[b]
        return True


def spanning_tree(size, edges):
    sets = DisjointSets(size)
    return sum(weight for weight, a, b in sorted(edges) if sets.union(a, b))


class Trie:
    def __init__(self):
        self.root = {}

    def insert(self, word):
        node = self.root
        for letter in word:
            node = node.setdefault(letter, {})
        node["$"] = True

    def starting_with(self, prefix):
        node = self.root
        for letter in prefix:
            if letter not in node:
                return []
            node = node[letter]
        found = []
        stack = [(node, prefix)]
        while stack:
            node, word = stack.pop()
            for letter, child in node.items():
                if letter == "$":
                    found.append(word)
                else:
                    stack.append((child, word + letter))
        return found


def next_generation(cells):
    counts = defaultdict(int)
    for x, y in cells:
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx or dy:
                    counts[x + dx, y + dy] += 1
    return {cell for cell, count in counts.items() if count == 3 or (count == 2 and cell in cells)}


def solve_sudoku(board):
    for r in range(9):
        for c in range(9):
            if board[r][c] == 0:
                for digit in range(1, 10):
                    if fits(board, r, c, digit):
                        board[r][c] = digit
                        if solve_sudoku(board):
                            return True
                        board[r][c] = 0
                return False
    return True


def fits(board, r, c, digit):
    for i in range(9):
        if board[r][i] == digit or board[i][c] == digit:
            return False
    top, left = 3 * (r // 3), 3 * (c // 3)
    return all(board[top + i][left + j] != digit for i in range(3) for j in range(3))


def trapped_water(heights):
    left, right = 0, len(heights) - 1
    left_wall = right_wall = water = 0
    while left < right:
        if heights[left] < heights[right]:
            left_wall = max(left_wall, heights[left])
            water += left_wall - heights[left]
            left += 1
        else:
            right_wall = max(right_wall, heights[right])
            water += right_wall - heights[right]
            right -= 1
    return water


def floyd_warshall(size, edges):
    far = float("inf")
    distance = [[0 if i == j else far for j in range(size)] for i in range(size)]
    for a, b, weight in edges:
        distance[a][b] = min(distance[a][b], weight)
    for k in range(size):
        for i in range(size):
            for j in range(size):
                if distance[i][k] + distance[k][j] < distance[i][j]:
                    distance[i][j] = distance[i][k] + distance[k][j]
    return distance


def simulate_bank(steps):
    waiting, served, clock, state = deque(), 0, 0.0, 17
    for _ in range(steps):
        state = (state * 69069 + 1) % 2**32
        clock += state / 2**32
        if state % 3:
            waiting.append(clock)
        elif waiting:
            served += clock - waiting.popleft() < 5
    return served


EASY = """53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"""
PUZZLE = [[int(c) if c != "." else 0 for c in EASY[i * 9 : i * 9 + 9]] for i in range(9)]

for repetition in range(3):
    graph = {i: {(i * k + 1) % 150: k + (i * k) % 11 for k in range(2, 7)} for i in range(150)}
    assert len(shortest_paths(graph, 0)) == 150
    maze = [["#" if (r * 7 + c * 13) % 5 == 0 and (r + c) % 4 else "." for c in range(45)] for r in range(45)]
    breadth_first(maze, (0, 0), (44, 44))
    assert count_islands([[int((r * r + c * 3) % 7 < 3) for c in range(40)] for r in range(40)]) > 3
    assert len(topological_order([(i, i + k) for i in range(300) for k in (1, 3, 5)])) == 305
    assert knapsack([3 + i % 9 for i in range(40)], [10 + i * 3 % 17 for i in range(40)], 150) > 100
    assert coin_change([1, 7, 10, 25], 800) == 32
    numbers = [(i * 7919 + repetition) % 3001 - 1500 for i in range(2500)]
    assert longest_rising(numbers) > 10 and largest_sum(numbers) > 0 and trapped_water([n % 90 for n in numbers])
    ordered = sorted(numbers)
    assert all(ordered[binary_search(ordered, n)] == n for n in numbers[:800])
    assert spanning_tree(200, [((i * j) % 97 + 1, i, j) for i in range(200) for j in (i // 2, i // 3, (i * 7) % 200)]) > 0
    trie = Trie()
    for i in range(500):
        trie.insert("".join(chr(97 + (i // 5**k) % 5) for k in range(5)))
    assert len(trie.starting_with("a")) == 100
    cells = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2), (10, 10), (10, 11), (11, 10), (9, 10), (10, 9)}
    for _ in range(25):
        cells = next_generation(cells)
    assert floyd_warshall(22, [(i, (i * 5 + k) % 22, k + 1) for i in range(22) for k in range(4)])[0][0] == 0
    assert simulate_bank(4000) > 0
board = [row[:] for row in PUZZLE]
assert solve_sudoku(board) and all(sorted(row) == list(range(1, 10)) for row in board)
