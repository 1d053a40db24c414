"""What makes regular expressions faster: places where a pattern can't match are passed over, and the loops over characters are
functions of their own, small enough for registers. docs/explanation/performance.md has what this gains, and
tests/regex/compare.py compares what is found with CPython's own."""

from state_patches import apply

CHARSET = """\
static __attribute__((noinline)) int
SRE(charset)(SRE_STATE* state, const SRE_CODE* set, SRE_CODE ch)
{
    return SRE(charset_in_place)(state, set, ch);
}

"""


# CPython itself passes over positions where a pattern starts with letters or a set of characters. For others, such as those that
# start with a repetition, `\b` or letters of either case, it enters the matcher at each position, and that takes some hundred
# instructions to come to the pattern's first character.
CANDIDATE = """\
static __attribute__((noinline)) int
SRE(is_at)(SRE_STATE* state, const SRE_CHAR* ptr, SRE_CODE at)
{
    return SRE(at)(state, ptr, at);
}

#define PASS_WHILE(no_match) \\
    do { \\
        while (ptr < end && ((no_match) || (at && !SRE(is_at)(state, ptr, *at)))) \\
            ptr++; \\
        return ptr; \\
    } while (0)

/* The first position up to `end` at which the pattern's first assertion holds and its first character matches. It is `ptr`
   where the pattern starts with something else. */
static __attribute__((noinline)) SRE_CHAR*
SRE(candidate)(SRE_STATE* state, const SRE_CODE* pattern, SRE_CHAR* ptr, SRE_CHAR* end)
{
    const SRE_CODE* at = NULL;
    for (;;) {
        if (pattern[0] == SRE_OP_MARK) {
            pattern += 2;
        } else if (pattern[0] == SRE_OP_AT && !at) {
            at = pattern + 1;
            pattern += 2;
        } else if ((pattern[0] == SRE_OP_REPEAT_ONE || pattern[0] == SRE_OP_MIN_REPEAT_ONE || pattern[0] == SRE_OP_REPEAT ||
                    pattern[0] == SRE_OP_POSSESSIVE_REPEAT_ONE || pattern[0] == SRE_OP_POSSESSIVE_REPEAT) && pattern[2] > 0) {
            /* <REPEAT> <skip> <min> <max> item: there is at least one. */
            pattern += 4;
        } else {
            break;
        }
    }
    switch (pattern[0]) {
    case SRE_OP_LITERAL:
        PASS_WHILE((SRE_CODE) *ptr != pattern[1]);
    case SRE_OP_NOT_LITERAL:
        PASS_WHILE((SRE_CODE) *ptr == pattern[1]);
    case SRE_OP_LITERAL_IGNORE:
        PASS_WHILE((SRE_CODE) sre_lower_ascii(*ptr) != pattern[1]);
    case SRE_OP_LITERAL_UNI_IGNORE:
        PASS_WHILE((SRE_CODE) sre_lower_unicode(*ptr) != pattern[1]);
    case SRE_OP_IN:
        PASS_WHILE(!SRE(charset_in_place)(state, pattern + 2, *ptr));
    case SRE_OP_IN_IGNORE:
        PASS_WHILE(!SRE(charset)(state, pattern + 2, (SRE_CODE) sre_lower_ascii(*ptr)));
    case SRE_OP_IN_UNI_IGNORE:
        PASS_WHILE(!SRE(charset)(state, pattern + 2, (SRE_CODE) sre_lower_unicode(*ptr)));
    default:
        if (at)
            PASS_WHILE(0);
        return ptr;
    }
}
#undef PASS_WHILE

"""

PATCHES = [
    # ASCII characters are looked up in a table.
    ("Modules/_sre/sre.c", "#define SRE_UNI_IS_DIGIT(ch) Py_UNICODE_ISDECIMAL(ch)", "#define SRE_UNI_IS_DIGIT(ch) ((ch) < 128 ? Py_ISDIGIT(ch) : Py_UNICODE_ISDECIMAL(ch))"),
    ("Modules/_sre/sre.c", "return (unsigned int) Py_UNICODE_TOLOWER(ch);", "return ch < 128 ? (unsigned int) Py_TOLOWER(ch) : (unsigned int) Py_UNICODE_TOLOWER(ch);"),
    ("Modules/_sre/sre.c", "return (unsigned int) Py_UNICODE_TOUPPER(ch);", "return ch < 128 ? (unsigned int) Py_TOUPPER(ch) : (unsigned int) Py_UNICODE_TOUPPER(ch);"),
    ("Modules/_sre/sre.c", "#define SRE_UNI_IS_ALNUM(ch) Py_UNICODE_ISALNUM(ch)", "#define SRE_UNI_IS_ALNUM(ch) ((ch) < 128 ? Py_ISALNUM(ch) : Py_UNICODE_ISALNUM(ch))"),
    # The loop over one character of a set at a time is small when it is by itself; within `match`, nothing of it has a register.
    ("Modules/_sre/sre_lib.h", "LOCAL(int)\nSRE(charset)(SRE_STATE* state, const SRE_CODE* set, SRE_CODE ch)\n", "static inline __attribute__((always_inline)) int\nSRE(charset_in_place)(SRE_STATE* state, const SRE_CODE* set, SRE_CODE ch)\n"),
    ("Modules/_sre/sre_lib.h", "LOCAL(int)\nSRE(charset_loc_ignore)(", CHARSET + "LOCAL(int)\nSRE(charset_loc_ignore)("),
    ("Modules/_sre/sre_lib.h", "LOCAL(Py_ssize_t)\nSRE(count)(", "static __attribute__((noinline)) Py_ssize_t\nSRE(count)("),
    ("Modules/_sre/sre_lib.h", "while (ptr < end && SRE(charset)(state, pattern + 2, *ptr))", "while (ptr < end && SRE(charset_in_place)(state, pattern + 2, *ptr))"),
    ("Modules/_sre/sre_lib.h", "while (ptr < end && !SRE(charset)(state, charset, *ptr))", "while (ptr < end && !SRE(charset_in_place)(state, charset, *ptr))"),
    # Positions at which the pattern can't match.
    ("Modules/_sre/sre_lib.h", "LOCAL(Py_ssize_t)\nSRE(search)(", CANDIDATE + "LOCAL(Py_ssize_t)\nSRE(search)("),
    (
        "Modules/_sre/sre_lib.h",
        "            ptr++;\n            RESET_CAPTURE_GROUP();\n            TRACE((\"|%p|%p|SEARCH\\n\", pattern, ptr));\n",
        "#ifdef __wasi__\n            ptr = SRE(candidate)(state, pattern, ptr + 1, end);\n#else\n            ptr++;\n#endif\n"
        "            RESET_CAPTURE_GROUP();\n            TRACE((\"|%p|%p|SEARCH\\n\", pattern, ptr));\n",
    ),
]


def patch_regex(python):
    """Applies all of them to the sources in a directory."""
    apply(PATCHES, python, "regex_patches.py")
