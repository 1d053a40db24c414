"""Sound, frames, links to files, and code."""

import binascii
import html
import os
from urllib.parse import urlencode

from IPython.core.display import DisplayObject, TextDisplayObject

__all__ = ["Audio", "Code", "FileLink", "FileLinks", "IFrame", "ScribdDocument", "VimeoVideo", "YouTubeVideo"]


class Audio(DisplayObject):
    _read_flags = "rb"

    def __init__(
        self, data=None, filename=None, url=None, embed=None, rate=None, autoplay=False, normalize=True, *, element_id=None
    ):
        if data is None and filename is None and url is None:
            raise ValueError("No audio data found. Expecting filename, url, or data.")
        if embed is False and url is None:
            raise ValueError("No url found. Expecting url when embed=False")
        self.embed = (url is None) if embed is None else embed
        self.autoplay, self.element_id, self.mimetype = autoplay, element_id, "audio/wav"
        super().__init__(data, url, filename)
        if self.data is not None and not isinstance(self.data, bytes):
            if rate is None:
                raise ValueError("rate must be specified when data is a numpy array or list of audio samples.")
            self.data = _wave(self.data, rate, normalize)

    def reload(self):
        import mimetypes

        if self.embed:
            super().reload()
        name = self.filename or self.url
        self.mimetype = (mimetypes.guess_type(name)[0] if name else None) or "audio/wav"

    def _repr_html_(self):
        source = self.url
        if self.embed:
            source = f"data:{self.mimetype};base64,{binascii.b2a_base64(self.data, newline=False).decode()}"
        name = f' id="{self.element_id}"' if self.element_id else ""
        play = ' autoplay="autoplay"' if self.autoplay else ""
        return (
            f'\n                <audio {name} controls="controls"{play}>\n'
            f'                    <source src="{source}" type="{self.mimetype}" />\n'
            "                    Your browser does not support the audio element.\n                </audio>\n              "
        )


def _wave(samples, rate, normalize):
    import array
    import io
    import wave

    channels = [list(map(float, each)) for each in samples] if hasattr(samples[0], "__len__") else [list(map(float, samples))]
    loudest = max((abs(sample) for each in channels for sample in each), default=0) or 1
    if not normalize:
        if loudest > 1:
            raise ValueError("Audio data must be between -1 and 1 when normalize=False.")
        loudest = 1
    mixed = array.array("h", [int(sample / loudest * 32767) for frame in zip(*channels) for sample in frame])
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(len(channels))
        writer.setframerate(rate)
        writer.setsampwidth(2)
        writer.writeframes(mixed.tobytes())
    return file.getvalue()


class IFrame:
    def __init__(self, src, width, height, extras=None, **kwargs):
        self.src, self.width, self.height, self.extras, self.params = src, width, height, extras or [], kwargs

    def _repr_html_(self):
        query = f"?{urlencode(self.params)}" if self.params else ""
        return (
            f'\n        <iframe\n            width="{self.width}"\n            height="{self.height}"\n'
            f'            src="{self.src}{query}"\n            frameborder="0"\n            allowfullscreen\n'
            '            referrerpolicy="strict-origin-when-cross-origin"\n'
            f"            {' '.join(self.extras)}\n        ></iframe>\n        "
        )


class YouTubeVideo(IFrame):
    def __init__(self, id, width=400, height=300, allow_autoplay=False, **kwargs):
        self.id = id
        extras = ['allow="autoplay"'] if allow_autoplay else []
        kwargs |= {"autoplay": 1} if allow_autoplay else {}
        super().__init__(f"https://www.youtube.com/embed/{id}", width, height, extras, **kwargs)


class VimeoVideo(IFrame):
    def __init__(self, id, width=400, height=300, **kwargs):
        self.id = id
        super().__init__(f"https://player.vimeo.com/video/{id}", width, height, **kwargs)


class ScribdDocument(IFrame):
    def __init__(self, id, width=400, height=300, **kwargs):
        self.id = id
        super().__init__(f"https://www.scribd.com/embeds/{id}/content", width, height, **kwargs)


class FileLink:
    def __init__(self, path, url_prefix="", result_html_prefix="", result_html_suffix="<br>"):
        self.path, self.url_prefix = os.fspath(path), url_prefix
        self.result_html_prefix, self.result_html_suffix = result_html_prefix, result_html_suffix

    def _link(self, path):
        link = f"<a href='{html.escape(self.url_prefix + path)}' target='_blank'>{html.escape(path)}</a>"
        return f"{self.result_html_prefix}{link}{self.result_html_suffix}"

    def _repr_html_(self):
        if not os.path.exists(self.path):
            return f"Path (<tt>{self.path}</tt>) doesn't exist. It may still be in the process of being generated, or you may have the incorrect path."
        return self._link(self.path)

    def __repr__(self):
        return os.path.abspath(self.path)


class FileLinks(FileLink):
    def __init__(self, path, url_prefix="", included_suffixes=None, result_html_prefix="", result_html_suffix="<br>", recursive=True, **kwargs):
        super().__init__(path, url_prefix, result_html_prefix, result_html_suffix)
        self.included_suffixes, self.recursive = included_suffixes, recursive

    def _files(self):
        for folder, folders, files in os.walk(self.path):
            folders[:] = sorted(folders) if self.recursive else []
            for name in sorted(files):
                if not self.included_suffixes or name.endswith(tuple(self.included_suffixes)):
                    yield os.path.join(folder, name)

    def _repr_html_(self):
        return "\n".join(map(self._link, self._files()))

    def __repr__(self):
        return "\n".join(self._files())


class Code(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, language=None):
        self.language = language
        super().__init__(data, url, filename)

    def __repr__(self):
        return self.data

    def _repr_html_(self):
        return f'<div class="highlight"><pre>{html.escape(self.data)}</pre></div>'

    def _repr_latex_(self):
        return f"\\begin{{Verbatim}}\n{self.data}\n\\end{{Verbatim}}"
