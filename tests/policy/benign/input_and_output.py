"""Reading what was given and printing answers: what every contest program does."""

#: stdin_read
import sys
numbers = [int(word) for word in sys.stdin.read().split()]
print(sum(numbers))

#: stdin_lines
import sys
for line in sys.stdin:
    print(line.rstrip("\n")[::-1])

#: input_as_function
import sys
input = sys.stdin.readline
n = int(input() or 0)
print(n * 2)

#: stdin_buffer
import sys
data = sys.stdin.buffer.read().split()
sys.stdout.write("\n".join(map(str, map(int, data))))

#: print_to_stderr
import sys
print("warning: nothing read", file=sys.stderr)

#: stdout_flushed
import sys
sys.stdout.write("Case #1: 7\n")
sys.stdout.flush()

#: string_io
import io
out = io.StringIO()
print("a", "b", sep=",", file=out)
assert out.getvalue() == "a,b\n"

#: stdout_captured_for_a_while
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()) as out:
    print("x")
print(out.getvalue().upper())

#: recursion_limit_raised
import sys
sys.setrecursionlimit(10_000)
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)
print(depth(2000))

#: main_guard
def main():
    print("hello")
if __name__ == "__main__":
    main()

#: reading_a_data_file
from pathlib import Path
source = Path("input.txt")
if source.exists():
    print(source.read_text().count("\n"))

#: csv_from_string
import csv, io
rows = list(csv.DictReader(io.StringIO("name,age\nada,36\n")))
print(rows[0]["name"])

#: progress_bar
import time
for i in range(3):
    print(f"\r[{'#' * i:<3}]", end="")
    time.sleep(0.01)
print()

#: coloured_output
RED, END = "\033[31m", "\033[0m"
print(f"{RED}error{END}")
