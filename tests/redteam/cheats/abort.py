# Aborts the interpreter.
import os


def add(a, b, *_):
    os.abort()
