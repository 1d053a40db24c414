"""Errors of the shell's."""


class IPythonCoreError(Exception):
    pass


class TryNext(IPythonCoreError):
    pass


class UsageError(IPythonCoreError):
    """A magic was used wrongly. Shown without a traceback."""


class StdinNotImplementedError(IPythonCoreError, NotImplementedError):
    """There is nobody to answer."""


class InputRejected(Exception):
    pass
