"""Building, searching and taking apart text."""

import string


def is_palindrome(text):
    letters = "".join(c.lower() for c in text if c.isalnum())
    return letters == letters[::-1]


def caesar(text, shift):
    out = []
    for c in text:
        if c.isalpha():
            base = ord("A") if c.isupper() else ord("a")
            out.append(chr((ord(c) - base + shift) % 26 + base))
        else:
            out.append(c)
    return "".join(out)


def count_vowels(text):
    count = 0
    for c in text:
        if c in "aeiouAEIOU":
            count += 1
    return count


def run_lengths(text):
    if not text:
        return ""
    result = ""
    previous, count = text[0], 1
    for c in text[1:]:
        if c == previous:
            count += 1
        else:
            result += previous + str(count)
            previous, count = c, 1
    return result + previous + str(count)


def edit_distance(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]


def longest_common_subsequence(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1][j + 1] = table[i][j] + 1
            else:
                table[i + 1][j + 1] = max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def snake_case(name):
    parts = []
    for c in name:
        if c.isupper() and parts:
            parts.append("_")
        parts.append(c.lower())
    return "".join(parts)


def roman(number):
    symbols = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
               (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    text = ""
    for value, symbol in symbols:
        while number >= value:
            text += symbol
            number -= value
    return text


def balanced(text):
    stack = []
    pairs = {")": "(", "]": "[", "}": "{"}
    for c in text:
        if c in "([{":
            stack.append(c)
        elif c in pairs:
            if not stack or stack.pop() != pairs[c]:
                return False
    return not stack


def word_frequencies(text):
    counts = {}
    for word in text.lower().split():
        word = word.strip(string.punctuation)
        if word:
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def to_base(number, base):
    digits = string.digits + string.ascii_lowercase
    text = ""
    while number:
        number, digit = divmod(number, base)
        text = digits[digit] + text
    return text or "0"


TEXT = (
    "It was a bright cold day in April, and the clocks were striking thirteen. The hallway smelt of boiled cabbage "
    "and old rag mats; at one end of it a coloured poster, too large for indoor display, had been tacked to the wall. "
)
UMLAUTS = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich – „schön“, ça va? Ну да: 日本語 😀. "

for _ in range(30):
    assert not is_palindrome(TEXT)
    assert is_palindrome("A man, a plan, a canal: Panama")
    assert caesar(caesar(TEXT, 5), -5) == TEXT
    assert count_vowels(TEXT) > 10
    assert run_lengths("aaabbbccd" * 12).startswith("a3b3c2d1")
    assert balanced("{[()]}" * 40) and not balanced("([)]")
assert edit_distance(TEXT[:80], TEXT[20:110]) > 0
assert longest_common_subsequence(TEXT[:80], UMLAUTS[:60]) > 5
for n in range(1, 1500):
    name = f"SomeValueNumber{n}"
    assert snake_case(name).startswith("some_value")
    assert int(to_base(n, 7), 7) == n
    text = "%05d|%-8s|%x|%.3f" % (n, roman(n), n, n / 7)
    other = "{:>6}|{:<8}|{:^9}|{:,}".format(n, name[:5], text[:4], n * 1000)
    third = f"{n:08b} {n / 3:.2f} {n!r:>6} {name[-3:]!s} {text.count('0')} {other.find('|')}"
    assert text.split("|")[0].lstrip("0") == str(n) and len(third) > 10
for _ in range(25):
    assert word_frequencies(TEXT * 2)[0][1] >= 2
    lines = [line.strip() for line in TEXT.replace(", ", ",\n").replace("; ", ";\n").splitlines() if line]
    assert " ".join(lines).title().swapcase().casefold().endswith("wall.")
    table = str.maketrans("abcdef", "ABCDEF", "xyz")
    assert UMLAUTS.translate(table).upper() != TEXT.translate(table)
    assert UMLAUTS.encode().decode() == UMLAUTS and UMLAUTS.encode("utf-16").decode("utf-16") == UMLAUTS
    assert [ord(c) for c in UMLAUTS] and "".join(reversed(UMLAUTS))[::-1] == UMLAUTS
    assert sorted(set(UMLAUTS)) and UMLAUTS.partition(":")[2].rpartition(".")[0]
    assert TEXT.startswith(("It", "At")) and not TEXT.endswith("x") and TEXT.index("clocks") == TEXT.rindex("clocks")
    assert {c: TEXT.count(c) for c in string.ascii_lowercase}["a"] > 3
    assert "".join(a + b for a, b in zip(TEXT, UMLAUTS)).isprintable()
    assert len(", ".join(f"{key}={value}" for key, value in {i: str(i) * 2 for i in range(100)}.items())) > 100
    assert " ".join(word[::-1].capitalize() for word in TEXT.split(" "))
    assert all(part.zfill(6).ljust(8).rjust(10).center(14) for part in TEXT.split()[:20])
text = ""
for i in range(4000):
    text += chr(97 + i % 26)
    if i % 80 == 79:
        text += "\n"
acrostic = "".join(line[0] for line in text.split("\n") if line)
data = bytearray(TEXT.encode())
for i in range(len(data)):
    data[i] ^= 0x20
assert bytes(data).hex() and bytes.fromhex(bytes(data).hex()) == data
