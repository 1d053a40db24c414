"""Rich display: what a value looks like in each format that it offers, told to the host as Jupyter's bundles.

A value offers formats by `_repr_mimebundle_`, `_repr_html_` and their like; text it always has. A method that fails
spoils its own format only: what went wrong is shown on stderr."""

import binascii
import json
import sys

import _proofbox
import _proofbox_pretty as pretty

TEXT = "text/plain"
# Formats, the methods that make them, and of what type these are.
METHODS = (
    ("text/html", "_repr_html_", str),
    ("text/markdown", "_repr_markdown_", str),
    ("image/svg+xml", "_repr_svg_", str),
    ("image/png", "_repr_png_", (bytes, str)),
    ("application/pdf", "_repr_pdf_", (bytes, str)),
    ("image/jpeg", "_repr_jpeg_", (bytes, str)),
    ("text/latex", "_repr_latex_", str),
    ("application/json", "_repr_json_", (list, dict, str)),
    ("application/javascript", "_repr_javascript_", str),
)
JSON = "application/json"
# Items of a list or dict that is worth having as JSON, too.
JSON_LIMIT = 200_000
# In a container of more items the look for odd ones costs more than it saves.
_FEW = 32
_encode = json.JSONEncoder(allow_nan=False).encode
_encode_any = json.JSONEncoder(default=str).encode

# What a session's user has registered: format -> class -> function.
registered = {}
# What `%%capture` has replaced while it runs, the innermost last: (list for displays or None, stdout, stderr, hook).
capturing = []
# Whether there is somebody to show bundles to; else they are printed.
session = False


class FormatterWarning(UserWarning):
    """A method of a value's returned what its format can't be."""


def text_of(value):
    kind = type(value)
    if kind in pretty.plain:
        return repr(value)
    if kind in pretty.containers and len(value) <= _FEW and _all_plain(value if kind is not dict else (*value, *value.values())):
        text = repr(value)
        if len(text) <= pretty.WIDTH:
            return text
    return pretty.pretty(value)


def _all_plain(items):
    for item in items:
        if type(item) not in pretty.plain:
            return False
    return True


def bundle_of(value, include=None, exclude=None):
    """The value in all its formats; None when it has displayed itself."""
    kind = type(value)
    if kind in pretty.plain and not registered:
        return _chosen({TEXT: repr(value)}, include, exclude)
    bundle = {}
    if not isinstance(value, type) and kind not in (list, tuple, dict) and not _answers_everything(value):
        show = _method(value, "_ipython_display_")
        if show:
            try:
                show()
                return None
            except NotImplementedError:
                pass
            except Exception as error:
                complain(error)
                return None
        _ask_for_bundle(value, bundle, include, exclude)
        for mime, name, expected in METHODS:
            method = _method(value, name)
            if method and mime not in bundle:
                _ask(method, mime, expected, value, bundle)
    for mime, functions in registered.items():
        function = next((functions[base] for base in kind.__mro__ if base in functions), None)
        if function and mime != TEXT:
            _ask(lambda function=function: function(value), mime, (str, bytes, list, dict), value, bundle)
    if isinstance(value, (list, dict)) and JSON not in bundle and len(value) <= JSON_LIMIT:
        try:
            bundle[JSON] = _encode(value)
        except Exception:
            pass  # not plain data
    elif kind.__name__ == "DataFrame" and kind.__module__.startswith("pandas."):
        try:
            bundle["e2b/data"] = _encode_any(value.to_dict(orient="list"))
        except Exception:
            pass
    if TEXT not in bundle:
        try:
            bundle[TEXT] = _registered_text(value) or text_of(value)
        except Exception as error:
            complain(error)
    return _chosen(bundle, include, exclude)


def _registered_text(value):
    functions = registered.get(TEXT)
    for base in type(value).__mro__ if functions else ():
        if base in functions:
            printer = pretty.Printer()
            functions[base](value, printer, False)
            return printer.value()
    return None


def _chosen(bundle, include, exclude):
    if include:
        bundle = {mime: data for mime, data in bundle.items() if mime in include}
    if exclude:
        bundle = {mime: data for mime, data in bundle.items() if mime not in exclude}
    return bundle


def _answers_everything(value):
    """Mocks and remote objects have every attribute that is asked for: that they have one says nothing."""
    try:
        return getattr(value, "_ipython_canary_method_should_not_exist_", None) is not None
    except Exception:
        return True


def _method(value, name):
    try:
        method = getattr(value, name, None)
    except Exception:
        return None
    return method if callable(method) else None


def _ask_for_bundle(value, bundle, include, exclude):
    method = _method(value, "_repr_mimebundle_")
    if not method:
        return
    try:
        answer = method(include=include, exclude=exclude)
        if type(answer) is tuple and len(answer) == 2:
            answer = answer[0]
        for mime, data in (answer or {}).items():
            bundle[mime] = as_text(mime, data)
    except NotImplementedError:
        pass
    except Exception as error:
        complain(error)


def _ask(method, mime, expected, value, bundle):
    try:
        data = method()
        if type(data) is tuple and len(data) == 2:
            data = data[0]
        if data is None:
            return
        if not isinstance(data, expected):
            import warnings

            expected = expected if isinstance(expected, type) else "one of " + ", ".join(each.__name__ for each in expected)
            warnings.warn(
                f"{mime} formatter returned invalid type {type(data)} (expected {expected}) for object: {value!r}",
                FormatterWarning,
                stacklevel=2,
            )
            return
        bundle[mime] = as_text(mime, data)
    except NotImplementedError:
        pass
    except Exception as error:
        complain(error)


def as_text(mime, data):
    """Data of a format as the text that travels: base64 of bytes, JSON of anything that is no text."""
    if isinstance(data, str):
        return data if type(data) is str else str.__str__(data)
    if isinstance(data, (bytes, bytearray, memoryview)):
        return binascii.b2a_base64(data, newline=False).decode()
    return _encode_any(data)


def complain(error):
    """Shows on stderr what went wrong in a method of the user's, which does not end the cell."""
    import _proofbox_tracebacks as tracebacks

    try:
        print(tracebacks.text_of(error), file=sys.stderr)
    except Exception:
        pass


# ---------------------------------------------------------------- to the host


def post(bundle, main=False):
    """A bundle of texts, after what was printed before it."""
    if capturing and not main:
        taken_by = next((outputs for outputs, *_ in reversed(capturing) if outputs is not None), None)
        if taken_by is not None:
            taken_by.append(bundle)
            return
    bundle = {exact(mime): data for mime, data in bundle.items() if isinstance(mime, str) and type(data) is str}
    if not bundle:
        return
    if not session:
        print(bundle.get(TEXT, ""))
        return
    flush()
    _proofbox.post(("display", bundle, main))


def end_capture():
    """Puts back what the innermost capture has replaced."""
    _, sys.stdout, sys.stderr, sys.displayhook = capturing[-1]
    capturing.pop()


def exact(text):
    return text if type(text) is str else str.__str__(text)


def flush():
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except Exception:
            pass  # it was closed


class DisplayHandle:
    """A display that can be shown again."""

    def __init__(self, display_id=None):
        if display_id is None:
            import os

            display_id = os.urandom(16).hex()
        self.display_id = display_id

    def __repr__(self):
        return f"<DisplayHandle display_id={self.display_id}>"

    def display(self, value, **options):
        display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        update_display(value, display_id=self.display_id, **options)


def display(*objs, include=None, exclude=None, metadata=None, transient=None, display_id=None, raw=False, clear=False, **kwargs):
    """Shows values at once, each in all its formats."""
    for value in objs:
        if raw:
            post({mime: as_text(mime, data) for mime, data in value.items()})
        else:
            bundle = bundle_of(value, include, exclude)
            if bundle:
                post(bundle)
    if display_id is None:
        return None
    return DisplayHandle(None if display_id is True else display_id)


def update_display(obj, *, display_id, **kwargs):
    """Shows the object anew: there is no page whose displays could be replaced."""
    display(obj, **{name: kwargs[name] for name in ("include", "exclude", "raw") if name in kwargs})


# As seen from outside.
display.__module__ = update_display.__module__ = DisplayHandle.__module__ = "IPython.core.display_functions"
