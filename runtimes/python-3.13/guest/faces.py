"""Descriptions of the tests' functions and classes for the candidate: signatures, annotations, attributes, fields of dataclasses.

Decorators, containers of dependencies and converters read these, and none of them says what a test expects. But a default value
may: `lambda got, want=want: ...` keeps what is expected. A default is told if it stands in the tests' text as a constant or a
builtin, in a function that is decorated where it is defined, or, where the tests speak of defaults, in one that compares nothing.
Of all others the candidate knows that they are there; it can pass what stands for one where the function would take it anyway."""

import ast
import builtins
import dataclasses
import inspect
import linecache
import opcode
import types
import typing
from collections import abc

import _proofbox_attributes as attributes
import _proofbox_border as border
import _proofbox_foreign_files as foreign_files
import _proofbox_origins as origins
import _proofbox_proxies as proxies
import _proofbox_side as side

KINDS = frozenset({types.FunctionType, types.MethodType})
NOTHING = object()


# ---------------------------------------------------------------- the tests' side


def function_of(target):
    """The function behind a method of the tests."""
    return target.__func__ if type(target) is types.MethodType and type(target.__func__) is types.FunctionType else target


def get(target, name):
    """An attribute of a function or method of the tests; `NOTHING` where it is looked for as in any object."""
    function = function_of(target)
    if type(function) is not types.FunctionType:
        return NOTHING
    if name == "__func__" and function is not target:
        return function
    if name == "__module__":
        return str(function.__module__)
    if name == "__code__":
        return _told_of_code(function.__code__)
    if name == "__annotations__":
        return _told_annotations(function.__annotations__)
    if attributes.is_shown(function, name):
        return vars(function)[name]
    if type(name) is str and name[:1] != "_" and not name.startswith(border.INNARDS):
        raise AttributeError(f"{type(target).__name__!r} object has no attribute {name!r}")
    return NOTHING


# Of a code object: coroutines, generators, variable arguments.
_FLAGS = (
    inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)  # fmt: skip


def _told_of_code(code):
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    variable = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_name, code.co_flags & _FLAGS, counts, code.co_varnames[: counts[0] + counts[2] + variable]


def is_form(value, depth=0):
    """Returns whether an annotation is made of classes and forms of typing, and can leave the tests."""
    kind = type(value)
    if value is None or value is ... or depth > _MAX_DEPTH:
        return depth <= _MAX_DEPTH
    if issubclass(kind, type):
        return not border.stays(value)
    if kind is str:
        return _is_form_as_text(value)
    if kind is typing.ForwardRef:
        return _is_form_as_text(value.__forward_arg__)
    if kind in (list, tuple):
        return all(is_form(each, depth + 1) for each in value)
    if kind is types.GenericAlias or kind is types.UnionType or kind.__module__ in ("typing", "collections.abc"):
        if getattr(value, "__origin__", None) is typing.Literal:
            return all(type(each) in side.SCALARS for each in value.__args__)
        parts = (*getattr(value, "__args__", ()), getattr(value, "__origin__", None))
        return all(is_form(each, depth + 1) for each in parts) and all(map(_may_leave, getattr(value, "__metadata__", ())))
    return False


_MAX_DEPTH, _MAX_TEXT = 6, 200


def _may_leave(value):
    """Returns whether a value, and what is in its containers, can be passed to the candidate."""
    return all(map(border.may_leave, side.within(value)))


def _is_form_as_text(text):
    if len(text) > _MAX_TEXT:
        return False
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    of_values = any(isinstance(node, (ast.Name, ast.Attribute)) and (getattr(node, "id", None) or node.attr) in ("Literal", "Annotated") for node in nodes)
    return all(type(node) in _OF_FORMS or type(node) is ast.Constant and (of_values or node.value in (None, ...) or type(node.value) is str) for node in nodes)


_OF_FORMS = frozenset({ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load})


def signature_of(target):
    """The parameters of a callable as plain data, or None. `None` in the place of whether there is a default: there is one."""
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return None
    if side.state.grader:
        defaults, tells = _told_defaults(target, signature), is_form
    else:
        defaults, tells = signature.parameters, _always
    told = []
    for p in signature.parameters.values():
        has_default = p.default is not p.empty
        is_told = has_default and p.name in defaults
        told.append((p.name, int(p.kind), is_told or (None if has_default else False), p.default if is_told else None, _annotation(p.annotation, tells)))
    return [*told, ("return", _RETURN, False, None, _annotation(signature.return_annotation, tells))]


_RETURN = -1


def _always(annotation):
    return True


def _annotation(annotation, tells):
    return (annotation,) if annotation is not inspect.Signature.empty and tells(annotation) else ()


def _told_defaults(target, signature):
    """The parameters of a callable of the tests whose defaults the candidate is told."""
    if all(p.default is p.empty for p in signature.parameters.values()):
        return ()
    function = target
    if isinstance(target, type):
        function = target.__init__
        fields = vars(target).get("__dataclass_fields__")
        if type(fields) is dict and type(function) is types.FunctionType and function.__code__.co_filename == "<string>":
            # They are attributes of the class, too.
            return {name for name, field in fields.items() if field.default is not dataclasses.MISSING and _may_leave(field.default)}
    function = getattr(function, "__func__", function)
    if type(function) is not types.FunctionType:
        return ()
    nodes = _definitions_in(function.__code__.co_filename).get((function.__code__.co_firstlineno, function.__name__), ())
    if not nodes or not all(map(_is_decorated, nodes)):
        if not side.state.candidate.tells_signatures or function.__name__ == "<lambda>" or _compares(function.__code__):
            return ()
    told = [_constant_defaults(node, signature.parameters) for node in nodes]
    return set.intersection(*told) if told else ()


def _is_decorated(node):
    return bool(getattr(node, "decorator_list", ()))


def _constant_defaults(node, parameters):
    """Names of the parameters of a function whose defaults are constants of the text."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    given = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults))
    given += [(argument, default) for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults) if default is not None]
    return {argument.arg for argument, default in given if argument.arg in parameters and _is_constant(default, parameters[argument.arg].default)}


_NUMBERS = frozenset({int, float, complex})


def _is_constant(node, value):
    sign = 1
    if type(node) is ast.UnaryOp and type(node.op) in (ast.USub, ast.UAdd):
        sign, node = -1 if type(node.op) is ast.USub else 1, node.operand
    if type(node) is ast.Constant:
        # Not what it has been replaced by since.
        known = -node.value if sign < 0 and type(node.value) in _NUMBERS else node.value
        return type(value) in side.SCALARS and type(value) is type(known) and (value == known or value != value)
    if type(node) is ast.Tuple:
        return type(value) is tuple and len(value) == len(node.elts) and all(map(_is_constant, node.elts, value))
    return type(node) is ast.Name and vars(builtins).get(node.id, NOTHING) is value


# By file and then by line and name, where functions are defined.
_definitions = {}


def _definitions_in(filename):
    known = _definitions.get(filename)
    if known is None:
        known = _definitions[filename] = {}
        # What is read here is not read on behalf of the candidate.
        serving = foreign_files.serving.set(False)
        try:
            tree = ast.parse("".join(linecache.getlines(filename)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return known
        finally:
            foreign_files.serving.reset(serving)
        for node in ast.walk(tree):
            if type(node) in (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda):
                line = node.decorator_list[0].lineno if _is_decorated(node) else node.lineno
                known.setdefault((line, getattr(node, "name", "<lambda>")), []).append(node)
    return known


def _compares(code):
    """Returns whether a function compares anything, or asserts."""
    names = {*code.co_names}
    if any(name.startswith("assert") or name == "AssertionError" for name in names) or not _COMPARING.isdisjoint(code.co_code[::2]):
        return True
    return any(type(each) is types.CodeType and _compares(each) for each in code.co_consts)


_COMPARING = frozenset(opcode.opmap[name] for name in ("COMPARE_OP", "CONTAINS_OP", "IS_OP", "LOAD_ASSERTION_ERROR"))


def of_class(cls, name):
    """A description of a class of the tests; `NOTHING` where it is looked for as in any object."""
    if name == "__dataclass_fields__":
        # By name, parts that are told as they are, or left out.
        return {name: _told_of_field(field) for name, field in cls.__dataclass_fields__.items()}
    if name == "__annotations__":
        return _told_annotations(cls.__annotations__)
    if border.derives_from_staying(cls):
        return NOTHING
    if name == "__dict__":
        own = {name: value for name, value in vars(cls).items() if _is_shown_in_class(name, value) and _may_leave(value)}
        if "__annotations__" in vars(cls):
            own["__annotations__"] = _told_annotations(vars(cls)["__annotations__"])
        return own
    if name == "__init__":
        if type(cls.__init__) is not types.FunctionType:
            raise AttributeError("the initialiser is the language's")
        return cls.__init__
    found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base) and not origins.is_of_library(base)), None)
    return found if _is_name_of_data(name, found) else NOTHING


def _is_shown_in_class(name, value):
    return not name.startswith("test") if name[:1] != "_" else _is_name_of_data(name, value)


def _told_annotations(annotations):
    return {name: kind for name, kind in annotations.items() if is_form(kind)}


def _is_name_of_data(name, value):
    """Returns whether a special name is none of the language's, but says something of the class (`__tablename__`)."""
    return name[:2] == "__" == name[-2:] and name not in _OF_CLASSES and type(value) in side.SCALARS and value is not None


_OF_CLASSES = frozenset({*dir(type), "__firstlineno__", "__static_attributes__", "__qualname__", "__module__", "__doc__"})


def _told_of_field(field):
    told = {"kind": field._field_type.name, **{name: getattr(field, name) for name in ("init", "repr", "compare")}, "kw_only": field.kw_only is True}
    if is_form(field.type):
        told["type"] = field.type
    for name in ("default", "default_factory"):
        value = getattr(field, name)
        if value is not dataclasses.MISSING and _may_leave(value):
            told[name] = value
    if field.metadata and all(type(key) is str and _may_leave(value) for key, value in field.metadata.items()):
        told["metadata"] = dict(field.metadata)
    return told


def namespace_of(target, check_set, check_delete):
    """`__dict__` of an instance or function of the tests: what is in it that can leave them, and what alters it."""
    own = attributes.Attributes(target, check_set, check_delete)
    return {name: value for name, value in own.items() if _may_leave(value)}, own


# ---------------------------------------------------------------- as the other side sees it


class Default:
    """A stand-in for a default that is not told: passed where it belongs, it is as if nothing were passed."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "..."


# By names of parameters; whoever asks twice is given the same.
_untold = {}


def _default(name):
    return _untold.get(name) or _untold.setdefault(name, Default(name))


def signature(handle):
    """The signature of an object of the other side."""
    if side.state.grader and type(handle)._proofbox_real is types.FunctionType:
        wrapped = getattr(handle, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType):
            # A function of the tests that the candidate has decorated: the candidate is not told all of its signature.
            return inspect.signature(wrapped)
    parameters = side.state.ask("signature", proxies.remote_id(handle))
    if parameters is None:
        raise AttributeError("__signature__")
    made, returned = [], ()
    for name, kind, has_default, default, annotation in parameters:
        if kind == _RETURN:
            returned = annotation
            continue
        if has_default is None:
            default = _default(name)
        elif not has_default:
            default = inspect.Parameter.empty
        made.append(inspect.Parameter(name, kind, default=default, annotation=annotation[0] if annotation else inspect.Parameter.empty))
    return inspect.Signature(made, return_annotation=returned[0] if returned else inspect.Signature.empty)


def without_defaults(handle, args, kwargs):
    """The arguments of a call without those that stand for a default which is not told."""
    if _untold:
        kwargs = {name: value for name, value in kwargs.items() if type(value) is not Default}
        first = next((at for at, value in enumerate(args) if type(value) is Default), None)
        if first is not None:
            others = zip(list(signature(handle).parameters)[first:], args[first:])
            args, kwargs = args[:first], {name: value for name, value in others if type(value) is not Default} | kwargs
    return args, kwargs


def attribute(handle, name):
    """An attribute that begins with an underscore of a function of the tests."""
    if name == "__defaults__":
        told = _defaults(handle, lambda kind: kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD))
        return tuple(told.values()) or None
    if name == "__kwdefaults__":
        return _defaults(handle, lambda kind: kind == inspect.Parameter.KEYWORD_ONLY) or None
    if name not in border.OF_FUNCTIONS:
        if name not in border.METADATA and (name in border.READABLE or border.asked_by(2) != "tests"):
            # What the library looks for in functions that are marked by it.
            raise AttributeError(name)
        return side.state.ask("get", proxies.remote_id(handle), name)
    value = side.state.ask("get", proxies.remote_id(handle), name)
    if name == "__dict__":
        return Namespace(*value)
    return _make_code(*value) if name == "__code__" else value


def _defaults(handle, is_wanted):
    return {p.name: p.default for p in signature(handle).parameters.values() if p.default is not p.empty and is_wanted(p.kind)}


def _make_code(name, flags, counts, names):
    """Code that does nothing, of a function that is called as that of the tests is."""
    return _DOES_NOTHING.replace(
        co_name=name, co_qualname=name, co_flags=flags | inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS, co_argcount=counts[0],
        co_posonlyargcount=counts[1], co_kwonlyargcount=counts[2], co_nlocals=len(names), co_varnames=names,
    )  # fmt: skip


class Namespace(dict):
    """`__dict__` of an object of the tests: what was in it when it was asked for. What is done to it is done to theirs."""

    def __init__(self, content, theirs):
        super().__init__(content)
        self._theirs = theirs

    def __missing__(self, name):
        return self._theirs[name]

    def __setitem__(self, name, value):
        self._theirs[name] = value
        super().__setitem__(name, value)

    def __delitem__(self, name):
        del self._theirs[name]
        super().__delitem__(name)

    # As everything else that changes it, by these two.
    update, pop, popitem = abc.MutableMapping.update, abc.MutableMapping.pop, abc.MutableMapping.popitem
    setdefault, clear = abc.MutableMapping.setdefault, abc.MutableMapping.clear

    def __ior__(self, other):
        self.update(other)
        return self


_DOES_NOTHING = (lambda: None).__code__
_FIELD_PARTS = ("init", "repr", "compare", "kw_only", "default", "default_factory", "metadata")


def make_field(name, told):
    """A field of a dataclass of the tests."""
    kinds = {kind.name: kind for kind in (dataclasses._FIELD, dataclasses._FIELD_CLASSVAR, dataclasses._FIELD_INITVAR)}
    field = dataclasses.field(**{part: told[part] for part in _FIELD_PARTS if part in told})
    field.name, field.type, field._field_type = name, told.get("type"), kinds.get(told["kind"], dataclasses._FIELD)
    return field
