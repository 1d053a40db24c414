"""The magics of a notebook: `%name line` and `%%name line` with the rest of the cell."""

import os
import shlex
import sys

LINE, CELL = {}, {}
# These also work without their percent sign, in a cell of one line.
AUTOMATIC = frozenset("cat cd cp conda ls mkdir mv pip pwd rm rmdir time timeit who who_ls whos".split())


def line(*names, expand=True):
    return _registering([LINE], names, expand)


def cell(*names, expand=True):
    return _registering([CELL], names, expand)


def _registering(tables, names, expand):
    def register(function):
        function._of_the_shell, function._no_expansion = True, not expand
        for table in tables:
            for name in names:
                table[name] = function
        return function

    return register


def _words(text):
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def options(shell, text, allowed, name):
    """The options at the beginning of the line, as {letter: value or True}, and the rest as it stands. `allowed`: the
    letters; with a colon after those that take a value."""
    found, rest = {}, text.lstrip()
    while rest.startswith("-") and len(rest) > 1 and not rest[1].isspace():
        word, _, after = rest.partition(" ")
        after = after.lstrip()
        letter, value = word[1], word[2:]
        at = allowed.find(letter)
        if at < 0 or letter == ":":
            raise shell.usage_error(f"option -{letter} not recognized ( allowed: {allowed!r} )")
        if allowed[at + 1 : at + 2] == ":":
            if not value:
                value, _, after = after.partition(" ")
            found[letter] = value
        else:
            for each in letter + value:
                found[each] = True
        rest = after.lstrip()
    return found, rest


# ---------------------------------------------------------------- files and the system


@line("pwd")
def pwd(shell, text):
    return os.getcwd()


@line("cd")
def cd(shell, text):
    visited = shell.user_ns.setdefault("_dh", [os.getcwd()])
    quiet = "-q" in text.split()
    folder = " ".join(word for word in _words(text) if word != "-q") or os.path.expanduser("~")
    if folder == "-":
        if len(visited) < 2:
            raise shell.usage_error("%cd -: No previous directory to change to.")
        folder = visited[-2]
    try:
        os.chdir(os.path.expanduser(folder))
    except OSError as error:
        print(f"[Errno {error.errno}] {error.strerror}: {folder!r}")
    else:
        visited.append(os.getcwd())
    if not quiet:
        print(os.getcwd())


def _shell_command(name):
    @line(name)
    def run(shell, text):
        shell.command(f"{name} {text}".rstrip())

    return run


for _name in ("cat", "cp", "ls", "mkdir", "mv", "rm", "rmdir"):
    _shell_command(_name)
LINE["ll"] = LINE["ls"]


@line("sx", "system")
def sx(shell, text):
    return shell.getoutput(text)


@line("sc")
def sc(shell, text):
    name, _, command = text.partition("=")
    shell.user_ns[name.strip().split()[-1]] = shell.getoutput(command.strip())


@line("env")
def env(shell, text):
    if not text.strip():
        return dict(os.environ)
    if "=" in text or len(text.split()) > 1:
        return set_env(shell, text)
    name = text.strip()
    if name in os.environ:
        return os.environ[name]
    raise shell.usage_error(f"Environment does not have key: {name}")


@line("set_env")
def set_env(shell, text):
    name, _, value = text.strip().partition("=" if "=" in text else " ")
    name, value = name.strip(), value.strip()
    if not value or any(character.isspace() for character in name):
        raise shell.usage_error(f"refusing to set env var with whitespace: {name!r}" if value else f"no value for {name!r}")
    os.environ[name] = value
    print(f"env: {name}={value}")


@line("pip", "conda", "mamba", "uv")
def pip(shell, text):
    import _proofbox_packages as packages

    if packages.may_install(text):
        shell.command(f"pip {text}")
        packages.look_again()
        if shell.user_ns["_exit_code"] == 0:
            return
    print(packages.answer(text), end="")


@cell("writefile", "file", expand=True)
def writefile(shell, text, body):
    words = _words(text)
    append = any(word in ("-a", "--append") for word in words)
    names = [word for word in words if word not in ("-a", "--append")]
    if len(names) != 1:
        raise shell.usage_error("%%writefile needs the name of one file.")
    name = os.path.expanduser(names[0])
    there = os.path.exists(name)
    print(f"{'Appending to' if append and there else 'Overwriting' if there else 'Writing'} {names[0]}")
    with open(name, "a" if append else "w", encoding="utf-8") as file:
        file.write(body)


def _script(name):
    @cell(name, expand=True)
    def run(shell, text, body):
        return _run_script(shell, name, text, body)

    return run


def _run_script(shell, name, text, body):
    import subprocess

    raises, out, err, words = True, None, None, _words(text)
    while words:
        word = words.pop(0)
        if word == "--no-raise-error":
            raises = False
        elif word in ("--out", "--err") and words:
            out, err = (words.pop(0), err) if word == "--out" else (out, words.pop(0))
        elif name == "script":
            break  # the program; everything is for the one shell that there is
    command = body if name in ("bash", "sh", "script") else f"{name} - <<'PROOFBOX_END'\n{body}PROOFBOX_END\n"
    code, printed, complained = shell.command(command, capture=bool(out or err))
    for variable, data, stream in ((out, printed, sys.stdout), (err, complained, sys.stderr)):
        if variable:
            shell.user_ns[variable] = data.decode("utf-8", "replace")
        else:
            stream.write(data.decode("utf-8", "replace"))
    if raises and code:
        raise subprocess.CalledProcessError(code, body.encode())


for _name in ("bash", "sh", "script", "python", "python3"):
    _script(_name)


@cell("system", "sx", "!")
def system_cell(shell, text, body):
    return shell.getoutput(f"{text}\n{body}")


# ---------------------------------------------------------------- what a notebook has and a session need not


def _nothing(shell, text, body=None):
    """Is accepted, and does nothing here."""


for _name in "autoreload autosave aimport colors load_ext reload_ext unload_ext matplotlib pylab pdb gui doctest_mode logstart logstop rehashx automagic".split():
    LINE[_name] = _nothing
_nothing._of_the_shell = True


@line("config", expand=False)
def config(shell, text):
    """Of what can be set elsewhere only what is shown of a cell means something here."""
    import ast

    name, _, value = text.partition("=")
    if name.strip() == "InteractiveShell.ast_node_interactivity":
        try:
            shell.ast_node_interactivity = ast.literal_eval(value.strip())
        except (SyntaxError, ValueError):
            shell.ast_node_interactivity = value.strip()
    elif name.strip() in ("InlineBackend.figure_format", "InlineBackend.figure_formats"):
        import _proofbox_figures as figures

        figures.choose(ast.literal_eval(value.strip()))


@line("xmode")
def xmode(shell, text):
    print(f"Exception reporting mode: {text.strip().capitalize() or 'Context'}")


@line("lsmagic")
def lsmagic(shell, text):
    return _List(shell)


class _List:
    def __init__(self, shell):
        self._shell = shell

    def __repr__(self):
        lines, cells = (
            "  ".join(mark + name for name in sorted(table))
            for mark, table in (("%", self._shell.line_magics), ("%%", self._shell.cell_magics))
        )
        return f"Available line magics:\n{lines}\n\nAvailable cell magics:\n{cells}\n\nAutomagic is ON, % prefix IS NOT needed for line magics."


@line("tb")
def tb(shell, text):
    from _proofbox_tracebacks import text_of

    error = getattr(sys, "last_exc", None)
    print(text_of(error) if error is not None else "No traceback available to show.", file=sys.stderr)


def _showing(name, shown):
    @cell(name, expand=False)
    def show(shell, text, body):
        from IPython.core import display

        display.display(getattr(display, shown)(body))


for _name, _shown in (
    ("html", "HTML"), ("HTML", "HTML"), ("markdown", "Markdown"), ("latex", "Latex"), ("svg", "SVG"), ("SVG", "SVG"),
    ("javascript", "Javascript"), ("js", "Javascript"),
):  # fmt: skip
    _showing(_name, _shown)

import _proofbox_magics_code  # noqa: E402, F401  it adds its own to the tables
