//! Packages that `pip` installs in sessions.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::Session;
use crate::harness::{Server, assert_shows};

/// Writes wheels: `greeting` 1.0 and 2.0, which needs `letters`; and one with native code.
const MAKE: &str = r#"
import sys, zipfile
def wheel(name, version, tag, code, needs=""):
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}-{version}-{tag}.whl", "w") as file:
        info = f"{name}-{version}.dist-info"
        file.writestr(f"{name}.py", code)
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        file.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n")
        file.writestr(f"{info}/RECORD", "")
wheel("letters", "1.0", "py3-none-any", "def upper(text): return text.upper()")
for version in ("1.0", "2.0"):
    wheel("greeting", version, "py3-none-any", f"import letters\nVERSION = letters.upper('v{version}')", "Requires-Dist: letters\n")
wheel("native", "1.0", "cp313-cp313-manylinux_2_17_x86_64", "")
"#;

fn wheels() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("made");
    let made = Command::new("python3").args(["-c", MAKE]).arg(directory.path()).status().expect("python3 is there");
    assert!(made.success());
    directory
}

fn server(wheels: &Path) -> Server {
    Server::start(&["--wheels-dir", wheels.to_str().expect("UTF-8")])
}

#[tokio::test]
async fn approved_wheels_are_installed_by_commands_and_cells() {
    let wheels = wheels();
    let server = server(wheels.path());
    assert!(server.log().iter().any(|line| line.contains("native-1.0")), "what is left out is said");
    let session = Session::open_on(&server, json!({})).await;

    // pip itself, with what the package needs, in the cell that uses it.
    let answer = session.call("!pip install greeting\nimport greeting\ngreeting.VERSION").await;
    assert_shows(&answer, json!({"status": "ok", "result": "V2.0"}));
    let (_, answer) =
        session.post("/commands", json!({"command": "python3 -c 'import greeting; print(greeting.__file__)'"})).await;
    assert_shows(&answer, json!({"stdout": "/home/user/.local/lib/python3.13/site-packages/greeting.py\n"}));
    let (_, answer) = session
        .post("/commands", json!({"command": "pip list --format freeze | grep -E '^(greeting|letters|pip)='"}))
        .await;
    assert_shows(&answer, json!({"stdout": "greeting==2.0\nletters==1.0\npip==25.3\n"}));

    // A fork has them; another session has not.
    let (status, forks) = session.post("/fork", json!({"count": 1})).await;
    assert_eq!(status, 201, "{forks}");
    let other = Session::open_on(&server, json!({})).await;
    assert_shows(&other.call("import greeting").await, json!({"error": {"type": "ModuleNotFoundError"}}));
    // Nobody writes where they come from.
    let (_, answer) =
        other.post("/commands", json!({"command": "rm /usr/share/wheels/letters-1.0-py3-none-any.whl"})).await;
    assert_shows(&answer, json!({"exit_code": 1}));
    for (script, expected) in [
        ("pip install native", "No matching distribution found for native"),
        ("pip install no-such-package", "There is no network here"),
    ] {
        let (_, answer) = other.post("/commands", json!({"command": script})).await;
        assert_shows(&answer, json!({"exit_code": 1}));
        assert!(answer["stderr"].as_str().is_some_and(|text| text.contains(expected)), "{answer}");
    }
}

#[tokio::test]
async fn a_session_begins_with_packages_or_not_at_all() {
    let wheels = wheels();
    let server = server(wheels.path());
    let session = Session::open_on(&server, json!({"packages": ["greeting==1.0", "pytest"]})).await;
    assert_shows(&session.call("import greeting; greeting.VERSION").await, json!({"result": "V1.0"}));

    let (status, answer) = server.post("/v1/sessions", &json!({"packages": ["greeting==3"]})).await;
    assert_shows(
        &json!([status, answer]),
        json!([422, {"error": {"code": "packages_not_installed", "field": "packages"}}]),
    );
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("greeting==3")), "{answer}");
    for bad in [json!(["--target=/lib"]), json!([" "]), json!(vec!["a"; 101]), json!(["a".repeat(501)])] {
        let (status, answer) = server.post("/v1/sessions", &json!({"packages": bad})).await;
        assert_eq!(status, 422, "{answer}");
    }
    let listed: Value = serde_json::from_str(&server.get("/v1/sessions").await.1).expect("JSON");
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "those that were refused are gone");
}

#[tokio::test]
async fn without_approved_wheels_a_session_installs_its_own() {
    let wheels = wheels();
    let server = Server::shared();
    let session = Session::open_on(server, json!({})).await;
    for (script, expected) in [
        ("ls /usr/share/wheels", json!({"exit_code": 0, "stdout": ""})),
        ("pip install letters", json!({"exit_code": 1})),
    ] {
        assert_shows(&session.post("/commands", json!({"command": script})).await.1, expected);
    }
    let wheel = std::fs::read(wheels.path().join("letters-1.0-py3-none-any.whl")).expect("made");
    let path = "/files/letters-1.0-py3-none-any.whl";
    assert_eq!(session.request("PUT", path, wheel).await.0, 201);
    let answer = session.call("!pip install ./letters-1.0-py3-none-any.whl\nimport letters; letters.upper('a')").await;
    assert_shows(&answer, json!({"status": "ok", "result": "A"}));
}
