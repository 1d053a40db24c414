"""Fortran 77 by way of C, which f2c makes of it.

    python fortran.py SETTINGS.json [OPTION ...] -c FILE.f -o OBJECT

is a compiler for builds that ask for one; fortran_steps.py uses the functions. SETTINGS.json says where f2c is, how C is
compiled, and how the compiler names itself.

C code calls Fortran by the conventions of common compilers: a subroutine returns nothing, and lengths of strings are not
passed by those who pass single letters. f2c's functions return an int and take each length. Elsewhere nobody notices; in
WebAssembly a call by other types than the function has ends the program. `adapted` makes them what they are called as."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Automatic variables, as recursive routines need them; single precision stays that; room for many names.
OPTIONS = ["-a", "-R", "-w", "-Nx2000", "-Nn20000"]
# Functions that use the lengths of their strings: LAPACK's table of block sizes, ODRPACK's files, and f2c's library.
WITH_LENGTHS = {"dluno_", "ilaenv_", "ilaenv2stage_", "iparmq_", "iparam2stage_", "lsamen_"}
OPERATORS = {"==": ".EQ.", "/=": ".NE.", "<=": ".LE.", ">=": ".GE.", "<": ".LT.", ">": ".GT."}
# Where there are double complex numbers, f2c wants other names for what takes or gives them.
DOUBLE = {"REAL": "DBLE", "AIMAG": "DIMAG", "CMPLX": "DCMPLX", "CONJG": "DCONJG"}
FIRST_LABEL = 90000


def prepared(text):
    """Fortran 77 of a text in fixed form that has some words of Fortran 90."""
    lines, depth = [], 0
    named = re.search(r"(?i)\bFUNCTION\s+(\w+)\s*\([^)]*\)\s*(?:\n     \S\s*)?(RESULT\s*\(\s*(\w+)\s*\))", text)
    if named:
        # A function's result has the function's name.
        text = re.sub(rf"(?i)\b{named[3]}\b", named[1], text.replace(named[2], ""))
    functions = dict(DOUBLE if re.search(r"(?im)^ .*\bCOMPLEX\*16", text) else {})
    functions["MAXLOC"] = "IDMAXL" if functions or re.search(r"(?im)^ .*\bDOUBLE PRECISION", text) else "ISMAXL"
    for line in text.split("\n"):
        # What a preprocessor is for here: OpenMP.
        if line.startswith("#"):
            depth += line.startswith("#if") - line.startswith("#endif")
        elif depth == 0 and line.strip() and line[0] not in "*Cc!":
            lines.append(without_new_words(line[:72].rstrip(), functions))
    return "\n".join(with_jumps(lines)) + "\n"


def without_new_words(line, functions):
    code = re.sub(r"(?i)^(\s+)RECURSIVE\s+", r"\1", line)
    if "'" not in code:
        code = code.partition("!")[0]
    code = re.sub(r"(?i)^(\s+(?:REAL|INTEGER|LOGICAL|DOUBLE PRECISION)(?:\*\d+)?)\s*::", r"\1", code)
    code = re.sub(r"(?i)\bMAXLOC\( *(\w+)\( *(.+):(.+?) *\), *1 *\)", r"MAXLOC( \3-\2+1, \1( \2 ) )", code)
    code = re.sub(r"(?i), *MAXLOC$", "", code)
    code = re.sub(r"(?i)\b([A-Z]+)(?= *\()", lambda found: functions.get(found[1].upper(), found[1]), code)
    pieces = re.split(r"('[^']*')", code)
    pieces[::2] = [re.sub(r"==|/=|<=|>=|<|>", lambda found: OPERATORS[found[0]], piece) for piece in pieces[::2]]
    code = "".join(pieces).rstrip()
    if len(code) <= 72:
        return code
    # In fixed form a statement goes on in the next line.
    cut = max(code.rfind(letter, 7, 70) for letter in " ,(")
    return f"{code[:cut]}\n     ${code[cut:]}"


def with_jumps(lines):
    """EXIT and CYCLE as jumps to the end of their loop, or behind it."""
    label, loops, result = FIRST_LABEL, [], []
    for line in lines:
        words = line[6:].strip().upper()
        begins = re.match(r"DO\b(?: *(\d+))?", words)
        if begins:
            loops.append({"end": begins[1], "CYCLE": begins[1] or label, "EXIT": label + 1, "used": set()})
            label += 2
        jump = re.search(r"(?i)(^|\))\s*(EXIT|CYCLE)$", words)
        if jump and loops:
            loops[-1]["used"].add(jump[2])
            line = re.sub(rf"(?i){jump[2]}\s*$", f"GOTO {loops[-1][jump[2]]}", line)
        ends = [loops.pop()] if loops and not loops[-1]["end"] and re.match(r"END\s*DO\b", words) else []
        while loops and loops[-1]["end"] and loops[-1]["end"] == line[:5].strip():
            ends.append(loops.pop())
        result += [f"{loop['CYCLE']} CONTINUE" for loop in ends if "CYCLE" in loop["used"] and not loop["end"]]
        result.append(line)
        result += [f"{loop['EXIT']} CONTINUE" for loop in ends if "EXIT" in loop["used"]]
    return result


TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|[(),]|\w+', re.DOTALL)
# One more argument that is a length: in a call, in a declaration, in a definition.
LENGTH = re.compile(r",\s*(?:\(\s*ftnlen\s*\)\s*\w+|ftnlen(?:\s+\w+)?|\w+_len)(?=\s*[,)])")


def adapted(code):
    """f2c's C with the types that others call such functions by."""
    # f2c marks names that have an underscore by another one.
    code = re.sub(r"\b(\w*[a-z0-9]_\w*[a-z0-9])__(?= ?\()", r"\1_", code)
    code = re.sub(r"/\* Subroutine \*/ int (?=(?:\w+_|s_cat|s_copy)\()", "/* Subroutine */ void ", code)
    code = re.sub(r"/\* Subroutine \*/ int \(\*(\w+)\)", r"/* Subroutine */ void (*\1)", code)
    code = re.sub(r"\breturn 0;", "return;", code)
    result, callees, last, position = [], [], "", 0
    for token in TOKEN.finditer(code):
        if token.start() < position:
            continue
        word = token[0]
        if word == "(":
            callees.append(last)
        elif word == ")":
            callees.pop()
        elif word == "," and callees and callees[-1].endswith("_") and callees[-1] not in WITH_LENGTHS:
            length = LENGTH.match(code, token.start())
            if length:
                result.append(code[position : length.start()])
                position = length.end()
        last = word if word[0].isalnum() or word[0] == "_" else ""
    return "".join([*result, code[position:]])


def translate(f2c, sources, target):
    """Writes C for the Fortran files to `target`."""
    with tempfile.TemporaryDirectory() as folder:
        together = pathlib.Path(folder, "together.f")
        text = "".join(prepared(source.read_text(errors="replace")) for source in sources)
        if not text.strip():
            target.write_text("")
            return
        together.write_text(text)
        done = subprocess.run([f2c, *OPTIONS, together.name], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"f2c refuses {', '.join(source.name for source in sources)}:\n{done.stdout}{done.stderr}")
        target.write_text(adapted(together.with_suffix(".c").read_text()))


def main():
    settings = json.loads(pathlib.Path(sys.argv[1]).read_text())
    words = sys.argv[2:]
    if "-c" not in words:
        # Asked for its name, or for its linker's: that is C's.
        if any(word in ("--version", "-V") for word in words):
            print(settings["name"])
            return
        os.execv(settings["cc"][0], [*settings["cc"], *words])
    sources = [pathlib.Path(word) for word in words if word.endswith((".f", ".f90"))]
    target = pathlib.Path(words[words.index("-o") + 1])
    if any(source.suffix == ".f90" for source in sources):
        # Only what tries which options the compiler has is written so.
        target.touch()
        return
    code = target.with_suffix(".c")
    translate(settings["f2c"], sources, code)
    os.execv(settings["cc"][0], [*settings["cc"], "-c", str(code), "-o", str(target)])


if __name__ == "__main__":
    main()
