

class Calculator:
    def __init__(self):
        self.history = []

    @property
    def last(self):
        return self.history[-1]

    def add(self, a, b):
        self.history.append(add(a, b))
        return self.history[-1]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None
