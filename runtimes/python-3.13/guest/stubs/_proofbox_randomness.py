"""Nothing random may be the same in every copy of the snapshot, and what isn't used may cost nothing.

A module-level generator is part of the image. Its exports are therefore taken out of their modules and put back on
the first look at any of them, when the generator is seeded. What a program then holds are the original built-in
methods, at their original speed."""

__all__ = ["after_first_use", "seed_on_first_use", "set_seed"]

_seed = None  # the host's randomness
_in_use = []
_hooks = []


def after_first_use(module, hook):
    """Calls `hook` when the generator that `module` exports is first used."""
    _hooks.append((module, hook))


def set_seed(seed):
    """Every generator starts from `seed`: those in use now, the others when they are used."""
    global _seed
    _seed = seed
    for reseed in _in_use:
        reseed(seed)


def seed_on_first_use(generator, modules, reseed, others=()):
    """Withholds from `modules` whatever they export of `generator`, and what uses it under the names of `others`, until
    it is wanted; then calls `reseed` with the seed, or None."""
    withheld = []

    def settle():
        if not withheld:
            return
        for namespace, exports in withheld:
            for hook in ("__getattr__", "__dir__"):
                namespace.pop(hook, None)
            for name, value in exports.items():
                namespace.setdefault(name, value)  # a program may have put its own there
        withheld.clear()
        _in_use.append(reseed)
        reseed(_seed)
        for module, hook in _hooks:
            if module in modules:
                hook()

    for module in modules:
        namespace = vars(module)
        exports = {
            name: value
            for name, value in namespace.items()
            if value is generator or getattr(value, "__self__", None) is generator or name in others
        }
        for name in exports:
            del namespace[name]
        assert "__getattr__" not in namespace and "__dir__" not in namespace
        namespace["__getattr__"] = _attribute(module, settle)
        namespace["__dir__"] = _listing(module, settle)
        withheld.append((namespace, exports))


def _attribute(module, settle):
    def __getattr__(name):
        if not name.startswith("__"):  # the import system looks for __path__ and the like
            settle()
            if name in vars(module):
                return vars(module)[name]
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)

    return __getattr__


def _listing(module, settle):
    def __dir__():
        settle()
        return list(vars(module))

    return __dir__
