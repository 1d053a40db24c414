"""Checks of a client that run one after the other. tests/it/clients.rs puts this folder into the path of the programs."""

CHECKS = []


def check(function):
    """Registers a function as a check."""
    CHECKS.append(function)
    return function


def run_checks():
    """Runs all checks, and says how many there were. The first that fails ends the program."""
    for function in CHECKS:
        print(function.__name__, flush=True)
        function()
    print(f"{len(CHECKS)} passed, 0 failed")
