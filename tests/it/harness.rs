//! A real server on port 0, and a client for it.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, LazyLock, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};

use crate::{process, scratch};

/// One server shared by all tests that need nothing special, ended with the test process.
static SHARED: LazyLock<Server> = LazyLock::new(|| Server::start(&[]));

/// What is to be started, and who waits for it.
type Start = (Command, mpsc::Sender<Child>);

/// Starts children from a thread that lives as long as the test process. The kernel ends a child with the *thread* that
/// started it (prctl(2), PR_SET_PDEATHSIG), and the threads of tests come and go.
static STARTER: LazyLock<Mutex<mpsc::Sender<Start>>> = LazyLock::new(|| {
    let (sender, commands) = mpsc::channel::<Start>();
    std::thread::spawn(move || {
        for (mut command, started) in commands {
            // SAFETY: prctl is async-signal-safe, and the closure touches nothing else.
            unsafe {
                command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                });
            }
            let child = command.spawn().expect("the binary was built for this test");
            started.send(child).expect("the test waits for it");
        }
    });
    Mutex::new(sender)
});

/// Where a server says that it listens, in a line of text or of JSON.
fn address_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("address=").or_else(|| line.split_once("\"address\":\""))?;
    let end = rest.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

fn spawn(command: Command) -> Child {
    let (sender, started) = mpsc::channel();
    STARTER.lock().expect("no holder panics").send((command, sender)).expect("the starter lives");
    started.recv().expect("the starter answers")
}

/// The binary, with these arguments.
pub(crate) fn proofbox(arguments: &[&str]) -> Command {
    command(Path::new(env!("CARGO_BIN_EXE_proofbox")), arguments)
}

/// The same of a copy of the binary. If it serves, then at a free port: the usual one may be taken.
fn command(binary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(arguments).env("NO_COLOR", "1").env("PROOFBOX_LISTEN", "127.0.0.1:0").stdin(Stdio::null());
    command
}

/// A running `proofbox serve`, ended on drop.
pub(crate) struct Server {
    child: Mutex<Child>,
    pub url: String,
    log: Arc<Mutex<Vec<String>>>,
    /// Its store, unless the test gives it one.
    _data: tempfile::TempDir,
}

impl Server {
    /// The server that all tests share.
    pub(crate) fn shared() -> &'static Self {
        &SHARED
    }

    /// A server of its own, with these arguments before `serve`. Builds the image when there is none.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, |_| {})
    }

    /// The same; `prepare` gives the process what else it is to have.
    pub(crate) fn start_with(arguments: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        Self::start_command(proofbox(arguments), prepare)
    }

    /// The same with a copy of the binary.
    pub(crate) fn start_binary(binary: &Path, arguments: &[&str]) -> Self {
        Self::start_command(command(binary, arguments), |_| {})
    }

    fn start_command(mut command: Command, prepare: impl FnOnce(&mut Command)) -> Self {
        command.arg("serve").stderr(Stdio::piped());
        let data = tempfile::tempdir_in(scratch::directory()).expect("a temporary directory");
        command.env("PROOFBOX_DATA_DIR", data.path());
        prepare(&mut command);
        let mut child = spawn(command);
        let stderr = child.stderr.take().expect("it was asked to be piped");
        let mut lines = BufReader::new(stderr).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let keep = {
            let log = Arc::clone(&log);
            move |line: &String| {
                eprintln!("{line}");
                log.lock().expect("no holder panics").push(line.clone());
            }
        };
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .inspect(&keep)
            .find_map(|line| address_in(&line))
            .expect("the server says where it listens");
        // Read on, so that it never blocks on its log.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| keep(&line)));
        Self { child: Mutex::new(child), url: format!("http://{address}"), log, _data: data }
    }

    /// What it has said so far, line by line.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().expect("no holder panics").clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.lock().expect("no holder panics").id()
    }

    /// Process ids of its workers.
    pub(crate) fn workers(&self) -> Vec<u32> {
        process::children(self.pid())
    }

    /// Memory of the front process and its workers, in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        process::resident_bytes(self.pid()) + self.workers().into_iter().map(process::resident_bytes).sum::<u64>()
    }

    /// Waits for the server to end by itself.
    pub(crate) async fn ended(&self) -> ExitStatus {
        process::eventually("the server ends", || {
            self.child.lock().expect("no holder panics").try_wait().expect("it is ours")
        })
        .await
    }

    /// `POST /v1/execute`; panics unless the answer is 200.
    pub(crate) async fn execute(&self, request: Value) -> Value {
        self.client().execute(request).await
    }

    /// Status code and body.
    pub(crate) async fn post(&self, path: &str, request: &Value) -> (u16, Value) {
        self.client().post_bytes(path, request.to_string().into_bytes()).await
    }

    pub(crate) async fn post_bytes(&self, path: &str, body: Vec<u8>) -> (u16, Value) {
        self.client().post_bytes(path, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        let response = http().get(format!("{}{path}", self.url)).send().await.expect("the server answers");
        (response.status().as_u16(), response.text().await.expect("the answer is whole"))
    }

    /// A member of `/metrics`, named with its labels as it is written there; 0 where it is not.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.get("/metrics").await;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        value.unwrap_or(0.0)
    }

    /// A client that keeps its connections; to be used by one test.
    pub(crate) fn client(&self) -> Client {
        Client { http: http(), url: self.url.clone() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = self.child.lock().expect("no holder panics");
        // It may have been ended by the test.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Connections to one server.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
}

impl Client {
    pub(crate) async fn execute(&self, request: Value) -> Value {
        let (status, answer) = self.post_bytes("/v1/execute", request.to_string().into_bytes()).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    pub(crate) async fn post_bytes(&self, path: &str, body: Vec<u8>) -> (u16, Value) {
        self.try_post(path, body).await.expect("the server answers")
    }

    /// The same for those who expect the server to go away meanwhile.
    pub(crate) async fn try_execute(&self, request: Value) -> reqwest::Result<(u16, Value)> {
        self.try_post("/v1/execute", request.to_string().into_bytes()).await
    }

    async fn try_post(&self, path: &str, body: Vec<u8>) -> reqwest::Result<(u16, Value)> {
        let request =
            self.http.post(format!("{}{path}", self.url)).header("content-type", "application/json").body(body);
        let response = request.send().await?;
        let status = response.status().as_u16();
        let text = response.text().await?;
        Ok((status, serde_json::from_str(&text).unwrap_or_else(|_| json!(text))))
    }
}

/// Every test has its own tokio runtime, so connections are not shared between tests.
pub(crate) fn http() -> reqwest::Client {
    reqwest::Client::builder().timeout(Duration::from_secs(120)).build().expect("no TLS is asked for")
}

/// Runs code without tests on the shared server.
pub(crate) async fn run(code: &str) -> Value {
    Server::shared().execute(json!({"code": code})).await
}

/// Asserts that `answer` has what `expected` has. Objects may have more; everything else is equal.
#[track_caller]
pub(crate) fn assert_shows(answer: &Value, expected: Value) {
    let mut differences = Vec::new();
    compare("", answer, &expected, &mut differences);
    let whole: String = answer.to_string().chars().take(3000).collect();
    assert!(differences.is_empty(), "{}\n{whole}", differences.join("\n"));
}

fn compare(path: &str, answer: &Value, expected: &Value, differences: &mut Vec<String>) {
    match (answer, expected) {
        (Value::Object(answer), Value::Object(expected)) => {
            for (key, expected) in expected {
                compare(&format!("{path}.{key}"), answer.get(key).unwrap_or(&Value::Null), expected, differences);
            }
        }
        (Value::Array(answer), Value::Array(expected)) if answer.len() == expected.len() => {
            for (index, (answer, expected)) in answer.iter().zip(expected).enumerate() {
                compare(&format!("{path}[{index}]"), answer, expected, differences);
            }
        }
        _ if answer == expected => {}
        _ => differences.push(format!("{path} is {answer}, not {expected}")),
    }
}
