"""Streams and capture of output."""

from _proofbox_capture import CapturedIO, capture_output

__all__ = ["CapturedIO", "capture_output"]
