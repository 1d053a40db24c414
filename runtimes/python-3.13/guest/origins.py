"""Origins of classes and modules: the library, a package of the image, or the program. What both sides have crosses by
name."""

import importlib
import importlib.machinery
import sys
import types

import _proofbox_border as border
import _proofbox_marshal as marshal
import _proofbox_packages as packages
import _proofbox_report as report
import _proofbox_side as side


def importing():
    """Names of the library's modules whose import asks for what is looked at, by nothing but the library's own code."""
    found, frame = [], sys._getframe(1)
    while frame and frame.f_code.co_filename == "<proofbox>":
        frame = frame.f_back
    while frame and frame.f_code.co_filename.startswith(("/lib/", "<frozen ")):
        spec = frame.f_globals.get("__spec__")
        if frame.f_code.co_name == "<module>" and type(spec) is importlib.machinery.ModuleSpec and getattr(spec, "_initializing", False):
            found.append(spec.name)
        frame = frame.f_back
    return found


def is_shared(module):
    root = module.partition(".")[0]
    return root in sys.stdlib_module_names and root not in border.NOT_SHARED and root not in border.NOT_IMPORTED


def library_name(cls):
    module, name = cls.__module__, cls.__qualname__
    if NAMELESS.get(name) is cls:
        return "builtins", name
    if type(module) is str and (is_shared(module) or is_class_of_package(cls)):
        if _part_of(sys.modules.get(module), name) is cls or replaced and replaced.get((module, name)) is cls:
            return module, name
    return None


# By module and name, classes of the library that the tests have replaced: their names go on to mean them.
replaced = {}


def note_replaced(module, path, name, original, is_replaced):
    """Tests replace an attribute of the library by another, or put it back."""
    key = module, ".".join((*path, name))
    if is_replaced:
        if isinstance(original, type) and (original.__module__, original.__qualname__) == key:
            replaced[key] = original
    elif key in replaced and replaced[key] is original:
        del replaced[key]


def is_class_of_package(cls):
    """Returns whether a class of a package is known by name on both sides. An instance of a builtin's subclass would
    lose its content so, unless it crosses as a value."""
    root = cls.__module__.partition(".")[0]
    mro = cls.__mro__
    if not packages.is_known(root) or root in border.NOT_NAMED and BaseException not in mro:
        return False
    if cls not in marshal.REDUCERS and any(base in mro for base in (*side.VALUE_TYPES, *side.CONTAINERS)):
        return False
    found = sys.modules.get(cls.__module__)
    return type(found) is types.ModuleType and _is_package(found)


def is_library_module(module):
    """Returns whether both sides have the module, each its own."""
    name = module.__name__
    return type(name) is str and (is_shared(name) or _is_package(module)) and sys.modules.get(name) is module


def _is_package(module):
    """Returns whether a module is one of the image's packages, as everybody knows them."""
    file, name = getattr(module, "__file__", None), module.__name__
    if type(file) is str and not file.startswith("/lib/python3.13/") or border.is_of_runners(name):
        return False
    if type(file) is not str and name not in sys.builtin_module_names:
        return False
    return packages.is_known(name.partition(".")[0])


def restore_module(name):
    """A module of the library, or of a package that the image has."""
    if type(name) is not str:
        raise marshal.CannotCross("no module of the library")
    if not is_shared(name):
        # A package: of the image, and not what the tests or the candidate have under its name.
        found = importlib.import_module(name) if packages.is_known(name.partition(".")[0]) else None
        if found is None or not _is_package(found):
            raise marshal.CannotCross("no module of the library")
        return found
    return importlib.import_module(name)


def function_name(value):
    """Module and name of a function or method of a class that both sides have, or None."""
    kind = type(value)
    owner = value.__objclass__ if kind in _DESCRIPTORS else getattr(value, "__self__", None)
    if isinstance(owner, type):
        module, names = owner.__module__, (f"{owner.__qualname__}.{value.__name__}",)
    elif owner is None or type(owner) is types.ModuleType:
        module, names = value.__module__, (value.__qualname__, value.__name__)
    else:
        return None
    if type(module) is not str:
        return None
    found = sys.modules.get(module)
    if type(found) is not types.ModuleType or not (is_shared(module) or _is_package(found)):
        return None
    if not str(getattr(found, "__file__", None) or "<frozen ").startswith(report.NOT_THE_USERS):
        return None
    return next(((module, name) for name in names if type(name) is str and _is_same(_part_of(found, name), value)), None)


def _part_of(found, path):
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _is_same(found, value):
    # A method of a class is made anew whenever it is looked up.
    return found is value or type(found) is type(value) and type(value) in _BOUND and found == value


_DESCRIPTORS = frozenset({types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType})
_BOUND = frozenset({types.MethodType, types.BuiltinMethodType})
FUNCTIONS = frozenset({types.FunctionType, types.BuiltinFunctionType, types.MethodType, *_DESCRIPTORS})


def restore_function(payload):
    """Returns this side's own function of the library. Raises `CannotCross` where there is none of that name."""
    module, name = payload
    found = _part_of(restore_module(module), name)
    if type(found) not in FUNCTIONS:
        raise marshal.CannotCross(f"no function of the library: {module}.{name}")
    return found


def is_of_library(cls):
    """Returns whether a class is one that the tests have not defined themselves."""
    module = sys.modules.get(cls.__module__)
    return is_shared(cls.__module__) or str(getattr(module, "__file__", "")).startswith(report.NOT_THE_USERS)


def defined_by_user(cls, special):
    """Returns whether the special method comes from a class that the library does not have."""
    for base in cls.__mro__:
        if special in base.__dict__:
            return library_name(base) is None
    return False


def class_of_package(module, qualname):
    """The class of that name of a package, which derives from a builtin: `BarContainer`, a tuple with names."""
    root = module.partition(".")[0]
    if not packages.is_known(root) or root in border.NOT_NAMED or type(sys.modules.get(module)) is not types.ModuleType:
        return None
    found = vars(sys.modules[module]).get(qualname)
    return found if isinstance(found, type) and _is_package(sys.modules[module]) else None
# Builtin types that have no name in `builtins`.
NAMELESS = {value.__qualname__: value for value in vars(types).values() if isinstance(value, type) and value.__module__ == "builtins"}
