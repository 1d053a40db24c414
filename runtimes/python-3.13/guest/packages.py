"""Answers `pip`: nothing can be installed, as there is no network; it says what is there."""

import pkgutil
import sys
import types

# Under other names than those by which they are imported, in what people ask pip for.
IMPORTED_AS = {"beautifulsoup4": "bs4", "opencv-python": "cv2", "pillow": "PIL", "pyyaml": "yaml", "scikit-learn": "sklearn"}
# What clients ask for before they know whether they need it: smolagents' E2BExecutor has every agent's final answer look
# whether it is an array or an image, and takes their absence only where they are used. Once asked for, the import
# succeeds, and the first use raises.
OFTEN_UNUSED = ("numpy", "PIL")
VERSION = "pip 25.0 (of this sandbox: it has no network, so nothing can be installed)"


def available():
    """Names of all that can be imported from the top."""
    names = set(sys.stdlib_module_names) & _frozen() | _frozen()
    names.update(module.name for module in pkgutil.iter_modules())
    return sorted(name for name in names if not name.startswith("_"))


def _frozen():
    import _imp

    return {name.partition(".")[0] for name in _imp._frozen_module_names()} | set(sys.builtin_module_names)


class _NotThere(types.ModuleType):
    """Stands for a module that is not there, until it is used."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        module = self.__name__
        raise ModuleNotFoundError(f"No module named {module!r}: it can't be installed in this sandbox", name=module)


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
        said = f"is already there: import {module}" if module in names else "is not available and cannot be installed"
        if module in OFTEN_UNUSED and module not in names:
            sys.modules.setdefault(module, _NotThere(module))
            said += f" (import {module} will succeed, and its first use raise ModuleNotFoundError)"
        lines.append(f"{name}: {said}\n")
    return "".join(lines) + _overview()


def _overview():
    extra = ", ".join(libraries()) or "none"
    return (
        "There is no network in this sandbox: packages can't be installed.\n"
        f"Available: the standard library of Python {sys.version.split()[0]}; libraries besides it: {extra}\n"
    )
