"""Keeps text, bytes and files of the candidate from becoming code of the tests' interpreter.

Tests load programs by a path, execute text, unpickle bytes, render templates. Whatever of that is the candidate's would
run among the expected values. An audit hook sees all that is compiled and executed; border.py says what may be:

    files       by a path outside the tests' folder and the library: imported in the candidate's interpreter instead
    text        the tests' own constants; of the library what it executes while it is imported; else expressions that only
                make values (foreign_text.py)
    pickles     classes of plain values (foreign_pickles.py)
    templates   jinja's sandbox; factories of logging configurations that the tests name (foreign_templates.py)

To compile other text is no harm; to execute it is refused, and the case that is open has not passed."""

import _string
import ast
import importlib.machinery
import importlib.util
import os
import sys
import types

import _proofbox_border as border
import _proofbox_candidate_module as candidate_module
import _proofbox_foreign_files as foreign_files
import _proofbox_foreign_pickles as foreign_pickles
import _proofbox_foreign_templates as foreign_templates
import _proofbox_foreign_text as foreign_text
import _proofbox_grader as grader
import _proofbox_origins as origins
import _proofbox_packages as packages
import _proofbox_proxies as proxies
import _proofbox_report as report
import _proofbox_side as side

HOME = "/home/user/"
# How many texts that may be executed are remembered of a file name that others have been compiled under.
_REMEMBERED = 64
_REFUSED = "the tests execute text of the candidate"


class Guard:
    """State of the guard: the texts of a run, by what may be executed."""

    def __init__(self, texts):
        self.texts = foreign_text.Texts(texts)
        self.foreign = {}  # by file name, the last text that was compiled under it and may not be executed
        self.trusted = {}  # by file name, the last texts that may
        self.values = {}  # of these, by file name, those that are not the tests'
        self.codes = set()  # code of such texts that has been executed
        self.nameless = False  # whether there may be code that may not be executed, under any file name
        self.busy = False  # whether a text is being looked at
        self.readers = set()  # modules of the library that have read files of the candidate's while they were imported


_guard = None
_reads_templates = False  # whether the tests may fill templates of the candidate's


def watch(kind, texts):
    """Begins to watch, if the tests can execute anything at all. Examples of `doctest` are the candidate's own."""
    global _guard, _reads_templates
    texts = list(texts)
    _reads_templates = any(word in text for text in texts for word in border.FORMATS)
    if _reads_templates:
        _look_at_answers()
    if kind == "doctest" or not any(word in text for text in texts for word in border.EXECUTES):
        return
    _guard = Guard(texts)
    foreign_files.look_at(_JUDGES)
    sys.path_hooks.insert(0, OutsideFinder)
    sys.path_importer_cache.clear()
    importlib.util.spec_from_file_location = _spec_from_file_location
    # Without the tests' folder, whose files are not all there yet, and would be remembered so.
    path, sys.path[:] = sys.path[:], [packages.DIRECTORY]
    foreign_pickles.guard(texts)
    foreign_templates.guard(_guard.texts)
    if _guard.texts.mention("runpy"):
        _guard_runpy()
    if _guard.texts.mention("doctest"):
        _find_in_candidate()
    sys.path[:] = path


def refuse(note=None):
    """Ends the attempt to execute something of the candidate's."""
    grader.note_inexpressible(note or _REFUSED)
    side.refuse("text_of_the_candidate", note or _REFUSED)


def is_rewritten(source, text):
    """Returns whether tests that look at the snippet's source find another one than was run."""
    if not ("solution.py" in text or "__file__" in text or "getsource" in text):
        return False
    try:
        with open(report.SNIPPET, "rb") as file:
            return file.read() != source
    except OSError:
        return False


# ---------------------------------------------------------------- what is compiled and executed


def _compiled(source, filename):
    guard = _guard
    if guard.busy or source is None:
        return
    frame = sys._getframe(2)
    maker = frame.f_globals.get("__name__")
    if _is_maker(maker, filename) or maker in _IMPORTING and str(filename).startswith(border.OWN_FOLDERS):
        return
    if not isinstance(source, ast.AST):  # which comes without a file name
        source = foreign_text.as_text(source)
    guard.busy = True
    try:
        trusted = guard.texts.allows(source, maker, frame)
    finally:
        guard.busy = False
    if trusted:
        for known in (guard.trusted, guard.values) if trusted == foreign_text.VALUES else (guard.trusted,):
            sources = known.setdefault(filename, [])
            sources.append(source)
            del sources[:-_REMEMBERED]
    elif filename is None:
        guard.nameless = True
    else:
        guard.foreign[filename] = source


def _is_maker(module, filename):
    if type(module) is not str or module in border.LOOKED_AT and str(filename).startswith(border.LOOKED_AT[module]):
        return False
    return module in border.MAKERS or module in border.GRADER_MAKERS


_IMPORTING = frozenset({"importlib._bootstrap", "importlib._bootstrap_external", "_frozen_importlib", "_frozen_importlib_external"})


def _executed(code):
    filename, guard = code.co_filename, _guard
    if guard.values and not guard.busy and code not in guard.codes and _is_made_of(code, guard.values):
        _give_values_only(code)
    is_own = filename[:1] != "/" or filename.startswith(border.OWN_FOLDERS)
    if is_own and not guard.nameless and filename not in guard.foreign or guard.busy:
        return
    maker = sys._getframe(2).f_globals.get("__name__")
    if _is_maker(maker, filename) or maker in _IMPORTING and filename.startswith(border.OWN_FOLDERS):
        return
    if not _is_trusted(code) and not _is_of_an_import():
        refuse(_note_of(guard.foreign.get(filename), filename, maker))


def _is_of_an_import():
    """Returns whether a module of the library executes text while it is imported. Nothing of the candidate's can be in
    it but what the module reads of files: it gets no module of the candidate's then (grader.py)."""
    names = origins.importing()
    return bool(names) and _guard.readers.isdisjoint(names)


def _opened(path, *_):
    if not isinstance(path, int) and not (type(path) is str and path.startswith("/lib/") and ".." not in path) and _is_outside(path):
        _guard.readers.update(origins.importing())


def _is_trusted(code):
    """Returns whether the code is what a text that may be executed is compiled to."""
    return _is_made_of(code, _guard.trusted)


def _is_made_of(code, sources):
    flags = code.co_flags & _FUTURE_FLAGS
    _guard.busy = True
    try:
        for source in reversed([*sources.get(None, ()), *sources.get(code.co_filename, ())]):
            for mode in ("eval", "exec", "single"):
                try:
                    if compile(source, code.co_filename, mode, flags, True) == code:
                        return True
                except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
                    pass
    finally:
        _guard.busy = False
    return False


def _give_values_only(code):
    """While such text is executed, what it asks of the candidate must be a value or an object of the candidate's: when the text
    was looked at, the candidate may have said something else."""
    _guard.codes.add(code)
    for inner in code.co_consts:
        if type(inner) is types.CodeType:
            _give_values_only(inner)
    _look_at_answers()


_ask_candidate = grader.ask


def _look_at_answers():
    side.state.ask = grader.ask = _ask


def _ask(*request):
    value = _ask_candidate(*request)
    if _guard is not None and _guard.codes and _asks_for_text() and not _is_value(value, 0):
        refuse()
    if _reads_templates and _reads_innards(value, 0):
        refuse("a template of the candidate reads what objects of the tests are made of")
    return value


def _asks_for_text():
    frame = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("_proofbox"):
        frame = frame.f_back
    return frame is not None and frame.f_code in _guard.codes


def _is_value(value, depth):
    """Returns whether an answer is the candidate's, or data: nothing of the library that can be called, nor a
    module."""
    if proxies.is_remote(value) or type(value) in (candidate_module.ProxyModule, candidate_module.Lost):
        return True
    if isinstance(value, (list, tuple, set, frozenset)):
        return depth < _MAX_DEPTH and all(_is_value(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return depth < _MAX_DEPTH and all(_is_value(item, depth + 1) for pair in value.items() for item in pair)
    if isinstance(value, type):
        return value.__module__ == "builtins" and foreign_text.is_plain_class(value)
    return not callable(value) and not isinstance(value, types.ModuleType)


def _reads_innards(value, depth):
    """Returns whether a value is a template, or has one, whose fields reach from an object of the tests to its module."""
    if isinstance(value, str):
        text = str.__str__(value)
        return "{" in text and ("._" in text or any("." + word in text for word in border.INNARDS)) and _has_inner_field(text, 0)
    if isinstance(value, (list, tuple, dict)) and depth < _MAX_DEPTH and not proxies.is_remote(value):
        return any(_reads_innards(item, depth + 1) for item in (value.values() if isinstance(value, dict) else value))
    return False


def _has_inner_field(text, depth):
    try:
        fields = [(name, spec) for _, name, spec, _ in _string.formatter_parser(text) if name is not None]
        for name, spec in fields:
            for is_attribute, part in _string.formatter_field_name_split(name)[1]:
                if is_attribute and part.startswith(("__", *border.INNARDS)):
                    return True
            if spec and depth < 2 and _has_inner_field(spec, depth + 1):
                return True
    except ValueError:
        pass
    return False


# Levels of containers that are looked through.
_MAX_DEPTH = 20


def _future_flags():
    import __future__

    flags = 0
    for name in __future__.all_feature_names:
        flags |= getattr(__future__, name).compiler_flag
    return flags


_FUTURE_FLAGS = _future_flags()


def _note_of(text, filename, maker):
    """A note by whose first word `auto` finds in the tests' own text that they execute something of the candidate's."""
    own = _guard.texts
    if maker == "runpy":
        return "runpy in the tests' own interpreter"
    for root in side.state.candidate.roots:
        path = root.replace(".", "/") + ".py"
        file = path.rpartition("/")[2]
        is_file = ("/" + filename).endswith("/" + file) or type(text) is str and text == _content(HOME + path)
        if is_file and own.mention(file):
            return f"{file} in the tests' own interpreter"
    return None


def _content(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def _unmarshalled(*_):
    frame = sys._getframe(2)
    if frame.f_globals.get("__name__") in _IMPORTING:
        if frame.f_code.co_name != "_compile_bytecode":
            return
        names = frame.f_locals
        if str(names.get("source_path") or names.get("bytecode_path")).startswith(border.OWN_FOLDERS):
            return
    _guard.nameless = True


def _code_made(*_):
    """Code that is made of its parts is nobody's text. Few modules of the library make such of code that there is
(`code.replace`); others may call what the candidate has named."""
    frame = sys._getframe(2)
    if frame.f_globals.get("__name__") not in border.CODE_MAKERS or not frame.f_code.co_filename.startswith(_OF_LIBRARY):
        _guard.nameless = True


_OF_LIBRARY = ("/lib/", "<frozen ", "<proofbox>")


def _guard_runpy():
    """A program can't be run here as a module; by its path it is text."""
    import runpy

    run_module = runpy.run_module

    def run(mod_name, *arguments, **options):
        if mod_name.partition(".")[0] in side.state.candidate.roots:
            refuse("runpy in the tests' own interpreter")
        return run_module(mod_name, *arguments, **options)

    runpy.run_module = run


def _find_in_candidate():
    """doctest tells by globals whether a function is of a module; of the candidate's it can by names alone."""
    import doctest

    from_module = doctest.DocTestFinder._from_module

    def _from_module(self, module, object):
        if type(module) is candidate_module.ProxyModule and proxies.is_remote(object):
            return grader.ask("get", proxies.remote_id(object), "__module__") in (module.__name__, "__main__")
        return from_module(self, module, object)

    doctest.DocTestFinder._from_module = _from_module


_JUDGES = {
    "compile": _compiled,
    "exec": _executed,
    "function.__new__": _executed,
    "pickle.find_class": foreign_pickles.found,
    "marshal.loads": _unmarshalled,
    "marshal.load": _unmarshalled,
    "code.__new__": _code_made,
    "open": _opened,
}

# ---------------------------------------------------------------- files


def _is_outside(path):
    path = os.path.realpath(os.fsdecode(path) or ".")
    return not (path + "/").startswith(border.OWN_FOLDERS)


def _module_of(path):
    """Name of the candidate's module that the file is, or None."""
    path = os.path.realpath(path)
    if not path.startswith(HOME) or not path.endswith(".py"):
        return None
    name = path[len(HOME) : -len(".py")].removesuffix("/__init__").replace("/", ".")
    candidate = side.state.candidate
    return name if name.partition(".")[0] in {root.partition(".")[0] for root in candidate.roots} else None


class OutsideFinder:
    """A finder for folders that the candidate writes: its own modules are found in its interpreter."""

    def __init__(self, path):
        if not _is_outside(path) or path.endswith(".py"):
            raise ImportError("a folder of the tests or of the library, or no folder")
        self.path = path or os.getcwd()

    def find_spec(self, name, target=None):
        stem = os.path.join(self.path, name.rpartition(".")[2])
        for path in (stem + "/__init__.py", stem + ".py"):
            if os.path.isfile(path):
                return None if _is_known(name, path) else _spec_of(name, path)
        return None


def _is_known(name, path):
    """Returns whether the finders that come later have the module by this name."""
    root = name.partition(".")[0]
    return root in sys.stdlib_module_names or packages.is_known(root) or _module_of(path) == name


def _spec_of(name, path):
    """Returns how a file outside the tests' folder is loaded: as text of the tests, or where the candidate is."""
    if _guard.texts.is_own(_content(path)):
        return _find_by_location(name, path, loader=OwnTextLoader(name, path))
    module = _module_of(path)
    if module is None:
        refuse("the tests import a file of the candidate")
    return importlib.machinery.ModuleSpec(name, CandidateFileLoader(module), origin=path, is_package=path.endswith("/__init__.py"))


_find_by_location = importlib.util.spec_from_file_location


def _spec_from_file_location(name, location=None, **options):
    if location is None or "loader" in options or not _is_outside(location) or not os.path.isfile(location):
        return _find_by_location(name, location, **options)
    return _spec_of(name, os.path.abspath(os.fspath(location)))


class OwnTextLoader(importlib.machinery.SourceFileLoader):
    """A loader of a file that holds text of the tests. Compiled code beside it might be the candidate's."""

    def get_code(self, fullname):
        return compile(self.get_data(self.path), self.path, "exec", dont_inherit=True)


class CandidateFileLoader:
    """A loader of a file of the candidate's, which is a module in its interpreter."""

    def __init__(self, name):
        self.name = name

    def create_module(self, spec):
        module = candidate_module.ProxyModule(spec.name)
        candidate = side.state.candidate
        if self.name != candidate.module.__name__ and not candidate.lost:
            object.__setattr__(module, "_proofbox_number", grader.ask("import", self.name))
        return module

    def exec_module(self, module):
        """Runs nothing: the module has run there."""
