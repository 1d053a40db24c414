# Spends all its time inside one call of C code, where no Python hook can stop it.
import re


def add(a, b, *_):
    return 0 if re.fullmatch(r"(a|aa)+$", "a" * 200 + "b") else a + b
