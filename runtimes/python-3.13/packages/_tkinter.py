"""Stands in for Tk, which there is no display for: `tkinter` and `turtle` are imported as on any server, and the first window
raises."""

TK_VERSION = TCL_VERSION = "8.6"
READABLE, WRITABLE, EXCEPTION = 2, 4, 8
WINDOW_EVENTS, FILE_EVENTS, TIMER_EVENTS, IDLE_EVENTS, ALL_EVENTS, DONT_WAIT = 4, 8, 16, 32, -3, 2


class TclError(Exception):
    __module__ = "_tkinter"


class Tcl_Obj:
    def __new__(cls, *args, **kwargs):
        raise TypeError("cannot create '_tkinter.Tcl_Obj' instances")


class TkappType:
    def __new__(cls, *args, **kwargs):
        raise TypeError("cannot create '_tkinter.tkapp' instances")


def create(screenName=None, baseName="", className="Tk", interactive=False, wantobjects=0, wantTk=True, sync=False, use=None):
    if not wantTk:
        raise TclError("there is no Tcl in this sandbox")
    if screenName:
        raise TclError(f"couldn't connect to display {screenName!r}".replace("'", '"'))
    raise TclError("no display name and no $DISPLAY environment variable")


_interval = 20


def getbusywaitinterval():
    return _interval


def setbusywaitinterval(new_val, /):
    global _interval
    if new_val < 0:
        raise ValueError("busywaitinterval must be >= 0")
    _interval = new_val
