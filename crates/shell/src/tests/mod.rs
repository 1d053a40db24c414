//! The shell as a whole: what scripts say, against the real bash and by itself.

mod behaviour;
mod bounds;
mod git;
mod oracle;
mod terminal;

use super::{Host, Processes, PythonStart, Reader, Script, Writer, run};
use crate::bounds::thread_cpu;
use futures_util::future::BoxFuture;
use proofbox_vfs::{Base, Credentials, FilesQuota, SharedTree, User, lock};
use std::future::{Future as _, poll_fn};
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A host whose `python3` is a few lines of Rust.
pub(super) struct Fake {
    tree: SharedTree,
    processes: Arc<Processes>,
}

impl Fake {
    pub(super) fn new() -> Self {
        Self::with_quota(FilesQuota { bytes: 64 << 20, count: 10_000 })
    }

    pub(super) fn with_quota(quota: FilesQuota) -> Self {
        let base =
            Base::bare().with_programs().and_then(|base| base.with_system_files()).expect("their places are free");
        Self { tree: SharedTree::new(base.tree(quota, 1_700_000_000_000_000_000)), processes: Arc::default() }
    }

    /// A host whose scripts may take so many steps.
    pub(super) fn with_steps(steps: u64) -> Self {
        Self { processes: Arc::new(Processes::with_steps(steps)), ..Self::new() }
    }

    /// Puts a file in the tree.
    pub(super) fn put(&self, path: &str, text: &str) {
        lock(&self.tree).write_file(path, text.as_bytes(), 1_700_000_000_000_000_000).expect("room");
    }
}

impl Host for Fake {
    fn tree(&self) -> &SharedTree {
        &self.tree
    }

    fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    fn now(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| since.as_nanos() as u64)
    }

    /// `args`: shows what it was started with; `upper`: its input in capitals; `forever`: never ends; a number: ends with it.
    fn python(&self, mut start: PythonStart) -> BoxFuture<'_, i32> {
        Box::pin(async move {
            match start.args.last().map(String::as_str) {
                Some("upper") => {
                    let mut block = [0; 1000];
                    loop {
                        let read = start.stdin.read(&mut block).await;
                        if read == 0 {
                            return 0;
                        }
                        if start.stdout.write_all(&block[..read].to_ascii_uppercase()).await.is_err() {
                            return 120;
                        }
                    }
                }
                Some("forever") => std::future::pending().await,
                Some(number) if number.parse::<i32>().is_ok() => number.parse().unwrap_or(0),
                _ => {
                    let variable = start.env.iter().find(|(name, _)| name == "VALUE").map(|(_, value)| value.clone());
                    let text = format!("{:?} {} {variable:?}\n", start.args, start.cwd);
                    let written = start.stdout.write_all(text.as_bytes()).await;
                    let told = start.stderr.write_all(b"e\n").await;
                    i32::from(written.is_err() || told.is_err())
                }
            }
        })
    }
}

/// Output of a script, and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) code: i32,
}

pub(super) fn sink() -> (Writer, Arc<Mutex<Vec<u8>>>) {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bytes);
    let writer = Writer::sink(Arc::new(move |more: &[u8]| kept.lock().expect("not poisoned").extend_from_slice(more)));
    (writer, bytes)
}

/// A script that reads nothing.
pub(super) fn script(text: &str, stdout: Writer, stderr: Writer) -> Script {
    Script {
        number: None,
        text: text.to_owned(),
        args: Vec::new(),
        cwd: "/home/user".to_owned(),
        credentials: Credentials::of(User::User),
        env: vec![("LC_ALL".to_owned(), "C.UTF-8".to_owned())],
        stdin: Reader::empty(),
        stdout,
        stderr,
    }
}

/// Runs a script, with what it reads.
pub(super) async fn ran(host: &Fake, text: &str, input: &str) -> Ran {
    let (stdout, out) = sink();
    let (stderr, err) = sink();
    let script = Script { stdin: Reader::from_bytes(input.to_owned()), ..script(text, stdout, stderr) };
    let code = run(host, script).await;
    let text = |bytes: &Mutex<Vec<u8>>| String::from_utf8_lossy(&bytes.lock().expect("not poisoned")).into_owned();
    Ran { stdout: text(&out), stderr: text(&err), code }
}

/// Types this at a terminal; what its screen shows, and the exit code of its shell.
pub(super) async fn typed(host: &Fake, keys: &[&str]) -> (String, i32) {
    let (stdout, screen) = sink();
    let (keyboard, stdin) = crate::pipe(1 << 20);
    let (text, args, cwd) = (String::new(), Vec::new(), String::new());
    let env = vec![("PS1".to_owned(), "$ ".to_owned())];
    let script = Script {
        number: None,
        text,
        args,
        cwd,
        env,
        credentials: Credentials::of(User::User),
        stdin,
        stdout,
        stderr: Writer::null(),
    };
    let size = crate::TerminalSize { columns: 80, rows: 24 };
    let type_all = async {
        for keys in keys {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            keyboard.write_all(keys.as_bytes()).await.expect("the shell reads");
        }
        drop(keyboard);
    };
    let code = std::sync::atomic::AtomicI32::new(-1);
    let exit = |ended| code.store(ended, std::sync::atomic::Ordering::Relaxed);
    tokio::join!(crate::run_with_jobs(host, script, Some(size), exit), type_all);
    let code = code.into_inner();
    let screen = String::from_utf8_lossy(&screen.lock().expect("not poisoned")).into_owned();
    (screen, code)
}

/// Runs a script in files of its own; its output, its errors, its code.
pub(super) fn shown(text: &str) -> (String, String, i32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let ran = runtime.block_on(ran(&Fake::new(), text, ""));
    (ran.stdout, ran.stderr, ran.code)
}

/// CPU time of a fixed piece of work, the least of three.
fn reference_work() -> Duration {
    let bytes = vec![7; 1 << 20];
    let timed = |_| {
        let began = thread_cpu();
        let mut hasher = DefaultHasher::new();
        (0..4).for_each(|_| hasher.write(std::hint::black_box(&bytes)));
        std::hint::black_box(hasher.finish());
        thread_cpu() - began
    };
    (0..3).map(timed).min().unwrap_or_default()
}

/// Returns the longest CPU time for which a script lets nothing else of its thread run, as a multiple of the [`reference_work`],
/// which takes about a millisecond. A machine that is slow now is so for both.
async fn longest_stretch(host: &Fake, text: &str) -> f64 {
    let before_it = reference_work();
    let (mut longest, mut before) = (Duration::ZERO, thread_cpu());
    let script = ran(host, text, "");
    tokio::pin!(script);
    poll_fn(|context| {
        let done = script.as_mut().poll(context);
        longest = longest.max(thread_cpu() - before);
        before = thread_cpu();
        done.map(|_| ())
    })
    .await;
    longest.as_secs_f64() / before_it.max(reference_work()).as_secs_f64()
}
