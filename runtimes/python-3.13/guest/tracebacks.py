"""Tracebacks as a notebook shows them, in plain text, and the sources of cells that they quote.

Each cell is a file of its own name, so that a function of an earlier cell is quoted from there. Nothing is split into
lines before it is quoted; the oldest sources go when there are too many."""

import functools
import linecache

import _proofbox_report as report

# Sources that are kept, for tracebacks and `inspect.getsource`.
CELLS_LIMIT = 1000
CHARACTERS_LIMIT = 4_000_000
# Frames of one exception that are shown; and exceptions that led to one another.
FRAMES_LIMIT = 60
CHAIN_LIMIT = 10
BEFORE, AFTER = 4, 2  # lines that are quoted around the one that matters
LINE_LIMIT = 2000
RULE = "-" * 75
CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"

sources = {}
_size = 0

# Read past whatever a class of the user's defines under these names.
traceback_of = BaseException.__dict__["__traceback__"].__get__
_cause_of = BaseException.__dict__["__cause__"].__get__
_context_of = BaseException.__dict__["__context__"].__get__
_name_of_class = type.__dict__["__name__"].__get__


def name_of(error):
    return _name_of_class(type(error))


def name_of_cell(number):
    return f"Cell In[{number}]"


def keep(name, source):
    """Makes `source` what is quoted for the cell; the names of cells that are forgotten for it."""
    global _size
    forgotten = []
    _size += len(source)
    while sources and (len(sources) >= CELLS_LIMIT or _size > CHARACTERS_LIMIT):
        oldest = next(iter(sources))
        _size -= len(sources.pop(oldest))
        linecache.cache.pop(oldest, None)
        forgotten.append(oldest)
    sources[name] = source
    # An entry that is a tuple of one function is lazy.
    linecache.cache[name] = (functools.partial(sources.get, name),)
    return forgotten


def forget():
    global _size
    _size = 0
    sources.clear()


def lines_of(name):
    """The lines of a cell or of another file. A cell's are from now on where every traceback finds them."""
    source = sources.get(name)
    if source is None:
        return linecache.getlines(name)
    entry = linecache.cache.get(name)
    if entry is None or len(entry) == 1:
        lines = [line + "\n" for line in source.split("\n")]
        linecache.cache[name] = entry = (len(source), None, lines, name)
    return entry[2]


def _frames(error):
    """From the user's first frame on."""
    tb = traceback_of(error)
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(report.NOT_THE_USERS):
        tb = tb.tb_next
    while tb is not None:
        if tb.tb_frame.f_code.co_filename != "<proofbox>":
            yield tb
        tb = tb.tb_next


def realise(error):
    """Cells whose lines a description of the error will quote can be read without a look for files of their names."""
    for tb in _frames(error):
        name = tb.tb_frame.f_code.co_filename
        if name in sources:
            lines_of(name)


def text_of(error):
    """The whole text, with the exceptions that led to this one."""
    if isinstance(error, SystemExit):
        return f"An exception has occurred, use %tb to see the full traceback.\n\n{_last_line(error)}"
    if name_of(error) == "UsageError" and type(error).__module__ == "IPython.core.error":
        return _last_line(error)
    if isinstance(error, BaseExceptionGroup):
        return _of_group(error)
    texts, seen = [], set()
    while error is not None and len(texts) < 2 * CHAIN_LIMIT:
        seen.add(id(error))
        texts.append(_of_one(error))
        before, because = _cause_of(error), CAUSE
        if before is None and not error.__suppress_context__:
            before, because = _context_of(error), CONTEXT
        if before is None or id(before) in seen:
            break
        texts.append(because)
        error = before
    return "\n\n".join(reversed(texts))


def _of_group(error):
    """A tree of exceptions is drawn by the library."""
    import traceback

    for tb in _frames(error):
        lines_of(tb.tb_frame.f_code.co_filename)
    return "".join(traceback.format_exception(type(error), error, next(_frames(error), None))).rstrip("\n")


def _of_one(error):
    frames = list(_frames(error))
    if isinstance(error, SyntaxError):
        # That of the cell itself was raised by no frame of the user's.
        shown = _shown(frames)
        return "\n".join([*([_header(error), *shown, ""] if shown else []), *_syntax(error), _last_line(error)])
    return "\n".join([_header(error), *_shown(frames), "" if frames else "", _last_line(error)])


def _header(error):
    name = name_of(error)
    title = "Traceback (most recent call last)"
    return f"{RULE}\n{name}{title.rjust(75 - len(name))}"


def _last_line(error):
    name, value = name_of(error), report.text_of(error, report.ANY_LENGTH)
    if isinstance(error, SyntaxError):
        value = report.text_of(error.msg, report.ANY_LENGTH)
    notes = report.notes(error)
    return "\n".join([f"{name}: {value}" if value else f"{name}: ", *notes])


def _syntax(error):
    name, line, text = error.filename, error.lineno, error.text
    if type(name) is not str or type(line) is not int:
        return []
    shown = [f"  {name}, line {line}" if name in sources else f"  File {name}:{line}"]
    if type(text) is str and len(text) <= LINE_LIMIT:
        code = text.rstrip("\n")
        indentation = len(code) - len(code.lstrip(" \f\t"))
        shown.append(f"    {code[indentation:]}")
        if type(error.offset) is int and error.offset > 0:
            start = error.offset - 1 - indentation
            end = error.end_offset if type(error.end_offset) is int and error.end_lineno == line else 0
            marks = max(1, end - error.offset)
            if start >= 0:
                shown.append(f"    {' ' * start}{'^' * min(marks, LINE_LIMIT)}")
    return shown


def _shown(frames):
    shown, index, count = [], 0, 0
    while index < len(frames):
        tb = frames[index]
        same = index + 1
        while same < len(frames) and _place(frames[same]) == _place(tb):
            same += 1
        repeated = same - index
        left = len(frames) - index
        if count >= FRAMES_LIMIT and left > FRAMES_LIMIT:
            skipped = left - FRAMES_LIMIT
            shown.append(f"    [... skipping {skipped} frames]\n")
            index, count = index + skipped, -FRAMES_LIMIT
            continue
        shown.append(_frame(tb))
        count += 1
        if repeated > 3:
            code = tb.tb_frame.f_code
            shown.append(f"    [... skipping similar frames: {code.co_name} at line {tb.tb_lineno} ({repeated - 2} times)]\n")
            shown.append(_frame(frames[same - 1]))
            index = same
        else:
            index += 1
    # Each part but the last ends in an empty line.
    if shown:
        shown[-1] = shown[-1].removesuffix("\n")
    return shown


def _place(tb):
    return tb.tb_frame.f_code, tb.tb_lineno


def _frame(tb):
    code, number = tb.tb_frame.f_code, tb.tb_lineno
    name = code.co_filename
    if name in sources:
        header = f"{name}, line {number}"
    else:
        shown = "~/" + name[len(report.HOME) :] if name.startswith(report.HOME) else name
        header = f"File {shown}:{number}"
    if code.co_name != "<module>":
        header += f", in {code.co_qualname}({_parameters(code)})"
    return "\n".join([header, *_quoted(name, number), ""])


def _parameters(code):
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    for flag, stars in ((0x04, "*"), (0x08, "**")):
        if code.co_flags & flag:
            names.append(stars + code.co_varnames[count])
            count += 1
    return ", ".join(names)


def _quoted(name, number):
    lines = lines_of(name)
    if type(number) is not int or not 1 <= number <= len(lines):
        return []
    quoted = []
    for at in range(max(1, number - BEFORE), min(len(lines), number + AFTER) + 1):
        text = lines[at - 1].rstrip("\n")
        if at == len(lines) and not text:
            continue  # what follows the last line's end
        text = text if len(text) <= LINE_LIMIT else text[:LINE_LIMIT] + "…"
        mark = f"{'-' * (5 - len(str(at)))}> {at}" if at == number else f"{at:7}"
        quoted.append(f"{mark} {text}".rstrip() if not text else f"{mark} {text}")
    return quoted
