# Gives a list that holds itself, and a dict that holds the list.
def add(a, b, *_):
    cycle = []
    cycle.append(cycle)
    cycle.append({"self": cycle})
    return cycle
