"""Functions that show values."""

from _proofbox_display import DisplayHandle, as_text, display, post, update_display

__all__ = ["DisplayHandle", "clear_output", "display", "publish_display_data", "update_display"]


def publish_display_data(data, metadata=None, source=None, *, transient=None, **kwargs):
    """Shows a bundle that is ready."""
    post({mime: as_text(mime, value) for mime, value in data.items()})


def clear_output(wait=False):
    """Does nothing: what was shown has gone to the client, and nothing of it can be taken back."""
