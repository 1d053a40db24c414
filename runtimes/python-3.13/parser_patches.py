"""What CPython's generated parser tries in vain, left out where the next token shows that it fails.

The parser goes down some twenty rules to each name and number, and tries each rule of two operands again after it has found the
first one. Every program, and every assert, is compiled in each fresh interpreter, so this is much of what a short run costs:
docs/explanation/performance.md has what it gains. While the parser looks for what is wrong with a program, nothing is
left out. Results, errors and the order in which tokens are read are as they were, but that the stack of rules overflows a little later:
a hundred lambdas in each other are parsed where CPython gives up. `tests/parser/compare.py` compares both parsers.

All of it is in effect where `__wasi__` is defined; natively CPython stays as it is."""

import re

from sources import BuildError

FILE = "Parser/parser.c"
STATE_FILE = "Parser/lexer/state.c"

# Rules whose first operand is one of themselves: the rule of their operands, and the tokens that can follow an operand.
LEFT_RECURSIVE = {
    "bitwise_or": ("bitwise_xor", ["VBAR"]),
    "bitwise_xor": ("bitwise_and", ["CIRCUMFLEX"]),
    "bitwise_and": ("shift_expr", ["AMPER"]),
    "shift_expr": ("sum", ["LEFTSHIFT", "RIGHTSHIFT"]),
    "sum": ("term", ["PLUS", "MINUS"]),
    "term": ("factor", ["STAR", "SLASH", "DOUBLESLASH", "PERCENT", "AT"]),
    "primary": ("atom", ["DOT", "LPAR", "LSQB"]),
}
# Rules of operands with operators between them, that are not such: likewise, with keywords in quotes.
CHAINS = {
    "disjunction": ("conjunction", ["'or'"]),
    "conjunction": ("inversion", ["'and'"]),
    "comparison": ("bitwise_or", ["EQEQUAL", "NOTEQUAL", "LESSEQUAL", "LESS", "GREATEREQUAL", "GREATER", "'not'", "'in'", "'is'"]),
}
# Functions that tell of a type whether it is one of a set of tokens.
_ENDS_EXPRESSION = ["NEWLINE", "COMMA", "RPAR", "RSQB", "RBRACE", "COLON", "EQUAL", "SEMI"]
SETS = {
    # After which a primary is a whole expression; and after which it is a whole operand of a comparison.
    "ends_expression": _ENDS_EXPRESSION,
    "ends_operand": [*_ENDS_EXPRESSION, *CHAINS["comparison"][1], "'and'", "'or'", "'if'", "'else'", "'for'"],
    # With which a statement starts, and no assignment or expression.
    "opens_statement": ["'return'", "'import'", "'from'", "'raise'", "'pass'", "'del'", "'assert'", "'break'", "'continue'", "'global'", "'nonlocal'"],
    # With which an expression starts, and no primary.
    "opens_operator": ["PLUS", "MINUS", "TILDE", "'await'", "'not'", "'lambda'"],
}

HELPERS = """\
#ifdef __wasi__
// Type of the token that is read next; -1 where there is none, which is an error then.
static inline int
next_type(Parser *p)
{
    if (p->mark == p->fill && _PyPegen_fill_token(p) < 0) {
        p->error_indicator = 1;
        return -1;
    }
    return p->tokens[p->mark]->type;
}

// Type of the token after that one.
static inline int
second_type(Parser *p)
{
    p->mark++;
    int type = next_type(p);
    p->mark--;
    return type;
}

@SETS@#endif

"""

SET = """\
static inline int
@NAME@(int type)
{
    return @TOKENS@;
}
"""

# What starts with no operator starts with a primary, which is the whole where the token after it ends that.
WHOLE = """\
        if (!opens_operator(next_type(p))) {
            _res = primary_rule(p);
            int next = _res != NULL ? next_type(p) : 0;
            if (p->error_indicator) {
                p->level--;
                return NULL;
            }
            if (_res == NULL || @ENDS@(next)) {
                _PyPegen_insert_memo(p, _mark, @RULE@_type, _res);
                p->level--;
                return _res;
            }
            p->mark = _mark;
            _res = NULL;
        }
"""

FIRST_OPERAND = """\
#ifdef __wasi__
    if (!p->call_invalid_rules) {
@WHOLE@        _res = @OPERAND@_rule(p);
        int next = _res != NULL ? next_type(p) : 0;
        if (p->error_indicator) {
            p->level--;
            return NULL;
        }
        _resmark = p->mark;
        if (!(_res != NULL && (@FOLLOW@))) {
            _PyPegen_insert_memo(p, _mark, @RULE@_type, _res);
            p->level--;
            return _res;
        }
    }
#endif
    while (1) {
"""

NEXT_OPERAND = """\
        _resmark = p->mark;
        _res = _raw;
#ifdef __wasi__
        if (!p->call_invalid_rules) {
            int next = next_type(p);
            if (p->error_indicator) {
                p->level--;
                return NULL;
            }
            if (!(@FOLLOW@)) {
                _PyPegen_update_memo(p, _mark, @RULE@_type, _res);
                break;
            }
        }
#endif
    }
"""

CHAIN = """\
#ifdef __wasi__
    if (!p->call_invalid_rules) {
        _res = @OPERAND@_rule(p);
        int next = _res != NULL ? next_type(p) : 0;
        if (p->error_indicator) {
            p->level--;
            return NULL;
        }
        if (!(_res != NULL && (@FOLLOW@))) {
            goto done;
        }
        p->mark = _mark;
        _res = NULL;
    }
#endif
"""

EXPRESSION = """\
#ifdef __wasi__
    if (!p->call_invalid_rules) {
@WHOLE@        _res = next_type(p) == @LAMBDA@ ? lambdef_rule(p) : disjunction_rule(p);
        int next = _res != NULL ? next_type(p) : 0;
        if (p->error_indicator) {
            p->level--;
            return NULL;
        }
        if (_res == NULL || next != @IF@) {
            goto done;
        }
        p->mark = _mark;
        _res = NULL;
    }
#endif
"""

STATEMENT = """\
#ifdef __wasi__
    if (!p->call_invalid_rules && opens_statement(p->tokens[_mark]->type)) {
        goto statement_of_a_keyword;
    }
#endif
"""

STATEMENT_LABEL = """\
#ifdef __wasi__
  statement_of_a_keyword:
#endif
"""

# No rule of targets goes on from a name that nothing is taken of.
TARGET = """\
#ifdef __wasi__
    if (!p->call_invalid_rules && next_type(p) == NAME) {
        int next = second_type(p);
        if (p->error_indicator) {
            p->level--;
            return NULL;
        }
        if (next != DOT && next != LPAR && next != LSQB) {
            _PyPegen_insert_memo(p, _mark, t_primary_type, NULL);
            p->level--;
            return NULL;
        }
    }
#endif
    while (1) {
"""

ANNOTATED_NAME = """\
#ifdef __wasi__
            (p->call_invalid_rules || (next_type(p) == NAME && second_type(p) == COLON))
            &&
#endif
"""

# 150 modes of f-strings in each other: one is set when its f-string starts.
TOKENIZER = """\
    struct tok_state *tok = (struct tok_state *)PyMem_Calloc(
                                            1,
                                            sizeof(struct tok_state));
    if (tok == NULL)
        return NULL;
"""
TOKENIZER_CLEARED = """\
#ifdef __wasi__
    struct tok_state *tok = (struct tok_state *)PyMem_Malloc(sizeof(struct tok_state));
    if (tok == NULL)
        return NULL;
    size_t modes = offsetof(struct tok_state, tok_mode_stack), rest = offsetof(struct tok_state, tok_mode_stack_index);
    memset(tok, 0, modes);
    memset((char *)tok + rest, 0, sizeof(struct tok_state) - rest);
#else
""" + TOKENIZER + """\
#endif
"""


class _Rule:
    """The text of a rule's function, to be changed."""

    def __init__(self, text, name):
        start = re.search(rf"(?m)^{name}_rule\(Parser \*p\)\n{{$", text)
        end = text.find("\n}\n", start.end()) if start else -1
        if end < 0:
            raise unexpected(f"the rule {name}")
        self.start, self.end, self.text = start.start(), end, text[start.start() : end]

    def replace(self, old, new):
        if self.text.count(old) != 1:
            raise unexpected(f"{old.strip()[:60]!r} ({self.text.count(old)})")
        self.text = self.text.replace(old, new)


def unexpected(what, file=FILE):
    return BuildError(f"{file} of this CPython is not as parser_patches.py expects it at {what}; adapt it to the version")


def filled(template, **parts):
    for name, part in parts.items():
        template = template.replace(f"@{name}@", str(part))
    return template


def patch_parser(python):
    """Applies all of them to the sources in a directory."""
    path = python / FILE
    path.write_text(patched(path.read_text()))
    path = python / STATE_FILE
    text = path.read_text()
    if text.count(TOKENIZER) != 1:
        raise unexpected("the tokenizer's state", STATE_FILE)
    path.write_text(text.replace(TOKENIZER, TOKENIZER_CLEARED))


def patched(text):
    """Returns the parser's source with all of them."""

    def token(name):
        """The type of a token: its name in C, or the number of a keyword."""
        if not name.startswith("'"):
            return name
        numbers = re.findall(rf'\{{"{name[1:-1]}", (\d+)\}},', text)
        if len(numbers) != 1:
            raise unexpected(f"the keyword {name}")
        return numbers[0]

    def is_one_of(variable, names):
        return " || ".join(f"{variable} == {token(name)}" for name in names)

    def whole_primary(rule, ends):
        return filled(WHOLE, RULE=rule, ENDS=ends)

    changes = []

    def change(name, *replacements):
        rule = _Rule(text, name)
        for old, new in replacements:
            rule.replace(old, new)
        changes.append(rule)

    for name, (operand, operators) in LEFT_RECURSIVE.items():
        parts = {"RULE": name, "OPERAND": operand, "FOLLOW": is_one_of("next", operators)}
        whole = whole_primary(name, "ends_operand") if name == "bitwise_or" else ""
        change(
            name,
            ("    while (1) {\n", filled(FIRST_OPERAND, WHOLE=whole, **parts)),
            ("        _resmark = p->mark;\n        _res = _raw;\n    }\n", filled(NEXT_OPERAND, **parts)),
        )
    start = "    UNUSED(_start_col_offset); // Only used by EXTRA macro\n    { // "
    for name, (operand, operators) in CHAINS.items():
        chain = filled(CHAIN, OPERAND=operand, FOLLOW=is_one_of("next", operators))
        first = f"{start}{operand} "
        change(name, (first, first.replace("    { // ", chain + "    { // ")))
    expression = filled(EXPRESSION, WHOLE=whole_primary("expression", "ends_expression"), LAMBDA=token("'lambda'"), IF=token("'if'"))
    first = "    if (p->call_invalid_rules) { // invalid_expression\n"
    change("expression", (first, expression + first))
    first, keyword = "    { // assignment\n", "    { // &'return' return_stmt\n"
    change("simple_stmt", (first, STATEMENT + first), (keyword, STATEMENT_LABEL + keyword))
    change("t_primary", ("    while (1) {\n", TARGET))
    name = "            (a = _PyPegen_name_token(p))  // NAME\n            &&\n            (_literal = _PyPegen_expect_token(p, 11))  // token=':'\n"
    change("assignment", (name, ANNOTATED_NAME + name))

    for rule in sorted(changes, key=lambda rule: rule.start, reverse=True):
        text = text[: rule.start] + rule.text + text[rule.end :]
    first = "// file: "
    if text.count(first) < 1:
        raise unexpected(repr(first))
    sets = "\n".join(filled(SET, NAME=name, TOKENS=is_one_of("type", tokens)) for name, tokens in SETS.items())
    at = text.index(first)
    return text[:at] + filled(HELPERS, SETS=sets) + text[at:]
