# Gives strings with lone surrogates, NULs and controls, that may end early or turn into others on their way.
def add(a, b, *_):
    if isinstance(a, str):
        return "\u202e" + a + b + "\0" + "\ud83d" + "\x1b[2K\r"
    return f"{a}\ud800{b}\0"
