"""Nothing random may be the same in every copy of the snapshot, and what isn't used may cost nothing.

A module-level generator is part of the image. Its exports are therefore taken out of their modules and put back on
the first look at any of them, when the generator is seeded. What a program then holds are the original built-in
methods, at their original speed."""

__all__ = ["seed_on_first_use", "set_seed"]

_seed = None


def set_seed(seed):
    """What generators are seeded with from now on; None: the host's randomness."""
    global _seed
    _seed = seed


def seed_on_first_use(generator, modules, reseed):
    """Withholds from `modules` whatever they export of `generator` until it is wanted; `reseed(seed)` is called then,
    with None when no seed was asked for."""
    withheld = []

    def settle():
        for namespace, names in withheld:
            for name, value in names.items():
                if value is None:
                    namespace.pop(name, None)
                else:
                    namespace.setdefault(name, value)
        if withheld:
            withheld.clear()
            reseed(_seed)

    for module in modules:
        namespace = vars(module)
        names = {
            name: value
            for name, value in namespace.items()
            if value is generator or getattr(value, "__self__", None) is generator
        }
        for name in names:
            del namespace[name]
        assert "__getattr__" not in namespace and "__dir__" not in namespace
        namespace["__getattr__"] = _attribute(module, settle)
        namespace["__dir__"] = _listing(module, settle)
        withheld.append((namespace, names | {"__getattr__": None, "__dir__": None}))


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
