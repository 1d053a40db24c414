//! Tests of every layer, in a child process that tries what the layer forbids.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;

use super::*;

/// End of a child process.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// Exit with this code.
    Exit(i32),
    /// Death by this signal.
    Signal(i32),
}

/// Runs `what` in a child process, which exits with its result: 0 or an error number of a system call.
fn in_child(what: impl FnOnce() -> i32) -> End {
    // SAFETY: the child goes on with this thread alone. glibc's allocator and the loader's lock are made for that, and
    // nothing else that another thread may have held is used before it ends.
    match unsafe { libc::fork() } {
        0 => {
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what)).unwrap_or(255);
            // SAFETY: it ends the process.
            unsafe { libc::_exit(code) }
        }
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        child => {
            let mut status = 0;
            // SAFETY: the status outlives the call.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            if libc::WIFSIGNALED(status) {
                End::Signal(libc::WTERMSIG(status))
            } else {
                End::Exit(libc::WEXITSTATUS(status))
            }
        }
    }
}

/// 0, or the error number.
fn result(returned: i64) -> i32 {
    if returned == -1 { std::io::Error::last_os_error().raw_os_error().unwrap_or(254) } else { 0 }
}

/// A system call with up to four arguments.
fn call(number: i64, arguments: [i64; 4]) -> i32 {
    let [first, second, third, fourth] = arguments;
    // SAFETY: the callers pass numbers and pointers to what outlives the call; where they pass none, the kernel
    // refuses null.
    result(unsafe { libc::syscall(number, first, second, third, fourth) })
}

fn open(path: &std::ffi::CStr, flags: i32) -> i32 {
    call(libc::SYS_openat, [i64::from(libc::AT_FDCWD), path.as_ptr() as i64, i64::from(flags), 0o600])
}

/// The kernel's Landlock, asked without our code; 0 where it has none.
fn landlock_abi() -> i64 {
    const VERSION: i64 = 1;
    // SAFETY: with this flag the kernel reads no memory.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0i64, 0i64, VERSION) }.max(0)
}

/// Runs in a child that is a worker, with everything that was open.
fn in_worker(what: impl FnOnce() -> i32) -> End {
    // Where the kernel lacks something, the other layers hold.
    let hardening = if landlock_abi() < 4 { Hardening::BestEffort } else { Hardening::Require };
    in_child(|| match begin_worker(hardening).and_then(PartiallySandboxed::finish) {
        Ok(_) => what(),
        Err(NotHardened(why)) => panic!("{why}"),
    })
}

#[test]
fn a_worker_says_what_is_in_force() {
    let said = in_child(|| {
        let hardened = begin_worker(Hardening::BestEffort).and_then(PartiallySandboxed::finish).expect("best effort");
        assert_eq!(hardened.0.len(), 6);
        hardened.missing().count() as i32
    });
    assert_eq!(said, End::Exit(i32::from(landlock_abi() < 4)));
    let off = begin_worker(Hardening::Off).and_then(PartiallySandboxed::finish);
    assert_eq!(off, Ok(Hardened::default()));
    // Nothing was put in force: this process can still open files.
    assert!(File::open("/etc/passwd").is_ok());
}

#[test]
fn what_belongs_to_a_thread_is_missing_where_there_are_several_and_then_required_fails() {
    let end = in_child(|| {
        std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(60)));
        let Err(NotHardened(why)) = begin_worker(Hardening::Require) else { return 1 };
        i32::from(!why.contains("landlock (there are 2 threads already)"))
    });
    assert_eq!(end, End::Exit(0));
}

#[test]
fn a_worker_ends_when_it_tries_what_only_an_attacker_does() {
    let null = c"/bin/true".as_ptr() as i64;
    let parent = i64::from(std::process::id());
    let attempts = [
        ("execve", libc::SYS_execve, [null, 0, 0, 0]),
        ("execveat", libc::SYS_execveat, [-1, null, 0, 0]),
        ("clone", libc::SYS_clone, [i64::from(libc::SIGCHLD), 0, 0, 0]),
        ("kill", libc::SYS_kill, [parent, 0, 0, 0]),
        ("tkill", libc::SYS_tkill, [parent, 0, 0, 0]),
        ("ptrace", libc::SYS_ptrace, [i64::from(libc::PTRACE_ATTACH), parent, 0, 0]),
        ("process_vm_readv", libc::SYS_process_vm_readv, [parent, 0, 0, 0]),
        ("socket", libc::SYS_socket, [i64::from(libc::AF_INET), i64::from(libc::SOCK_STREAM), 0, 0]),
        ("unix socket", libc::SYS_socket, [i64::from(libc::AF_UNIX), i64::from(libc::SOCK_STREAM), 0, 0]),
        ("socketpair", libc::SYS_socketpair, [i64::from(libc::AF_UNIX), i64::from(libc::SOCK_STREAM), 0, 0]),
        ("connect", libc::SYS_connect, [0, 0, 0, 0]),
        ("bind", libc::SYS_bind, [0, 0, 0, 0]),
        ("setuid", libc::SYS_setuid, [0, 0, 0, 0]),
        ("mount", libc::SYS_mount, [0, 0, 0, 0]),
        ("unshare", libc::SYS_unshare, [0, 0, 0, 0]),
        ("bpf", libc::SYS_bpf, [0, 0, 0, 0]),
        ("userfaultfd", libc::SYS_userfaultfd, [0, 0, 0, 0]),
        ("io_uring_setup", libc::SYS_io_uring_setup, [1, 0, 0, 0]),
        ("perf_event_open", libc::SYS_perf_event_open, [0, 0, 0, 0]),
        ("keyctl", libc::SYS_keyctl, [0, 0, 0, 0]),
    ];
    for (name, number, arguments) in attempts {
        assert_eq!(in_worker(|| call(number, arguments)), End::Signal(libc::SIGSYS), "{name}");
    }
}

#[test]
fn what_a_library_may_try_in_a_worker_fails() {
    let private = i64::from(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let code = i64::from(libc::PROT_READ | libc::PROT_EXEC);
    let path = c"/etc/passwd".as_ptr() as i64;
    let attempts: [(&str, &dyn Fn() -> i32); 9] = [
        ("reading a file", &|| open(c"/etc/passwd", libc::O_RDONLY)),
        ("writing a file", &|| open(c"/tmp/worker", libc::O_WRONLY | libc::O_CREAT)),
        ("unlinking a file", &|| call(libc::SYS_unlinkat, [i64::from(libc::AT_FDCWD), path, 0, 0])),
        ("asking for a file", &|| call(libc::SYS_statx, [i64::from(libc::AT_FDCWD), path, 0, 0])),
        ("new code", &|| {
            // SAFETY: a new mapping, wherever the kernel likes.
            result(unsafe { libc::mmap(std::ptr::null_mut(), 4096, code as i32, private as i32, -1, 0) } as i64)
        }),
        ("a thread", &|| i32::from(std::thread::Builder::new().spawn(|| ()).is_err()) * libc::ENOSYS),
        ("another descriptor", &|| call(libc::SYS_dup, [0, 0, 0, 0])),
        ("an ioctl", &|| call(libc::SYS_ioctl, [2, libc::TIOCSTI as i64, 0, 0])),
        ("a signal to another", &|| call(libc::SYS_tgkill, [i64::from(std::process::id()) + 1, 1, 0, 0])),
    ];
    for (name, attempt) in attempts {
        assert_eq!(in_worker(attempt), End::Exit(libc::ENOSYS), "{name}");
    }
}

#[test]
fn a_worker_keeps_what_guests_take() {
    let pagemap = File::open("/proc/self/pagemap").expect("there is /proc");
    let mut random = [0u8; 16];
    let mut usage = [0u8; size_of::<libc::rusage>()];
    let end = in_worker(|| {
        // Memory, time, randomness, the list of its pages, its page faults, other threads' turn: all of it.
        let memory = vec![1u8; 64 << 20];
        let copy = memory.clone();
        drop(memory);
        let mut entry = [0u8; 8];
        let read = std::os::unix::fs::FileExt::read_at(&pagemap, &mut entry, 0);
        let random = getrandom::fill(&mut random);
        std::thread::sleep(std::time::Duration::from_millis(1));
        std::thread::yield_now();
        let faults = call(libc::SYS_getrusage, [0, std::ptr::from_mut(&mut usage) as i64, 0, 0]);
        i32::from(copy.len() != 64 << 20 || read.is_err() || random.is_err() || faults != 0)
    });
    assert_eq!(end, End::Exit(0));
    assert!(pagemap.as_raw_fd() > 2);
    // A panic is caught as ever. Its hook is left out: it takes a lock that another test may have held at the fork.
    let end = in_worker(|| i32::from(std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(()))).is_ok()));
    assert_eq!(end, End::Exit(0));
}

#[test]
fn limits_alone_keep_a_worker_from_disk_descriptors_and_processes() {
    let mut file = tempfile::tempfile().expect("a temporary file");
    let mut write = || {
        limits::worker().expect("limits can be lowered");
        file.write_all(b"more").err().and_then(|error| error.raw_os_error()).unwrap_or(0)
    };
    assert_eq!(in_child(&mut write), End::Signal(libc::SIGXFSZ));
    let open = || {
        limits::worker().expect("limits can be lowered");
        open(c"/etc/passwd", libc::O_RDONLY)
    };
    assert_eq!(in_child(open), End::Exit(libc::EMFILE));
    let core = in_child(|| {
        limits::front().expect("limits can be lowered");
        i32::from(rustix::process::getrlimit(rustix::process::Resource::Core).maximum != Some(0))
    });
    assert_eq!(core, End::Exit(0));
}

#[test]
fn landlock_alone_keeps_a_worker_from_files_tcp_and_signals() {
    if landlock_abi() < 4 {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it has one").port();
    let error = |result: std::io::Result<()>| result.err().and_then(|error| error.raw_os_error()).unwrap_or(0);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    let attempts: [(&str, &dyn Fn() -> i32, i32); 5] = [
        ("read", &|| open(c"/etc/passwd", libc::O_RDONLY), libc::EACCES),
        ("write", &|| error(File::create(&path).map(drop)), libc::EACCES),
        ("connect", &|| error(std::net::TcpStream::connect(("127.0.0.1", port)).map(drop)), libc::EACCES),
        ("bind", &|| error(std::net::TcpListener::bind("127.0.0.1:0").map(drop)), libc::EACCES),
        ("execute", &|| error(std::process::Command::new("/bin/true").status().map(drop)), libc::EACCES),
    ];
    for (name, attempt, expected) in attempts {
        assert_eq!(in_child(attempt), End::Exit(0), "{name}: allowed before");
        let after = in_child(|| {
            landlock::nothing().expect("it was in force above");
            attempt()
        });
        assert_eq!(after, End::Exit(expected), "{name}");
        std::fs::remove_file(&path).ok();
    }
    let parent = i64::from(std::process::id());
    let signal = in_child(|| match landlock::nothing() {
        // Before Linux 6.12.
        Ok(Some(_)) => libc::EPERM,
        _ => call(libc::SYS_kill, [parent, 0, 0, 0]),
    });
    assert_eq!(signal, End::Exit(libc::EPERM));
}

#[test]
fn the_front_process_keeps_what_it_needs_and_starts_itself_again() {
    if landlock_abi() < 4 {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let (read, write) = (directory.path().join("policies"), directory.path().join("data"));
    std::fs::create_dir(&read).expect("a directory");
    std::fs::create_dir(&write).expect("a directory");
    let pack = read.join("pack.toml");
    std::fs::write(&pack, "").expect("a file");
    let needs = Needs { read: vec![read.clone()], write: vec![write.clone()], connect: false };
    let in_front = |what: &dyn Fn() -> i32| {
        in_child(|| match harden_front(Hardening::Require, &needs) {
            Ok(_) => what(),
            Err(_) => 253,
        })
    };
    let denied = |result: std::io::Result<()>| result.err().and_then(|error| error.raw_os_error()).unwrap_or(0);
    let attempts: [(&str, &dyn Fn() -> i32, i32); 9] = [
        ("reads what it may", &|| denied(std::fs::read(&pack).map(drop)), 0),
        ("writes where it may", &|| denied(std::fs::write(write.join("new"), "1")), 0),
        (
            "renames and removes there",
            &|| {
                denied(
                    std::fs::rename(write.join("new"), write.join("a"))
                        .and_then(|()| std::fs::remove_file(write.join("a"))),
                )
            },
            0,
        ),
        ("writes nowhere else", &|| denied(std::fs::write(read.join("new"), "1")), libc::EACCES),
        ("reads nothing else", &|| open(c"/etc/passwd", libc::O_RDONLY), libc::EACCES),
        ("listens no more", &|| denied(std::net::TcpListener::bind("127.0.0.1:0").map(drop)), libc::EACCES),
        ("runs nothing else", &|| denied(std::process::Command::new("/bin/true").status().map(drop)), libc::EACCES),
        ("traces nobody", &|| call(libc::SYS_ptrace, [i64::from(libc::PTRACE_TRACEME), 0, 0, 0]), libc::EPERM),
        ("has threads", &|| std::thread::spawn(|| 0).join().unwrap_or(1), 0),
    ];
    for (name, attempt, expected) in attempts {
        assert_eq!(in_front(attempt), End::Exit(expected), "{name}");
    }
    let again = in_front(&|| {
        let mut this = std::process::Command::new("/proc/self/exe");
        let listed = this.args(["--list"]).stdout(std::process::Stdio::null()).status();
        listed.map_or_else(|error| error.raw_os_error().unwrap_or(254), |status| status.code().unwrap_or(252))
    });
    assert_eq!(again, End::Exit(0), "starts itself");
    #[cfg(target_arch = "x86_64")]
    assert_eq!(in_front(&|| call(0x4000_0000 + 521, [0; 4])), End::Exit(libc::ENOSYS), "no second numbering");
}

#[test]
fn privileges_are_gone() {
    let status = |what: fn() -> Result<Option<String>, LayerError>, lines: &'static [&'static str]| {
        in_child(|| {
            what().expect("it can be given up");
            let status = std::fs::read_to_string("/proc/self/status").expect("there is /proc");
            i32::from(!lines.iter().all(|line| status.contains(line)))
        })
    };
    assert_eq!(status(privileges::no_new, &["NoNewPrivs:\t1"]), End::Exit(0));
    let none = || privileges::drop_capabilities(privileges::RetainedCapabilities::None);
    let gone = &["CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000"];
    assert_eq!(status(none, gone), End::Exit(0));
    // SAFETY: this prctl takes numbers, and touches no memory.
    let dumpable = || unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) };
    assert_eq!(in_child(dumpable), End::Exit(1));
    let after = || privileges::not_dumpable().map_or(9, |_| dumpable());
    assert_eq!(in_child(after), End::Exit(0));
}

#[test]
fn a_workers_pages_are_not_merged_with_equal_ones() {
    // SAFETY: these take numbers, and touch no memory.
    let merge = |what, how: libc::c_ulong| unsafe { libc::prctl(what, how, 0, 0, 0) };
    let merged = |begin: fn()| {
        in_child(|| {
            if merge(libc::PR_SET_MEMORY_MERGE, 1) != 0 {
                return 2;
            }
            begin();
            merge(libc::PR_GET_MEMORY_MERGE, 0)
        })
    };
    match merged(|| ()) {
        End::Exit(1) => assert_eq!(merged(super::begin_life), End::Exit(0)),
        other => eprintln!("NOT CHECKED: this kernel merges no pages ({other:?})"),
    }
}

#[test]
fn a_worker_has_no_huge_pages() {
    // SAFETY: these take numbers, and touch no memory.
    let call = |what, how: libc::c_ulong| unsafe { libc::prctl(what, how, 0, 0, 0) };
    let disabled = |begin: fn()| {
        in_child(|| {
            // Whoever started the tests may have them off.
            assert_eq!(call(libc::PR_SET_THP_DISABLE, 0), 0);
            begin();
            call(libc::PR_GET_THP_DISABLE, 0)
        })
    };
    assert_eq!(disabled(|| ()), End::Exit(0));
    assert_eq!(disabled(super::begin_life), End::Exit(1));
}

/// Words of memory that nobody has written.
const UNWRITTEN: u32 = u32::MAX;
/// Error numbers of preview 1.
const NOTSOCK: i32 = 57;
const NOTSUP: i32 = 58;

/// Calls of preview 1 that wasmtime-wasi answers: name, arguments, result, and the words that its answer may be in.
/// Sockets are asked of standard input.
const FOREIGN: [(&str, &[i32], i32, [u32; 2]); 10] = [
    ("args_get", &[0, 4], 0, [UNWRITTEN; 2]),
    ("args_sizes_get", &[0, 4], 0, [0; 2]),
    ("environ_get", &[0, 4], 0, [UNWRITTEN; 2]),
    ("environ_sizes_get", &[0, 4], 0, [0; 2]),
    ("proc_raise", &[2], NOTSUP, [UNWRITTEN; 2]),
    ("sched_yield", &[], 0, [UNWRITTEN; 2]),
    ("sock_accept", &[0, 0, 0], NOTSOCK, [UNWRITTEN; 2]),
    ("sock_recv", &[0, 8, 0, 0, 0, 4], NOTSOCK, [UNWRITTEN; 2]),
    ("sock_send", &[0, 8, 0, 0, 0], NOTSOCK, [UNWRITTEN; 2]),
    ("sock_shutdown", &[0, 1], NOTSOCK, [UNWRITTEN; 2]),
];

#[test]
fn each_call_that_wasmtime_answers_is_answered_in_a_worker() {
    use std::fmt::Write as _;

    let foreign = proofbox_runtime::wasi_probe::foreign_calls().expect("wasmtime runs here");
    assert_eq!(foreign, FOREIGN.map(|(name, ..)| name), "each has a line above");
    let (mut imports, mut functions) = (String::new(), String::new());
    for (name, arguments, ..) in FOREIGN {
        let (mut types, mut values) = (String::new(), String::new());
        for argument in arguments {
            types.push_str(" i32");
            write!(values, "(i32.const {argument})").expect("a string has room");
        }
        let import = "(import \"wasi_snapshot_preview1\"";
        write!(imports, "{import} \"{name}\" (func ${name} (param{types}) (result i32)))").expect("a string has room");
        write!(functions, "(func (export \"{name}\") (result i32) (call ${name} {values}))")
            .expect("a string has room");
    }
    let memory = "(memory (export \"memory\") 1) (data (i32.const 0) \"\\ff\\ff\\ff\\ff\\ff\\ff\\ff\\ff\")";
    let module = wat::parse_str(format!("(module {imports} {memory} {functions})")).expect("a module");
    let probe = proofbox_runtime::wasi_probe::Probe::new(&module).expect("it imports what there is");
    for (name, _, result, [first, second]) in FOREIGN {
        let mut words = [0; 8];
        words[..4].copy_from_slice(&first.to_le_bytes());
        words[4..].copy_from_slice(&second.to_le_bytes());
        let end = in_worker(|| match probe.call::<8>(name) {
            Ok(answer) if answer == (result, words) => 0,
            // The error number, where there is one.
            Ok((other, _)) => 100 + other,
            Err(_) => 99,
        });
        assert_eq!(end, End::Exit(0), "{name}");
    }
}
