//! What the processes of a running service have given up, as the kernel tells it.

use std::io::Error;
use std::os::unix::process::CommandExt;
use std::process::Command;

use proofbox_types::hardening::Layer;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, proofbox};
use crate::process;

const LAYERS: [Layer; 6] = [
    Layer::NoNewPrivileges,
    Layer::NotDumpable,
    Layer::Capabilities,
    Layer::ResourceLimits,
    Layer::Landlock,
    Layer::Seccomp,
];

/// A line of `/proc/<pid>/status` or `limits`, without its name.
fn field(process: u32, file: &str, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{process}/{file}")).expect("the process lives");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{name} in {text}")).trim().to_owned()
}

async fn layers(server: &Server, process: &str) -> Vec<(String, bool, String)> {
    let (_, text) = server.get("/v1/runtime").await;
    let runtime: Value = serde_json::from_str(&text).expect("JSON");
    let layers = runtime["hardening"][process].as_array().expect("a list");
    let word = |layer: &Value, name: &str| layer[name].as_str().unwrap_or("").to_owned();
    let described = |layer| (word(layer, "layer"), layer["in_force"] == true, word(layer, "detail"));
    layers.iter().map(described).collect()
}

/// Has the kernel refuse a system call as one that does not have it.
fn without(command: &mut Command, call: i64) {
    let architecture = std::env::consts::ARCH.try_into().expect("a known one");
    let refuse = SeccompAction::Errno(libc::ENOSYS as u32);
    let filter = SeccompFilter::new([(call, vec![])].into(), SeccompAction::Allow, refuse, architecture);
    let program: BpfProgram = filter.and_then(TryInto::try_into).expect("a filter");
    // SAFETY: two system calls, and nothing is allocated unless they fail.
    unsafe { command.pre_exec(move || apply_filter(&program).map_err(Error::other)) };
}

#[tokio::test]
async fn workers_have_nothing_left_to_give_up() {
    let server = Server::start(&["--workers", "2"]);
    assert_shows(&server.execute(json!({"code": "print(1)"})).await, json!({"stdout": "1\n"}));
    // The other one may still be at it.
    let hardened = || {
        let workers = server.workers();
        // The last that it gives up but for system calls, of which the front process has given up some itself.
        workers.len() == 2
            && workers.into_iter().all(|worker| field(worker, "limits", "Max open files").starts_with('0'))
    };
    process::eventually("both workers are ready", || hardened().then_some(())).await;
    for worker in server.workers() {
        for (name, value) in [("NoNewPrivs:", "1"), ("Seccomp:", "2"), ("Name:", "proofbox")] {
            assert_eq!(field(worker, "status", name), value, "{name}");
        }
        for name in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
            assert_eq!(field(worker, "status", name), "0000000000000000", "{name}");
        }
        for name in ["Max core file size", "Max file size", "Max processes", "Max open files"] {
            let limits = field(worker, "limits", name);
            assert!(limits.split_whitespace().take(2).eq(["0", "0"]), "{name}: {limits}");
        }
        // Every thread, not only the first.
        let threads = std::fs::read_dir(format!("/proc/{worker}/task")).expect("it lives");
        for thread in threads {
            let status = thread.expect("a thread").path().join("status");
            let status = std::fs::read_to_string(status).expect("it lives");
            assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
        }
    }
    assert_eq!(field(server.pid(), "status", "NoNewPrivs:"), "1");
    assert_eq!(field(server.pid(), "status", "Seccomp:"), "2");
}

#[tokio::test]
async fn the_service_says_what_is_in_force() {
    let server = Server::shared();
    for (process, label) in [("front", "front"), ("workers", "worker")] {
        let layers = layers(server, process).await;
        for layer in LAYERS {
            let (_, in_force, detail) =
                layers.iter().find(|(name, ..)| name == layer.name()).unwrap_or_else(|| panic!("{layers:?}"));
            // What this kernel has is for the tests of each layer; here it must be said either way.
            assert!(*in_force || !detail.is_empty(), "{layers:?}");
            let metric = format!("proofbox_hardening{{layer=\"{}\",process=\"{label}\"}}", layer.name());
            assert_eq!(server.metric(&metric).await, f64::from(u8::from(*in_force)), "{metric}");
        }
    }
}

#[tokio::test]
async fn a_descriptor_that_the_starter_left_open_does_not_reach_workers() {
    let secret = tempfile::tempfile().expect("a temporary file");
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&secret);
    let server = Server::start_with(&["--workers", "1"], |command| {
        // SAFETY: dup2 is async-signal-safe, and the file is open until the command has started.
        unsafe {
            command
                .pre_exec(move || if libc::dup2(descriptor, 99) == 99 { Ok(()) } else { Err(Error::last_os_error()) });
        }
    });
    let is_open = |process: u32| std::fs::symlink_metadata(format!("/proc/{process}/fd/99")).is_ok();
    assert!(is_open(server.pid()) && !is_open(server.workers()[0]));
}

#[tokio::test]
async fn off_gives_up_nothing() {
    let server = Server::start(&["--workers", "1", "--hardening", "off"]);
    assert_shows(&server.execute(json!({"code": "print(1)"})).await, json!({"stdout": "1\n"}));
    for process in [server.pid(), server.workers()[0]] {
        assert_eq!(field(process, "status", "Seccomp:"), field(std::process::id(), "status", "Seccomp:"));
    }
    assert_eq!(layers(&server, "workers").await, []);
}

#[tokio::test]
async fn what_an_older_kernel_lacks_is_named_and_the_rest_is_in_force() {
    let server = Server::start_with(&["--workers", "1"], |command| without(command, libc::SYS_landlock_create_ruleset));
    assert_shows(&server.execute(json!({"code": "print(1)"})).await, json!({"stdout": "1\n"}));
    for process in ["front", "workers"] {
        let layers = layers(&server, process).await;
        let missing: Vec<_> = layers.iter().filter(|(_, in_force, _)| !in_force).collect();
        assert!(
            matches!(missing[..], [(name, _, why)] if name == "landlock" && why.contains("Linux 5.13")),
            "{layers:?}"
        );
    }
}

#[test]
fn what_is_required_and_missing_is_named_and_nothing_starts() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["run", path]] {
        let mut command = proofbox(&["--workers", "1", "--hardening", "require"]);
        command.args(arguments);
        without(&mut command, libc::SYS_landlock_create_ruleset);
        let output = command.output().expect("the binary was built");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{stderr}");
        assert!(stderr.contains("hardening is required") && stderr.contains("no Landlock"), "{stderr}");
    }
}

#[tokio::test]
async fn workers_are_replaced_by_the_same_version_after_an_update() {
    let directory = tempfile::tempdir().expect("a directory");
    let binary = directory.path().join("proofbox");
    std::fs::copy(env!("CARGO_BIN_EXE_proofbox"), &binary).expect("room for it");
    let server = Server::start_binary(&binary, &["--workers", "1"]);
    let before = server.workers();
    std::fs::remove_file(&binary).expect("it is there");
    std::fs::write(&binary, "another version").expect("room for it");
    process::signal(before[0], libc::SIGKILL);
    process::eventually("the worker is replaced", || {
        (server.workers().len() == 1 && server.workers() != before).then_some(())
    })
    .await;
    let answer = process::eventually_async("a run succeeds", async || {
        let answer = server.execute(json!({"code": "print(2)"})).await;
        (answer["status"] == "ok").then_some(answer)
    });
    assert_shows(&answer.await, json!({"stdout": "2\n"}));
}
