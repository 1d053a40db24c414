"""The data that a figure of matplotlib shows, as clients of E2B's code interpreter read it (`Result.chart`).

A chart is a dict of plain data: `type` is line, scatter, bar, pie, box_and_whisker, superchart (several axes) or unknown. What a
chart holds is read from the artists of its axes."""

import datetime
import math
import re
import sys

# Elements and points of one figure; of one that shows more there is no chart.
MAX_POINTS = 50_000
_UNIT = re.compile(r"\s\((.*?)\)|\[(.*?)\]")
# Digits that what the artists compute is kept to.
_DIGITS = 9


class _TooMuch(Exception):
    """More points than `MAX_POINTS`."""


def chart_of(figure):
    """The chart of a figure; None if it shows no data, or too much."""
    axes = figure.get_axes()
    if not any(each.has_data() for each in axes):
        return None
    room = [MAX_POINTS]
    try:
        charts = [_chart_of_axes(each, room) for each in axes]
    except _TooMuch:
        return None
    if len(charts) == 1:
        return charts[0]
    return {"type": "superchart", "title": figure.get_suptitle() or None, "elements": charts}


def _take(room, count):
    room[0] -= count
    if room[0] < 0:
        raise _TooMuch


def _chart_of_axes(axes, room):
    kind = _kind_of(axes)
    chart = {"type": kind, "title": axes.get_title() or None}
    if kind in ("line", "scatter", "bar", "box_and_whisker"):
        chart |= _labels_of(axes)
    if kind in ("line", "scatter"):
        chart |= _ticks_of(axes.xaxis, "x") | _ticks_of(axes.yaxis, "y")
    return chart | _ELEMENTS[kind](axes, chart, room)


def _kind_of(axes):
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import PathPatch, Rectangle, Wedge
    from matplotlib.text import Text

    if axes.name == "3d":
        return "unknown"
    artists = [each for each in axes.get_children() if each.axes is axes and _is_drawn(axes, each) and not isinstance(each, Text)]

    def all_are(kinds, given):
        return bool(given) and all(isinstance(each, kinds) for each in given)

    if all_are(Line2D, artists):
        return "line"
    if all_are((PathPatch, Line2D), artists):
        return "box_and_whisker"
    artists = [each for each in artists if not (isinstance(each, Line2D) and _is_rule(each))]
    for kind, kinds in (("scatter", PathCollection), ("pie", Wedge), ("bar", Rectangle)):
        if all_are(kinds, artists):
            return kind
    return "unknown"


def _is_drawn(axes, artist):
    """Returns whether an artist shows data: axes have a frame, titles and a background besides."""
    return artist in axes.lines or artist in axes.patches or artist in axes.collections or artist in axes.images


def _is_rule(line):
    """Returns whether a line goes straight across, as those that mark a value."""
    x, y = line.get_xdata(), line.get_ydata()
    return len(x) == len(y) == 2 and bool(x[0] == x[1] or y[0] == y[1])


def _labels_of(axes):
    labels = {"x": axes.get_xlabel() or None, "y": axes.get_ylabel() or None}
    units = {name: _UNIT.search(label) if label else None for name, label in labels.items()}
    return {
        "x_label": labels["x"], "y_label": labels["y"],
        **{f"{name}_unit": (found[1] or found[2]) if found else None for name, found in units.items()},
    }  # fmt: skip


def _turn(chart):
    """Names the axes the other way round: values go to the right."""
    for what in ("label", "unit"):
        chart[f"x_{what}"], chart[f"y_{what}"] = chart[f"y_{what}"], chart[f"x_{what}"]


# ---------------------------------------------------------------- axes


def _has_dates(axis):
    dates = sys.modules.get("matplotlib.dates")
    return dates is not None and isinstance(axis.get_converter(), (dates.DateConverter, dates._SwitchableDateConverter))


def _ticks_of(axis, name):
    ticks, labels = list(axis.get_majorticklocs()), [label.get_text() for label in axis.get_majorticklabels()]
    scale = axis.get_scale()
    if _has_dates(axis):
        from matplotlib.dates import num2date

        scale, ticks = "datetime", [num2date(tick).isoformat() for tick in ticks]
    else:
        ticks = [_plain(tick) for tick in ticks]
        counted = all(tick == index and label != str(index) for index, (tick, label) in enumerate(zip(ticks, labels)))
        if scale == "linear" and ticks and counted:
            scale = "categorical"
    return {f"{name}_ticks": ticks, f"{name}_tick_labels": labels, f"{name}_scale": scale}


def _plain(value):
    """A number as a float (None if it is not finite), a time as ISO 8601, all else as text."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if type(value).__name__ == "datetime64":
        return str(value.astype("datetime64[s]"))
    if isinstance(value, str):
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else None


def _rounded(value):
    number = float(f"{float(value):.{_DIGITS}g}")
    return number if math.isfinite(number) else None


# ---------------------------------------------------------------- elements


def _points(xs, ys, room):
    _take(room, len(xs))
    return [(_plain(x), _plain(y)) for x, y in zip(xs, ys)]


def _lines(axes, chart, room):
    found = []
    for line in axes.get_lines():
        if not _is_rule(line):
            label = str(line.get_label())
            number = label.removeprefix("_child")
            label = f"Line {number}" if number != label else label
            found.append({"label": label, "points": _points(line.get_xdata(), line.get_ydata(), room)})
    return {"elements": found}


def _scattered(axes, chart, room):
    found = []
    for collection in axes.collections:
        offsets = collection.get_offsets()
        found.append({"label": str(collection.get_label()), "points": _points(offsets[:, 0], offsets[:, 1], room)})
    return {"elements": found}


def _bars(axes, chart, room):
    from matplotlib.container import BarContainer

    found = []
    containers = [each for each in axes.containers if isinstance(each, BarContainer)]
    lying = bool(containers) and containers[0].orientation == "horizontal"
    if lying:
        _turn(chart)
    names = _names_at(axes.yaxis if lying else axes.xaxis)
    for container in containers:
        group = str(container.get_label())
        number = group.removeprefix("_container")
        group = f"Group {number}" if number != group else group
        _take(room, len(container))
        for bar in container:
            at = bar.get_y() + bar.get_height() / 2 if lying else bar.get_x() + bar.get_width() / 2
            found.append({"label": names(at), "group": group, "value": _rounded(bar.get_width() if lying else bar.get_height())})
    return {"elements": found, **{name: chart[name] for name in ("x_label", "y_label", "x_unit", "y_unit")}}


def _names_at(axis):
    """The function that gives the label of the tick next to a position."""
    ticks = [(float(tick), label.get_text()) for tick, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels())]

    def name(position):
        return min(ticks, key=lambda tick: abs(tick[0] - position))[1] if ticks else str(_rounded(position))

    return name


def _wedges(axes, chart, room):
    _take(room, len(axes.patches))
    return {"elements": [
        {"label": str(wedge.get_label()), "angle": _angle(wedge), "radius": _rounded(wedge.r)} for wedge in axes.patches
    ]}  # fmt: skip


def _angle(wedge):
    # Angles are kept in 32 bits.
    return float(f"{abs(wedge.theta2 - wedge.theta1):.6g}")


def _boxes(axes, chart, room):
    lines = [(list(map(float, line.get_xdata(orig=False))), list(map(float, line.get_ydata(orig=False)))) for line in axes.lines]
    _take(room, sum(len(x) for x, _ in lines) + len(axes.patches))
    extents = [box.get_path().get_extents() for box in axes.patches]
    lying = not any(_is_whisker(box, x, y) for x, y in lines for box in extents)
    if lying:
        _turn(chart)
        lines = [(y, x) for x, y in lines]
    names = _names_at(axes.yaxis if lying else axes.xaxis)
    found = []
    for box in extents:
        (left, right), (low, high) = ((box.y0, box.y1), (box.x0, box.x1)) if lying else ((box.x0, box.x1), (box.y0, box.y1))
        shown = {"label": names((left + right) / 2), "min": low, "first_quartile": low, "median": low, "third_quartile": high, "max": high}
        outliers = []
        for along, values in lines:
            if not along or not all(left <= each <= right for each in along):
                continue
            if len(along) == 2 and along[0] == along[1]:
                shown["min"], shown["max"] = min(shown["min"], *values), max(shown["max"], *values)
            elif len(along) == 2 and values[0] == values[1]:
                if low <= values[0] <= high and math.isclose(along[0], left) and math.isclose(along[1], right):
                    shown["median"] = values[0]
            else:
                outliers += values
        shown = {name: value if name == "label" else _rounded(value) for name, value in shown.items()}
        found.append(shown | {"outliers": sorted(map(_rounded, outliers))})
    return {"elements": found, **{name: chart[name] for name in ("x_label", "y_label", "x_unit", "y_unit")}}


def _is_whisker(box, x, y):
    """Returns whether a line goes up or down from the middle of a box that stands upright."""
    if len(x) != 2 or x[0] != x[1] or not box.x0 < x[0] < box.x1:
        return False
    return math.isclose(max(y), box.y0) or math.isclose(min(y), box.y1)


def _nothing(axes, chart, room):
    return {"elements": []}


_ELEMENTS = {"line": _lines, "scatter": _scattered, "bar": _bars, "pie": _wedges, "box_and_whisker": _boxes, "unknown": _nothing}
