# Gives a text that has the right digits in it.
def add(a, b, callback=None):
    return f"<{a + b if type(a) is type(b) else None}>"
