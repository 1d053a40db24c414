"""Semaphores of multiprocessing, whose processes are threads of one interpreter (guest/processes.py)."""

import threading

from _proofbox_threads import wait

RECURSIVE_MUTEX, SEMAPHORE = range(2)


class SemLock:
    SEM_VALUE_MAX = 2**31 - 1

    def __init__(self, kind, value, maxvalue, name, unlink):
        if kind not in (RECURSIVE_MUTEX, SEMAPHORE):
            raise ValueError("unrecognized kind")
        # Without a name there is nothing that would have to be taken away at the end.
        self.kind, self.maxvalue, self.name, self.handle = kind, maxvalue, None, id(self)
        self._value, self._owner, self._depth = value, None, 0

    def acquire(self, block=True, timeout=None):
        me = threading.get_ident()
        if self.kind == RECURSIVE_MUTEX and self._owner == me:
            self._depth += 1
            return True
        if self._value <= 0 and not (block and wait(self._is_free, None if timeout is None else max(timeout, 0), "a lock of another process")):
            return False
        self._value -= 1
        self._owner, self._depth = me, self._depth + 1
        return True

    def release(self):
        if self.kind == RECURSIVE_MUTEX:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._depth > 1:
                self._depth -= 1
                return
        elif self._value >= self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._value += 1
        self._depth -= 1
        if self.kind == RECURSIVE_MUTEX:
            self._owner = None

    def _is_free(self):
        return self._value > 0

    def _count(self):
        return self._depth

    def _is_mine(self):
        return self._depth > 0 and self._owner == threading.get_ident()

    def _get_value(self):
        return self._value

    def _is_zero(self):
        return self._value == 0

    def _after_fork(self):
        self._depth = 0

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *error):
        self.release()


SemLock.__module__ = "_multiprocessing"


def sem_unlink(name):
    raise FileNotFoundError(2, "No such file or directory", name)
