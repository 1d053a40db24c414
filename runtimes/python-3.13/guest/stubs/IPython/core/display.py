"""Values of one format, to be displayed."""

import binascii
import html
import json
import os

from _proofbox_display import display

__all__ = [
    "DisplayObject", "GeoJSON", "HTML", "Image", "JSON", "Javascript", "Latex", "Markdown", "Math", "Pretty", "ProgressBar",
    "SVG", "TextDisplayObject", "Video", "display_html", "display_javascript", "display_jpeg", "display_json",
    "display_latex", "display_markdown", "display_pdf", "display_png", "display_pretty", "display_svg",
    "set_matplotlib_close", "set_matplotlib_formats",
]  # fmt: skip

IMAGE_FORMATS = {"png": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
MAGIC_NUMBERS = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"))


def _is_file(name):
    try:
        return os.path.isfile(name)
    except Exception:
        return False


class DisplayObject:
    """Data, or the file that has it. A URL can be shown, but not read: there is no network."""

    _read_flags = "r"
    metadata = None

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if isinstance(data, os.PathLike):
            data = os.fspath(data)
        if isinstance(data, str):
            if data.startswith("http") and url is None:
                url, filename, data = data, None, None
            elif filename is None and len(data) < 4096 and _is_file(data):
                url, filename, data = None, data, None
        self.url, self.filename = url, filename
        self.data = data
        if metadata is not None:
            self.metadata = metadata
        elif self.metadata is None:
            self.metadata = {}
        self.reload()
        self._check_data()

    def __repr__(self):
        return f"<{type(self).__module__}.{type(self).__name__} object>"

    def _check_data(self):
        """For subclasses that can't take everything."""

    def reload(self):
        """Reads the file again."""
        if self.filename is not None:
            with open(self.filename, self._read_flags, encoding=None if "b" in self._read_flags else "utf-8") as file:
                self.data = file.read()
        elif self.url is not None:
            from urllib.request import urlopen

            self.data = urlopen(self.url).read()


class TextDisplayObject(DisplayObject):
    def _check_data(self):
        if self.data is not None and not isinstance(self.data, str):
            raise TypeError(f"{type(self).__name__} expects text, not {self.data!r}")


class Pretty(TextDisplayObject):
    def _repr_pretty_(self, printer, cycle):
        printer.text(self.data)


class HTML(TextDisplayObject):
    def _repr_html_(self):
        return self.data

    def __html__(self):
        return self.data


class Markdown(TextDisplayObject):
    def _repr_markdown_(self):
        return self.data


class Math(TextDisplayObject):
    def _repr_latex_(self):
        return f"$\\displaystyle {self.data.strip('$')}$"


class Latex(TextDisplayObject):
    def _repr_latex_(self):
        return self.data


class SVG(DisplayObject):
    _data = None

    @property
    def data(self):
        return self._data

    @data.setter
    def data(self, svg):
        if svg is None:
            self._data = None
            return
        text = svg.decode() if isinstance(svg, bytes) else svg
        # What stands before the element is no part of it.
        start, end = text.find("<svg"), text.rfind("</svg>")
        if start >= 0:
            text = text[start : end + len("</svg>")] if end >= 0 else text[start:].strip()
        self._data = text

    def _repr_svg_(self):
        return self.data


class ProgressBar(DisplayObject):
    """An iterator that shows how far it is."""

    def __init__(self, total):
        self.total, self._progress, self.html_width, self.text_width = total, 0, "60ex", 60

    def __repr__(self):
        done = int(self._progress / self.total * self.text_width)
        return f"[{'=' * done}{' ' * (self.text_width - done)}] {self._progress}/{self.total}"

    def _repr_html_(self):
        return f"<progress style='width:{self.html_width}' max='{self.total}' value='{self._progress}'></progress>"

    def display(self):
        display(self)

    def update(self):
        display(self)

    @property
    def progress(self):
        return self._progress

    @progress.setter
    def progress(self, value):
        self._progress = value
        self.update()

    def __iter__(self):
        self.display()
        self._progress = -1
        return self

    def __next__(self):
        self.progress += 1
        if self.progress < self.total:
            return self.progress
        raise StopIteration


class JSON(DisplayObject):
    """A dict or a list, not its text."""

    _data = None

    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None, root="root", **kwargs):
        super().__init__(data, url, filename, {"expanded": expanded, "root": root, **(metadata or {}), **kwargs})

    def _check_data(self):
        if self.data is not None and not isinstance(self.data, (dict, list)):
            raise TypeError(f"{type(self).__name__} expects JSONable dict or list, not {self.data!r}")

    @property
    def data(self):
        return self._data

    @data.setter
    def data(self, data):
        if isinstance(data, (str, bytes)):
            if self.filename is None and self.url is None:
                import warnings

                warnings.warn("JSON expects JSONable dict or list, not JSON strings", stacklevel=4)
            data = json.loads(data)
        self._data = data

    def _repr_json_(self):
        return self.data, self.metadata


class GeoJSON(JSON):
    def _ipython_display_(self):
        display({"application/geo+json": self.data, "text/plain": "<IPython.display.GeoJSON object>"}, raw=True)


class Javascript(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        self.lib = [lib] if isinstance(lib, str) else lib or []
        self.css = [css] if isinstance(css, str) else css or []
        super().__init__(data, url, filename)

    def _repr_javascript_(self):
        return self.data


def _format_of(data):
    for start, name in MAGIC_NUMBERS:
        if data.startswith(start):
            return name
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else "png"


class Image(DisplayObject):
    _read_flags = "rb"

    def __init__(
        self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None, retina=False,
        unconfined=False, metadata=None, alt=None,
    ):  # fmt: skip
        if isinstance(data, os.PathLike):
            data = os.fspath(data)
        name = filename or url
        if name is None:
            if data is None:
                raise ValueError("No image data found. Expecting filename, url, or data.")
            name = data if isinstance(data, str) and (data.startswith("http") or _is_file(data)) else None
        if format is None:
            if name is not None:
                format = os.path.splitext(name)[1][1:] or "png"
            else:
                format = _format_of(data) if isinstance(data, bytes) else "png"
        format = format.lower()
        self.format = "jpeg" if format == "jpg" else format
        self.embed = embed if embed is not None else url is None
        if self.embed:
            if self.format not in IMAGE_FORMATS:
                raise ValueError(f"Cannot embed the '{self.format}' image format")
            self._mimetype = IMAGE_FORMATS[self.format]
        self.width, self.height, self.retina, self.unconfined, self.alt = width, height, retina, unconfined, alt
        super().__init__(data, url, filename, metadata)

    def reload(self):
        if self.embed:
            super().reload()

    def _repr_html_(self):
        if self.embed:
            return None
        text = f'<img src="{html.escape(self.url or self.filename or "")}"'
        for name in ("width", "height"):
            if getattr(self, name):
                text += f' {name}="{getattr(self, name):d}"'
        if self.unconfined:
            text += ' class="unconfined"'
        if self.alt:
            text += f' alt="{html.escape(self.alt)}"'
        return text + "/>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self._mimetype: self._base64()} if self.embed else {"text/html": self._repr_html_()}

    def _base64(self):
        try:
            return binascii.b2a_base64(self.data, newline=False).decode()
        except TypeError as error:
            raise FileNotFoundError(f"No such file or directory: '{self.data}'") from error

    def _repr_png_(self):
        return self._base64() if self.embed and self.format == "png" else None

    def _repr_jpeg_(self):
        return self._base64() if self.embed and self.format == "jpeg" else None


class Video(DisplayObject):
    _read_flags = "rb"

    def __init__(
        self, data=None, url=None, filename=None, embed=False, mimetype=None, width=None, height=None,
        html_attributes="controls",
    ):  # fmt: skip
        if url is None and isinstance(data, str) and data.startswith(("http:", "https:")):
            url, data = data, None
        elif isinstance(data, str) and _is_file(data):
            filename, data = data, None
        if data and not embed:
            raise ValueError("To embed videos, you must pass embed=True (this may make your notebook files huge)")
        self.mimetype, self.embed, self.width, self.height = mimetype, embed, width, height
        self.html_attributes = html_attributes
        super().__init__(data, url, filename)

    def reload(self):
        if self.embed:
            super().reload()

    def _repr_html_(self):
        size = "".join(f' {name}="{getattr(self, name)}"' for name in ("width", "height") if getattr(self, name))
        source = self.url or self.filename
        if self.embed:
            data = self.data if isinstance(self.data, str) else binascii.b2a_base64(self.data, newline=False).decode()
            source = f"data:{self.mimetype or 'video/mp4'};base64,{data}"
        return (
            f'<video src="{source}" {self.html_attributes} {size}>\n'
            "      Your browser does not support the <code>video</code> element.\n    </video>"
        )


def _displayer(mime, cls):
    """`display_html` and its like: only this format of each value, or, with `raw=True`, the value as its data."""

    def show(*objs, raw=False, metadata=None, **kwargs):
        for value in objs:
            display({mime: value} if raw else value, raw=raw, include=None if raw else {"text/plain", mime})

    show.__name__ = show.__qualname__ = f"display_{cls}"
    return show


display_pretty = _displayer("text/plain", "pretty")
display_html = _displayer("text/html", "html")
display_markdown = _displayer("text/markdown", "markdown")
display_svg = _displayer("image/svg+xml", "svg")
display_png = _displayer("image/png", "png")
display_jpeg = _displayer("image/jpeg", "jpeg")
display_latex = _displayer("text/latex", "latex")
display_json = _displayer("application/json", "json")
display_javascript = _displayer("application/javascript", "javascript")
display_pdf = _displayer("application/pdf", "pdf")


def set_matplotlib_formats(*formats, **kwargs):
    """Does nothing: there are no formats to set."""


def set_matplotlib_close(close=True):
    """Does nothing: figures are closed as they are shown."""
