//! What fails around the service: each time a clear error, and a service that goes on. Workers that die or hang are in
//! `workers`, workers that turn hostile in `hostile_worker`.

use std::io::{Error, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, proofbox};
use crate::image;
use crate::process;
use crate::sessions::Session;

/// Limits a resource of a process that is not ours to start.
fn limit(process: u32, resource: libc::__rlimit_resource_t, bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    let process = i32::try_from(process).expect("process ids are small");
    // SAFETY: the limit outlives the call.
    let failed = unsafe { libc::prlimit(process, resource, &raw const limit, std::ptr::null_mut()) };
    assert_eq!(failed, 0, "{}", Error::last_os_error());
}

async fn serves(server: &Server) {
    let runs = async || {
        let answer = server.execute(json!({"code": "print(6 * 7)"})).await;
        (answer["status"] == "ok").then_some(answer)
    };
    let answer = process::eventually_async("a run succeeds", runs).await;
    assert_shows(&answer, json!({"stdout": "42\n"}));
    answers_ready(server, 200).await;
}

/// What `/readyz` tells may be a second old.
async fn answers_ready(server: &Server, status: u16) {
    let answers = async || (server.get("/readyz").await.0 == status).then_some(());
    process::eventually_async("readiness is told as it is", answers).await;
}

#[tokio::test]
async fn an_image_that_is_damaged_meanwhile_is_not_loaded_and_the_service_says_so() {
    let cache = image::copy();
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.env("PROOFBOX_CACHE_DIR", cache.directory.path()).env_remove("PROOFBOX_IMAGE");
    });
    serves(&server).await;
    let worker = server.workers()[0];
    image::alter(&cache.compiled);
    process::signal(worker, libc::SIGKILL);
    // No worker can start: runs are not answered by code that is not what was compiled.
    let answer = process::eventually_async("it is noticed", async || {
        let answer = server.execute(json!({"code": "print(1)"})).await;
        (answer["status"] == "infrastructure_error").then_some(answer)
    });
    assert_shows(&answer.await, json!({"stderr_class": "infrastructure_error", "stdout": ""}));
    answers_ready(&server, 503).await;
    assert_eq!(server.get("/healthz").await.0, 200);
    // When it is whole again, so is the service.
    image::alter(&cache.compiled);
    serves(&server).await;
}

/// A session's state of so many bytes that can't be made smaller, and a checkpoint of it.
async fn checkpoint(session: &Session<'_>, bytes: u64) -> (u16, Value) {
    let answer = session.call(&format!("import os\nkept = os.urandom({bytes})\nlen(kept)")).await;
    assert_eq!(answer["result"], bytes, "{answer}");
    session.post("/checkpoints", json!({})).await
}

async fn a_checkpoint_without_room_fails_and_the_session_goes_on(server: &Server) {
    let session = Session::open_on(server, json!({})).await;
    let (status, answer) = checkpoint(&session, 30_000_000).await;
    assert!((500..600).contains(&status) && answer["error"]["message"].is_string(), "{status} {answer}");
    assert_eq!(session.value("len(kept)").await, 30_000_000);
    serves(server).await;
    // A small one still finds room.
    let small = Session::open_on(server, json!({})).await;
    let (status, answer) = checkpoint(&small, 1000).await;
    assert_eq!(status, 201, "{answer}");
}

#[tokio::test]
async fn a_store_on_a_full_disk_fails_what_needs_it_and_nothing_else() {
    let disk = tempfile::tempdir().expect("a directory");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "none"]).arg(disk.path()).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: a small disk takes the right to mount one");
        return;
    }
    {
        let server = Server::start_with(&["--workers", "1"], |command| {
            command.env("PROOFBOX_DATA_DIR", disk.path());
        });
        a_checkpoint_without_room_fails_and_the_session_goes_on(&server).await;
    }
    assert!(Command::new("umount").arg(disk.path()).status().is_ok_and(|status| status.success()));
}

#[tokio::test]
async fn a_file_that_may_not_grow_fails_what_needs_it_and_nothing_else() {
    let server = Server::start_with(&["--workers", "1"], |command| {
        let limit = libc::rlimit { rlim_cur: 8 << 20, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: both are async-signal-safe, and touch no memory but the limit.
        unsafe {
            command.pre_exec(move || {
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                if libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) == 0 {
                    Ok(())
                } else {
                    Err(Error::last_os_error())
                }
            });
        }
    });
    a_checkpoint_without_room_fails_and_the_session_goes_on(&server).await;
}

#[tokio::test]
async fn a_store_that_is_in_use_is_named_and_its_owner_goes_on() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.env("PROOFBOX_DATA_DIR", data.path());
    });
    let mut second = proofbox(&["--workers", "1", "serve", "--listen", "127.0.0.1:0"]);
    let output = second.env("PROOFBOX_DATA_DIR", data.path()).output().expect("the binary was built");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("in use by another process"), "{stderr}");
    let session = Session::open_on(&server, json!({})).await;
    assert_eq!(checkpoint(&session, 1000).await.0, 201);
}

#[test]
fn address_space_that_cannot_be_had_is_told_at_once() {
    let mut command = proofbox(&["--workers", "1", "serve", "--listen", "127.0.0.1:0"]);
    let data = tempfile::tempdir().expect("a directory");
    command.env("PROOFBOX_DATA_DIR", data.path());
    let limit = libc::rlimit { rlim_cur: 8 << 30, rlim_max: 8 << 30 };
    // SAFETY: setrlimit is async-signal-safe, and touches no memory but the limit.
    unsafe {
        command.pre_exec(move || {
            if libc::setrlimit(libc::RLIMIT_AS, &raw const limit) == 0 { Ok(()) } else { Err(Error::last_os_error()) }
        });
    }
    let begun = std::time::Instant::now();
    let output = command.output().expect("the binary was built");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("no worker process can be started: loading the image"), "{stderr}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_worker_that_is_short_of_memory_fails_the_run_that_wants_it() {
    let server = Server::start(&["--workers", "1"]);
    serves(&server).await;
    let worker = server.workers()[0];
    let used = std::fs::read_to_string(format!("/proc/{worker}/status")).expect("it lives");
    let used = used.lines().find_map(|line| line.strip_prefix("VmData:")).expect("memory that it may write");
    let used: u64 = used.trim().trim_end_matches(" kB").parse().expect("a number");
    // Room for the interpreters that it has, and little else.
    limit(worker, libc::RLIMIT_DATA, (used << 10) + (100 << 20));
    let greedy = server.execute(json!({"code": "kept = bytearray(200_000_000)\nprint(len(kept))"})).await;
    let class = greedy["stderr_class"].as_str().unwrap_or("");
    assert!(["memory_limit", "infrastructure_error"].contains(&class), "{greedy}");
    serves(&server).await;
}

/// A client that is gone without a word: its connection is reset.
fn reset(address: SocketAddr, request: &[u8], read: usize) {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.write_all(request).expect("the server reads");
    let mut answer = vec![0; read];
    stream.read_exact(&mut answer).expect("it answers");
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    let length = size_of::<libc::linger>() as libc::socklen_t;
    // SAFETY: the option has the type that the kernel expects, and outlives the call.
    let failed = unsafe {
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, (&raw const at_once).cast(), length)
    };
    assert_eq!(failed, 0);
}

#[tokio::test]
async fn clients_that_reset_their_connections_leave_nothing_behind() {
    let server = Server::start(&["--workers", "1"]);
    let address: SocketAddr = server.url.trim_start_matches("http://").parse().expect("an address");
    serves(&server).await;
    let descriptors = process::descriptors(server.pid());
    let head = |length: usize| {
        format!(
            "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let body = json!({"code": "print('x' * 900_000)"}).to_string();
    let endless =
        json!({"code": "while True: pass", "limits": {"fuel": 10_000_000_000_000u64, "wall_seconds": 300}}).to_string();
    tokio::task::spawn_blocking(move || {
        for _ in 0..25 {
            // In the middle of a head, of a body, of a run, of an answer.
            reset(address, &head(10).as_bytes()[..40], 0);
            reset(address, format!("{}{}", head(body.len()), &body[..10]).as_bytes(), 0);
            reset(address, format!("{}{endless}", head(endless.len())).as_bytes(), 0);
            reset(address, format!("{}{body}", head(body.len())).as_bytes(), 1000);
        }
    })
    .await
    .expect("no client fails");
    let at_rest = async || {
        let (live, queued) =
            (server.metric("proofbox_instances_live").await, server.metric("proofbox_queue_length").await);
        // One for the connection that asks.
        (live == 0.0 && queued == 0.0 && process::descriptors(server.pid()) <= descriptors + 2).then_some(())
    };
    process::eventually_async("all is given back", at_rest).await;
    serves(&server).await;
    assert_eq!(server.metric("proofbox_worker_restarts_total").await, 0.0);
}
