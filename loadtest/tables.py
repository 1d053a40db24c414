"""Speed of pandas, SciPy and scikit-learn in the image `data` against the same versions natively, as a table.

    python3 loadtest/tables.py --server http://127.0.0.1:8080 --python NATIVE_PYTHON

Each line is the best of several; natively one thread calculates, as here. `--imports` measures instead what imports cost in a
fresh run, in fuel and CPU beyond `pass`."""

import argparse
import statistics

import beside_native

PROGRAM = '''
import io, json, time
import numpy as np
import pandas as pd
import scipy.linalg, scipy.optimize, scipy.signal, scipy.sparse, scipy.sparse.linalg, scipy.spatial, scipy.stats, scipy.integrate
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
rng = np.random.default_rng(0)
n = 100_000
frame = pd.DataFrame({
    "key": rng.integers(0, 1000, n), "name": rng.choice(["red", "green", "blue", "white"], n), "x": rng.random(n), "y": rng.normal(size=n),
    "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365 * 24 * 60, n), unit="min"),
})
other = pd.DataFrame({"key": np.arange(1000), "weight": rng.random(1000)})
text = frame.head(20_000).to_csv(index=False)
X = rng.normal(size=(2000, 20))
labels = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
A = rng.random((200, 200))
S = scipy.sparse.random(2000, 2000, 0.002, format="csc", random_state=0) + scipy.sparse.identity(2000, format="csc") * 4
signal = rng.normal(size=50_000)
points = rng.random((5000, 3))
filter_ = scipy.signal.butter(4, 0.2)
WORK = {
    "pandas: read_csv, 20 000 rows": (lambda: pd.read_csv(io.StringIO(text), parse_dates=["day"]), 3),
    "pandas: to_csv, 20 000 rows": (lambda: frame.head(20_000).to_csv(index=False), 2),
    "pandas: groupby a number, mean of two columns": (lambda: frame.groupby("key")[["x", "y"]].mean(), 5),
    "pandas: groupby a text, agg of three functions": (lambda: frame.groupby("name")["x"].agg(["mean", "std", "max"]), 5),
    "pandas: merge with 1000 rows": (lambda: frame.merge(other, on="key"), 5),
    "pandas: sort_values by two columns": (lambda: frame.sort_values(["key", "x"]), 3),
    "pandas: pivot_table": (lambda: frame.pivot_table(index="key", columns="name", values="x", aggfunc="sum"), 3),
    "pandas: resample by day": (lambda: frame.set_index("day")["x"].resample("D").mean(), 3),
    "pandas: rolling mean of 50": (lambda: frame["x"].rolling(50).mean(), 5),
    "pandas: str.upper and contains": (lambda: frame["name"].str.upper().str.contains("RE"), 3),
    "pandas: apply a function to 10 000 values": (lambda: frame["x"].head(10_000).apply(lambda x: x * 2 + 1), 3),
    "pandas: describe": (lambda: frame.describe(), 3),
    "SciPy: linalg.lu_factor, 200 x 200": (lambda: scipy.linalg.lu_factor(A), 5),
    "SciPy: sparse spsolve, 2000 unknowns": (lambda: scipy.sparse.linalg.spsolve(S, np.ones(2000)), 3),
    "SciPy: optimize.minimize, Rosenbrock, BFGS": (lambda: scipy.optimize.minimize(scipy.optimize.rosen, [1.3, 0.7, 0.8, 1.9, 1.2]), 3),
    "SciPy: integrate.quad of a Python function": (lambda: scipy.integrate.quad(lambda x: np.exp(-x * x), -np.inf, np.inf), 5),
    "SciPy: signal.lfilter, 50 000 samples": (lambda: scipy.signal.lfilter(*filter_, signal), 5),
    "SciPy: cKDTree, 5000 points, nearest 5": (lambda: scipy.spatial.cKDTree(points).query(points, 5), 3),
    "SciPy: stats.ttest_ind, 50 000 each": (lambda: scipy.stats.ttest_ind(signal, frame["y"][:50_000].to_numpy()), 5),
    "scikit-learn: LinearRegression, 2000 x 20": (lambda: LinearRegression().fit(X, X[:, 0]), 5),
    "scikit-learn: LogisticRegression": (lambda: LogisticRegression().fit(X, labels), 3),
    "scikit-learn: DecisionTreeClassifier": (lambda: DecisionTreeClassifier(random_state=0).fit(X, labels), 3),
    "scikit-learn: RandomForestClassifier, 20 trees": (lambda: RandomForestClassifier(20, random_state=0).fit(X, labels), 2),
    "scikit-learn: KMeans, 5 clusters": (lambda: KMeans(5, n_init=3, random_state=0).fit(X), 2),
    "scikit-learn: PCA to 5": (lambda: PCA(5).fit_transform(X), 5),
    "scikit-learn: StandardScaler": (lambda: StandardScaler().fit_transform(X), 5),
}
def best(function, rounds):
    function()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times) * 1e3
print(json.dumps({name: best(*work) for name, work in WORK.items()}))
'''

IMPORTS = (
    "pandas", "matplotlib.pyplot", "sklearn", "sklearn.linear_model", "sklearn.ensemble", "scipy.stats", "seaborn", "nltk",
    "lxml.etree", "PIL.Image", "statsmodels.api", "wordcloud",
)  # fmt: skip


REQUEST = {"image": "data", "limits": {"wall_seconds": 600, "fuel": 10**13, "memory_bytes": 2**30}}


def measure_imports(server):
    def cost(code):
        answers = [beside_native.execute(server, {"code": code, **REQUEST}) for _ in range(9)]
        return statistics.median(each["fuel_used"] for each in answers), statistics.median(each["cpu_seconds"] for each in answers) * 1e3

    base = cost("pass")
    print("| import | fuel beyond `pass` | CPU beyond `pass`, ms |\n| --- | ---: | ---: |")
    for name in IMPORTS:
        fuel, cpu = cost(f"import {name}")
        print(f"| `import {name}` | {fuel - base[0]:,.0f} | {cpu - base[1]:.2f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--python")
    parser.add_argument("--imports", action="store_true")
    arguments = parser.parse_args()
    if arguments.imports:
        measure_imports(arguments.server)
        return
    ratios = beside_native.print_table(beside_native.compare(arguments.server, arguments.python, PROGRAM, **REQUEST), 1)
    print(f"median of the ratios: {statistics.median(ratios):.1f}")


if __name__ == "__main__":
    main()
