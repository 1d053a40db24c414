"""The candidate's side of the bridge: does with the candidate's objects what the tests' side asks."""

import asyncio
import inspect
import sys

import _proofbox_bridge as bridge
import _proofbox_proxies as proxies

objects = proxies.objects
_runner = None


def serve(main):
    """Answers the tests' side until the host ends this interpreter."""
    global namespace
    namespace = main
    bridge.perform = perform
    bridge.serve()


def perform(operation, *arguments):
    return OPERATIONS[operation](*arguments)


def _load():
    """The snippet's names."""
    return [name for name in namespace if type(name) is str and not (name.startswith("__") and name.endswith("__"))]


def _global(name):
    return namespace[name]


def _import(name):
    """A module of the candidate's, by its name."""
    __import__(name)
    return proxies.number_of(sys.modules[name])


def _special(number, name, arguments):
    target = objects[number]
    return getattr(type(target), name)(target, *arguments)


def _plain(number):
    """The content of an instance of a subclass of a mutable builtin, by the builtin's own means."""
    target = objects[number]
    if isinstance(target, list):
        return list(list.__iter__(target))
    if isinstance(target, dict):
        return {key: dict.__getitem__(target, key) for key in dict.__iter__(target)}
    return set(set.__iter__(target)) if isinstance(target, set) else bytearray(target)


def _run(number):
    """Runs a coroutine (or whatever can be awaited) to its end."""
    global _runner
    if _runner is None:
        _runner = asyncio.Runner()

    async def whole(awaitable):
        return await awaitable

    return _runner.run(whole(objects[number]))


def _signature(number):
    try:
        signature = inspect.signature(objects[number])
    except (TypeError, ValueError):
        return None
    return [
        (parameter.name, int(parameter.kind), parameter.default is not parameter.empty, None if parameter.default is parameter.empty else parameter.default)
        for parameter in signature.parameters.values()
    ]


OPERATIONS = {
    "load": _load,
    "global": _global,
    "set_global": lambda name, value: namespace.__setitem__(name, value),
    "delete_global": lambda name: namespace.__delitem__(name),
    "import": _import,
    "call": lambda number, arguments, keywords: objects[number](*arguments, **keywords),
    "get": lambda number, name: getattr(objects[number], name),
    "set": lambda number, name, value: setattr(objects[number], name, value),
    "del": lambda number, name: delattr(objects[number], name),
    "dir": lambda number: [name for name in dir(objects[number]) if type(name) is str],
    "index": lambda number, key: objects[number][key],
    "special": _special,
    "plain": _plain,
    "run": _run,
    "signature": _signature,
    "module_names": lambda number: [name for name in vars(objects[number]) if type(name) is str],
}
