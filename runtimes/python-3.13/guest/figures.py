"""Figures of matplotlib in sessions: shown as PNG when `show` is called, and those that are left when a cell ends."""

import io
import sys

import _proofbox_display as display


def prepare():
    """Has matplotlib, where the image has it, show its figures as notebooks do."""
    bases, figures = sys.modules.get("matplotlib.backend_bases"), sys.modules.get("matplotlib.figure")
    if bases and figures:
        bases.FigureManagerBase.show = _show
        figures.Figure._repr_png_ = png_of


def flush():
    """Shows the figures that pyplot still has."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers:
        for manager in helpers.Gcf.get_all_fig_managers():
            _show(manager)


def _show(manager):
    from matplotlib._pylab_helpers import Gcf

    try:
        display.display(manager.canvas.figure)
    finally:
        Gcf.destroy(manager)


def png_of(figure):
    """The figure as PNG, cut to what is drawn; None of one that is empty."""
    if not figure.axes and not figure.lines:
        return None
    out = io.BytesIO()
    figure.canvas.print_figure(out, format="png", dpi=figure.dpi, facecolor=figure.get_facecolor(), bbox_inches="tight")
    return out.getvalue()
