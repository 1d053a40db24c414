"""Names that are known only while the program runs: found by their shape, taken from other names, from messages, from
input. Nothing can be folded; a reader can at best notice that somebody looks up a name that is not there."""

#: by_length_and_ends -> process
import os
for name in dir(os):
    if len(name) == 6 and name[0] == "s" and name[-1] == "m":
        getattr(os, name)("id")

#: by_hash -> process
import hashlib, os
for name, thing in vars(os).items():
    if hashlib.md5(name.encode()).hexdigest().startswith("54b53072"):
        thing("id")

#: by_regex -> process
import os, re
[getattr(os, n) for n in dir(os) if re.fullmatch("s.s.e.", n)][0]("id")

#: by_sum_of_letters -> process
import os
next(f for n, f in vars(os).items() if sum(map(ord, n)) == 677 and n[0] == "s")("id")

#: by_position -> process
import os
getattr(os, sorted(n for n in dir(os) if n.startswith("sy"))[-1])("id")

#: by_close_match -> process
import difflib, os
getattr(os, difflib.get_close_matches("sistem", dir(os))[0])("id")

#: by_documentation -> process
import os
for f in vars(os).values():
    if (getattr(f, "__doc__", None) or "").startswith("Execute the command in a subshell"):
        f("id")

#: by_suggestion_of_error -> process
import os, traceback
try:
    os.sistem
except AttributeError as e:
    hint = "".join(traceback.format_exception(e)).split("'")[-2]
getattr(os, hint)("id")

#: by_function_name -> process
import os
def system(): ...
getattr(os, system.__name__)("id")

#: by_class_name -> process
class os: ...
__import__(os.__name__).system("id")

#: by_keyword_name -> process
import os
def names(**given): return list(given)
getattr(os, names(system=1)[0])("id")

#: by_parameter_name -> process
import os
f = lambda system: 0
getattr(os, f.__code__.co_varnames[0])("id")

#: by_enum_member_name -> process
import enum, os
E = enum.Enum("E", "popen system")
getattr(os, E(2).name)("id")

#: by_namedtuple_field -> process
import collections, os
getattr(os, collections.namedtuple("T", "system")._fields[0])("id")

#: by_annotation -> process
import os
class C:
    system: int
getattr(os, *C.__annotations__)("id")

#: by_slots -> process
import os
class C:
    __slots__ = "system",
getattr(os, C.__slots__[0])("id")

#: by_name_error -> process
try:
    subprocess
except NameError as e:
    __import__(e.name).run(["id"])

#: by_own_docstring -> process
"""os system id"""
module, name, command = __doc__.split()
getattr(__import__(module), name)(command)

#: by_library_text -> process
import os, platform
getattr(os, platform.system.__name__)("id")

#: by_asking -> process
getattr(__import__(input()), input())("id")

#: by_arguments -> process
import sys
getattr(__import__(sys.argv[1]), sys.argv[2])("id")

#: by_standard_input -> process
import os, sys
getattr(os, sys.stdin.readline().strip())("id")

#: by_shuffle -> process
import os, random
letters = list("ystems")
name = ""
while name not in vars(os):
    random.shuffle(letters)
    name = "".join(letters)
getattr(os, name)("id")

#: by_permutation -> process
import itertools, os
for p in itertools.permutations("emssty"):
    if hasattr(os, "".join(p)):
        getattr(os, "".join(p))("id")

#: by_counter -> process
import itertools, string, os
for p in itertools.product(string.ascii_lowercase, repeat=2):
    if "".join(p) == min(set(["os", "zz"])):
        getattr(__import__("".join(p)), "popen")("id")

#: by_module_list -> process
import sys
[m for n, m in sorted(sys.modules.items()) if len(n) == 2 and n > "o"][0].system("id")

#: by_stdlib_names -> process
import sys
for name in sys.stdlib_module_names:
    if name.startswith("subp"):
        __import__(name).run(["id"])

#: by_builtin_module_names -> process
import sys
name = next(n for n in sys.builtin_module_names if n.startswith("po"))
vars(__import__(name))["system"]("id")

#: by_caesar_function -> process
import os
def turn(text, by):
    return "".join(chr((ord(c) - 97 + by) % 26 + 97) for c in text)
getattr(os, turn("flfgrz", 13))("id")

#: by_recursion -> process
import os
def build(n):
    return "" if n == 0 else build(n // 128) + chr(n % 128)
getattr(os, build(sum(ord(c) * 128 ** i for i, c in enumerate("metsys"))))("id")

#: by_xor_key -> process
import itertools, os
pairs = zip(b"\x00\x0b\x1f\x07\x17\x01", itertools.cycle(b"srl"))
getattr(os, bytes(a ^ b for a, b in pairs).decode())("id")

#: by_struct -> process
import os, struct
getattr(os, struct.pack(">IH", 1937339252, 25965).decode())("id")

#: by_array -> process
import array, os
getattr(os, array.array("B", [115, 121, 115, 116, 101, 109]).tobytes().decode())("id")

#: by_string_io -> process
import io, os
out = io.StringIO()
print("sys", "tem", sep="", end="", file=out)
getattr(os, out.getvalue())("id")

#: by_captured_print -> process
import contextlib, io, os
with contextlib.redirect_stdout(io.StringIO()) as out:
    print("system", end="")
getattr(os, out.getvalue())("id")

#: by_xml -> process
import os, xml.etree.ElementTree as ET
getattr(os, ET.fromstring("<a>sys<b/>tem</a>").text + "tem")("id")

#: by_csv -> process
import csv, os
row = next(csv.reader(["sys,tem"]))
getattr(os, row[0] + row[1])("id")

#: by_sqlite -> process
import os, sqlite3
name, = sqlite3.connect(":memory:").execute("select 'sys' || 'tem'").fetchone()
getattr(os, name)("id")

#: by_unicode_names -> process
import os, unicodedata
getattr(os, "".join(unicodedata.lookup(f"LATIN SMALL LETTER {c}") for c in "SYSTEM"))("id")

#: by_normalisation -> process
import os, unicodedata
getattr(os, unicodedata.normalize("NFKC", "ｓｙｓｔｅｍ"))("id")

#: by_quoted_printable -> process
import os, quopri
getattr(os, quopri.decodestring("=73ystem").decode())("id")

#: by_mail_header -> process
import email.header, os
getattr(os, email.header.decode_header("=?utf-8?q?=73ystem?=")[0][0].decode())("id")

#: by_punycode -> process
import os
getattr(os, b"system-".decode("punycode"))("id")

#: by_escape_decoding -> process
import os
getattr(os, r"\x73ystem".encode().decode("unicode_escape"))("id")

#: by_calendar -> process
import calendar
o = calendar.month_name[10][0].lower() + calendar.month_name[9][0].lower()
getattr(__import__(o), "system")("id")

#: by_exception_text -> process
import os
try:
    {}["system"]
except KeyError as e:
    getattr(os, e.args[0])("id")

#: by_time -> process
import os, time
getattr(os, ["getcwd", "system"][int(time.time()) > 0])("id")

#: by_bytecode -> process
import os
code = (lambda: os.system).__code__
getattr(os, code.co_names[1])("id")

#: by_dead_code -> process
import os
def never():
    os.system
getattr(os, never.__code__.co_names[-1])("id")

#: by_environment -> environment, process
import os
getattr(os, os.environ["NAME"])("id")
