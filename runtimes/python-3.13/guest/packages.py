"""Answers `pip`: nothing can be installed, as there is no network; it says what is there."""

import pkgutil
import sys

# Under other names than those by which they are imported, in what people ask pip for.
IMPORTED_AS = {"beautifulsoup4": "bs4", "opencv-python": "cv2", "pillow": "PIL", "pyyaml": "yaml", "scikit-learn": "sklearn"}
VERSION = "pip 25.0 (of this sandbox: it has no network, so nothing can be installed)"


def available():
    """Names of all that can be imported from the top."""
    names = set(sys.stdlib_module_names) & _frozen() | _frozen()
    names.update(module.name for module in pkgutil.iter_modules())
    return sorted(name for name in names if not name.startswith("_"))


def _frozen():
    import _imp

    return {name.partition(".")[0] for name in _imp._frozen_module_names()} | set(sys.builtin_module_names)


def libraries():
    """Those that are no part of Python's own library."""
    own = {"IPython"}
    return [name for name in available() if name not in sys.stdlib_module_names and name not in own]


def answer(arguments):
    """What is printed for `pip ARGUMENTS`."""
    words = [word for word in arguments.split() if not word.startswith("-")]
    if arguments.strip() in ("--version", "-V"):
        return VERSION + "\n"
    if words[:1] in (["list"], ["freeze"]):
        return "".join(f"{name}\n" for name in libraries())
    if words[:1] == ["show"] or words[:1] != ["install"]:
        return _overview()
    lines, names = [], set(available())
    for word in words[1:]:
        name = word.split("[")[0].split("=")[0].split("<")[0].split(">")[0].split("~")[0].split("!")[0]
        module = IMPORTED_AS.get(name.lower(), name.replace("-", "_"))
        there = module in names
        lines.append(f"{name}: {'is already there: import ' + module if there else 'is not available and cannot be installed'}\n")
    return "".join(lines) + _overview()


def _overview():
    extra = ", ".join(libraries()) or "none"
    return (
        "There is no network in this sandbox: packages can't be installed.\n"
        f"Available: the standard library of Python {sys.version.split()[0]}; libraries besides it: {extra}\n"
    )
