"""Functions that Python calls with more arguments than they have.

Elsewhere nobody notices; in WebAssembly such a call ends the program. `adapt` finds them in a file's tables of methods and
of attributes, and puts a function of the right kind in their place."""

import re

# An entry of a table: its name, casts, the function, and what follows: flags of a method, or a setter.
METHOD = re.compile(
    r'(\{\s*"\w+"\s*,\s*(?:\(\s*PyCFunction\w*\s*\)\s*)?(?:\(void\s*\(\*\)\(void\)\)\s*)?)(\w+)(\s*,\s*(METH_[\w |]+))'
)
GETTER = re.compile(r'(\{\s*"\w+"\s*,\s*\(getter\)\s*)(\w+)()')
DEFINITION = r"(?m)^[\w \t\*]*\b{name}\s*\(([^()]*)\)\s*\{{"
TABLE = re.compile(r"(?m)^[ \t]*(?:(?:static|const|struct)\s+)*(?:PyMethodDef|PyGetSetDef)\s+\w+\s*\[\s*\]\s*=")


def adapt(text):
    """The text of a C or C++ file with such functions wrapped, and how often it was changed."""
    found = [(match, wanted_by_flags(match[4])) for match in METHOD.finditer(text)]
    found += [(match, 2) for match in GETTER.finditer(text)]
    tables = [each.start() for each in TABLE.finditer(text)]
    edits = set()
    for match, wanted in found:
        name = match[2]
        definition = re.search(DEFINITION.format(name=name), text)
        has = len([each for each in definition[1].split(",") if each.strip() not in ("", "void")]) if definition else wanted
        if has < wanted:
            parameters = ", ".join(f"void *a{number}" for number in range(wanted))
            types = ", ".join(["void *"] * has) or "void"
            given = ", ".join(f"a{number}" for number in range(has))
            called = f"((PyObject *(*)({types})){name})({given})"
            table = max(start for start in tables if start < match.start())
            edits.add((match.start(2), match.end(2), f"{name}_called"))
            edits.add((table, table, f"static PyObject *{name}_called({parameters}) {{ return {called}; }}\n"))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text, len(edits)


def wanted_by_flags(flags):
    return 2 + ("METH_KEYWORDS" in flags) + ("METH_FASTCALL" in flags)
