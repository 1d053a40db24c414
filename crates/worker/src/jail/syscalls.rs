//! seccomp: which system calls a process may make.
//!
//! A worker has a list of those it may make. Any other fails with ENOSYS, as in a kernel that does not have it, which
//! libraries know how to live with; those that only somebody makes who has taken the worker over end it at once, and
//! the log says so. The front process has a list of those it may not make: they fail with EPERM, since whatever a
//! library tries must not end the service.
//!
//! What is allowed whatever its arguments the kernel (5.11) finds in a bitmap, without running the filter. The few
//! whose arguments count come first in it: it is ordered by number.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads, sock_filter,
};

use super::LayerError;

type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// `_IOWR('f', 16, struct pm_scan_arg)`: which pages were written.
const PAGEMAP_SCAN: u64 = 0xC060_6610;

/// System calls that a worker needs: talk to the front process, wait, manage memory and time, end.
const WORKER: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_ctl,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    // The list of pages, where there is no ioctl for it.
    libc::SYS_pread64,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getrusage,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_close,
    libc::SYS_shutdown,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];

/// System calls that no library makes by itself: other programs and processes, their memory, sockets, signals to
/// others, mounts, the kernel's own settings and its least tested parts.
const HOSTILE: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_capset,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// System calls that a service never needs. A worker that tries one is ended.
const NEVER: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_personality,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];

/// Filters the system calls of a worker, when all its threads have been started.
pub(super) fn only_what_workers_need() -> Result<Option<String>, LayerError> {
    let install = || -> io::Result<()> {
        let hostile = compiled(hostile()?, SeccompAction::Allow, SeccompAction::KillProcess)?;
        let allowed = compiled(allowed()?, SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow)?;
        // Of several filters the strictest answer counts. The second leaves no way to install another.
        apply(&hostile)?;
        apply(&allowed)
    };
    install().map(|()| None).map_err(LayerError::system("seccomp"))
}

/// Filters the system calls of the front process, and of all that it starts.
pub(super) fn none_of_the_dangerous() -> Result<Option<String>, LayerError> {
    let install = || -> io::Result<()> {
        apply(&no_x32())?;
        let never = NEVER.iter().map(|call| (*call, Vec::new())).collect();
        apply(&compiled(never, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))?)
    };
    install().map(|()| None).map_err(LayerError::system("seccomp"))
}

fn allowed() -> io::Result<Calls> {
    let mut calls: Calls = WORKER.iter().map(|call| (*call, Vec::new())).collect();
    let no_code = || rule(&[(2, Is::MaskedEq(libc::PROT_EXEC as u64), 0)]);
    // No memory becomes code any more.
    calls.insert(libc::SYS_mmap, vec![no_code()?]);
    calls.insert(libc::SYS_mprotect, vec![no_code()?]);
    calls.insert(libc::SYS_ioctl, vec![rule(&[(1, Is::Eq, PAGEMAP_SCAN)])?]);
    // A process that aborts sends itself a signal.
    calls.insert(libc::SYS_tgkill, vec![rule(&[(0, Is::Eq, u64::from(std::process::id()))])?]);
    let naming = [libc::PR_SET_NAME, libc::PR_SET_VMA];
    let naming: io::Result<_> = naming.iter().map(|what| rule(&[(0, Is::Eq, *what as u64)])).collect();
    calls.insert(libc::SYS_prctl, naming?);
    Ok(calls)
}

fn hostile() -> io::Result<Calls> {
    let mut calls: Calls = HOSTILE.iter().chain(NEVER).map(|call| (*call, Vec::new())).collect();
    // A thread is only refused.
    calls.insert(libc::SYS_clone, vec![rule(&[(0, Is::MaskedEq(libc::CLONE_THREAD as u64), 0)])?]);
    Ok(calls)
}

/// Number of an argument, how it is compared, and with what: all must hold.
fn rule(conditions: &[(u8, Is, u64)]) -> io::Result<SeccompRule> {
    let conditions: Result<_, _> = conditions
        .iter()
        .map(|(argument, is, value)| SeccompCondition::new(*argument, Width::Qword, is.clone(), *value))
        .collect();
    conditions.and_then(SeccompRule::new).map_err(io::Error::other)
}

fn compiled(calls: Calls, otherwise: SeccompAction, listed: SeccompAction) -> io::Result<BpfProgram> {
    let architecture = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let filter = SeccompFilter::new(calls, otherwise, listed, architecture).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}

fn apply(program: &BpfProgram) -> io::Result<()> {
    apply_filter_all_threads(program).map_err(io::Error::other)
}

/// Program that denies x32, a second numbering of all calls on x86-64, which a list of forbidden calls does not see.
fn no_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    let instruction = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    vec![
        // The call's number is the first field of `struct seccomp_data`.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
