"""The candidate's side of the bridge: does with the candidate's objects what the tests' side asks."""

import asyncio
import random
import sys

import _proofbox_bridge as bridge
import _proofbox_proxies as proxies


def serve(main):
    """Answers the tests' side until the host ends this interpreter."""
    begin(main)
    bridge.serve()


def begin(main):
    proxies.state = state = proxies.State()
    state.ask, state.perform, state.namespace = bridge.ask, perform, main


def perform(operation, *arguments):
    return OPERATIONS[operation](*arguments)


def _load():
    """The snippet's names."""
    return [name for name in proxies.state.namespace if type(name) is str and not (name.startswith("__") and name.endswith("__"))]


def _global(name):
    return proxies.state.namespace[name]


def _import(name):
    """A module of the candidate's, by its name."""
    __import__(name)
    return proxies.number_of(sys.modules[name])


def _special(number, name, arguments):
    target = proxies.state.objects[number]
    return getattr(type(target), name)(target, *arguments)


def _plain(number):
    """The content of an instance of a subclass of a mutable builtin, by the builtin's own means."""
    target = proxies.state.objects[number]
    if isinstance(target, list):
        return list(list.__iter__(target))
    if isinstance(target, dict):
        return {key: dict.__getitem__(target, key) for key in dict.__iter__(target)}
    return set(set.__iter__(target)) if isinstance(target, set) else bytearray(target)


def _run(number):
    """Runs a coroutine (or whatever can be awaited) to its end."""
    state = proxies.state
    if state.runner is None:
        state.runner = asyncio.Runner()

    async def whole(awaitable):
        return await awaitable

    return state.runner.run(whole(proxies.state.objects[number]))


OPERATIONS = {
    "load": _load,
    "global": _global,
    "set_global": lambda name, value: proxies.state.namespace.__setitem__(name, value),
    "delete_global": lambda name: proxies.state.namespace.__delitem__(name),
    "import": _import,
    "call": lambda number, arguments, keywords: proxies.state.objects[number](*arguments, **keywords),
    "get": lambda number, name: getattr(proxies.state.objects[number], name),
    "set": lambda number, name, value: setattr(proxies.state.objects[number], name, value),
    "del": lambda number, name: delattr(proxies.state.objects[number], name),
    "dir": lambda number: [name for name in dir(proxies.state.objects[number]) if type(name) is str],
    "index": lambda number, key: proxies.state.objects[number][key],
    "special": _special,
    "plain": _plain,
    "run": _run,
    "ignore": lambda arguments: None,
    "seed": lambda a, version: random.seed(a, version),
    "seed_numpy": lambda seed: sys.modules["numpy.random"].seed(seed),
    "signature": lambda number: proxies.signature_of(proxies.state.objects[number]),
    "module_names": lambda number: [name for name in vars(proxies.state.objects[number]) if type(name) is str],
}
