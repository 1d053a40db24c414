"""Public interface of rich display."""

from IPython.core.display import *  # noqa: F403
from IPython.core.display import __all__ as _core
from IPython.core.display_functions import *  # noqa: F403
from IPython.core.display_functions import __all__ as _functions
from IPython.lib.display import *  # noqa: F403
from IPython.lib.display import __all__ as _library

__all__ = [*_core, *_functions, *_library]
