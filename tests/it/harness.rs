//! A real server on port 0, and a client for it.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};

/// One server shared by all tests that need nothing special, ended with the test process.
static SHARED: LazyLock<Server> = LazyLock::new(|| Server::start(&[]));

/// Starts children from a thread that lives as long as the test process. The kernel ends a child with the *thread* that
/// started it (prctl(2), PR_SET_PDEATHSIG), and the threads of tests come and go.
static STARTER: LazyLock<Mutex<mpsc::Sender<(Command, mpsc::Sender<Child>)>>> = LazyLock::new(|| {
    let (sender, commands) = mpsc::channel::<(Command, mpsc::Sender<Child>)>();
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

fn spawn(command: Command) -> Child {
    let (sender, started) = mpsc::channel();
    STARTER.lock().expect("no holder panics").send((command, sender)).expect("the starter lives");
    started.recv().expect("the starter answers")
}

/// A running `proofbox serve`, ended on drop.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    /// The server that all tests share.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// A server of its own, with these further arguments. Builds the image when there is none.
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofbox"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = spawn(command);
        let stderr = child.stderr.take().expect("it was asked to be piped");
        let mut lines = BufReader::new(stderr).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .inspect(|line| eprintln!("{line}"))
            .find_map(|line| Some(line.split_once("address=")?.1.split_whitespace().next()?.to_owned()))
            .expect("the server says where it listens");
        // Read on, so that it never blocks on its log.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        Self { child, url: format!("http://{address}") }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Process ids of its workers.
    pub fn workers(&self) -> Vec<u32> {
        let path = format!("/proc/{0}/task/{0}/children", self.pid());
        let children = std::fs::read_to_string(path).expect("the server lives");
        children.split_whitespace().map(|id| id.parse().expect("a process id")).collect()
    }

    /// `POST /v1/execute`; panics unless the answer is 200.
    pub async fn execute(&self, request: Value) -> Value {
        let (status, answer) = self.post("/v1/execute", &request).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Status code and body.
    pub async fn post(&self, path: &str, request: &Value) -> (u16, Value) {
        self.post_bytes(path, request.to_string().into_bytes()).await
    }

    pub async fn post_bytes(&self, path: &str, body: Vec<u8>) -> (u16, Value) {
        let request = client().post(format!("{}{path}", self.url)).header("content-type", "application/json").body(body);
        let response = request.send().await.expect("the server answers");
        let status = response.status().as_u16();
        let text = response.text().await.expect("the answer is whole");
        (status, serde_json::from_str(&text).unwrap_or_else(|_| json!(text)))
    }

    pub async fn get(&self, path: &str) -> (u16, String) {
        let response = client().get(format!("{}{path}", self.url)).send().await.expect("the server answers");
        (response.status().as_u16(), response.text().await.expect("the answer is whole"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been ended by the test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every test has its own tokio runtime, so connections are not shared between tests.
fn client() -> reqwest::Client {
    reqwest::Client::builder().timeout(Duration::from_secs(120)).build().expect("no TLS is asked for")
}

/// Runs code without tests on the shared server.
pub async fn run(code: &str) -> Value {
    Server::shared().execute(json!({"code": code})).await
}
