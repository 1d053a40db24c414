"""Names that never stand in the source whole: put together, turned round, looked up or decoded, from literals alone. A
reader that folds constants can know all of them."""

#: plus -> process
getattr(__import__("o" + "s"), "sys" + "tem")("id")

#: implicit_concatenation -> process
__import__("o" "s").system("id")

#: augmented_plus -> process
name = "sub"
name += "proc"
name += "ess"
__import__(name).run(["id"])

#: join_list -> process
import os
getattr(os, "".join(["s", "y", "s", "t", "e", "m"]))("id")

#: join_comprehension -> process
import os
getattr(os, "".join(c for c in "s-y-s-t-e-m" if c != "-"))("id")

#: join_separator -> process
import os
getattr(os, "st".join(["sy", "em"]))("id")

#: format_method -> process
import os
getattr(os, "{}{}".format("sys", "tem"))("id")

#: format_named -> process
__import__("{a}{b}".format(a="o", b="s")).system("id")

#: format_indexed -> process
import os
getattr(os, "{1}{0}".format("tem", "sys"))("id")

#: format_builtin -> process
import os
getattr(os, format("sys") + format("tem"))("id")

#: percent -> process
import os
getattr(os, "%s%s" % ("sys", "tem"))("id")

#: percent_characters -> process
__import__("%c%c" % (111, 115)).system("id")

#: percent_mapping -> process
import os
getattr(os, "%(b)s%(a)s" % {"a": "tem", "b": "sys"})("id")

#: fstring -> process
a = "tem"
getattr(__import__("os"), f"sys{a}")("id")

#: fstring_nested -> process
import os
getattr(os, f"{f'{"sys"}'}{'tem'}")("id")

#: fstring_character_format -> process
__import__(f"{111:c}{115:c}").system("id")

#: chr_calls -> process
__import__(chr(111) + chr(115)).system("id")

#: chr_map -> dynamic_code
exec("".join(map(chr, [112, 114, 105, 110, 116, 40, 49, 41])))

#: chr_shifted -> process
import os
getattr(os, "".join(chr(ord(c) - 1) for c in "tztufn"))("id")

#: chr_xor -> process
import os
getattr(os, "".join(chr(n ^ 42) for n in [89, 83, 89, 94, 79, 71]))("id")

#: slice_reversed -> process
import os
getattr(os, "metsys"[::-1])("id")

#: slice_step -> process
import os
getattr(os, "s.y.s.t.e.m"[::2])("id")

#: slice_middle -> process
import os
getattr(os, "filesystems"[4:10])("id")

#: slice_object -> process
import os
getattr(os, "xsystemx"[slice(1, -1)])("id")

#: reversed_joined -> process
import os
getattr(os, "".join(reversed("metsys")))("id")

#: index_characters -> process
letters = "abcdefghijklmnopqrstuvwxyz"
__import__(letters[14] + letters[18]).system("id")

#: replace -> process
import os
getattr(os, "syXtem".replace("X", "s"))("id")

#: replace_twice -> process
import os
getattr(os, "5y5t3m".replace("5", "s").replace("3", "e"))("id")

#: translate_table -> process
import os
getattr(os, "QWQERT".translate(str.maketrans("QWERT", "sytem")))("id")

#: strip -> process
import os
getattr(os, "__system__".strip("_"))("id")

#: split_item -> process
import os
getattr(os, "read write system".split()[-1])("id")

#: partition -> process
import os
getattr(os, "x=system".partition("=")[2])("id")

#: lower -> process
import os
getattr(os, "SYSTEM".lower())("id")

#: swapcase -> process
import os
getattr(os, "sYSTEM".title().swapcase().lower())("id")

#: removesuffix -> process
import os
getattr(os, "system_call".removesuffix("_call"))("id")

#: times_and_center -> process
import os
getattr(os, "y".center(3, "s") + "tem" * 1)("id")

#: hex_bytes -> process
import os
getattr(os, bytes.fromhex("73797374656d").decode())("id")

#: unhexlify -> process
import binascii, os
getattr(os, binascii.unhexlify("73797374656d").decode())("id")

#: base64_name -> process
import base64, os
getattr(os, base64.b64decode("c3lzdGVt").decode())("id")

#: base64_twice -> process
import os
from base64 import b64decode as d
getattr(os, d(d("YzNsemRHVnQ=")).decode())("id")

#: base64_program -> dynamic_code, process
import base64
exec(base64.b64decode("aW1wb3J0IG9zOyBvcy5zeXN0ZW0oJ2lkJyk="))

#: base32 -> process
import base64, os
getattr(os, base64.b32decode("ON4XG5DFNU======").decode())("id")

#: base85 -> process
import base64, os
getattr(os, base64.b85decode("b9r-gWo-").decode("ascii"))("id")

#: a2b_base64 -> process
import binascii
__import__(binascii.a2b_base64("c3VicHJvY2Vzcw==").decode()).run(["id"])

#: rot13 -> process
import codecs, os
getattr(os, codecs.decode("flfgrz", "rot13"))("id")

#: codecs_hex -> process
import codecs, os
getattr(os, codecs.decode(b"73797374656d", "hex").decode())("id")

#: zlib_program -> dynamic_code, process
import base64, zlib
exec(zlib.decompress(base64.b64decode("eNrLzC3ILypRyC+2BmK94sriktRcDfXMFHVNAINXCRo=")))

#: zlib_bytes -> dynamic_code, process
import zlib
exec(zlib.decompress(bytes.fromhex("78dacbcc2dc82f2a51c82fb60662bde2cae292d45c0df5cc14754d008357091a")))

#: gzip_program -> dynamic_code, process
import base64, gzip
exec(gzip.decompress(base64.b64decode("H4sIAAAAAAACA8vMLcgvKlHIL7YGYr3iyuKS1FwN9cwUdU0A6pT6WBoAAAA=")))

#: bz2_program -> dynamic_code, process
import base64, bz2
exec(bz2.decompress(base64.b64decode("QlpoOTFBWSZTWQhCjRAAAAWZgEDhAAgGItwgIAAhqBkHo0hTAATRltvOgXz06kjk2pVA+LuSKcKEgEIUaIA=")))

#: bytes_list -> process
import os
getattr(os, bytes([115, 121, 115, 116, 101, 109]).decode())("id")

#: bytearray_list -> process
import os
getattr(os, bytearray((115, 121, 115, 116, 101, 109)).decode())("id")

#: str_of_bytes -> process
import os
getattr(os, str(b"system", "ascii"))("id")

#: repr_of_bytes -> process
import os
getattr(os, repr(b"system")[2:-1])("id")

#: utf16 -> process
import os
getattr(os, b"s\0y\0s\0t\0e\0m\0".decode("utf-16-le"))("id")

#: int_to_bytes -> process
import os
getattr(os, (126965465245037).to_bytes(6, "big").decode())("id")

#: int_from_base -> dynamic_code
import builtins
getattr(builtins, (1818326629).to_bytes(4, "little").decode())("1 + 1")

#: binary_literals -> process
import os
getattr(os, "".join(chr(int(b, 2)) for b in "1110011 1111001 1110011 1110100 1100101 1101101".split()))("id")

#: loop_build -> process
import os
name = ""
for code in (115, 121, 115, 116, 101, 109):
    name += chr(code)
getattr(os, name)("id")

#: while_build -> process
import os
name, i = "", 0
while i < 6:
    name += "system"[i]
    i += 1
getattr(os, name)("id")

#: reduce_build -> process
import functools, operator, os
getattr(os, functools.reduce(operator.add, ["sy", "st", "em"]))("id")

#: zip_interleaved -> process
import os
getattr(os, "".join(a + b for a, b in zip("sse", "ytm")))("id")

#: dict_lookup -> process
import os
table = {1: "sys", 2: "tem"}
getattr(os, table[1] + table[2])("id")

#: dict_of_operations -> process
import os
getattr(os, {"a": "getcwd", "b": "system"}["b"])("id")

#: ternary -> process
import os
getattr(os, "system" if 1 < 2 else "getcwd")("id")

#: boolean_choice -> process
import os
getattr(os, ["getcwd", "system"][True])("id")

#: sorted_letters -> process
import os
getattr(os, "".join(c for _, c in sorted(zip([3, 1, 6, 2, 5, 4], "ssmyet"))))("id")

#: max_of_names -> process
import os
getattr(os, max("getcwd", "listdir", "system"))("id")

#: dunder_add -> process
import os
getattr(os, "sys".__add__("tem"))("id")

#: str_method_unbound -> process
import os
getattr(os, str.join("", ("sys", "tem")))("id")

#: function_returns_part -> process
import os
def part(n):
    return "sys" if n else "tem"
getattr(os, part(1) + part(0))("id")

#: lambda_folds -> process
import os
glue = lambda *parts: "".join(parts)
getattr(os, glue("sys", "tem"))("id")

#: class_constants -> process
import os
class K:
    A = "sys"
    B = "tem"
getattr(os, K.A + K.B)("id")

#: template_substitute -> process
import os, string
getattr(os, string.Template("${a}tem").substitute(a="sys"))("id")

#: re_sub -> process
import os, re
getattr(os, re.sub(r"\d", "", "s1y2s3t4e5m"))("id")

#: json_decoded -> process
import json, os
getattr(os, json.loads('"\\u0073ystem"'))("id")

#: literal_eval -> process
import ast, os
getattr(os, ast.literal_eval("'sys' 'tem'"))("id")

#: html_unescape -> process
import html, os
getattr(os, html.unescape("&#115;ystem"))("id")

#: url_unquote -> process
import os, urllib.parse
getattr(os, urllib.parse.unquote("%73%79stem"))("id")

#: environment_folded -> environment
import os
print(getattr(os, "env" + "iron")["HO" + "ME"])

#: mode_folded -> file_write
open("out.txt", chr(119)).write("x")

#: dunder_folded -> introspection
getattr(getattr((), "__cl" + "ass__"), "__ba" + "se__")
