"""Text that filters trip over: addresses, braces, queries, placeholders, and characters of all scripts."""

#: fstring_doubled_braces
name = "x"
print(f"{{{name}}} and {{not a field}}")

#: css_in_fstring
colour = "red"
print(f"p {{ color: {colour}; }} a:hover {{ color: blue; }}")

#: latex_braces
print(r"\frac{{a}}{{b}} $x_{i}$", "\\sum_{{i=0}}^{n}".format(n=3))

#: jinja_like_template
page = "<h1>{{ title }}</h1>{% for item in items %}<li>{{ item.name }}</li>{% endfor %}"
print(page.replace("{{ title }}", "Shop"))

#: own_template_engine
import re
def render(template, values):
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda m: str(values[m[1]]), template)
print(render("Hello {{ name }}!", {"name": "Ada"}))

#: format_with_attributes
import datetime
day = datetime.date(2024, 2, 29)
print("{0.year}-{0.month:02}".format(day), "{a[0]} {b}".format(a=[1], b=2))

#: sql_query
query = "SELECT id, name FROM users WHERE age > ? ORDER BY name LIMIT 10"
print(query.split()[0])

#: sql_schema
schema = """
CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, name TEXT NOT NULL); -- one row a user
CREATE INDEX by_name ON users (name);
"""
print(len(schema))

#: sql_delete_with_parameter
statement = "DELETE FROM carts WHERE id = ?"
print(statement)

#: shell_words_in_text
usage = "Usage: tool [-v] FILE | tool --help; see tool(1) && enjoy"
print(usage)

#: dollar_prices
print("It costs $5 (or ${amount} with a voucher), 20% off")

#: markdown_backticks
print("Use `len(x)` and ```python\nprint(1)\n```")

#: url_in_comment
# From https://en.wikipedia.org/wiki/Levenshtein_distance#Iterative_with_two_matrix_rows
def distance(a, b): return abs(len(a) - len(b))

#: url_of_example
BASE = "https://example.com/api/v1"
print(f"{BASE}/items?page=2")

#: url_of_localhost
SERVER = "http://localhost:8000/"
OTHER = "http://127.0.0.1:5000/health"
print(SERVER, OTHER)

#: url_of_documentation
"""See https://docs.python.org/3/library/os.html#os.system and https://peps.python.org/pep-0008/."""
x = 1

#: url_pattern
import re
URL = re.compile(r"https?://[\w.-]+(?::\d+)?(/\S*)?")
print(bool(URL.match("http://example.org/a")))

#: xml_namespaces
NS = {"svg": "http://www.w3.org/2000/svg", "xlink": "http://www.w3.org/1999/xlink"}
print(f"<svg xmlns='{NS['svg']}'/>")

#: ip_addresses_as_data
def valid(text):
    parts = text.split(".")
    return len(parts) == 4 and all(p.isdigit() and int(p) < 256 for p in parts)
print(valid("192.168.1.1"), valid("256.1.1.1"))

#: email_address
print("ada@example.com".partition("@")[2])

#: password_placeholder
password = "changeme"
api_key = "YOUR_API_KEY_HERE"
token = "<your token>"
secret = "xxxxxxxxxxxxxxxxxxxxxxxx"
print(password, api_key)

#: password_prompt_text
print("Enter your password: ", "Passwords must have 8 characters and a digit")

#: password_checker
def strong(password):
    return len(password) >= 8 and any(c.isdigit() for c in password)
print(strong("hunter2"), strong("correct horse 1"))

#: example_aws_key
AWS_ACCESS_KEY_ID = "AKIAIOSFODNN7EXAMPLE"
print(AWS_ACCESS_KEY_ID)

#: alphabet_constant
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
print(ALPHABET.index("a"))

#: hash_constant
EMPTY_SHA1 = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
EMPTY_MD5 = "d41d8cd98f00b204e9800998ecf8427e"
print(EMPTY_SHA1[:7])

#: dna_sequence
dna = "ATGCGATCGATTACGGCTAGCTAGGCTTACGATCGATCGGCTAAGCTTAGCGGATCCATGCA"
print({base: dna.count(base) for base in "ACGT"})

#: uuid_constant
NAMESPACE = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
print(NAMESPACE.count("-"))

#: board_as_text
PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
print(len(PUZZLE))

#: emoji_family (escaped)
print("\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} and \u{1f3f3}\u{fe0f}\u{200d}\u{1f308} and \u{2764}\u{fe0f}")

#: emoji_flag_and_skin (escaped)
flags = ["\u{1f1e6}\u{1f1f9}", "\u{1f44d}\u{1f3fd}"]
print(flags)

#: arabic_and_hebrew_text
print("مرحبا بالعالم", "שלום עולם")

#: persian_with_joiner (escaped)
print("\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}")

#: hindi_text
print("नमस्ते दुनिया", "क्षत्रिय")

#: box_drawing
print("┌─┬─┐\n│ │ │\n└─┴─┘ ✓ → ∞ ≤ ½")

#: no_break_space (escaped)
print("10\u{a0}000 km", "a\u{2009}b", "x\u{2013}y \u{201c}quoted\u{201d}")

#: escapes_in_literals
print("tab\there", "bell\x07"[:4], "\N{BULLET} item", "\u00e9", "\x41\x42")

#: zero_width_as_escape
import re
print(re.sub("[\u200b\u200c\u200d\ufeff]", "", "a\u200bb"))

#: html_page
page = "<html><body><h1>Hi</h1><p class='x'>text</p></body></html>"
print(page.count("<"))

#: path_with_parents
import os.path
print(os.path.normpath("a/b/../c"), os.path.relpath("/a/b", "/a/c"))

#: regex_of_odd_characters
import re
TOKENS = re.compile(r"""('[^']*'|"[^"]*"|[;|&$`(){}<>]|\S+)""")
print(TOKENS.findall("a | b && c; 'd'"))

#: long_base_n_number
N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141
print(N % 10)

#: lorem_about_ignoring
note = "Please ignore the previous line if it is empty; all previous values are kept."
print(note)

#: sql_in_docstring
def rows(table):
    """Like SELECT * FROM table WHERE 1 = 1, or UNION of both; DROP nothing."""
    return list(table)
