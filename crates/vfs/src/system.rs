//! Files of the system that every sandbox has: the programs in `/usr/bin`, and, in sessions, what programs read of `/etc`
//! and `/proc`. All of it is made up, and says nothing of the host.

use super::base::Base;
use super::error::FilesError;
use super::layer::{Layer, LayerError, LiveContent};
use super::mount::Purpose;
use super::permissions::User;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of every sandbox as a machine.
pub const HOST_NAME: &str = "sandbox";

/// Programs in `/usr/bin`, in order.
#[rustfmt::skip]
pub const PROGRAMS: &[&str] = &[
    "[", "awk", "base64", "basename", "bash", "bc", "cat", "chmod", "chown", "cksum", "clear", "cmp", "column", "comm", "cp",
    "cut", "date", "df", "diff", "dirname", "du", "echo", "egrep", "env", "expr", "false", "fgrep", "file", "find", "fold",
    "free", "gawk", "git", "grep", "groups", "gunzip", "gzip", "head", "hostname", "iconv", "id", "install", "join", "jq", "kill", "less",
    "ln", "ls", "make", "mawk", "md5sum", "mkdir", "mkfifo", "mktemp", "more", "mv", "nawk", "nice", "nl", "nohup", "nproc", "od", "paste",
    "patch", "pgrep", "pip", "pip3", "pkill", "printenv", "printf", "ps", "pwd", "py.test", "pytest", "python", "python3",
    "readlink", "realpath", "rev", "rg", "rm", "rmdir", "sed", "seq", "setsid", "sh", "sha1sum", "sha224sum", "sha256sum",
    "sha384sum", "sha512sum", "shuf", "sleep", "sort", "split", "stat", "stdbuf", "strings", "stty", "su", "sudo", "sync", "tac",
    "tail", "tar", "tee", "test", "timeout", "top", "touch", "tput", "tr", "tree", "true", "truncate", "tty", "uname", "uniq",
    "unzip", "wc", "which", "whoami", "xargs", "xxd", "yes", "zcat", "zip",
];

/// Memory that `/proc/meminfo` shows, in KiB.
const MEMORY_KIB: u64 = 1 << 20;

const PROC: &[(&str, LiveContent)] = &[
    ("cpuinfo", |_| "processor\t: 0\nmodel name\t: WebAssembly\ncpu cores\t: 1\n\n".to_owned()),
    ("filesystems", |_| "nodev\ttmpfs\n".to_owned()),
    ("loadavg", |_| "0.00 0.00 0.00 1/1 1\n".to_owned()),
    ("meminfo", |_| {
        let line = |name: &str, kib: u64| format!("{name:<15} {kib:>8} kB\n");
        [("MemTotal:", MEMORY_KIB), ("MemFree:", MEMORY_KIB), ("MemAvailable:", MEMORY_KIB), ("SwapTotal:", 0)]
            .map(|(name, kib)| line(name, kib))
            .concat()
    }),
    ("mounts", |_| "sandbox / tmpfs rw 0 0\n".to_owned()),
    ("sys/kernel/hostname", |_| format!("{HOST_NAME}\n")),
    ("sys/kernel/osrelease", |_| "6.1.0\n".to_owned()),
    ("sys/kernel/random/boot_id", boot_id),
    ("uptime", |born| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let seconds = now.saturating_sub(u128::from(born)) as f64 / 1e9;
        format!("{seconds:.2} {seconds:.2}\n")
    }),
    ("version", |_| "Linux version 6.1.0 (proofbox) #1 SMP\n".to_owned()),
];

/// A number that a sandbox keeps until it is booted anew, and no other has but its forks.
fn boot_id(born: u64) -> String {
    // SplitMix64, which tells neighbouring times apart.
    let mixed = |seed: u64| {
        let mut mixed = born.wrapping_add(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    };
    let (high, low) = (mixed(1), mixed(2));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}\n",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff,
    )
}

/// Files of `/etc`, by name.
fn etc() -> [(&'static str, String); 7] {
    let (mut passwd, mut group) = (String::new(), String::new());
    for user in User::ALL {
        let (name, id, home) = (user.name(), user.id(), user.home());
        let _ = writeln!(passwd, "{name}:x:{id}:{id}::{home}:/bin/bash");
        let _ = writeln!(group, "{name}:x:{id}:");
    }
    let os = "PRETTY_NAME=\"proofbox sandbox\"\nNAME=\"proofbox\"\nID=proofbox\nID_LIKE=debian\n";
    [
        ("group", group),
        ("hostname", format!("{HOST_NAME}\n")),
        ("hosts", format!("127.0.0.1\tlocalhost {HOST_NAME}\n")),
        ("os-release", os.to_owned()),
        ("passwd", passwd),
        ("resolv.conf", String::new()),
        ("shells", "/bin/sh\n/bin/bash\n/usr/bin/sh\n/usr/bin/bash\n".to_owned()),
    ]
}

impl Base {
    /// The same base with `/usr/bin`, which has an empty file for each program, and `/bin`, which leads there.
    ///
    /// # Errors
    ///
    /// Returns an error for a layer in their place.
    pub fn with_programs(&self) -> Result<Self, FilesError> {
        let mut base = self.extend();
        base.mount("/usr/bin", layer(Layer::of_programs(PROGRAMS)), Purpose::Software)?;
        base.link("/bin", "usr/bin")?;
        Ok(base.finish())
    }

    /// The same base with the system's files, and root's home directory.
    ///
    /// # Errors
    ///
    /// Returns an error for a layer in their place.
    pub fn with_system_files(&self) -> Result<Self, FilesError> {
        let mut base = self.extend();
        for (name, content) in etc() {
            base.mount(&format!("/etc/{name}"), Layer::of_file(content), Purpose::System)?;
        }
        base.mount("/proc", layer(Layer::of_live_files(PROC)), Purpose::System)?;
        base.directory(User::Root.home(), (0o700, User::Root))?;
        Ok(base.finish())
    }
}

fn layer(made: Result<std::sync::Arc<Layer>, LayerError>) -> std::sync::Arc<Layer> {
    made.expect("the names of this file contradict each other nowhere")
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::{Guest, QUOTA, fault};
    use super::super::{Credentials, Errno, Fault, FileKind, Permission, SharedTree, lock, save_sandbox};
    use super::*;

    fn base() -> Base {
        Base::bare().with_programs().and_then(|base| base.with_system_files()).expect("their places are free")
    }

    #[test]
    fn programs_are_empty_files_that_can_be_executed_and_not_changed() {
        let mut tree = base().tree(QUOTA, 7);
        let entry = tree.stat_followed("/bin/ls").expect("there");
        assert_eq!((entry.kind, entry.mode, entry.owner, entry.size), (FileKind::File, 0o755, User::Root, 0));
        assert_eq!(tree.may("/bin/sh", Permission::Execute), Ok(true));
        assert_eq!(fault(tree.write_file("/bin/ls", b"x", 8)), Fault::ReadOnly);
        assert_eq!(fault(tree.remove("/bin", 8)), Fault::Protected);
        let names: Vec<String> = tree.list("/usr/bin", 1).expect("there").into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, PROGRAMS);
    }

    #[test]
    fn files_of_the_system_are_roots_and_what_is_beside_them_is_for_root_to_make() {
        let mut guest = Guest::on(&base(), QUOTA);
        assert_eq!(guest.open("etc/passwd", "w"), Err(Errno::Acces));
        assert_eq!(guest.open("etc/new", "w"), Err(Errno::Acces));
        assert_eq!(guest.unlink("etc/passwd"), Err(Errno::Acces));
        assert_eq!(guest.open("root", "d"), Err(Errno::Acces));
        assert_eq!(guest.open("root/f", "w"), Err(Errno::Acces));
        let fd = guest.open("etc/passwd", "r").expect("everybody may read it");
        let text = guest.read(fd, 1000).expect("open");
        let expected = "root:x:0:0::/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
        let mut tree = base().tree(QUOTA, 7);
        tree.write_file("/etc/new", b"x", 8).expect("the service may");
        assert_eq!(fault(tree.write_file("/etc/passwd", b"x", 8)), Fault::ReadOnly);
        assert_eq!(tree.usage().count, 1);
    }

    #[test]
    fn reading_the_systems_files_is_noted_and_looking_for_programs_is_not() {
        let mut guest = Guest::on(&base(), QUOTA);
        for path in ["etc/passwd", "proc/version", "usr/bin/ls"] {
            guest.open(path, "r").expect("there");
        }
        let noted: Vec<&str> = guest.attempts.list().iter().map(|attempt| &*attempt.target).collect();
        assert_eq!(noted, ["/etc/passwd", "/proc/version"]);
    }

    #[test]
    fn live_files_show_no_size_and_are_read_to_their_end() {
        let tree = base().tree(QUOTA, 7);
        assert_eq!(tree.stat("/proc/meminfo").map(|entry| entry.size), Ok(0));
        let id = |born| base().tree(QUOTA, born).read_file("/proc/sys/kernel/random/boot_id").expect("there");
        assert_eq!((id(7).len(), id(7)), (37, id(7)));
        assert_ne!(id(7), id(8));
        let mut rebooted = base().tree(QUOTA, 7);
        rebooted.reboot(9);
        assert_eq!(rebooted.read_file("/proc/sys/kernel/random/boot_id").expect("there"), id(9));
        let uptime = tree.read_file("/proc/uptime").expect("there");
        assert!(uptime.ends_with(b"\n") && uptime.len() > 8, "{uptime:?}");
    }

    #[test]
    fn a_sandbox_with_the_systems_files_is_saved_without_them() {
        let tree = SharedTree::new(base().tree(QUOTA, 7));
        lock(&tree).write_file("/etc/new", b"x", 8).expect("room");
        let files = save_sandbox(&tree, &[]);
        let bytes = postcard::to_stdvec(&files).expect("plain data");
        assert!(bytes.len() < 1000, "{}", bytes.len());
        let (loaded, _) = files.load(&base()).expect("just saved");
        let loaded = loaded.with_credentials(Credentials::of(User::User));
        assert_eq!(lock(&loaded).read_file("/etc/new").as_deref(), Ok(&b"x"[..]));
        assert!(lock(&loaded).read_file("/etc/passwd").is_ok());
        let links = |tree: &SharedTree| lock(tree).stat("/etc").map(|entry| entry.links);
        assert_eq!(links(&loaded), links(&tree));
    }
}
