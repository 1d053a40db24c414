"""IPython's interface to the pretty printer."""

import sys

from _proofbox_pretty import Printer, for_type, for_type_by_name, pretty

__all__ = ["PrettyPrinter", "RepresentationPrinter", "for_type", "for_type_by_name", "pprint", "pretty"]


class RepresentationPrinter(Printer):
    """Writes to a file, when it is flushed."""

    def __init__(self, output, verbose=False, max_width=79, newline="\n", max_seq_length=1000):
        super().__init__(max_width, newline, max_seq_length, verbose)
        self.output = output

    def flush(self):
        super().flush()
        self.output.write("".join(self._written))
        self._written.clear()


PrettyPrinter = RepresentationPrinter


def pprint(obj, verbose=False, max_width=79, newline="\n", max_seq_length=1000):
    sys.stdout.write(pretty(obj, verbose, max_width, newline, max_seq_length) + newline)
