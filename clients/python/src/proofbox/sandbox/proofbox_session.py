"""The sandbox's half of what clients do beyond running code: variables that come in, answers that go out.

This file runs in the sandbox, beside `proofbox_values` (values.py of the package). What it imports is imported within
functions: a policy that allows this module must not thereby give away others, as its attributes."""

# A message that carries an answer may be shortened beyond 4000 characters; a longer answer is held to be taken.
LONGEST_MESSAGE = 2000

# What a cell can give is bounded: a longer text is taken part by part.
PART = 1 << 20

# Texts that are to be taken, by token.
HELD = {}


def receive(path):
    """Sets the variables that a client put into this file."""
    import json
    import os
    import sys

    import proofbox_values

    try:
        with open(path, encoding="utf-8") as file:
            tagged = json.load(file)
    finally:
        os.remove(path)
    values = {}
    for name, value in tagged.items():
        try:
            values[name] = proofbox_values.decode(value, strict=True)
        except proofbox_values.DecodeError as error:
            raise VariableRefused(json.dumps([name, str(error)])) from None
    sys.modules["__main__"].__dict__.update(values)


class VariableRefused(Exception):
    """A variable that can't be made here: a list of its name and the reason, as JSON."""


def give(name):
    """The value of a variable: the beginning of its text, and what to take the rest by."""
    import sys

    import proofbox_values

    names = sys.modules["__main__"].__dict__
    if name not in names:
        raise NameError(f"name {name!r} is not defined")
    try:
        text = proofbox_values.dumps(names[name])
    except proofbox_values.EncodeError as error:
        raise TypeError(f"variable {name!r} can't be given: {error}") from None
    return (text, "", len(text)) if len(text) <= PART else (text[:PART], hold(text), len(text))


def hold(text):
    import os

    token = os.urandom(8).hex()
    HELD[token] = text
    return token


def take(token, start):
    """A part of a text that is held; with its end it is let go."""
    part = HELD[token][start : start + PART]
    if start + PART >= len(HELD[token]):
        del HELD[token]
    return part


class FinalAnswerException(BaseException):
    """Ends a step with the agent's answer. No Exception, so that a program's own handlers let it pass."""

    def __init__(self, value):
        super().__init__(value)
        self.value = value


class FinalAnswer:
    """Calls the agent's tool `final_answer`, and ends the step with what it gives."""

    def __init__(self, tool):
        self.tool = tool

    def __call__(self, *args, **kwargs):
        import json

        import proofbox_values

        value = self.tool(*args, **kwargs)
        try:
            text = proofbox_values.dumps(value)
        except proofbox_values.EncodeError as error:
            raise TypeError(
                f"final_answer can't take this value: {error}. "
                "Give plain data: numbers, text, lists, dicts, or str(value)"
            ) from None
        if len(text) > LONGEST_MESSAGE:
            text = json.dumps({"$held": [hold(text), len(text)]})
        raise FinalAnswerException(text)


# Tools by name: they keep their own state from one run of an agent to the next.
TOOLS = {}


def keep_tools(names):
    """Takes the tools that a cell has defined in the program's namespace."""
    import sys

    namespace = sys.modules["__main__"].__dict__
    for name in names:
        tool = namespace[name]
        TOOLS[name] = FinalAnswer(tool) if name == "final_answer" else tool
    offer_tools(names)


def offer_tools(names):
    """Puts the tools under their names, where a program may have put something else."""
    import sys

    namespace = sys.modules["__main__"].__dict__
    for name in names:
        namespace[name] = TOOLS[name]
