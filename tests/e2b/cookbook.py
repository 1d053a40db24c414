#!/usr/bin/env python3
"""Runs what E2B's cookbook does with a table, through the unmodified SDK: upload a CSV file, analyse it with pandas,
fit a model, plot, take the chart and the PNG.

  E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_API_KEY=e2b_<40 hex> python3 cookbook.py [FOLDER]

The server needs the image `data`. The pictures are written to FOLDER, if one is given, to be looked at. Prints `N passed, M failed`."""

import base64
import io
import pathlib
import struct
import sys
import traceback

from e2b_code_interpreter import Sandbox

FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
CSV = "city,year,population,area\n" + "".join(
    f"{city},{year},{int(start * growth ** (year - 2000))},{area}\n"
    for city, start, growth, area in (("Oslo", 500_000, 1.015, 454), ("Rome", 2_500_000, 1.004, 1285), ("Lima", 7_000_000, 1.017, 2672))
    for year in range(2000, 2025)
)
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def run(sandbox, code):
    execution = sandbox.run_code(code)
    assert execution.error is None, f"{execution.error.name}: {execution.error.value}\n{execution.error.traceback}"
    return execution


def size_of(png):
    """Width and height of a PNG, from base64."""
    content = base64.b64decode(png)
    assert content.startswith(b"\x89PNG\r\n\x1a\n"), content[:16]
    return struct.unpack(">II", content[16:24]), content


def keep(name, content):
    if FOLDER:
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / f"{name}.png").write_bytes(content)


@check
def a_table_is_read_and_shown(sandbox):
    sandbox.files.write("/home/user/cities.csv", CSV)
    result = run(sandbox, "import pandas as pd\nframe = pd.read_csv('/home/user/cities.csv')\nframe.head()").results[0]
    assert "<table" in result.html and "Oslo" in result.text, result
    execution = run(sandbox, "print(frame.groupby('city')['population'].agg(['first', 'last']).to_string())\nint(frame.isna().sum().sum())")
    assert "Lima" in "".join(execution.logs.stdout) and execution.text == "0", execution


@check
def a_line_chart_is_a_picture_and_data(sandbox):
    execution = run(sandbox, """
import matplotlib.pyplot as plt
for city, rows in frame.groupby("city"):
    plt.plot(rows["year"], rows["population"] / 1e6, label=city)
plt.title("Population"); plt.xlabel("Year"); plt.ylabel("Millions"); plt.legend(); plt.grid(True)
plt.show()""")
    (width, height), content = size_of(execution.results[0].png)
    assert width > 300 and height > 200, (width, height)
    keep("lines", content)
    chart = execution.results[0].chart
    assert (chart.title, chart.x_label, chart.y_label, len(chart.elements)) == ("Population", "Year", "Millions", 3), chart.to_dict()
    assert [element.label for element in chart.elements] == ["Lima", "Oslo", "Rome"], chart.to_dict()


@check
def bars_without_show(sandbox):
    execution = run(sandbox, """
latest = frame[frame["year"] == 2024].assign(density=lambda rows: rows["population"] / rows["area"])
axes = latest.plot.bar(x="city", y="density", legend=False)
axes.set_title("Inhabitants of a square kilometre")""")
    pictures = [result for result in execution.results if result.png]
    assert len(pictures) == 1, execution.results
    keep("bars", size_of(pictures[0].png)[1])
    assert len(pictures[0].chart.elements) == 3, pictures[0].chart.to_dict()


@check
def a_heat_map_of_seaborn(sandbox):
    execution = run(sandbox, """
import seaborn as sns
table = frame.pivot_table(index="city", columns="year", values="population")
sns.heatmap(table.pct_change(axis=1).dropna(axis=1) * 100, cmap="viridis")
plt.show()""")
    keep("heat_map", size_of(execution.results[0].png)[1])


@check
def a_model_is_fitted_and_judged(sandbox):
    execution = run(sandbox, """
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.metrics import r2_score
rows = frame[frame["city"] == "Oslo"]
X_train, X_test, y_train, y_test = train_test_split(rows[["year"]], rows["population"], random_state=0)
model = LinearRegression().fit(X_train, y_train)
print(round(r2_score(y_test, model.predict(X_test)), 2))
plt.scatter(rows["year"], rows["population"]); plt.plot(rows["year"], model.predict(rows[["year"]]), color="red"); plt.show()""")
    assert float("".join(execution.logs.stdout)) > 0.9, execution.logs
    keep("model", size_of(execution.results[0].png)[1])


@check
def a_saved_figure_is_downloaded(sandbox):
    run(sandbox, "figure, axes = plt.subplots()\naxes.pie([1, 2, 3], labels=list('abc'))\nfigure.savefig('/home/user/pie.png')\nplt.close(figure)")
    content = bytes(sandbox.files.read("/home/user/pie.png", format="bytes"))
    assert content.startswith(b"\x89PNG"), content[:8]
    keep("pie", content)


@check
def a_workbook_goes_out_and_comes_back(sandbox):
    run(sandbox, "frame.to_excel('/home/user/cities.xlsx', index=False)\npd.testing.assert_frame_equal(pd.read_excel('/home/user/cities.xlsx'), frame)")
    content = bytes(sandbox.files.read("/home/user/cities.xlsx", format="bytes"))
    assert io.BytesIO(content).read(2) == b"PK", content[:4]


@check
def a_mistake_is_told_with_its_line(sandbox):
    error = sandbox.run_code("frame['nothing']").error
    assert error.name == "KeyError" and "nothing" in error.value and "frame['nothing']" in error.traceback, error


def main():
    failed = 0
    with Sandbox.create(timeout=300) as sandbox:
        for function in CHECKS:
            try:
                function(sandbox)
                print("ok", function.__name__)
            except Exception:
                failed += 1
                print("FAIL", function.__name__)
                traceback.print_exc()
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
