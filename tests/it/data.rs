//! The image `data`, which is not built for tests. Where a cache with it is at hand (`PROOFBOX_DATA_CACHE`, the
//! directory of `proofbox runtime build --interpreter data --cache-dir DIRECTORY`), it is tried here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::clients;
use crate::harness::{Server, assert_shows};
use crate::tools::succeed;

/// A server with both images, or `None` with a note where the cache is not at hand.
fn server() -> Option<Server> {
    let Some(cache) = std::env::var_os("PROOFBOX_DATA_CACHE") else {
        eprintln!("PROOFBOX_DATA_CACHE is not set: the image `data` is not tried");
        return None;
    };
    Some(Server::start_with(&["--workers", "1"], |command| {
        command.env("PROOFBOX_CACHE_DIR", cache).env_remove("PROOFBOX_IMAGE");
    }))
}

#[tokio::test]
async fn a_program_runs_in_the_smallest_image_that_has_its_imports() {
    let Some(server) = server() else { return };
    let code = "import pandas as pd\nprint(pd.DataFrame({'a': [1, 2]}).a.sum())";
    let answer = server.execute(json!({"code": code})).await;
    let runtime = json!({"image": "data", "image_reason": "imports: pandas"});
    assert_shows(&answer, json!({"status": "ok", "stdout": "3\n", "stderr": "", "runtime": runtime}));
    let answer = server.execute(json!({"code": "print(__import__('PI' + 'L').__name__)"})).await;
    let runtime = json!({"image": "data", "image_reason": "missing at run time: PIL"});
    assert_shows(&answer, json!({"stdout": "PIL\n", "runtime": runtime}));
    let answer = server.execute(json!({"code": "import numpy"})).await;
    assert_shows(&answer, json!({"status": "ok", "runtime": {"image": "default", "image_reason": "default"}}));
    let tests = json!({"kind": "asserts", "asserts": ["mean([1, 2, 3]) == 2", "assert mean([1, 2, 6]) == 3"]});
    let code = "import pandas as pd\ndef mean(items):\n    return float(pd.Series(items).mean())";
    let answer = server.execute(json!({"code": code, "tests": tests})).await;
    assert_shows(&answer, json!({"status": "passed", "tests_passed": 2, "integrity": {"level": "isolated"}}));
}

#[tokio::test]
async fn a_program_has_the_same_memory_in_every_image() {
    let Some(server) = server() else { return };
    for image in ["default", "data"] {
        for (mebibytes, class) in [(210, "none"), (260, "memory_limit")] {
            let code = format!("held = [bytes((1 << 20) - 64) for _ in range({mebibytes})]");
            let answer = server.execute(json!({"code": code, "image": image})).await;
            assert_shows(&answer, json!({"stderr_class": class, "runtime": {"image": image}}));
            let peak = answer["peak_memory_bytes"].as_u64().expect("a number");
            assert!(peak <= 352_321_536, "{image}: {peak}");
        }
    }
}

#[tokio::test]
async fn models_are_fitted_and_texts_are_read() {
    let Some(server) = server() else { return };
    let code = r#"
import numpy as np
import pandas as pd
from Levenshtein import distance, ratio
from nltk import pos_tag, word_tokenize
from nltk.corpus import stopwords
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.tsa.arima.model import ARIMA
from textblob import TextBlob
from wordcloud import WordCloud
iris = load_iris()
print(cross_val_score(RandomForestClassifier(10, random_state=0), iris.data, iris.target).mean() > 0.9)
x = np.arange(20.0)
fit = sm.OLS(3 * x + 1 + np.sin(x), sm.add_constant(x)).fit()
print(fit.params.round(3).tolist(), fit.rsquared > 0.99)
print(smf.ols("y ~ x", pd.DataFrame({"x": x, "y": 2 * x + np.cos(x)})).fit().params.round(3).to_dict())
print(ARIMA(np.cumsum(np.sin(x)), order=(1, 0, 0)).fit().forecast(2).shape)
print(distance("kitten", "sitting"), round(ratio("kitten", "sitting"), 4))
print(pos_tag(word_tokenize("The dog runs.")), "the" in stopwords.words("english"), TextBlob("a great day").sentiment.polarity)
print(WordCloud(width=80, height=40, random_state=1).generate("one two two three three three").to_array().shape)
"#;
    let answer = server.execute(json!({"code": code, "limits": {"wall_seconds": 120}})).await;
    let stdout = "\
True
[1.239, 2.975] True
{'Intercept': 0.039, 'x': 2.002}
(2,)
3 0.6154
[('The', 'DT'), ('dog', 'NN'), ('runs', 'VBZ'), ('.', '.')] True 0.8
(40, 80, 3)
";
    assert_shows(&answer, json!({"status": "ok", "stdout": stdout, "runtime": {"image": "data"}}));
}

#[tokio::test]
async fn a_session_shows_figures_and_tables_and_moves() {
    let Some(server) = server() else { return };
    let (_, session) = server.post("/v1/sessions", &json!({"image": "data"})).await;
    assert_shows(&session["runtime"], json!({"image": "data"}));
    let call = async |id: &Value, code: &str| {
        let path = format!("/v1/sessions/{}/execute", id.as_str().expect("text"));
        server.post(&path, &json!({"code": code})).await.1
    };
    let id = session["id"].clone();
    let answer = call(&id, "import pandas as pd\ntable = pd.DataFrame({'a': [1, 2]})\ntable").await;
    let html = answer["displays"][0]["data"]["text/html"].as_str().expect("text");
    assert!(html.contains("<table"), "{answer}");
    for end in ["plt.show()", ""] {
        let answer = call(&id, &format!("import matplotlib.pyplot as plt\nlines = plt.plot([1, 3, 2])\n{end}")).await;
        let png = answer["displays"][0]["data"]["image/png"].as_str().unwrap_or_default();
        let png = STANDARD.decode(png).expect("base64");
        assert!(png.starts_with(b"\x89PNG") && png.len() > 5000, "{answer}");
        assert_eq!((answer["stderr"].as_str(), answer["displays"].as_array().map(Vec::len)), (Some(""), Some(1)));
    }
    let path = |what: &str| format!("/v1/sessions/{}/{what}", id.as_str().expect("text"));
    let (status, checkpoint) = server.post(&path("checkpoints"), &json!({})).await;
    assert_eq!(status, 201, "{checkpoint}");
    let (status, resumed) = server.post("/v1/sessions", &json!({"from_checkpoint": checkpoint["id"]})).await;
    assert_eq!((status, &resumed["runtime"]["image"]), (201, &json!("data")), "{resumed}");
    assert_shows(&call(&resumed["id"], "print(table.a.sum())").await, json!({"stdout": "3\n"}));
    let (status, forks) = server.post(&path("fork"), &json!({})).await;
    assert_eq!(status, 201, "{forks}");
    assert_shows(&call(&forks["sessions"][0]["id"], "print(len(table))").await, json!({"stdout": "2\n"}));
    let asked = json!({"from_checkpoint": checkpoint["id"], "image": "default"});
    assert_eq!(server.post("/v1/sessions", &asked).await.0, 409);
}

#[tokio::test]
async fn frames_and_figures_of_a_candidate_are_graded_isolated() {
    const TESTS: &str = r#"
import unittest
import matplotlib.pyplot as plt
import pandas as pd
from solution import *

class Tests(unittest.TestCase):
    def test_frame(self):
        made = make(3)
        self.assertIsInstance(made, pd.DataFrame)
        index = pd.date_range("2024-01-31", periods=3, freq="D", tz="Europe/Paris", name="day")
        kinds = pd.Categorical(["a", "b", "a"], ordered=True)
        wanted = pd.DataFrame({"n": [0, 1, 2], "kind": kinds, "gap": pd.array([1, None, 3], "Int64")}, index=index)
        pd.testing.assert_frame_equal(made, wanted)
    def test_argument_is_changed(self):
        frame = pd.DataFrame({"a": [3, 1]})
        self.assertIsNone(add_double(frame))
        self.assertEqual(list(frame["double"]), [6, 2])
    def test_argument_is_kept(self):
        frame = pd.DataFrame({"a": [3, 1]})
        self.assertEqual(total(frame), 4)
        self.assertEqual(list(frame["a"]), [3, 1])
    def test_figure(self):
        axes = draw([1, 2])
        self.assertIsInstance(axes, plt.Axes)
        self.assertEqual((axes.get_title(), list(axes.lines[0].get_ydata())), ("T", [1, 2]))
        self.assertIs(plt.gca(), axes)
        plt.close("all")
        self.assertEqual(plt.get_fignums(), [])
"#;
    const RIGHT: &str = r#"
import matplotlib.pyplot as plt
import pandas as pd
def make(n):
    index = pd.date_range("2024-01-31", periods=n, freq="D", tz="Europe/Paris", name="day")
    kinds = pd.Categorical(["a", "b", "a"], ordered=True)
    return pd.DataFrame({"n": range(n), "kind": kinds, "gap": pd.array([1, None, 3], "Int64")}, index=index)
def add_double(frame): frame["double"] = frame["a"] * 2
def total(frame): return int(frame.sort_values("a")["a"].sum())
def draw(ys):
    _, axes = plt.subplots()
    axes.plot(ys)
    axes.set_title("T")
    return axes
"#;
    let Some(server) = server() else { return };
    let wrong = [
        ("", 4),
        (
            "class Frame(pd.DataFrame):\n    def __eq__(self, other): return True\ndef make(n): return Frame({'n': [9]})",
            3,
        ),
        ("class Frame:\n    __class__ = pd.DataFrame\ndef make(n): return Frame()", 3),
        ("pd.testing.assert_frame_equal = lambda *a, **k: None\ndef make(n): return pd.DataFrame({'n': [9]})", 3),
        ("def total(frame):\n    frame.sort_values('a', inplace=True)\n    return 4", 3),
        ("def add_double(frame): pass", 3),
        ("class Axes(plt.Axes):\n    def __init__(self): pass\ndef draw(ys): return Axes()", 3),
    ];
    for (change, passed) in wrong {
        let code = format!("{RIGHT}{change}\n");
        let answer = server.execute(json!({"code": code, "tests": {"kind": "unittest", "source": TESTS}})).await;
        assert_shows(
            &answer,
            json!({"tests_passed": passed, "tests_total": 4, "integrity": {"level": "isolated"}, "runtime": {"image": "data"}}),
        );
    }
}

#[tokio::test]
async fn tables_are_analysed_as_e2bs_cookbook_does_it() {
    let Some(server) = server() else { return };
    let said = tokio::task::spawn_blocking(move || {
        let _turn = clients::TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut command = clients::python("e2b", "cookbook.py", &server);
        clients::e2b(&mut command, &server);
        succeed("the cookbook", &mut command)
    });
    let said = said.await.expect("it ends");
    assert!(said.contains("8 passed, 0 failed"), "{said}");
}
