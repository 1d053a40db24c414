"""Captures what a piece of code prints and displays."""

import io
import sys

import _proofbox_display as display


class RichOutput:
    """A display that was captured."""

    def __init__(self, data):
        self.data = data

    def display(self):
        display.post(self.data)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data

    def __repr__(self):
        return f"RichOutput({self.data!r})"


class CapturedIO:
    def __init__(self, stdout, stderr, outputs=None):
        self._stdout, self._stderr, self._outputs = stdout, stderr, outputs

    def __str__(self):
        return self.stdout

    @property
    def stdout(self):
        return self._stdout.getvalue() if self._stdout else ""

    @property
    def stderr(self):
        return self._stderr.getvalue() if self._stderr else ""

    @property
    def outputs(self):
        return [RichOutput(bundle) for bundle in self._outputs or ()]

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for output in self.outputs:
            output.display()

    __call__ = show


class capture_output:  # as it is known
    """A context manager; what it captured is its value, also when an exception ends it."""

    def __init__(self, stdout=True, stderr=True, display=True):
        self.stdout, self.stderr, self.display = stdout, stderr, display

    def __enter__(self):
        stdout = io.StringIO() if self.stdout else None
        stderr = io.StringIO() if self.stderr else None
        outputs = [] if self.display else None
        # First of all, so that it can be undone wherever an interrupt comes (session.py).
        display.capturing.append((outputs, sys.stdout, sys.stderr, sys.displayhook))
        if self.stdout:
            sys.stdout = stdout
        if self.stderr:
            sys.stderr = stderr
        if self.display:
            sys.displayhook = self._capture
        return CapturedIO(stdout, stderr, outputs)

    def __exit__(self, *error):
        if display.capturing:
            display.end_capture()

    @staticmethod
    def _capture(value):
        if value is not None:
            display.display(value)
