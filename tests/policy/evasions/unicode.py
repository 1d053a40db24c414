"""What Python reads otherwise than a text filter: identifiers that are normalised, spaces and line ends in odd places,
escapes in strings, declarations of encodings."""

#: fullwidth_eval -> dynamic_code
ｅｖａｌ("1 + 1")

#: mathematical_exec -> dynamic_code
𝐞𝐱𝐞𝐜("x = 1")

#: script_letters_attribute -> process
import os
os.𝓼𝔂𝓼𝓽𝓮𝓶("id")

#: fullwidth_import -> process
import ｏｓ
os.system("id")

#: fullwidth_from_import -> process
from ｏｓ import ｓｙｓｔｅｍ
system("id")

#: mixed_both_ways -> process
import os
ｏs.sｙstem("id")

#: ligature -> process
import os
os.syﬆem("id")

#: long_s -> process
import os
os.ſyſtem("id")

#: ordinal_indicators -> process
import ºs
ºs.system("id")

#: superscript_letters -> dynamic_code
ᵉᵛᵃˡ("1 + 1")

#: subscript_letters -> process
import os
os.ₛyₛₜem("id")

#: roman_numeral -> dynamic_code
eⅹeⅽ("x = 1")

#: roman_numeral_dunder -> process
__ⅰmport__("os").system("id")

#: double_struck_dunder -> introspection
print(().__𝕔𝕝𝕒𝕤𝕤__.__𝕓𝕒𝕤𝕖__)

#: fraktur_getattr -> process
import os
𝔤𝔢𝔱𝔞𝔱𝔱𝔯(os, "system")("id")

#: monospace_environ -> environment
import os
print(os.𝚎𝚗𝚟𝚒𝚛𝚘𝚗)

#: bold_open -> file_write
𝗼𝗽𝗲𝗻("out.txt", "w").write("x")

#: italic_keyword_argument -> file_write
open("out.txt", 𝑚𝑜𝑑𝑒="w").write("x")

#: keyword_argument_as_name -> process
import os
getattr(os, *dict(ſyſtem=1))("id")

#: assigned_in_one_alphabet_read_in_other -> process
import os
ｒｕｎ = os.system
run("id")

#: combining_mark_composed -> process (escaped)
import os as caf\u{e9}
cafe\u{301}.system("id")

#: backslash_continuation -> process
import \
    os
os \
    . \
    system \
    ("id")

#: continuation_in_dunder_import -> process
__import__ \
    ("os") \
    .system("id")

#: newlines_in_parentheses -> process
import os
(os
    .
    system
)(
    "id"
)

#: comments_in_parentheses -> process
from os import (  # standard
    # a comment
    system,  # another
)
(system  # one more
    ("id"))

#: spaces_around_dots -> process
import os . path
os   .   system   ( "id" )

#: tabs -> process
import	os
os	.	system	("id")

#: form_feed -> process (escaped)
\u{c}import os
\u{c}os\u{c}.\u{c}system("id")

#: carriage_return_ends_comment -> process (escaped)
# only a comment\u{d}import os\u{d}os.system("id")

#: carriage_returns_only -> process (escaped)
import os\u{d}if True:\u{d}    os.system("id")

#: semicolons_without_spaces -> process
import os;os.system("id");x=1

#: no_spaces_at_all -> process
from os import*
system("id")if 1else 0

#: one_line_blocks -> process
if 1: import os; os.system("id")

#: far_indentation -> process
if True:
                                                                                import os
                                                                                os.system("id")

#: declaration_of_encoding -> process
# -*- coding: utf-8 -*-
import os
os.system("id")

#: declaration_of_other_encoding -> process
# vim: set fileencoding=latin-1 :
import os
os.system("id")

#: hex_escape -> process
import os
getattr(os, "\x73\x79\x73\x74\x65\x6d")("id")

#: octal_escape -> process
import os
getattr(os, "\163\171\163\164\145\155")("id")

#: short_unicode_escape -> process
import os
getattr(os, "\u0073ystem")("id")

#: long_unicode_escape -> process
import os
getattr(os, "\U00000073ystem")("id")

#: named_escape -> process
import os
getattr(os, "\N{LATIN SMALL LETTER S}ystem")("id")

#: named_escape_in_fstring -> process
import os
getattr(os, f"\N{LATIN SMALL LETTER S}{'y'}stem")("id")

#: escaped_import -> process
__import__("\x6f\163").system("id")

#: escaped_exec -> dynamic_code, process
exec("\x69mport os\x3b os.\u0073ystem('id')")

#: bytes_escape -> process
import os
getattr(os, b"\x73\171stem".decode())("id")

#: escaped_line_end_in_string -> process
import os
getattr(os, "sys\
tem")("id")

#: triple_quoted_name -> process
import os
getattr(os, """sys\
tem""")("id")

#: prefixes_mixed -> process
import os
getattr(os, "s" r"y" f"s" u"t" R"em")("id")

#: quotes_mixed -> process
import os
getattr(os, 'sy' "st" '''em''')("id")

#: fstring_same_quotes -> process
import os
getattr(os, f"{"sys"}{"tem"}")("id")

#: fstring_multiline_expression -> process
import os
print(f"{
    os.system(
        'id'
    )
}")

#: docstring_that_is_left -> process
"""A module that does nothing. \""" """; import os
os.system("id")

#: comment_that_looks_like_string -> process
x = "#"; import os; os.system("id")  # "

#: assignment_over_two_lines -> process
import os; s\
= os.system
s("id")

#: soft_keywords_as_names -> process
import os as match
match.system("id")
type = match.system
type("id")

#: underscore_names -> process
import os as _
__ = _.system
__("id")
