//! numpy as natively: its types, warnings, errors and randomness.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, run};
use crate::sessions::Session;

#[tokio::test]
async fn numbers_and_types_are_those_of_a_64_bit_machine() {
    let code = "\
import numpy as np
print(np.arange(3).dtype, np.array([1]).sum().dtype, np.int_, np.array([True]).sum().dtype, np.dtype(int), (np.array([True]) + 1).dtype)
print(np.array([2**40, 1]).prod(), np.array([np.nan, 1e300, -1.5]).astype(int))
np.random.seed(0)
print(np.random.randint(0, 100, 5), np.random.rand(), np.random.binomial(10, .5), np.random.randint(5).__class__)
print(np.random.default_rng(42).integers(0, 2**40, 2), np.random.permutation(5).dtype)";
    let stdout = "\
int64 int64 <class 'numpy.int64'> int64 int64 int64
1099511627776 [-9223372036854775808 -9223372036854775808                   -1]
[44 47 64 67 67] 0.8472517387841254 6 <class 'int'>
[850973674774 482551947687] int64
";
    let answer = run(code).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": stdout}));
}

#[tokio::test]
async fn floating_point_errors_are_warned_of_raised_or_left() {
    let code = "\
import numpy as np, warnings
def told(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        function()
    return [str(warning.message) for warning in caught]
one, zero, big = np.array([1.0, 2.0]), np.zeros(2), np.full(2, 1e308)
for function in (
    lambda: one / zero, lambda: zero / zero, lambda: np.log(-one), lambda: np.log(zero), lambda: big * 10, lambda: np.sqrt(-one),
    lambda: np.float64(1) / 0, lambda: np.float32(3e38) * np.float32(10), lambda: np.exp(big), lambda: one.copy().__itruediv__(zero),
    lambda: np.add.reduce(big), lambda: np.array([np.inf, -np.inf]).sum(), lambda: np.array([np.nan]).astype(int), lambda: big.astype('f4'),
    lambda: np.array([1]) // np.array([0]), lambda: (one + 1j) / 0, lambda: np.array([[np.inf]]) @ np.array([[0.0]]),
    lambda: one + np.nan, lambda: np.inf + one, lambda: np.maximum(one, np.nan), lambda: one / np.inf, lambda: np.float16(6e4) * np.float16(2),
):
    print(*told(function), sep='; ')
with np.errstate(all='raise'):
    for function in (lambda: one / zero, lambda: big * big, lambda: np.arcsin(one * 2), lambda: np.array([1e-300]) * 1e-300):
        try: function()
        except FloatingPointError as error: print(error)
with np.errstate(all='ignore'):
    print(told(lambda: one / zero))";
    let stdout = "\
divide by zero encountered in divide
invalid value encountered in divide
invalid value encountered in log
divide by zero encountered in log
overflow encountered in multiply
invalid value encountered in sqrt
divide by zero encountered in scalar divide
overflow encountered in scalar multiply
overflow encountered in exp
divide by zero encountered in divide
overflow encountered in reduce
invalid value encountered in reduce
invalid value encountered in cast
overflow encountered in cast
divide by zero encountered in floor_divide
divide by zero encountered in divide
invalid value encountered in matmul




overflow encountered in scalar multiply
divide by zero encountered in divide
overflow encountered in multiply
invalid value encountered in arcsin
underflow encountered in multiply
[]
";
    assert_shows(&run(code).await, json!({"status": "ok", "stdout": stdout}));
}

#[tokio::test]
async fn errors_are_those_of_elsewhere_and_end_no_interpreter() {
    let code = "\
import numpy as np
for function in (
    lambda: np.linalg.inv(np.zeros((2, 2))), lambda: np.zeros((2**20, 2**20)), lambda: np.ones(3) + np.ones(4), lambda: np.zeros(2**40),
    lambda: np.fft.fft(np.zeros(1_000_003)), lambda: np.unique(np.arange(3 * 2**20)), lambda: np.int8(200), lambda: np.linalg.cholesky(-np.eye(2)),
):
    try: print(type(function()).__name__)
    except Exception as error: print(type(error).__name__, '|', str(error)[:50])
print(np.arange(3).sum())";
    let stdout = "\
LinAlgError | Singular matrix
MemoryError | Unable to allocate 8.00 TiB for an array with shap
ValueError | operands could not be broadcast together with shap
MemoryError | Unable to allocate an array with a dimension of 10
MemoryError | 
MemoryError | 
OverflowError | Python integer 200 out of bounds for int8
LinAlgError | Matrix is not positive definite
3
";
    let answer = Server::shared().execute(json!({"code": code, "limits": {"memory_bytes": 268_435_456_u64}})).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": stdout}));
}

#[tokio::test]
async fn sorting_agrees_with_a_slow_sort() {
    assert_shows(
        &run(include_str!("../numpy/sorting.py")).await,
        json!({"status": "ok", "stdout": "sorted\n", "stderr": ""}),
    );
}

#[tokio::test]
async fn loops_by_vectors_agree_with_numpys_own() {
    assert_shows(
        &run(include_str!("../numpy/loops.py")).await,
        json!({"status": "ok", "stdout": "the same\n", "stderr": ""}),
    );
}

const DRAW: &str = "import numpy as np\nprint(np.random.rand(3).tolist(), np.random.default_rng().random(), np.random.RandomState().rand())";

#[tokio::test]
async fn two_runs_draw_different_numbers_and_two_seeded_ones_the_same() {
    let draw = async |deterministic: Value| {
        let mut request = json!({"code": DRAW});
        if !deterministic.is_null() {
            request["deterministic"] = deterministic;
        }
        let answer = Server::shared().execute(request).await;
        assert_shows(&answer, json!({"status": "ok", "stderr": ""}));
        answer["stdout"].clone()
    };
    assert_ne!(draw(Value::Null).await, draw(Value::Null).await);
    let seeded = draw(json!({"seed": 3})).await;
    assert_eq!(seeded, draw(json!({"seed": 3})).await);
    assert_ne!(seeded, draw(json!({"seed": 4})).await);
}

#[tokio::test]
async fn what_a_program_seeds_stays_as_it_has_seeded_it() {
    let code = "\
import numpy as np
np.random.seed(5)
first = np.random.rand()
from numpy.random import rand, seed
seed(5)
print(first == rand(), np.random.RandomState(5).rand() == first)";
    assert_shows(&run(code).await, json!({"stdout": "True True\n"}));
}

#[tokio::test]
async fn a_checkpoint_resumes_the_same_stream() {
    let session = Session::open().await;
    session.call("import numpy as np\nrng = np.random.default_rng()\nnp.random.rand(5)").await;
    let (status, made) = session.post("/checkpoints", json!({"name": "numpy"})).await;
    assert_eq!(status, 201, "{made}");
    let next = "repr((np.random.rand(3).tolist(), rng.normal(size=2).tolist(), np.random.randint(1000)))";
    let expected = session.value(next).await;
    for _ in 0..2 {
        let resumed = Session::open_on(session.server, json!({"from_checkpoint": made["id"]})).await;
        assert_eq!(resumed.value(next).await, expected);
    }
}

#[tokio::test]
async fn the_tests_seed_is_the_candidates() {
    let code = "import numpy as np\ndef draw():\n    return np.random.randint(0, 100, 5).tolist()";
    let tests =
        "import numpy as np\ndef check(draw):\n    np.random.seed(0)\n    assert draw() == [44, 47, 64, 67, 67]\n";
    let request = json!({"code": code, "tests": {"kind": "check_function", "source": tests, "entry_point": "draw"}});
    assert_shows(&Server::shared().execute(request).await, json!({"status": "passed", "tests_passed": 1}));
}

#[tokio::test]
async fn arrays_cross_to_the_tests_by_value_and_back_when_they_were_changed() {
    let code = "import numpy as np\ndef f(a):\n    a[0] = 9\n    return a * 2, a.sum(), np.array(['x', None], object)";
    let tests = "\
import numpy as np
def check(f):
    given = np.arange(3.0)
    doubled, total, objects = f(given)
    assert type(doubled) is np.ndarray and doubled.tolist() == [18, 2, 4]
    assert type(total) is np.float64 and total == 12
    assert objects.dtype == object and objects.tolist() == ['x', None]
    assert given[0] == 9
";
    let request = json!({"code": code, "tests": {"kind": "check_function", "source": tests, "entry_point": "f"}});
    assert_shows(&Server::shared().execute(request).await, json!({"status": "passed", "tests_passed": 4}));
}
