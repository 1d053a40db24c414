"""`python3 ARGUMENTS` in a fresh interpreter: what CPython's own main program makes of its command line."""

import linecache
import os
import sys
import types

import _proofbox_environment as environment
import _proofbox_packages as packages
import _proofbox_report as report
import _proofbox_threads as threads

NAME = "python3"
USAGE = f"usage: {NAME} [option] ... [-c cmd | -m mod | file | -] [arg] ...\n"
HINT = f"{USAGE}Try `python -h' for more information.\n"
# Letters that say how the interpreter is to be, and those with a value.
FLAGS, VALUED = frozenset("bBdEiIOPqRsSuvx"), frozenset("cmWX")
INTERRUPTED = 130  # as a shell tells of SIGINT
HELP = """Options (and corresponding environment variables):
-B     : don't write .pyc files on import; also PYTHONDONTWRITEBYTECODE=x
-c cmd : program passed in as string (terminates option list)
-E     : ignore PYTHON* environment variables (such as PYTHONPATH)
-h     : print this help message and exit (also -? or --help)
-I     : isolate Python from the user's environment (implies -E and -s)
-m mod : run library module as a script (terminates option list)
-O     : remove assert statements; also PYTHONOPTIMIZE=x
-OO    : do -O changes and also discard docstrings
-P     : don't prepend a potentially unsafe path to sys.path; also PYTHONSAFEPATH
-q, -S, -b, -d, -i, -v: accepted, without effect
-s     : don't add user site directory to sys.path; also PYTHONNOUSERSITE=x
-u     : write stdout and stderr line by line; also PYTHONUNBUFFERED=x
-V     : print the Python version number and exit (also --version)
-W arg : warning control; also PYTHONWARNINGS=arg
-x     : skip first line of source
-X opt : set implementation-specific option

Arguments:
file   : program read from script file
-      : program read from stdin (default)
arg ...: arguments passed to program in sys.argv[1:]
"""


class _Usage(Exception):
    """The command line is wrong; the argument says how."""


class _Line:
    """A command line, taken apart."""

    def __init__(self, words):
        self.flags, self.warnings, self.extras = [], [], []
        self.command = self.module = None
        self.shown = None  # "help" or "version"
        words = list(words)
        while words:
            word = words[0]
            if word == "-" or not word.startswith("-"):
                break
            words.pop(0)
            if word == "--":
                break
            if word.startswith("--"):
                self._long(word, words)
            elif self._short(word[1:], words):
                break
        self.rest = words

    def _long(self, word, words):
        if word in ("--help", "--help-all", "--help-env", "--help-xoptions"):
            self.shown = "help"
        elif word == "--version":
            self.shown = self.shown or "version"
        elif word == "--check-hash-based-pycs":
            if not words:
                raise _Usage(f"Argument expected for the {word} options")
            words.pop(0)
        else:
            raise _Usage(f"unknown option {word}")

    def _short(self, letters, words):
        """Returns whether what follows belongs to the program."""
        for at, letter in enumerate(letters):
            if letter in VALUED:
                value = letters[at + 1 :] or (words.pop(0) if words else None)
                if value is None:
                    raise _Usage(f"Argument expected for the -{letter} option")
                if letter == "c":
                    self.command = value
                elif letter == "m":
                    self.module = value
                else:
                    (self.warnings if letter == "W" else self.extras).append(value)
                return letter in "cm"
            if letter in "h?":
                self.shown = "help"
            elif letter == "V":
                self.shown = "versions" if self.shown == "version" else self.shown or "version"
            elif letter in FLAGS:
                self.flags.append(letter)
            else:
                raise _Usage(f"Unknown option: -{letter}")
        return False


def run(request):
    """Runs a program, and returns its exit code."""
    environment.start(request["env"], request["seed"])
    arguments = request["program"]
    try:
        if request["cwd"] is not None:
            os.chdir(request["cwd"])
        line = _Line(arguments)
        if line.shown:
            _show(line.shown)
            return 0
        _set_up(line, arguments)
        return _run(line) or 0
    except _Usage as error:
        sys.stderr.write(f"{error}\n{HINT}")
        return 2
    except BaseException as error:
        return _ended(error)


def _show(what):
    version = f"Python {sys.version if what == 'versions' else sys.version.split()[0]}"
    print(version if what.startswith("version") else USAGE + HELP, end="\n" if what.startswith("version") else "")


def _set_up(line, arguments):
    asked = line.flags
    ignores_variables = "E" in asked or "I" in asked

    def variable(name):
        value = None if ignores_variables else os.environ._data.get(name.encode())
        return os.fsdecode(value) if value else ""

    sys.orig_argv[:] = [NAME, *arguments]
    entries = [entry for entry in variable("PYTHONPATH").split(os.pathsep) if entry]
    if not ("s" in asked or "I" in asked or variable("PYTHONNOUSERSITE")) and os.path.isdir(packages.user_directory()):
        entries.append(packages.user_directory())
    sys.path[:] = [*entries, packages.DIRECTORY]
    if "B" in asked or variable("PYTHONDONTWRITEBYTECODE"):
        sys.dont_write_bytecode = True
    if "u" in asked or variable("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(line_buffering=True)
    sys.stderr.reconfigure(line_buffering=True)
    for option in line.extras:
        name, equals, value = option.partition("=")
        sys._xoptions[name] = value if equals else True
    wanted = [each for each in variable("PYTHONWARNINGS").split(",") if each] + line.warnings
    if "dev" in sys._xoptions:
        wanted.insert(0, "default")
    if wanted:
        import warnings

        sys.warnoptions[:] = wanted
        warnings._processoptions(wanted)
    line.is_safe = "I" in asked or "P" in asked or bool(variable("PYTHONSAFEPATH"))
    line.optimize = max(asked.count("O"), 1 if variable("PYTHONOPTIMIZE") else 0)


def _run(line):
    if line.command is not None:
        sys.argv[:] = ["-c", *line.rest]
        _look_in("", line)
        code = _compiled(line.command + "\n", "<string>", line)
        # A traceback quotes it, as CPython's does since 3.13.
        if hasattr(linecache, "_register_code"):
            linecache._register_code(code, line.command, "<string>")
        return _execute(code)
    if line.module is not None:
        sys.argv[:] = ["-m", *line.rest]
        _look_in(os.getcwd(), line)
        return _run_module(line.module, True)
    if not line.rest or line.rest[0] == "-":
        sys.argv[:] = line.rest or [""]
        _look_in("", line)
        return _execute(_compiled(sys.stdin.buffer.read(), "<stdin>", line))
    sys.argv[:] = line.rest
    return _run_file(line.rest[0], line)


def _look_in(entry, line):
    if not line.is_safe:
        sys.path.insert(0, entry)


def _run_module(name, alters_arguments):
    import runpy

    if "." in name:
        # The image has it imported already, of which runpy would warn.
        sys.modules.pop(name, None)
    runpy._get_module_details = _with_origin(runpy._get_module_details)
    runpy._run_module_as_main(name, alters_arguments)


def _with_origin(get_module_details):
    """Modules of the image have no file, but a place where one would be: sys.argv[0], by which programs name themselves."""

    def details(name, error=ImportError):
        name, spec, code = get_module_details(name, error)
        if spec.origin == "frozen":
            spec.origin = code.co_filename
        return name, spec, code

    return details


def _run_file(name, line):
    path = os.path.abspath(name)
    if os.path.isdir(path) or _is_archive(path):
        sys.path.insert(0, path)
        return _run_module("__main__", False)
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write(f"{NAME}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        return 2
    if "x" in line.flags:
        # The line's break stays, so that the numbers of the lines are right.
        source = source[source.find(b"\n") :] if b"\n" in source else b""
    _look_in(os.path.dirname(os.path.realpath(path)), line)
    main = sys.modules["__main__"].__dict__
    main["__file__"], main["__cached__"] = path, None
    return _execute(_compiled(source, path, line))


def _is_archive(path):
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                return False
    except OSError:
        return False
    import zipfile

    return zipfile.is_zipfile(path)


def _compiled(source, name, line):
    return compile(source, name, "exec", dont_inherit=True, optimize=line.optimize)


def _execute(code):
    threads.guarded(types.FunctionType(code, sys.modules["__main__"].__dict__))


def _ended(error):
    """Tells of the exception as CPython does; the exit code."""
    if isinstance(error, SystemExit):
        if error.code is not None and not isinstance(error.code, int):
            print(report.text_of(error.code, report.ANY_LENGTH), file=sys.stderr)
        return report.exit_code_of(error)
    try:
        sys.excepthook(type(error), error.with_traceback(report.users_traceback(error)), error.__traceback__)
    except BaseException as second:
        try:
            print(f"Error in sys.excepthook: {type(second).__name__}", file=sys.stderr)
            sys.__excepthook__(type(error), error, error.__traceback__)
        except BaseException:
            pass
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
