//! Files of sessions.

use serde_json::{Value, json};

use super::Session;
use crate::harness::{Server, assert_shows, http};

fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or(Value::Null)
}

#[tokio::test]
async fn files_go_in_and_out() {
    let session = Session::open_on(Server::shared(), json!({"files": {"in.csv": "a,b\n1,2\n"}})).await;
    assert_eq!(session.value("open('in.csv').read()").await, "a,b\n1,2\n");
    let (status, body) = session.request("PUT", "/files/new/deep/x.bin", vec![0u8, 255]).await;
    assert_eq!(status, 201);
    assert_shows(&parsed(&body), json!({"path": "/home/user/new/deep/x.bin", "kind": "file", "size": 2}));
    assert_eq!(session.value("open('new/deep/x.bin', 'rb').read() == bytes([0, 255])").await, true);
    session.call("import os; os.makedirs('/tmp/t', exist_ok=True); open('/tmp/t/out', 'w').write('0123456789')").await;
    assert_eq!(session.request("GET", "/files//tmp/t/out", "").await, (200, b"0123456789".to_vec()));
    assert_eq!(session.request("PUT", "/files/in.csv", "other").await.0, 200, "it was there");
    assert_eq!(session.request("GET", "/files/in.csv", "").await.1, b"other");
    assert_eq!(session.request("DELETE", "/files/in.csv", "").await.0, 204);
    assert_eq!(session.value("__import__('os').path.exists('in.csv')").await, false);
}

#[tokio::test]
async fn a_part_of_a_file() {
    let session = Session::open_on(Server::shared(), json!({"files": {"f": "0123456789"}})).await;
    let get = async |method: &str, range: &str| {
        let url = format!("{}{}", session.server.url, session.path("/files/f"));
        let request = http().request(method.parse().expect("a method"), url).header("range", range);
        let response = request.send().await.expect("the server answers");
        let range = response.headers().get("content-range").map(|value| value.to_str().expect("ASCII").to_owned());
        (response.status().as_u16(), range, response.text().await.expect("whole"))
    };
    assert_eq!(get("GET", "bytes=2-4").await, (206, Some("bytes 2-4/10".to_owned()), "234".to_owned()));
    assert_eq!(get("GET", "bytes=-2").await, (206, Some("bytes 8-9/10".to_owned()), "89".to_owned()));
    assert_eq!(get("GET", "bytes=10-").await, (416, Some("bytes */10".to_owned()), String::new()));
    assert_eq!(get("GET", "lines=1").await, (200, None, "0123456789".to_owned()));
    assert_eq!(get("HEAD", "bytes=2-4").await, (206, Some("bytes 2-4/10".to_owned()), String::new()));
}

#[tokio::test]
async fn files_of_any_length_come_whole_and_in_part() {
    const PIECE: usize = 256 << 10;
    let session = Session::open_on(Server::shared(), json!({})).await;
    for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 1] {
        let content: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        session.request("PUT", "/files/f", content.clone()).await;
        assert_eq!(session.request("GET", "/files/f", "").await, (200, content.clone()), "{length} bytes");
        let url = format!("{}{}", session.server.url, session.path("/files/f"));
        let head = http().head(&url).send().await.expect("the server answers");
        assert_eq!(head.headers()["content-length"], length.to_string().as_str());
        if length > 2 * PIECE {
            let range = format!("bytes={}-{}", PIECE - 2, 2 * PIECE + 1);
            let part = http().get(&url).header("range", range).send().await.expect("the server answers");
            assert_eq!(part.status(), 206);
            assert_eq!(part.bytes().await.expect("whole"), content[PIECE - 2..2 * PIECE + 2]);
        }
    }
}

#[tokio::test]
async fn directories_are_made_listed_moved_and_removed() {
    let session = Session::open().await;
    let (status, made) = session.post("/files", json!({"make_directory": "a/b"})).await;
    assert_shows(&json!([status, made]), json!([200, {"path": "/home/user/a/b", "kind": "directory"}]));
    session.request("PUT", "/files/a/b/f", "x").await;
    session.call("import os; os.symlink('b/f', 'a/link')").await;
    let list = async |query: &str| parsed(&session.request("GET", &format!("/files?{query}"), "").await.1);
    let names = |list: Value| -> Vec<String> {
        let entries = list["entries"].as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .map(|entry| {
                format!("{} {}", entry["kind"].as_str().expect("a kind"), entry["path"].as_str().expect("a path"))
            })
            .collect()
    };
    assert_eq!(names(list("list").await), ["directory /home/user/a"]);
    let deep = ["directory /home/user/a/b", "file /home/user/a/b/f", "link /home/user/a/link"];
    assert_eq!(names(list("list&path=a&depth=2").await), deep);
    let (status, moved) = session.post("/files", json!({"move": {"from": "a/b", "to": "c"}})).await;
    assert_shows(&json!([status, moved]), json!([200, {"path": "/home/user/c"}]));
    let (status, body) = session.request("DELETE", "/files/c", "").await;
    assert_shows(&json!([status, parsed(&body)]), json!([409, {"error": {"code": "not_empty", "field": "path"}}]));
    assert_eq!(session.request("DELETE", "/files/c?recursive=true", "").await.0, 204);
    assert_eq!(names(list("list").await), ["directory /home/user/a"]);
}

#[tokio::test]
async fn what_is_wrong_is_said_with_the_field() {
    let session = Session::open_on(Server::shared(), json!({"limits": {"files_bytes": 100, "files_count": 10}})).await;
    for (method, path, body, status, code) in [
        ("GET", "/files/none", "", 404, "not_found"),
        ("GET", "/files//tmp", "", 422, "is_a_directory"),
        ("PUT", "/files/big", "x", 201, ""),
        ("PUT", "/files/big/below", "x", 422, "not_a_directory"),
        ("DELETE", "/files//tmp", "", 403, "read_only"),
        ("PUT", "/files//dev/null", "x", 200, ""),
        ("GET", "/files/..%2F..%2F..%2Fetc", "", 422, "bad_path"),
        ("PUT", "/files//tests/x", "x", 422, "unprocessable"),
    ] {
        let (found, answer) = session.request(method, path, body).await;
        let answer = parsed(&answer);
        assert_eq!(
            (found, answer["error"]["code"].as_str().unwrap_or("")),
            (status, code),
            "{method} {path}: {answer}"
        );
    }
    let (status, answer) = session.request("PUT", "/files/large", vec![b'x'; 200]).await;
    assert_shows(&json!([status, parsed(&answer)]), json!([507, {"error": {"code": "no_space", "field": "path"}}]));
    assert_eq!(session.request("GET", "/files/large", "").await.0, 404, "nothing is there half");
    let (status, answer) =
        session.post("/files", json!({"make_directory": "a", "move": {"from": "a", "to": "b"}})).await;
    assert_shows(&json!([status, answer]), json!([400, {"error": {"code": "malformed_request"}}]));
}

#[tokio::test]
async fn commands_of_a_cell_share_the_files() {
    let session = Session::open().await;
    session.call("open('names.txt', 'w').write('b\\na\\nb\\n')").await;
    assert_eq!(session.call("!sort names.txt | uniq -c | sort -rn").await["stdout"], "      2 b\n      1 a\n");
    session.call("!echo 'print(open(\"names.txt\").read().upper(), end=\"\")' > up.py").await;
    assert_eq!(session.call("!python3 up.py | head -1").await["stdout"], "B\n");
    assert_eq!(session.call("lines = !cat names.txt\nlen(lines)").await["result"], 3);
    assert_shows(
        &session.call("!nosuchprogram").await,
        json!({"stderr": "bash: line 1: nosuchprogram: command not found\n"}),
    );
}

#[tokio::test]
async fn changes_are_told_as_they_happen() {
    let session = Session::open().await;
    session.post("/files", json!({"make_directory": "seen"})).await;
    let url = format!("{}{}", session.server.url, session.path("/files?watch&path=seen"));
    let mut response = http().get(url).send().await.expect("the server answers");
    assert_eq!(response.status(), 200);
    session.call("open('seen/new', 'w').write('x')\nimport os; os.remove('seen/new')").await;
    let mut text = String::new();
    while !text.contains("remove") {
        let chunk = response.chunk().await.expect("the stream goes on").expect("it has not ended");
        text.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
    }
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[0], json!({"type": "create", "path": "new"}));
    let (status, _) = session.request("GET", "/files?watch&path=none", "").await;
    assert_eq!(status, 404);
}
