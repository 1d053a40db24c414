"""Magics of the user's own."""

import _proofbox_session as session

__all__ = ["Magics", "cell_magic", "line_cell_magic", "line_magic", "magics_class", "needs_local_scope", "no_var_expand",
           "register_cell_magic", "register_line_cell_magic", "register_line_magic"]  # fmt: skip


def _registering(kind):
    """A decorator, with or without a name for the magic."""

    def register(given=None):
        def decorate(function):
            name = given if isinstance(given, str) else function.__name__
            session.shell.register_magic_function(function, kind, name)
            return function

        return decorate(given) if callable(given) else decorate

    return register


def _marking(kind):
    """A decorator of methods of a class of magics."""

    def mark(given=None):
        def decorate(function):
            function._magic = kind, given if isinstance(given, str) else function.__name__
            return function

        return decorate(given) if callable(given) else decorate

    return mark


register_line_magic = _registering("line")
register_cell_magic = _registering("cell")
register_line_cell_magic = _registering("line_cell")
line_magic = _marking("line")
cell_magic = _marking("cell")
line_cell_magic = _marking("line_cell")


def magics_class(cls):
    return cls


def needs_local_scope(function):
    function.needs_local_scope = True
    return function


def no_var_expand(function):
    function._no_expansion = True
    return function


class Magics:
    """Holds magics as methods."""

    def __init__(self, shell=None, **kwargs):
        self.shell = shell or session.shell
