"""Errors raised, caught, chained, grouped, and told."""

import contextlib
import io
import traceback
import warnings


class ValidationError(ValueError):
    def __init__(self, field, message):
        super().__init__(f"{field}: {message}")
        self.field = field


class NotFound(LookupError):
    pass


def parse_age(text):
    try:
        age = int(text)
    except ValueError as error:
        raise ValidationError("age", "not a number") from error
    if not 0 <= age < 150:
        raise ValidationError("age", "out of range")
    return age


def find(items, wanted):
    for item in items:
        if item == wanted:
            return item
    raise NotFound(wanted)


def cleanup(log, fail):
    try:
        if fail:
            raise RuntimeError("failed")
        return "ok"
    except RuntimeError:
        log.append("error")
        return "failed"
    else:
        log.append("else")
    finally:
        log.append("finally")


def deep(n):
    if n == 0:
        raise ZeroDivisionError("bottom")
    return deep(n - 1) + 1


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except (TypeError, AttributeError, IndexError, KeyError, ZeroDivisionError) as error:
        return type(error).__name__


def retry(function, times):
    for i in range(times):
        try:
            return function(i)
        except ArithmeticError:
            if i == times - 1:
                raise
    return None


def unstable(i):
    if i < 3:
        raise OverflowError(i)
    return i


def told(error):
    return "".join(traceback.format_exception(error))


def safe_divide(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return None


for repetition in range(12):
    for text in ("12", "x", "200", "-1", "", "3.5", "99", "40"):
        for _ in range(25):
            try:
                parse_age(text)
            except ValidationError as error:
                assert error.field == "age" and str(error)
    for i in range(150):
        try:
            find(range(20), i)
        except LookupError as error:
            assert isinstance(error, NotFound) and error.args == (i,)
        log = []
        assert cleanup(log, i % 2) in ("ok", "failed") and log[-1] == "finally"
        try:
            deep(i % 12)
        except ZeroDivisionError:
            pass
        assert attempt(lambda: [][1]) == "IndexError"
        assert attempt(lambda: {}["a"]) == "KeyError"
        assert attempt(lambda: None.x) == "AttributeError"
        assert attempt(lambda: 1 + "a") == "TypeError"
        assert attempt(len, 5) == "TypeError"
        assert retry(unstable, 5) == 3
        assert safe_divide(i, i % 3) is None or i % 3
        with contextlib.suppress(KeyError, ValueError):
            int("none")
    for i in range(12):
        try:
            try:
                deep(6)
            except ZeroDivisionError as error:
                raise ValidationError("depth", str(i)) from error
        except ValidationError as error:
            text = told(error)
            assert "direct cause" in text and "bottom" in text
        try:
            eval("undefined_name + 1")
        except NameError as error:
            assert traceback.extract_tb(error.__traceback__)[-1].lineno == 1
        try:
            raise ExceptionGroup("several", [ValueError(1), TypeError(2), ValueError(3)])
        except* ValueError as group:
            assert len(group.exceptions) == 2
        except* TypeError:
            pass
    out = io.StringIO()
    with contextlib.redirect_stderr(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("old", DeprecationWarning)
        try:
            deep(30)
        except ZeroDivisionError:
            traceback.print_exc()
    assert "bottom" in out.getvalue()
try:
    (lambda f: f(f))(lambda f: f(f))
except RecursionError as error:
    assert error.args
