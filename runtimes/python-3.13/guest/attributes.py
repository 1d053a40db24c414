"""Attributes that the candidate keeps on instances of the tests' own classes: a descriptor of its own has no other place.

Where neither the instance nor its class has a name, nor uses it in a method, the candidate may set it, private or not;
what it has set so is its own, to read, set and delete. `__dict__` of such an instance shows that, and what is public."""

from collections import abc

import _proofbox_proxies as proxies


def is_own(target, name):
    """Whether the candidate has set the attribute, where there was none."""
    entry = proxies.state.candidate.own_attributes.get(id(target))
    return entry is not None and name in entry[1]


def can_be_own(target, name, kept_by):
    """Whether the candidate may set a private attribute. `kept_by`: the names that a class of the tests uses."""
    if name.startswith("__") or isinstance(target, type) or proxies.is_of_library(type(target)):
        return False
    if is_own(target, name):
        return True
    kinds = type(target).__mro__
    if name in getattr(target, "__dict__", ()) or any(name in vars(kind) or name in kept_by(kind) for kind in kinds):
        return False
    proxies.state.candidate.own_attributes.setdefault(id(target), (target, set()))[1].add(name)
    return True


class Attributes(abc.MutableMapping):
    """`__dict__` of an instance of the tests, as the candidate sees it."""

    __slots__ = ("_alter", "_target")
    __module__ = "tests"

    def __init__(self, target, alter):
        self._target, self._alter = target, alter

    def _names(self):
        return [name for name in vars(self._target) if type(name) is str and (name[:1] != "_" or is_own(self._target, name))]

    def __getitem__(self, name):
        if name not in self._names():
            raise KeyError(name)
        return vars(self._target)[name]

    def __setitem__(self, name, value):
        self._alter(self._target, name)
        vars(self._target)[name] = value

    def __delitem__(self, name):
        self._alter(self._target, name)
        del vars(self._target)[name]

    def __iter__(self):
        return iter(self._names())

    def __len__(self):
        return len(self._names())
