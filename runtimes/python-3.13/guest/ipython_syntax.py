"""Syntax that notebooks allow beyond Python: an indented cell, prompts before the lines, `%magic`, `%%magic`,
`!command`, `name?`.

Asked for only when a cell is no Python as it stands, so `a %b` and strings are never touched. The number of lines stays
as it is, for tracebacks."""

import re

PROMPT = re.compile(r"(>>>|\.\.\.|In \[\d+\]:|\s*\.\.\.+:)( |$)")
FIRST_PROMPT = re.compile(r"(>>>|In \[\d+\]:)( |$)")
CELL_MAGIC = re.compile(r"%%(\S*)(.*)")
LINE_MAGIC = re.compile(r"(\s*)%(?!%)(\S*)\s?(.*)", re.DOTALL)
COMMAND = re.compile(r"(\s*)(!!?)(.*)", re.DOTALL)
ASSIGNED = re.compile(r"(\s*)([\w.,\[\]'\"* ]+?)\s*=\s*([!%])(.*)", re.DOTALL)
HELP = re.compile(r"(\s*)(\?{1,2})?\s*(%{0,2}[\w.*]*)(\?{0,2})\s*")
SHELL = "get_ipython()."
# What opens and closes strings, and what neither does so in them.
TOKEN = re.compile(r"\"\"\"|'''|\"|'|\\.|#|[()\[\]{}]", re.DOTALL)


def as_python(source, shell):
    """The cell as Python; itself where nothing is to be done."""
    lines = _without_prompts(_without_indentation(source.split("\n")))
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return source
    magic = CELL_MAGIC.fullmatch(lines[first])
    if magic:
        body = "\n".join(lines[first + 1 :])
        body += "\n" if body and not body.endswith("\n") else ""
        return "\n" * first + f"{SHELL}run_cell_magic({magic[1]!r}, {magic[2].strip()!r}, {body!r})"
    if len(lines) == first + 1:
        word, _, rest = lines[first].partition(" ")
        if word in shell.automagics and word not in shell.user_ns:
            return "\n" * first + f"{SHELL}run_line_magic({word!r}, {rest.strip()!r})"
    return "\n".join(_lines(lines))


def _without_indentation(lines):
    """Without what the first line is indented by."""
    first = next((line for line in lines if line.strip()), "")
    indentation = first[: len(first) - len(first.lstrip(" \t"))]
    return [line.removeprefix(indentation) for line in lines] if indentation else lines


def _without_prompts(lines):
    first = next((line for line in lines if line.strip()), "")
    if not FIRST_PROMPT.match(first):
        return lines
    return [PROMPT.sub("", line, count=1) for line in lines]


def _lines(lines):
    """The lines; those with a notation of their own, where a statement begins, as calls."""
    depth, quote, continued = 0, "", False
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if not depth and not quote and not continued:
            call, taken = _call(lines, index - 1)
            if call is not None:
                yield call
                yield from [""] * (taken - 1)
                index += taken - 1
                continue
        depth, quote, continued = _state_after(line, depth, quote)
        yield line


def _state_after(line, depth, quote):
    """Open brackets, open string and whether the next line continues this one."""
    at = 0
    while found := TOKEN.search(line, at):
        token, at = found[0], found.end()
        if quote:
            if token == quote:
                quote = ""
            elif len(quote) == 1 and len(token) == 3 and token[0] == quote:
                quote, at = "", found.start() + 1
            elif len(quote) == 3 and len(token) == 3:
                pass
        elif token == "#":
            return depth, quote, False
        elif token[0] in "\"'":
            quote = token
        elif token in "([{":
            depth += 1
        elif token in ")]}":
            depth = max(0, depth - 1)
    continued = line.endswith("\\")
    # A string in single quotes ends with its line, but for a backslash.
    return depth, quote if len(quote) == 3 or continued else "", continued


def _call(lines, index):
    """Returns what stands for the line, and how many lines that takes; (None, 1) when it is Python."""
    line = lines[index]
    if not any(mark in line for mark in "%!?"):
        return None, 1
    line, taken = _joined(lines, index)
    if found := COMMAND.fullmatch(line):
        function = "system" if found[2] == "!" else "getoutput"
        return f"{found[1]}{SHELL}{function}({found[3].strip()!r})", taken
    if "?" in line and (found := HELP.fullmatch(line)) and (found[2] or found[4]):
        name = "psearch" if "*" in found[3] else "pinfo2" if "??" in (found[2], found[4]) else "pinfo"
        return f"{found[1]}{SHELL}run_line_magic({name!r}, {found[3]!r})", taken
    if found := LINE_MAGIC.fullmatch(line):
        return f"{found[1]}{SHELL}run_line_magic({found[2]!r}, {found[3].strip()!r})", taken
    if found := ASSIGNED.fullmatch(line):
        if found[3] == "!":
            return f"{found[1]}{found[2]} = {SHELL}getoutput({found[4].strip()!r})", taken
        name, _, rest = found[4].strip().partition(" ")
        return f"{found[1]}{found[2]} = {SHELL}run_line_magic({name!r}, {rest.strip()!r})", taken
    return None, 1


def _joined(lines, index):
    """The line with those that a backslash at its end takes in."""
    taken, joined = 1, lines[index]
    while joined.endswith("\\") and index + taken < len(lines):
        joined = joined[:-1].rstrip() + " " + lines[index + taken].strip()
        taken += 1
    return joined, taken
