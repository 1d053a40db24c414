"""The programs that the policy gate is measured with: evasions, each with the words that a report on it must hold, and
benign programs that must pass.

    python3 tests/policy/corpus.py --json     # every program as a line of JSON
    python3 tests/policy/corpus.py --check    # is the corpus sound?

A file is a family: a docstring, then programs, each below a line of its own,

    #: <name> -> <word>[, <word>…]            # an evasion
    #: <name>                                 # a benign program

Such a line may end in ` (escaped)`: `\\u{202e}` then stands for that character, so that what nobody sees, and what looks
like a secret, is not in the repository as such. Programs are text: nothing here runs them."""

import argparse
import ast
import collections
import json
import pathlib
import re
import sys
import unicodedata
import warnings

ROOT = pathlib.Path(__file__).resolve().parent
CAPABILITIES = {
    "process",
    "network",
    "file_read",
    "file_write",
    "environment",
    "dynamic_code",
    "introspection",
    "grader_tampering",
}
SCANNERS = {"secrets", "malicious_url", "invisible_characters", "injection"}

# The version whose syntax the programs may use: an older Python can't say whether a program that it refuses is sound.
SYNTAX = (3, 13)

HEADER = re.compile(r"#: (?P<name>[a-z0-9_]+)(?: -> (?P<words>[a-z_]+(?:, [a-z_]+)*))?(?P<escaped> \(escaped\))?")
ESCAPE = re.compile(r"\\u\{([0-9a-f]{1,6})\}")

# Categories of characters that a reader of a file does not see.
HIDDEN = {"Cc", "Cf", "Co", "Zl", "Zp"}

Program = collections.namedtuple("Program", "name words code")


def families():
    """The files, the evasions first."""
    return sorted((ROOT / "evasions").glob("*.py")) + sorted((ROOT / "benign").glob("*.py"))


def is_benign(path):
    return path.parent.name == "benign"


def programs(path):
    """The programs of a file in its order; words are a list, empty for a benign program."""
    for header, text in entries(path):
        code = text.strip("\n") + "\n"
        if header["escaped"]:
            code = ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), code)
        yield Program(header["name"], header["words"].split(", ") if header["words"] else [], code)


def entries(path):
    """Iterates over the headers, each with the text below it as it stands in the file."""
    header, lines = None, []
    # Not splitlines(): it would also split at form feeds and other characters that programs hold.
    for line in path.read_text(encoding="utf-8").split("\n"):
        if not line.startswith("#:"):
            lines.append(line)
            continue
        if header is not None:
            yield header, "\n".join(lines)
        header, lines = HEADER.fullmatch(line), []
        if header is None:
            raise ValueError(f"{path.parent.name}/{path.name}: not a header: {line}")
    if header is not None:
        yield header, "\n".join(lines)


def text_faults(path):
    """Iterates over the faults of a file's text, before anything in it is unescaped."""
    if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8").split("\n#:")[0])):
        yield "no docstring says what the family is about"
    if b"\r" in path.read_bytes():
        yield "a carriage return: escape it"
    for header, text in entries(path):
        name, escapes = header["name"], [int(escape[1], 16) for escape in ESCAPE.finditer(text)]
        if bool(header["escaped"]) != bool(escapes):
            yield f"{name}: the mark (escaped) and the text disagree"
        if any(point > sys.maxunicode or 0xD800 <= point < 0xE000 for point in escapes):
            yield f"{name}: an escape that is no character"
        if any(unicodedata.category(character) in HIDDEN and character not in "\n\t" for character in text):
            yield f"{name}: a character that nobody sees: escape it"


def program_faults(path, program):
    name, words, code = program
    if bool(words) == is_benign(path):
        yield f"{name}: an evasion has words, a benign program has none"
    for word in sorted(set(words) - CAPABILITIES - SCANNERS):
        yield f"{name}: {word} is no word of the gate's"
    if len(words) != len(set(words)):
        yield f"{name}: a word twice"
    if not code.strip():
        yield f"{name}: no code"


def syntax_error(code):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            ast.parse(code)
    except (SyntaxError, ValueError) as error:
        return error
    return None


def faults():
    """Returns the faults of the corpus, and the programs whose syntax this Python is too old to judge."""
    found, unjudged, owners = [], [], {}
    for path in families():
        where = f"{path.parent.name}/{path.name}"
        try:
            found += [f"{where}: {fault}" for fault in text_faults(path)]
        except ValueError as error:
            found.append(str(error))
            continue
        for program in programs(path):
            found += [f"{where}: {fault}" for fault in program_faults(path, program)]
            if program.name in owners:
                found.append(f"{where}: {program.name} is also in {owners[program.name]}")
            owners[program.name] = where
            error = syntax_error(program.code)
            if error and sys.version_info < SYNTAX:
                unjudged.append(program.name)
            elif error:
                found.append(f"{where}: {program.name}: {error}")
    return found, unjudged


def check():
    found, unjudged = faults()
    for fault in found:
        print(fault, file=sys.stderr)
    if unjudged:
        version = ".".join(map(str, sys.version_info[:2]))
        print(f"not judged: Python {version} does not parse {', '.join(unjudged)}", file=sys.stderr)
    if found:
        return 1
    counts = {path: sum(1 for _ in programs(path)) for path in families()}
    for path, count in counts.items():
        print(f"{count:5} {path.parent.name}/{path.stem}")
    benign = sum(count for path, count in counts.items() if is_benign(path))
    print(f"{sum(counts.values()) - benign} evasions, {benign} benign programs")
    return 0


def print_all():
    for path in families():
        for name, words, code in programs(path):
            row = {"family": path.stem, "name": name, "words": words, "benign": is_benign(path), "code": code}
            print(json.dumps(row))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--json", action="store_true", help="print every program as a line of JSON")
    what.add_argument("--check", action="store_true", help="check the corpus, and count the programs by family")
    if parser.parse_args().check:
        sys.exit(check())
    print_all()


if __name__ == "__main__":
    main()
