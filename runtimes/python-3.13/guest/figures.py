"""Figures of matplotlib in sessions: shown when `show` is called, and those that are left when a cell ends.

A figure is shown as PNG, or as what `%config InlineBackend.figure_formats` names, and as the data in it (charts.py)."""

import io
import json
import sys

import _proofbox_charts as charts
import _proofbox_display as display

# What a figure can be shown as, by the names that `figure_formats` has for it: the MIME type, and matplotlib's own name.
FORMATS = {"png": ("image/png", "png"), "svg": ("image/svg+xml", "svg"), "pdf": ("application/pdf", "pdf"), "jpg": ("image/jpeg", "jpg")}
FORMATS |= {"retina": FORMATS["png"], "png2x": FORMATS["png"], "jpeg": FORMATS["jpg"]}
CHART = "e2b/chart"

# Those that are wanted.
wanted = ("png",)


def prepare():
    """Has matplotlib, where the image has it, show its figures as notebooks do."""
    bases, figures = sys.modules.get("matplotlib.backend_bases"), sys.modules.get("matplotlib.figure")
    if bases and figures:
        bases.FigureManagerBase.show = _show
        figures.Figure._repr_mimebundle_ = bundle_of


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


def choose(names):
    """Sets what figures are shown as.

    Raises ValueError for a name that is not in FORMATS."""
    global wanted
    names = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in names if name not in FORMATS]
    if unknown or not names:
        raise ValueError(f"figures can be shown as {', '.join(map(repr, FORMATS))}, not {', '.join(map(repr, unknown)) or 'nothing'}")
    wanted = names


def bundle_of(figure, include=None, exclude=None):
    """A figure in all wanted formats, cut to what is drawn; nothing of one that is empty."""
    if not figure.axes and not figure.lines:
        return {}
    formats = dict(FORMATS[name] for name in wanted)
    if include:
        formats |= {mime: name for mime, name in FORMATS.values() if mime in include}
    bundle = {}
    for mime, name in formats.items():
        if not (include and mime not in include or exclude and mime in exclude):
            out = io.BytesIO()
            figure.canvas.print_figure(out, format=name, dpi=figure.dpi, facecolor=figure.get_facecolor(), bbox_inches="tight")
            bundle[mime] = out.getvalue() if name != "svg" else out.getvalue().decode()
    try:
        chart = charts.chart_of(figure)
        if chart:
            bundle[CHART] = json.dumps(chart, allow_nan=False)
    except Exception:
        pass  # artists of another kind than those that it knows, or an angle that is no number
    return bundle
