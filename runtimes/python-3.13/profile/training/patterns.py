"""Regular expressions: compiling, searching, replacing, tokenizing."""

import re

LOG = "\n".join(
    f"2024-0{i % 9 + 1}-1{i % 9} 0{i % 9}:1{i % 5}:0{i % 7} [{('INFO', 'WARN', 'ERROR')[i % 3]}] service{i % 4}.core: "
    f"request id={i * 37} user='u{i}' took {i * 1.7:.1f}ms from 10.0.{i % 255}.{i % 13}"
    for i in range(60)
)
TOKEN = re.compile(
    r"""
    (?P<number>\d+(?:\.\d*)?) | (?P<name>[A-Za-z_]\w*) | (?P<string>"(?:[^"\\]|\\.)*") |
    (?P<operator>==|<=|>=|[-+*/()=<>,{};]) | (?P<space>\s+) | (?P<other>.)
    """,
    re.VERBOSE,
)
SOURCE = 'total = (price1 * 3.14 + _tax) / count; if (total >= 10) { print("a \\"big\\" one", total); } ' * 4
EMAIL = re.compile(r"^[\w.+-]+@[a-z\d-]+(\.[a-z\d-]+)*\.[a-z]+$", re.IGNORECASE)


def tokens(source):
    for match in TOKEN.finditer(source):
        if match.lastgroup != "space":
            yield match.lastgroup, match.group()


def camel(name):
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), name)


def markdown(text):
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", text)
    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', text)


for repetition in range(6):
    re.purge()
    rows = [match.groupdict() for match in re.finditer(
        r"^(?P<date>\S+) (?P<time>\S+) \[(?P<level>\w+)\] (?P<name>[\w.]+): (?P<rest>.*)$", LOG, re.MULTILINE)]
    assert len(rows) == 60
    assert sum(float(re.search(r"took ([\d.]+)ms", row["rest"]).group(1)) for row in rows) > 0
    assert len(re.findall(r"\b\d{1,3}(?:\.\d{1,3}){3}\b", LOG)) == 60
    assert len(list(tokens(SOURCE))) > 60
    for i in range(120):
        assert EMAIL.match(f"some.one{i}@mail{i}.example.org") and not EMAIL.match("no at sign here")
        assert camel("some_long_name_of_mine") == "someLongNameOfMine"
        assert re.fullmatch(r"(?:\+\d{2} )?\d{3}-\d{4}", "+43 555-1234") and re.match(r"\s*(\w+)\s*=\s*(.*)", " a = b c ")
    assert markdown("**bold** and `code` and [text](link) " * 12).count("<b>") == 12
    assert len(re.split(r"[\s,;:]+", LOG)) > 300
    assert re.sub(r"(\d+)-(\d+)-(\d+)", r"\3.\2.\1", LOG) != LOG
    assert re.sub(r"(?i)error", "FAULT", LOG, count=5).count("FAULT") == 5
    assert [m.start() for m in re.finditer(r"(?<=user=')u\d+(?=')", LOG)]
    assert not re.search(r"(a+)+$", "a" * 14 + "b") and re.search(r"(\w)(\w)\2\1", "abba")
    assert len(re.findall(r"[aeiou]{2,}|[^\W\d_]{5,}", LOG)) > 60 and re.escape("a.b*c") == r"a\.b\*c"
    for words in ("one two", "x" * 60, "größe 12", "", "a-b_c d"):
        for pattern in (r"\w+", r"^\s*$", r"(?:a|b|c)+", r".*?\d", r"\bx", r"[^ ]+$"):
            re.search(pattern, words)
