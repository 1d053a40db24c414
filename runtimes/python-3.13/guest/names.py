"""Names in the code of tests: which it uses, and which it binds."""

import opcode
import re
import types


def names_of(code):
    names = set(code.co_names)
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            names |= names_of(constant)
        elif type(constant) is str and constant.isidentifier():
            names.add(constant)
        elif type(constant) is str and not _EXECUTING.isdisjoint(code.co_names):
            names.update(_WORD.findall(constant))
    return names


def words_of(code):
    """Words of the texts in the code: by them a function can be found (`attrgetter("core.solve")`)."""
    words = set()
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            words |= words_of(constant)
        elif type(constant) is str and len(constant) <= _LONGEST_PATH:
            words.update(_WORD.findall(constant))
    return words


_WORD = re.compile(r"[^\W\d]\w*")
_LONGEST_PATH = 200
# By these, text becomes code, or names are bound that the code does not show.
_EXECUTING = frozenset({"exec", "eval", "compile"})
_BINDING = frozenset({"globals", "vars", "locals", "setattr", "__dict__"})
_STORE_NAME = opcode.opmap["STORE_NAME"]
_STORE_GLOBAL = opcode.opmap["STORE_GLOBAL"]
_EXTENDED = opcode.opmap["EXTENDED_ARG"]


def stored_names(code):
    """Names that the code binds in its namespace."""
    stored, octets, extended = set(), code.co_code, 0
    if _STORE_NAME in octets or _STORE_GLOBAL in octets:
        for at in range(0, len(octets), 2):
            argument = extended << 8 | octets[at + 1]
            extended = argument if octets[at] == _EXTENDED else 0
            if octets[at] in (_STORE_NAME, _STORE_GLOBAL) and argument < len(code.co_names):
                stored.add(code.co_names[argument])
    stored |= _bound_by_name(code)
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            stored |= _global_names(constant)
    return stored


def _bound_by_name(code):
    """Names that `globals()["name"] = …`, `globals().update(name=…)` or `exec("name = …")` may bind."""
    if _BINDING.isdisjoint(code.co_names) and _EXECUTING.isdisjoint(code.co_names):
        return set()
    stored = set()
    for constant in code.co_consts:
        if type(constant) is tuple:
            stored.update(each for each in constant if type(each) is str)
        elif type(constant) is str and len(constant) <= _LONGEST_PATH:
            # Also `for name in "ok done".split(): globals()[name] = …`.
            stored.update(_WORD.findall(constant))
        elif type(constant) is str and not _EXECUTING.isdisjoint(code.co_names):
            stored.update(name for name, _ in _ASSIGNED.findall(constant))
    return stored


_ASSIGNED = re.compile(r"(?<!\w)([^\W\d]\w*)\s*(:?=)(?!=)")


def _global_names(code):
    """Names that a function or class binds with `global`."""
    stored, octets, extended = _bound_by_name(code), code.co_code, 0
    if _STORE_GLOBAL in octets:
        for at in range(0, len(octets), 2):
            argument = extended << 8 | octets[at + 1]
            extended = argument if octets[at] == _EXTENDED else 0
            if octets[at] == _STORE_GLOBAL and argument < len(code.co_names):
                stored.add(code.co_names[argument])
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            stored |= _global_names(constant)
    return stored
