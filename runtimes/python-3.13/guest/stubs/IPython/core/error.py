"""Errors of the shell's."""


class IPythonCoreError(Exception):
    pass


class TryNext(IPythonCoreError):
    pass


class UsageError(IPythonCoreError):
    """A magic was used wrongly. Shown without a traceback."""


class StdinNotImplementedError(IPythonCoreError, NotImplementedError):
    """Error of a request for input that nobody can answer."""


class InputRejected(Exception):
    pass
