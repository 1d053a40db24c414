"""Stands in for IPython: what programs import from it, for sessions."""

__version__ = "9.18.1"
version_info = (9, 18, 1, "")

from IPython.core.getipython import get_ipython  # noqa: E402
from IPython.core.display_functions import display  # noqa: E402

__all__ = ["display", "get_ipython", "version_info"]
