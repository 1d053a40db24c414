"""Assignments of tests to the library (`time.sleep = fake`): made in the candidate's interpreter, too.

Which attributes are assigned to shows in the text of the tests. Those are looked at before each request."""

import builtins
import importlib
import re
import sys

import _proofbox_border as border
import _proofbox_bridge as bridge
import _proofbox_grader as grader
import _proofbox_packages as packages
import _proofbox_side as side

# An attribute that is assigned to, and before it the path to it. All that repeats is bounded: tests may have a line of a
# hundred thousand numbers.
_TARGET = re.compile(r"\.[^\W\d]\w*[ \t]*(?:,[^=\n(]{0,100})?=(?!=)")
_ASSIGNED = re.compile(r"(?<![\w.])((?:[^\W\d]\w*\.){1,9})(\w+)[ \t]*(?:,[^=\n(]{0,100})?=(?!=)")
_PATH_LENGTH = 200
_SET = re.compile(r"""\bsetattr\(\s*([\w.]+)\s*,\s*["'](\w+)["']""")
_IMPORTED = re.compile(r"\bimport\s+([\w.]+)\s+as\s+(\w+)")
# Of sys: carried otherwise (grader.py), or each interpreter's own.
_NOT_CARRIED = frozenset({"stdin", "stdout", "stderr", "argv", "path", "modules", "meta_path", "path_hooks"})
_MISSING = object()


class Assignments:
    """The attributes of the library's modules that the tests assign to."""

    def __init__(self, found, known_as):
        self.known = {}  # by module and name: what it was, and what the candidate has been told that it is
        for path, name in found:
            first, _, rest = path.partition(".")
            path = known_as.get(first, first) + ("." + rest if rest else "")
            module = _module_at_the_end(path)
            if module is not None and not (module is sys and name in _NOT_CARRIED):
                # Not by its dict: that of `random` is filled when it is first used.
                value = getattr(module, name, _MISSING)
                if value is not _MISSING:
                    self.known[module, name] = [value, value]

    def carry(self):
        """Repeats what has been assigned since the last request."""
        for (module, name), entry in self.known.items():
            value, (original, told) = vars(module).get(name, _MISSING), entry
            if value is not told:
                entry[1] = value
                self._tell(module, name, value, original, told)

    def forget_told(self):
        """The candidate's interpreter is a fresh one: there, all is what it was."""
        for entry in self.known.values():
            entry[1] = entry[0]

    def _tell(self, module, name, value, original, told):
        carried = side.state.candidate.carried
        try:
            if told is not original:
                bridge.converse(("unpatch", module.__name__, (), name))
            if value is not original:
                bridge.converse(("patch", module.__name__, (), name, value))
        except Exception:
            grader.note_inexpressible(f"an assignment to {module.__name__}.{name}")
        if module is builtins:
            (carried.discard if value is original else carried.add)(name)


def watch(candidate, text):
    """Has assignments carried over, if there are any in the text."""
    found = _SET.findall(text) if "setattr(" in text else []
    for target in _TARGET.finditer(text):
        before = max(0, target.start() - _PATH_LENGTH)
        line = text[text.rfind("\n", before, target.start()) + 1 or before : target.end()]
        found += [(path.rstrip("."), name) for path, name in _ASSIGNED.findall(line) if path != "self."]
    if found:
        assigned = Assignments(found, {alias: name for name, alias in _IMPORTED.findall(text)} if " as " in text else {})
        if assigned.known:
            candidate.assigned = assigned


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
