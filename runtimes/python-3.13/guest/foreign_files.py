"""Keeps the tests' own files from the candidate where the tests hand over what opens files, or open what it names.

An audit hook sees what is opened and listed. While a request of the candidate is carried out, also in threads and tasks that came
of it, nothing below the tests' folder is: but for their data, where no text of the candidate can have led there (a generator of
the tests that reads its rows when the first is asked for). At other times the tests open what they like, but no data file that
the candidate has named to them. Nor are lines of the tests quoted to it.

Whether links lead there, is asked when a file is opened: nobody replaces them meanwhile."""

import concurrent.futures.thread
import contextvars
import functools
import html
import itertools
import linecache
import os
import pathlib
import re
import stat
import sys
import threading
import types
import urllib.parse

import _proofbox_border as border
import _proofbox_proxies as proxies
import _proofbox_side as side

serving = contextvars.ContextVar("serving", default=False)
# How many texts of the candidate that name the folder are kept, how long the beginnings of them that are looked at, and how deep
# and how many items of containers.
_MAX_NAMED, _MAX_TEXT, _MAX_DEPTH, _MAX_ITEMS, _FEW_ITEMS = 64, 1 << 16, 6, 1_000, 20
_REFUSED = "a file of the tests on behalf of the candidate"


class _Files:
    """State of the guard: the tests' files, and who has named them."""

    def __init__(self, has_data, data):
        self.has_data = has_data  # whether there may be files of the tests that are no modules
        self.data = data  # paths of those that they have brought
        self.names = {name for path in data for name in _names_of(path)}
        self.guessed = set()  # names among these that the candidate has given before it was told
        self.handed = {}  # by path, of data files that the candidate may read, which version it has
        self.told = set()  # paths in the folder that the tests have told the candidate
        self.named = set()  # texts of the candidate that name the folder
        self.is_pieced = False  # whether the candidate has given what a path into the folder can be put together of
        self.is_flooded = False
        self.turns = 0  # how often the candidate has been asked something
        self.written = {}  # by path, at which of these turns the tests have last written a file


_files = None
# Words of tests that read files.
_READING_FILES = ("open(", ".read_text(", ".read_bytes(")


def _names_of(path):
    """By what a text of the candidate may mean a file: its path in the folder, its name, and that without its ending."""
    name = path.rpartition("/")[2]
    return path[len(border.TESTS_FOLDER) + 1 :], name, name.partition(".")[0]


def are_watched():
    return _files is not None


def watch(tests, text):
    """Begins to guard the tests' files, where there are any or the tests' `text` speaks of the folder."""
    global _files
    _quote_nothing()
    files = tests.get("files") or {}
    if not files and tests.get("kind") != "pytest" and border.TESTS_FOLDER not in text and not any(word in text for word in _READING_FILES):
        return
    data = {os.path.normpath(f"{border.TESTS_FOLDER}/{name}") for name in files if not name.endswith((".py", ".pyc"))}
    has_data = bool(data) or border.TESTS_FOLDER in text or "__file__" in text
    _files = _Files(has_data, data)
    look_at({"open": _opened} | {event: functools.partial(_listed, event) for event in _PATHS})
    _go_with_threads()
    _watch_descriptors()
    _listen()
    if has_data and "sqlite" in text:
        _watch_databases()


# ---------------------------------------------------------------- what is opened


_judges = {}  # by audit event, what looks at its arguments


def look_at(judges):
    """Adds what looks at audit events. One hook serves all: it is called for every event, those of frames among them."""
    if not _judges:
        sys.addaudithook(_hook)
    for event, judge in judges.items():
        _judges[event] = (*_judges.get(event, ()), judge)


def _hook(event, arguments):
    for judge in _judges.get(event, ()):
        judge(*arguments)


_WRITING = os.O_WRONLY | os.O_RDWR & ~os.O_RDONLY | os.O_CREAT | os.O_TRUNC
# Events beside that of opening, and how many of their arguments are paths.
_PATHS = {
    "os.listdir": 1, "os.scandir": 1, "os.rename": 2, "os.link": 2, "os.symlink": 2, "os.remove": 1, "os.rmdir": 1, "os.mkdir": 1,
    "os.truncate": 1, "os.chmod": 1, "os.utime": 1, "os.chdir": 1, "sqlite3.connect": 1,
}  # fmt: skip


def _resolved(path):
    """The path with links resolved, and where a path in the tests' folder is no path as a text."""
    if proxies.is_remote(path) and not issubclass(type(path), (str, bytes)):
        # It may say something else whenever it is asked.
        side.refuse("file_of_the_tests", "a path that is the candidate's object")
    try:
        path = os.fsdecode(path)
    except TypeError:
        return None, ""
    return path, os.path.realpath(path)


def is_in_folder(path):
    return path == border.TESTS_FOLDER or path.startswith(border.TESTS_FOLDER + "/")


def _refuse():
    side.refuse("file_of_the_tests", _REFUSED)


def _opened(path, mode, flags):
    if type(path) is int or type(path) is str and path.startswith("/lib/") and ".." not in path:
        return
    path, found = _resolved(path)
    if path is not None and not is_in_folder(found):
        _note_empty_file(found, flags)
        return
    if path is None or _is_of_an_import():
        return
    is_module = found.endswith((".py", ".pyc")) or found == border.TESTS_FOLDER
    if serving.get():
        reads = type(flags) is not int or not flags & _WRITING
        is_straight = path.startswith("/") and ".." not in path.split("/")
        if is_module or not (_files.has_data and reads and is_straight) or _files.named or _files.is_pieced or _files.is_flooded:
            _refuse()
    elif _is_named(found) and not (is_module and _is_quoted()):
        _refuse()


def _note_empty_file(path, flags):
    """A file without content that the tests read, and have not left so themselves: a loop over its lines checks nothing."""
    if serving.get() or type(flags) is not int:
        return
    if flags & _WRITING:
        _files.written.pop(path, None)
        _files.written[path] = _files.turns
        if len(_files.written) > _MAX_WRITTEN:
            del _files.written[next(iter(_files.written))]
    elif _files.written.get(path) != _files.turns and not path.startswith("/lib/"):
        try:
            found = os.stat(path)
        except OSError:
            return
        if not found.st_size and stat.S_ISREG(found.st_mode):
            side.signal("empty_result")


# How many files that the tests have written are known.
_MAX_WRITTEN = 64


def _listed(event, *arguments):
    for path in arguments[: _PATHS[event]]:
        if path is None or type(path) is int:
            continue
        path, found = _resolved(path)
        if path is None:
            continue
        if event == "os.symlink" and not path.startswith("/") and "tests" in path:
            found = border.TESTS_FOLDER  # relative to where it will be
        if event == "sqlite3.connect":
            path = _path_of_uri(path)
            found = os.path.realpath(path)
        if not is_in_folder(found) or _is_of_an_import():
            continue
        if serving.get() or event == "sqlite3.connect" and _is_named(found):
            _refuse()


def _is_of_an_import():
    """Returns whether a module is being imported: its file is found and read by what is not the candidate's to call."""
    frame = sys._getframe(3)
    return frame.f_globals.get("__name__") in _IMPORTING and frame.f_code.co_name in _READING


_IMPORTING = frozenset({"importlib._bootstrap_external", "_frozen_importlib_external", "_pytest.assertion.rewrite"})
_READING = frozenset({"get_data", "_fill_cache", "_rewrite_test", "_read_pyc", "exec_module"})


def _is_quoted():
    """Returns whether a traceback or a failed assertion of the tests is about to quote a line."""
    frame = sys._getframe(3)
    while frame is not None and frame.f_globals.get("__name__") in ("tokenize", "linecache", "_proofbox_environment"):
        if frame.f_code.co_name == "updatecache":
            return True
        frame = frame.f_back
    return False


def _is_named(found):
    """Returns whether the candidate has named a file of the tests to them."""
    name = found.rpartition("/")[2]
    if side.state.shared:
        note_texts([value for value in side.state.shared.values() if type(value) in (list, dict, set)])
    return _files.is_flooded or any(name in text for text in _files.named)


# ---------------------------------------------------------------- who names what


def _texts_in(value, found, is_wanted, depth=0):
    """Gathers the texts and paths in a value that are wanted; if there are no data files, those of calls and of small results."""
    kind = type(value)  # not by isinstance: `__class__` of a handle is what its object is of
    if kind in _MUTE:
        return
    if issubclass(kind, str):
        text = str.__str__(value)
    elif issubclass(kind, (list, tuple, set, frozenset, dict)):
        if type(kind) is proxies.ProxyType or depth >= _MAX_DEPTH or not value:
            return
        items = itertools.islice(value, _MAX_ITEMS if _files.has_data else _FEW_ITEMS)
        for item in items:
            if type(item) not in _MUTE:
                _texts_in(item, found, is_wanted, depth + 1)
                if issubclass(kind, dict):
                    _texts_in(value[item], found, is_wanted, depth + 1)
            elif issubclass(kind, dict):
                _texts_in(value[item], found, is_wanted, depth + 1)
        return
    elif issubclass(kind, (bytes, bytearray)):
        text = bytes(memoryview(value)[:_MAX_TEXT]).decode("utf-8", "replace")
    elif issubclass(kind, pathlib.PurePath):
        text = os.fspath(value)
    else:
        return
    if is_wanted(text):
        found.append(text)


_MUTE = frozenset({int, float, complex, bool, type(None), types.FunctionType, types.MethodType})


def _may_name(text):
    """Returns whether a text may name the folder, in whichever spelling, or be a piece of its name."""
    return "tests" in text or ".." in text or "&" in text or "%" in text or "\\" in text or text in _PIECES


def _may_name_data(text):
    return _may_name(text) or bool(_data_named_in(text[:_MAX_TEXT]))


def _data_named_in(text):
    """Returns which data files of the tests a text names, by a word of their names or with an ending."""
    if text in _files.names:
        return [text]
    return [name for name in _files.names if "." in name and name in text]


def _is_path_of_folder(text):
    return text.startswith(border.TESTS_FOLDER + "/")


def note_told(value):
    """Paths of their own that the tests tell the candidate: these it may name."""
    found = []
    _texts_in(value, found, _is_path_of_folder)
    for text in found:
        _files.told.add(text.rstrip("/"))
        if text in _files.data:
            _hand_over(text)


# How many data files are handed over, and of which size.
_MAX_HANDED, _MAX_SIZE = 64, 1 << 22
_open = open


def _hand_over(path):
    """Lets the candidate read a data file that the tests have told it the path of, unless it may have chosen the file itself."""
    import _proofbox_bridge as bridge

    known = _files.handed.get(path)
    if known is None and (len(_files.handed) >= _MAX_HANDED or not _files.guessed.isdisjoint(_names_of(path)) or _files.is_pieced or _is_named(path)):
        return
    try:
        found = os.stat(path)
        version = side.state.generation, found.st_mtime_ns, found.st_size
        if version == known or found.st_size > _MAX_SIZE or os.path.realpath(path) != path:
            return
        with _open(path, "rb") as file:
            content = file.read()
        bridge.converse(("file", path, content))
    except OSError:
        return
    _files.handed[path] = version


_FOLDER = re.compile(r"(?:^|[/\\\s\"'@=>:,])tests(?:[/\\]|$)")
_PIECES = frozenset({"/t", "/te", "/tes", "/test"})


def note_texts(value):
    """Notes texts of the candidate that name the tests' folder, in whichever spelling the tests may undo."""
    found = []
    _texts_in(value, found, _may_name_data if _files.names else _may_name)
    for text in found:
        text = text[:_MAX_TEXT]
        if _files.names:
            _files.guessed.update(_data_named_in(text))
        if text in _PIECES or ".." in text and ".." in re.split(r"[/\\]", text):
            _files.is_pieced = True
        for spelling in _spellings_of(text):
            if "tests" in spelling and _FOLDER.search(spelling) and not _is_told(spelling):
                if len(_files.named) >= _MAX_NAMED:
                    _files.is_flooded = True
                else:
                    _files.named.add(spelling)


def _spellings_of(text):
    yield text
    if "&" in text:
        yield html.unescape(text)
    if "%" in text:
        yield urllib.parse.unquote(text)
    if "\\" in text:
        yield re.sub(r"\\u00([0-9a-fA-F]{2})|\\x([0-9a-fA-F]{2})", lambda found: chr(int(found[1] or found[2], 16)), text).replace("\\/", "/")


def _is_told(text):
    if ".." in text:
        return False
    rest = text
    for path in sorted(_files.told, key=len, reverse=True):
        rest = rest.replace(path, "")
    return not _FOLDER.search(rest)


def _listen():
    """Notes what is said to the candidate, and what it answers."""
    import _proofbox_grader as grader

    def asked(request):
        _files.turns += 1
        if request[0] not in _TELLING:
            return None
        note_told(request[1:])
        if not _files.has_data or len(request) <= 2:
            return None
        before = []
        _texts_in(request[2:], before, _may_name)
        return before

    def answered(value, request=None, before=None):
        if type(value) not in _MUTE:
            note_texts(value)
        if before is not None:
            # What it has put into the containers that it was given.
            after = []
            _texts_in(request[2:], after, _may_name)
            note_texts([text for text in after if text not in before])

    grader.asked, grader.answered = asked, answered


_TELLING = frozenset({"call", "special", "set", "set_global", "index", "patch"})


# ---------------------------------------------------------------- threads, databases, descriptors, quoted lines


def _go_with_threads():
    """Does for a request what it has threads and pools do."""
    item, thread = concurrent.futures.thread._WorkItem, threading.Thread
    make_item, run_item, make_thread, run_thread = item.__init__, item.run, thread.start, thread._bootstrap_inner

    def init(self, *arguments):
        make_item(self, *arguments)
        self._proofbox_serves = serving.get()

    def run(self):
        before = serving.set(self._proofbox_serves)
        try:
            run_item(self)
        finally:
            serving.reset(before)

    def start(self):
        self._proofbox_serves = serving.get()
        make_thread(self)

    def _bootstrap_inner(self):
        serving.set(self._proofbox_serves)
        run_thread(self)

    for function, original in ((init, make_item), (run, run_item), (start, make_thread), (_bootstrap_inner, run_thread)):
        function.__name__, function.__qualname__, function.__module__, function.__doc__ = (
            original.__name__, original.__qualname__, original.__module__, original.__doc__,
        )  # fmt: skip
    item.__init__, item.run, thread.start, thread._bootstrap_inner = init, run, start, _bootstrap_inner


def _path_of_uri(path):
    if path.startswith("file:"):
        path = urllib.parse.unquote(path[len("file:") :].partition("?")[0])
        path = "/" + path.lstrip("/") if path.startswith("//") else path
    return path


def _watch_databases():
    """No connection of the tests attaches a database of theirs for the candidate: SQLite opens it unseen."""
    import sqlite3

    connect_ = sqlite3.connect

    def judge(action, path, *_):
        if action == sqlite3.SQLITE_ATTACH:
            if path is None:  # an expression
                if serving.get():
                    return sqlite3.SQLITE_DENY
            else:
                found = os.path.realpath(_path_of_uri(path))
                if is_in_folder(found) and (serving.get() or _is_named(found)):
                    _note_refusal()
                    return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def connect(*arguments, **options):
        connection = connect_(*arguments, **options)
        connection.set_authorizer(judge)
        return connection

    connect.__module__, connect.__qualname__, connect.__doc__ = connect_.__module__, connect_.__qualname__, connect_.__doc__
    sqlite3.connect = sqlite3.dbapi2.connect = connect


def _note_refusal():
    try:
        _refuse()
    except TypeError:
        pass


_NAME = border.TESTS_FOLDER[1:]


def _watch_descriptors():
    """Refuses paths into the tests' folder relative to an open folder: where such a path leads is not told."""
    open_ = os.open

    def open(path, flags, mode=0o777, *, dir_fd=None):
        if dir_fd is not None and serving.get() and not {"..", _NAME}.isdisjoint(os.fsdecode(path).split("/")):
            _refuse()
        return open_(path, flags, mode, dir_fd=dir_fd)

    open.__module__, open.__doc__ = open_.__module__, open_.__doc__
    os.open = open


def _quote_nothing():
    """Stacks and warnings have no lines of the tests while the candidate may see them."""
    getlines_ = linecache.getlines

    def getlines(filename, module_globals=None):
        if serving.get() and type(filename) is str and (is_in_folder(filename) or filename in border.QUOTED_FILES):
            return []
        return getlines_(filename, module_globals)

    getlines.__module__, getlines.__doc__ = getlines_.__module__, getlines_.__doc__
    linecache.getlines = getlines
