//! Images of one's own: made from wheels, several beside each other, named by requests and sessions.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::control_plane::KEY;
use crate::harness::{Server, assert_shows, http, proofbox};
use crate::scratch;

/// A cache with the interpreter of the shared server and two images: `one` and `two`.
struct Workshop {
    directory: tempfile::TempDir,
}

/// The images are made once; no test changes them.
static MADE: LazyLock<Workshop> = LazyLock::new(|| {
    let workshop = Workshop::new();
    let attrs = [("attr/__init__.py", "OWN = True"), ("attr/only.py", "")];
    let greeting = |version: &str| {
        [
            ("greet/__init__.py", format!("from .words import WORD\nVERSION = {version:?}\n")),
            (
                "greet/words.py",
                "import os\nWORD = open(os.path.join(os.path.dirname(__file__), 'word.txt')).read()\n".to_owned(),
            ),
            ("greet/word.txt", format!("hello {version}")),
            ("greet/tests/test_it.py", "raise SystemExit".to_owned()),
            ("greet/template.py", "{{ no python }}".to_owned()),
        ]
    };
    for (name, version) in [("one", "1.0"), ("two", "2.0")] {
        let files = greeting(version);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let mut wheels = vec![workshop.wheel(&format!("{name}/greet-{version}-py3-none-any.whl"), &files)];
        if name == "two" {
            wheels.push(workshop.wheel("two/attrs-0.1-py3-none-any.whl", &attrs));
            wheels.push(
                workshop.wheel("two/broken-1-py3-none-any.whl", &[("broken.py", "import ssl_that_is_not_there")]),
            );
        }
        // A directory, or its wheels one by one.
        let packages = if name == "one" { vec![workshop.path("one")] } else { wheels };
        let output = workshop.build(name, &packages);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let warned = "Not importable here: broken (ModuleNotFoundError: No module named 'ssl_that_is_not_there'";
        assert_eq!(stderr.contains(warned), name == "two", "{stderr}");
    }
    workshop
});

impl Workshop {
    fn new() -> Self {
        // Starting a server makes the interpreter where there is none.
        let _ = Server::shared();
        let output = proofbox(&["runtime", "info", "--json"]).output().expect("the binary was built");
        let info: Value = serde_json::from_slice(&output.stdout).expect("there is an image");
        let compiled = PathBuf::from(info["compiled"].as_str().expect("a path"));
        let runtime = compiled.parent().expect("a directory");
        let directory = tempfile::tempdir_in(scratch::directory()).expect("a directory");
        let runtimes = directory.path().join("cache/runtimes");
        std::fs::create_dir_all(&runtimes).expect("a directory");
        // It alone: whoever has built other interpreters has the same tests.
        std::os::unix::fs::symlink(runtime, runtimes.join(runtime.file_name().expect("a name"))).expect("a link");
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A wheel with these files.
    fn wheel(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        const WRITE: &str = "
import json, sys, zipfile
path, files = sys.argv[1], json.loads(sys.argv[2])
name, version = path.rsplit('/', 1)[1].split('-')[:2]
about = f'{name}-{version}.dist-info/'
files[about + 'METADATA'] = f'Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n'
files[about + 'WHEEL'] = 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'
files[about + 'RECORD'] = ''
with zipfile.ZipFile(path, 'w') as wheel:
    for file, text in files.items():
        wheel.writestr(file, text)
";
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        let files: serde_json::Map<_, _> = files.iter().map(|(path, text)| ((*path).to_owned(), json!(text))).collect();
        let mut python = Command::new("python3");
        python.args(["-c", WRITE]).arg(&path).arg(Value::from(files).to_string());
        assert!(python.status().expect("python3 is there").success());
        path
    }

    fn proofbox(&self, arguments: &[&str]) -> Output {
        let mut command = proofbox(arguments);
        command.env("PROOFBOX_CACHE_DIR", self.path("cache")).env_remove("PROOFBOX_IMAGE");
        command.output().expect("the binary was built")
    }

    fn build(&self, name: &str, packages: &[PathBuf]) -> Output {
        let mut arguments = vec!["runtime", "build", "--name", name];
        for path in packages {
            arguments.extend(["--packages", path.to_str().expect("UTF-8")]);
        }
        self.proofbox(&arguments)
    }

    /// What is said when an image can't be made of this.
    fn refused(&self, packages: &Path) -> String {
        let output = self.build("refused", &[packages.to_owned()]);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn server(&self) -> Server {
        Server::start_with(&["--workers", "1"], |command| {
            command.env("PROOFBOX_CACHE_DIR", self.path("cache")).env_remove("PROOFBOX_IMAGE");
        })
    }
}

const GREET: &str =
    "import greet, attr\nprint(greet.VERSION, greet.WORD, hasattr(attr, 'OWN'), hasattr(attr, 'define'))";

#[tokio::test]
async fn several_images_live_side_by_side() {
    let server = MADE.server();
    let (_, text) = server.get("/v1/runtime").await;
    let runtime: Value = serde_json::from_str(&text).expect("JSON");
    let images = runtime["images"].as_array().expect("a list");
    assert_eq!(images.len(), 3, "{runtime}");
    assert_shows(&images[0], json!({"names": ["default"], "image_hash": runtime["image_hash"]}));
    let named = |name: &str| images.iter().find(|image| image["names"] == json!([name])).expect("it is listed");
    assert_shows(&named("one")["packages"], json!({"greet": "1.0", "attrs": runtime["packages"]["attrs"]}));
    assert_shows(&named("two")["packages"], json!({"greet": "2.0", "attrs": "0.1"}));

    let mut hashes = vec![runtime["image_hash"].clone()];
    for (name, stdout) in [("one", "1.0 hello 1.0 False True\n"), ("two", "2.0 hello 2.0 True False\n")] {
        let hash = &named(name)["image_hash"];
        for asked in [json!(name), hash.clone()] {
            let answer = server.execute(json!({"code": GREET, "image": asked})).await;
            let runtime = json!({"image_hash": hash, "packages_hash": named(name)["packages_hash"]});
            assert_shows(&answer, json!({"status": "ok", "stdout": stdout, "stderr": "", "runtime": runtime}));
        }
        assert!(!hashes.contains(hash));
        hashes.push(hash.clone());
    }
    // Of a package that was replaced nothing is left; neither are its tests.
    let code = "import importlib.util as u\nprint([u.find_spec(name) is None for name in ('attr._make', 'greet.tests', 'attr.only')])";
    let answer = server.execute(json!({"code": code, "image": "two"})).await;
    assert_shows(&answer, json!({"stdout": "[True, True, False]\n"}));
    let answer = server.execute(json!({"code": GREET, "image": "default"})).await;
    let runtime = json!({"image": "default", "image_reason": "requested", "image_hash": hashes[0]});
    assert_shows(&answer, json!({"stderr_class": "missing_dependency", "runtime": runtime}));
}

#[tokio::test]
async fn an_image_is_chosen_by_what_is_imported() {
    let server = MADE.server();
    let script = |source: &str| json!({"kind": "script", "source": source});
    let run_time = "name = 'gre' + 'et'\nprint(__import__(name).VERSION)";
    let cases = [
        (json!({"code": "print(1)"}), "default", "default"),
        (json!({"code": "import json, numpy, nowhere_to_be_found"}), "default", "default"),
        // The smallest that has them all.
        (json!({"code": "from greet.words import WORD"}), "one", "imports: greet"),
        (json!({"code": "import broken, greet"}), "two", "imports: broken, greet"),
        (json!({"code": "x = 1", "tests": script("import greet")}), "one", "imports: greet"),
        (json!({"code": "import m", "files": {"m.py": "import greet"}}), "one", "imports: greet"),
        (json!({"code": run_time, "image": "auto"}), "one", "missing at run time: greet"),
        (json!({"code": "x = 1", "tests": script(run_time)}), "one", "missing at run time: greet"),
        // The program's own module is no package.
        (json!({"code": "import greet", "files": {"greet.py": ""}}), "default", "default"),
        (json!({"code": "import greet", "image": "two"}), "two", "requested"),
    ];
    for (request, image, reason) in cases {
        let answer = server.execute(request.clone()).await;
        assert_shows(&answer["runtime"], json!({"image": image, "image_reason": reason}));
        let fails = request["code"].as_str().is_some_and(|code| code.contains("nowhere") || code.contains("broken"));
        let expected =
            if fails { json!("error") } else { json!(["ok", "passed"][usize::from(answer["tests_total"] == 1)]) };
        assert_eq!(answer["status"], expected, "{request}: {answer}");
    }
    // What is told of hidden tests is not what they import.
    let hidden = json!({"code": "x = 1", "tests": script("import greet"), "visibility": "hidden"});
    assert_shows(&server.execute(hidden).await["runtime"], json!({"image": "one", "image_reason": "imports"}));
    // An interpreter that was not built is named, and nothing else changes.
    let answer = server.execute(json!({"code": "import pandas"})).await;
    let reason = answer["runtime"]["image_reason"].as_str().expect("text");
    assert!(reason.starts_with("default: pandas is in the image `data`, which was not built"), "{answer}");
    assert_shows(&answer, json!({"stderr_class": "missing_dependency", "runtime": {"image": "default"}}));
    // A program that says what CPython would is run once more, and not again.
    let lie = "raise ModuleNotFoundError(\"No module named 'greet'\", name='greet')";
    let answer = server.execute(json!({"code": lie})).await;
    assert_shows(&answer, json!({"stderr_class": "missing_dependency", "runtime": {"image": "one"}}));
    // A session has the default image, unless it names one.
    let (_, session) = server.post("/v1/sessions", &json!({})).await;
    assert_shows(&session["runtime"], json!({"image": "default"}));
}

#[tokio::test]
async fn grading_happens_in_the_image_with_candidate_and_tests() {
    let server = MADE.server();
    let tests = json!({"kind": "check_function", "entry_point": "word",
        "source": "import greet\ndef check(candidate):\n    assert candidate() == greet.WORD\n"});
    let code = "import greet\ndef word():\n    return greet.WORD";
    let item = json!({"id": "a", "code": code, "tests": tests, "image": "one"});
    let request = json!({"items": [item], "defaults": {"receipt": true}});
    let (status, answer) = server.post("/v1/suites", &request).await;
    assert_eq!(status, 200, "{answer}");
    let answer = server.execute(json!({"code": code, "tests": tests, "image": "one", "receipt": true})).await;
    assert_shows(&answer, json!({"status": "passed", "tests_passed": 1, "integrity": {"level": "isolated"}}));
    let receipt = &answer["receipt"];
    assert_eq!(receipt["payload"]["image_hash"], answer["runtime"]["image_hash"], "{receipt}");
    let answer = server.execute(json!({"code": code, "tests": tests, "image": "default"})).await;
    assert_shows(&answer, json!({"status": "failed", "stderr_class": "missing_dependency"}));
    let request = json!({"items": [{"id": "a", "code": code, "tests": tests}]});
    let (_, answer) = server.post("/v1/suites", &request).await;
    assert!(answer.to_string().contains("imports: greet"), "{answer}");
}

#[tokio::test]
async fn an_image_that_is_not_there_is_refused_by_field() {
    let server = MADE.server();
    let unknown = json!({"error": {"code": "unknown_image", "field": "image",
        "message": "there is no image `three`; there are: default, one, two"}});
    for (path, request) in
        [("/v1/execute", json!({"code": "1", "image": "three"})), ("/v1/sessions", json!({"image": "three"}))]
    {
        let (status, answer) = server.post(path, &request).await;
        assert_eq!(status, 422, "{answer}");
        assert_shows(&answer, unknown.clone());
    }
    let items = json!({"items": [{"id": "a", "code": "1"}, {"id": "b", "code": "1", "image": "three"}]});
    let (status, answer) = server.post("/v1/suites", &items).await;
    assert_eq!(status, 422, "{answer}");
    assert_shows(&answer, json!({"error": {"code": "unknown_image", "field": "items[1].image"}}));
    let (status, answer) = server.post("/v1/execute", &json!({"code": "1", "image": "x".repeat(100_000)})).await;
    assert!(status == 422 && answer.to_string().len() < 1000);
}

#[tokio::test]
async fn a_session_stays_in_its_image() {
    let data = tempfile::tempdir().expect("a directory");
    let start = || {
        Server::start_with(&["--workers", "1"], |command| {
            command.env("PROOFBOX_CACHE_DIR", MADE.path("cache")).env_remove("PROOFBOX_IMAGE");
            command.env("PROOFBOX_DATA_DIR", data.path());
        })
    };
    let server = start();
    let call = async |server: &Server, id: &Value, code: &str| {
        let path = format!("/v1/sessions/{}/execute", id.as_str().expect("text"));
        server.post(&path, &json!({"code": code})).await.1
    };
    let open = async |server: &Server, request: Value| server.post("/v1/sessions", &request).await;
    let (_, session) = open(&server, json!({"image": "one"})).await;
    let id = session["id"].clone();
    let hash = session["runtime"]["image_hash"].clone();
    let answer = call(&server, &id, "import greet\nx = greet.WORD\nprint(x)").await;
    assert_shows(&answer, json!({"stdout": "hello 1.0\n", "runtime": {"image_hash": hash}}));

    let path = format!("/v1/sessions/{}/checkpoints", id.as_str().expect("text"));
    let (_, checkpoint) = server.post(&path, &json!({})).await;
    assert_eq!(checkpoint["image_hash"], hash);
    let from = |image: &str| json!({"from_checkpoint": checkpoint["id"], "image": image});
    let (status, answer) = open(&server, from("two")).await;
    assert_eq!(status, 409, "{answer}");
    assert_shows(&answer, json!({"error": {"code": "checkpoint_of_another_image"}}));
    for request in [from("one"), json!({"from_checkpoint": checkpoint["id"]})] {
        let (status, resumed) = open(&server, request).await;
        assert_eq!(status, 201, "{resumed}");
        assert_eq!(resumed["runtime"]["image_hash"], hash);
        // What it has not imported yet comes from the same image.
        let answer = call(&server, &resumed["id"], "import greet.words\nprint(x, greet.VERSION)").await;
        assert_shows(&answer, json!({"stdout": "hello 1.0 1.0\n"}));
    }
    // Neither is a session put back to a checkpoint of another image.
    let (_, other) = open(&server, json!({"image": "two"})).await;
    let path = format!("/v1/sessions/{}/restore", other["id"].as_str().expect("text"));
    let (status, answer) = server.post(&path, &json!({"checkpoint": checkpoint["id"]})).await;
    assert_eq!(status, 409, "{answer}");

    // The service ends, and its sessions wait on disk.
    // SAFETY: the process is ours, and lives.
    unsafe { libc::kill(server.pid().cast_signed(), libc::SIGTERM) };
    server.ended().await;
    let server = start();
    let answer = call(&server, &id, "from greet.words import WORD\nprint(x, WORD)").await;
    assert_shows(&answer, json!({"stdout": "hello 1.0 hello 1.0\n", "runtime": {"image_hash": hash}}));
}

#[tokio::test]
async fn a_sandbox_of_the_sdks_has_the_image_that_its_template_names() {
    let server = MADE.server();
    let make = async |template: &str| {
        let request = http().post(format!("{}/v2/sandboxes", server.url)).json(&json!({"templateID": template}));
        let response = request.header("x-api-key", KEY).send().await.expect("the server answers");
        (response.status().as_u16(), response.json::<Value>().await.expect("JSON"))
    };
    let (status, made) = make("one").await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(made["templateID"], "one");
    let (_, list) = server.get("/v1/sessions").await;
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let (_, runtime) = server.get("/v1/runtime").await;
    let runtime: Value = serde_json::from_str(&runtime).expect("JSON");
    let own =
        runtime["images"].as_array().and_then(|images| images.iter().find(|image| image["names"] == json!(["one"])));
    assert_eq!(list["sessions"][0]["runtime"]["image_hash"], own.expect("it is listed")["image_hash"]);
    assert_eq!(make("three").await.0, 404);
}

#[test]
fn the_command_line_runs_in_an_image() {
    let file = MADE.path("greet.py");
    std::fs::write(&file, GREET).expect("a file");
    let output = MADE.proofbox(&["run", "--image-name", "two", file.to_str().expect("UTF-8")]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2.0 hello 2.0 True False\n", "{output:?}");
    let output = MADE.proofbox(&["run", file.to_str().expect("UTF-8")]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1.0 hello 1.0 False True\n", "{output:?}");
    let output = MADE.proofbox(&["run", "--image-name", "three", file.to_str().expect("UTF-8")]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && stderr.contains("there is no image `three`; there are: default, one, two"),
        "{stderr}"
    );
}

#[test]
fn what_can_not_be_in_an_image_is_refused_by_name() {
    let workshop = Workshop::new();
    let plain = [("a.py", "")];
    let cases = [
        (
            workshop.wheel("a/fast-1-cp313-cp313-manylinux_2_17_x86_64.whl", &plain),
            "fast: it has native code (fast-1-cp313",
        ),
        (workshop.wheel("b/sly-1-py3-none-any.whl", &[("sly/core.so", "")]), "sly: it has native code (sly/core.so)"),
        (
            workshop.wheel("c/numpy-9-py3-none-any.whl", &plain),
            "numpy 9: numpy is part of the interpreter, in version 2.",
        ),
        (workshop.wheel("d/out-1-py3-none-any.whl", &[("../../out.py", "")]), "would lie elsewhere: ../../out.py"),
        (workshop.path("nowhere.txt"), "there is no file "),
        (workshop.path("a/.."), "has no wheels"),
    ];
    for (packages, said) in cases {
        let stderr = workshop.refused(&packages);
        assert!(stderr.contains(said), "{stderr}");
    }
    let damaged = workshop.path("e-1-py3-none-any.whl");
    std::fs::write(&damaged, "no zip").expect("a file");
    assert!(workshop.refused(&damaged).contains("e-1-py3-none-any.whl"));
    let output = workshop.build("No Name", &[workshop.path("a")]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("an image can't be called \"No Name\""));
    let images = String::from_utf8(workshop.proofbox(&["runtime", "list"]).stdout).expect("UTF-8");
    assert_eq!(images.lines().count(), 1, "{images}");
    assert!(!workshop.path("cache/images/work").exists());
}

#[tokio::test]
async fn an_image_is_named_anew_and_removed() {
    let workshop = Workshop::new();
    let list = || String::from_utf8(workshop.proofbox(&["runtime", "list"]).stdout).expect("UTF-8");
    let build = |version: &str| {
        let files = [("thing.py", "VALUE = 1")];
        let wheel = workshop.wheel(&format!("thing-{version}-py3-none-any.whl"), &files);
        let output = workshop.build("mine", &[wheel]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
    };
    let (one, two) = (build("1"), build("2"));
    assert!(one != two && build("2") == two, "the same packages make the same image");
    // The one before is still there, by its hash.
    let listed = list();
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.lines().any(|line| line.starts_with("mine ") && line.contains(&two)), "{listed}");
    assert!(listed.lines().any(|line| line.starts_with("- ") && line.contains(&one)), "{listed}");
    assert!(workshop.proofbox(&["runtime", "remove", &one]).status.success());
    assert!(workshop.proofbox(&["runtime", "remove", "mine"]).status.success());
    assert_eq!(list().lines().count(), 1);
    let output = workshop.proofbox(&["runtime", "remove", "mine"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no image \"mine\""));

    // One that is damaged is named, and the others serve.
    let hash = build("3");
    let file = workshop.path("cache/images").join(hash.trim_start_matches("sha256:")).join("packages.bin");
    crate::image::alter(&file);
    let server = workshop.server();
    let log = server.log().join("\n");
    assert!(log.contains("an image can't be used") && log.contains("mine"), "{log}");
    assert_shows(&server.execute(json!({"code": "print(1)"})).await, json!({"stdout": "1\n"}));
    let (status, _) = server.post("/v1/execute", &json!({"code": "1", "image": "mine"})).await;
    assert_eq!(status, 422);
}
