# Gives a list nested so deep that comparing or printing it breaks the interpreter.
def add(a, b, *_):
    deep = []
    for _ in range(200_000):
        deep = [deep]
    return deep
