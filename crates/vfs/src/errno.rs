//! The error numbers of WASI preview 1, as the guest's C library reads them.

/// Failure of a preview-1 call. `success` (0) is no failure and has no variant; see [`status`].
///
/// The numbers are those of `errno` in `wasi_snapshot_preview1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Errno {
    /// POSIX `E2BIG`: argument list too long.
    TooBig = 1,
    /// POSIX `EACCES`: permission denied.
    Acces = 2,
    /// POSIX `EADDRINUSE`: address in use.
    AddrInUse = 3,
    /// POSIX `EADDRNOTAVAIL`: address not available.
    AddrNotAvail = 4,
    /// POSIX `EAFNOSUPPORT`: address family not supported.
    AfNoSupport = 5,
    /// POSIX `EAGAIN`: resource unavailable, or operation would block.
    Again = 6,
    /// POSIX `EALREADY`: connection already in progress.
    Already = 7,
    /// POSIX `EBADF`: bad file descriptor.
    BadF = 8,
    /// POSIX `EBADMSG`: bad message.
    BadMsg = 9,
    /// POSIX `EBUSY`: device or resource busy.
    Busy = 10,
    /// POSIX `ECANCELED`: operation cancelled.
    Canceled = 11,
    /// POSIX `ECHILD`: no child processes.
    Child = 12,
    /// POSIX `ECONNABORTED`: connection aborted.
    ConnAborted = 13,
    /// POSIX `ECONNREFUSED`: connection refused.
    ConnRefused = 14,
    /// POSIX `ECONNRESET`: connection reset.
    ConnReset = 15,
    /// POSIX `EDEADLK`: resource deadlock would occur.
    DeadLk = 16,
    /// POSIX `EDESTADDRREQ`: destination address required.
    DestAddrReq = 17,
    /// POSIX `EDOM`: mathematics argument out of domain of function.
    Dom = 18,
    /// POSIX `EDQUOT`: disk quota exceeded.
    DQuot = 19,
    /// POSIX `EEXIST`: file exists.
    Exist = 20,
    /// POSIX `EFAULT`: bad address.
    Fault = 21,
    /// POSIX `EFBIG`: file too large.
    FBig = 22,
    /// POSIX `EHOSTUNREACH`: host is unreachable.
    HostUnreach = 23,
    /// POSIX `EIDRM`: identifier removed.
    IdRm = 24,
    /// POSIX `EILSEQ`: illegal byte sequence.
    IlSeq = 25,
    /// POSIX `EINPROGRESS`: operation in progress.
    InProgress = 26,
    /// POSIX `EINTR`: interrupted function.
    Intr = 27,
    /// POSIX `EINVAL`: invalid argument.
    Inval = 28,
    /// POSIX `EIO`: I/O error.
    Io = 29,
    /// POSIX `EISCONN`: socket is connected.
    IsConn = 30,
    /// POSIX `EISDIR`: is a directory.
    IsDir = 31,
    /// POSIX `ELOOP`: too many levels of symbolic links.
    Loop = 32,
    /// POSIX `EMFILE`: too many open files.
    MFile = 33,
    /// POSIX `EMLINK`: too many links.
    MLink = 34,
    /// POSIX `EMSGSIZE`: message too large.
    MsgSize = 35,
    /// POSIX `EMULTIHOP`: reserved, unused.
    MultiHop = 36,
    /// POSIX `ENAMETOOLONG`: file name too long.
    NameTooLong = 37,
    /// POSIX `ENETDOWN`: network is down.
    NetDown = 38,
    /// POSIX `ENETRESET`: connection aborted by network.
    NetReset = 39,
    /// POSIX `ENETUNREACH`: network unreachable.
    NetUnreach = 40,
    /// POSIX `ENFILE`: too many files open in system.
    NFile = 41,
    /// POSIX `ENOBUFS`: no buffer space available.
    NoBufS = 42,
    /// POSIX `ENODEV`: no such device.
    NoDev = 43,
    /// POSIX `ENOENT`: no such file or directory.
    NoEnt = 44,
    /// POSIX `ENOEXEC`: executable file format error.
    NoExec = 45,
    /// POSIX `ENOLCK`: no locks available.
    NoLck = 46,
    /// POSIX `ENOLINK`: reserved, unused.
    NoLink = 47,
    /// POSIX `ENOMEM`: not enough memory.
    NoMem = 48,
    /// POSIX `ENOMSG`: no message of the desired type.
    NoMsg = 49,
    /// POSIX `ENOPROTOOPT`: protocol not available.
    NoProtoOpt = 50,
    /// POSIX `ENOSPC`: no space left on device.
    NoSpc = 51,
    /// POSIX `ENOSYS`: function not supported.
    NoSys = 52,
    /// POSIX `ENOTCONN`: the socket is not connected.
    NotConn = 53,
    /// POSIX `ENOTDIR`: not a directory or a symbolic link to a directory.
    NotDir = 54,
    /// POSIX `ENOTEMPTY`: directory not empty.
    NotEmpty = 55,
    /// POSIX `ENOTRECOVERABLE`: state not recoverable.
    NotRecoverable = 56,
    /// POSIX `ENOTSOCK`: not a socket.
    NotSock = 57,
    /// POSIX `ENOTSUP`: not supported.
    NotSup = 58,
    /// POSIX `ENOTTY`: inappropriate I/O control operation.
    NoTty = 59,
    /// POSIX `ENXIO`: no such device or address.
    NxIo = 60,
    /// POSIX `EOVERFLOW`: value too large to be stored in data type.
    Overflow = 61,
    /// POSIX `EOWNERDEAD`: previous owner died.
    OwnerDead = 62,
    /// POSIX `EPERM`: operation not permitted.
    Perm = 63,
    /// POSIX `EPIPE`: broken pipe.
    Pipe = 64,
    /// POSIX `EPROTO`: protocol error.
    Proto = 65,
    /// POSIX `EPROTONOSUPPORT`: protocol not supported.
    ProtoNoSupport = 66,
    /// POSIX `EPROTOTYPE`: protocol wrong type for socket.
    Prototype = 67,
    /// POSIX `ERANGE`: result too large.
    Range = 68,
    /// POSIX `EROFS`: read-only file system.
    RoFs = 69,
    /// POSIX `ESPIPE`: invalid seek.
    SPipe = 70,
    /// POSIX `ESRCH`: no such process.
    Srch = 71,
    /// POSIX `ESTALE`: reserved, unused.
    Stale = 72,
    /// POSIX `ETIMEDOUT`: connection timed out.
    TimedOut = 73,
    /// POSIX `ETXTBSY`: text file busy.
    TxtBsy = 74,
    /// POSIX `EXDEV`: cross-device link.
    XDev = 75,
    /// WASI `ENOTCAPABLE`: capabilities insufficient.
    NotCapable = 76,
}

impl Errno {
    /// The number the guest sees.
    #[must_use]
    pub fn code(self) -> u16 {
        self as u16
    }
}

/// Returns the result of a preview-1 function as the guest reads it: 0 for success, else the error's number.
#[must_use]
pub fn status(result: Result<(), Errno>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(errno) => i32::from(errno.code()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_numbers_of_the_witx_and_success_is_zero() {
        let numbers = [Errno::BadF, Errno::DQuot, Errno::NoEnt, Errno::NoSpc, Errno::NotCapable];
        assert_eq!(numbers.map(Errno::code), [8, 19, 44, 51, 76]);
        assert_eq!([status(Ok(())), status(Err(Errno::Fault))], [0, i32::from(Errno::Fault.code())]);
    }
}
