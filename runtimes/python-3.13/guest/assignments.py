"""Assignments of tests to the library (`time.sleep = fake`): made in the candidate's interpreter, too.

Which attributes are assigned to shows in the text of the tests. Those are looked at before each request."""

import builtins
import importlib
import re
import sys

import _proofbox_border as border
import _proofbox_bridge as bridge
import _proofbox_grader as grader
import _proofbox_origins as origins
import _proofbox_packages as packages
import _proofbox_side as side

# An attribute that is assigned to, and before it the path to it. All that repeats is bounded: tests may have a line of a
# hundred thousand numbers.
_TARGET = re.compile(r"\.[^\W\d]\w*[ \t]*(?:,[^=\n(]{0,100})?=(?!=)")
_ASSIGNED = re.compile(r"(?<![\w.])((?:[^\W\d]\w*\.){1,9})(\w+)[ \t]*(?:,[^=\n(]{0,100})?=(?!=)")
_PATH_LENGTH = 200
_SET = re.compile(r"""\bsetattr\(\s*([\w.]+)\s*,\s*["'](\w+)["']""")
_IMPORTED = re.compile(r"\bimport\s+([\w.]+)\s+as\s+(\w+)")
_IMPORTED_FROM = re.compile(r"\bfrom[ \t]+([\w.]+)[ \t]+import\b[ \t]*(?:\(([^)]{0,2000})\)|([^\n]{0,500}))")
# Of sys: carried otherwise (grader.py), or each interpreter's own.
_NOT_CARRIED = frozenset({"stdin", "stdout", "stderr", "argv", "path", "modules", "meta_path", "path_hooks"})
_MISSING = object()


class Assignments:
    """The attributes of the library's modules that the tests assign to."""

    def __init__(self, found, known_as):
        self.known = {}  # by module or class and name: what it was, and what the candidate has been told that it is
        for path, name in found:
            first, _, rest = path.partition(".")
            path = known_as.get(first, first) + ("." + rest if rest else "")
            owner = _module_at_the_end(path) or _class_at_the_end(path)
            if owner is not None and not (owner is sys and name in _NOT_CARRIED):
                if isinstance(owner, type):
                    value = vars(owner).get(name, _MISSING)
                else:
                    # Not by its dict: that of `random` is filled when it is first used.
                    value = getattr(owner, name, _MISSING)
                if value is not _MISSING:
                    self.known[owner, name] = [value, value]

    def carry(self):
        """Repeats what has been assigned since the last request."""
        for (owner, name), entry in self.known.items():
            value, (original, told) = vars(owner).get(name, _MISSING), entry
            if value is not told:
                entry[1] = value
                self._tell(owner, name, value, original, told)

    def forget_told(self):
        """The candidate's interpreter is a fresh one: there, all is what it was."""
        for entry in self.known.values():
            entry[1] = entry[0]

    def _tell(self, owner, name, value, original, told):
        carried = side.state.candidate.carried
        module, path = owner.__name__, ()
        if isinstance(owner, type):
            module, path = owner.__module__, tuple(owner.__qualname__.split("."))
        try:
            if told is not original:
                bridge.converse(("unpatch", module, path, name))
            origins.note_replaced(module, path, name, original, value is not original)
            if value is not original:
                bridge.converse(("patch", module, path, name, value))
        except Exception as error:
            grader.note_not_carried(error, f"an assignment to {owner.__name__}.{name}")
        if owner is builtins:
            (carried.discard if value is original else carried.add)(name)


def watch(candidate, text):
    """Has assignments carried over, if there are any in the text."""
    found = _SET.findall(text) if "setattr(" in text else []
    for target in _TARGET.finditer(text):
        before = max(0, target.start() - _PATH_LENGTH)
        line = text[text.rfind("\n", before, target.start()) + 1 or before : target.end()]
        found += [(path.rstrip("."), name) for path, name in _ASSIGNED.findall(line) if path != "self."]
    if found:
        assigned = Assignments(found, _known_as(text))
        if assigned.known:
            candidate.assigned = assigned


def _known_as(text):
    """Returns the library's names for the names that the tests' imports bind, as dict."""
    known = {alias: name for name, alias in _IMPORTED.findall(text)} if " as " in text else {}
    for module, within, behind in _IMPORTED_FROM.findall(text):
        for each in (within or behind).split(","):
            name, _, alias = each.partition(" as ")
            if name.strip().isidentifier():
                known[alias.split("#")[0].strip() or name.strip()] = f"{module}.{name.strip()}"
    return known


def _class_at_the_end(path):
    """The class of the library that a path such as `pathlib.Path` leads to, or None."""
    module, _, name = path.rpartition(".")
    found = getattr(_module_at_the_end(module), name, None) if module else None
    return found if type(found) is type and origins.library_name(found) is not None else None


def _module_at_the_end(path):
    """The module of the library that a path such as `solution.os.path` leads to, or None."""
    parts = path.split(".")
    for first in range(len(parts)):
        name = ".".join(parts[first:])
        if parts[first] in sys.stdlib_module_names and parts[first] not in border.NOT_IMPORTED | border.NOT_SHARED:
            # Without the tests' folder, whose files are not all there yet, and would be remembered so.
            kept, sys.path[:] = sys.path[:], [packages.DIRECTORY]
            try:
                return importlib.import_module(name)
            except ImportError:
                pass
            finally:
                sys.path[:] = kept
    return None
