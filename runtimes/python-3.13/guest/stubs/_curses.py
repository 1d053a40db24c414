"""Of curses what needs no terminal: names, and errors as where TERM names none."""

import sys

version = b"2.2"
__version__ = b"2.2"
OK, ERR = 0, -1

# Attributes, colours and keys as in ncurses.
_ATTRIBUTES = "STANDOUT UNDERLINE REVERSE BLINK DIM BOLD ALTCHARSET INVIS PROTECT HORIZONTAL LEFT LOW RIGHT TOP VERTICAL ITALIC".split()
A_NORMAL, A_ATTRIBUTES, A_CHARTEXT, A_COLOR = 0, 0xFFFFFF00, 0xFF, 0xFF00
globals().update({f"A_{name}": 1 << 16 + bit for bit, name in enumerate(_ATTRIBUTES)})
COLOR_BLACK, COLOR_RED, COLOR_GREEN, COLOR_YELLOW, COLOR_BLUE, COLOR_MAGENTA, COLOR_CYAN, COLOR_WHITE = range(8)
_KEYS = {
    "MIN": 257, "BREAK": 257, "DOWN": 258, "UP": 259, "LEFT": 260, "RIGHT": 261, "HOME": 262, "BACKSPACE": 263, "F0": 264, "DL": 328,
    "IL": 329, "DC": 330, "IC": 331, "EIC": 332, "CLEAR": 333, "EOS": 334, "EOL": 335, "SF": 336, "SR": 337, "NPAGE": 338, "PPAGE": 339,
    "STAB": 340, "CTAB": 341, "CATAB": 342, "ENTER": 343, "SRESET": 344, "RESET": 345, "PRINT": 346, "LL": 347, "A1": 348, "A3": 349,
    "B2": 350, "C1": 351, "C3": 352, "BTAB": 353, "BEG": 354, "CANCEL": 355, "CLOSE": 356, "COMMAND": 357, "COPY": 358, "CREATE": 359,
    "END": 360, "EXIT": 361, "FIND": 362, "HELP": 363, "MARK": 364, "MESSAGE": 365, "MOVE": 366, "NEXT": 367, "OPEN": 368,
    "OPTIONS": 369, "PREVIOUS": 370, "REDO": 371, "REFERENCE": 372, "REFRESH": 373, "REPLACE": 374, "RESTART": 375, "RESUME": 376,
    "SAVE": 377, "SBEG": 378, "SCANCEL": 379, "SCOMMAND": 380, "SCOPY": 381, "SCREATE": 382, "SDC": 383, "SDL": 384, "SELECT": 385,
    "SEND": 386, "SEOL": 387, "SEXIT": 388, "SFIND": 389, "SHELP": 390, "SHOME": 391, "SIC": 392, "SLEFT": 393, "SMESSAGE": 394,
    "SMOVE": 395, "SNEXT": 396, "SOPTIONS": 397, "SPREVIOUS": 398, "SPRINT": 399, "SREDO": 400, "SREPLACE": 401, "SRIGHT": 402,
    "SRSUME": 403, "SSAVE": 404, "SSUSPEND": 405, "SUNDO": 406, "SUSPEND": 407, "UNDO": 408, "MOUSE": 409, "RESIZE": 410, "MAX": 511,
}  # fmt: skip
globals().update({f"KEY_{name}": number for name, number in _KEYS.items()})
globals().update({f"KEY_F{number}": 264 + number for number in range(64)})


class error(Exception):
    pass


class window:
    def __init__(self, *args, **kwargs):
        raise TypeError("cannot create '_curses.window' instances")


error.__module__ = window.__module__ = "_curses"


def setupterm(term=None, fd=-1):
    raise error("setupterm: could not find terminal")


def initscr():
    """ncurses itself would end the process here."""
    print("Error opening terminal: unknown.", file=sys.stderr)
    raise error("initscr() failed: there is no terminal")


def _must_initscr(*args, **kwargs):
    raise error("must call initscr() first")


for _name in """beep cbreak color_content color_pair curs_set def_prog_mode def_shell_mode delay_output doupdate echo endwin
        erasechar filter flash flushinp get_escdelay get_tabsize getmouse getsyx getwin halfdelay has_colors has_extended_color_support
        has_ic has_il has_key init_color init_pair intrflush is_term_resized isendwin keyname killchar longname meta mouseinterval
        mousemask napms newpad newwin nl nocbreak noecho nonl noqiflush noraw pair_content pair_number putp qiflush raw
        reset_prog_mode reset_shell_mode resetty resize_term resizeterm savetty set_escdelay set_tabsize start_color termattrs
        termname tigetflag tigetnum tigetstr tparm typeahead unctrl unget_wch ungetch ungetmouse use_default_colors use_env""".split():
    globals()[_name] = _must_initscr
