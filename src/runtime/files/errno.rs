//! The error numbers of WASI preview 1, as the guest's C library reads them.

/// Failure of a preview-1 call. `success` (0) is no failure and has no variant; see [`status`].
///
/// The numbers are those of `errno` in `wasi_snapshot_preview1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Errno {
    /// Argument list too long.
    TooBig = 1,
    /// Permission denied.
    Acces = 2,
    /// Address in use.
    AddrInUse = 3,
    /// Address not available.
    AddrNotAvail = 4,
    /// Address family not supported.
    AfNoSupport = 5,
    /// Resource unavailable, or operation would block.
    Again = 6,
    /// Connection already in progress.
    Already = 7,
    /// Bad file descriptor.
    BadF = 8,
    /// Bad message.
    BadMsg = 9,
    /// Device or resource busy.
    Busy = 10,
    /// Operation cancelled.
    Canceled = 11,
    /// No child processes.
    Child = 12,
    /// Connection aborted.
    ConnAborted = 13,
    /// Connection refused.
    ConnRefused = 14,
    /// Connection reset.
    ConnReset = 15,
    /// Resource deadlock would occur.
    DeadLk = 16,
    /// Destination address required.
    DestAddrReq = 17,
    /// Mathematics argument out of domain of function.
    Dom = 18,
    /// Disk quota exceeded.
    DQuot = 19,
    /// File exists.
    Exist = 20,
    /// Bad address.
    Fault = 21,
    /// File too large.
    FBig = 22,
    /// Host is unreachable.
    HostUnreach = 23,
    /// Identifier removed.
    IdRm = 24,
    /// Illegal byte sequence.
    IlSeq = 25,
    /// Operation in progress.
    InProgress = 26,
    /// Interrupted function.
    Intr = 27,
    /// Invalid argument.
    Inval = 28,
    /// I/O error.
    Io = 29,
    /// Socket is connected.
    IsConn = 30,
    /// Is a directory.
    IsDir = 31,
    /// Too many levels of symbolic links.
    Loop = 32,
    /// Too many open files.
    MFile = 33,
    /// Too many links.
    MLink = 34,
    /// Message too large.
    MsgSize = 35,
    /// Reserved.
    MultiHop = 36,
    /// File name too long.
    NameTooLong = 37,
    /// Network is down.
    NetDown = 38,
    /// Connection aborted by network.
    NetReset = 39,
    /// Network unreachable.
    NetUnreach = 40,
    /// Too many files open in system.
    NFile = 41,
    /// No buffer space available.
    NoBufS = 42,
    /// No such device.
    NoDev = 43,
    /// No such file or directory.
    NoEnt = 44,
    /// Executable file format error.
    NoExec = 45,
    /// No locks available.
    NoLck = 46,
    /// Reserved.
    NoLink = 47,
    /// Not enough memory.
    NoMem = 48,
    /// No message of the desired type.
    NoMsg = 49,
    /// Protocol not available.
    NoProtoOpt = 50,
    /// No space left on device.
    NoSpc = 51,
    /// Function not supported.
    NoSys = 52,
    /// The socket is not connected.
    NotConn = 53,
    /// Not a directory or a symbolic link to a directory.
    NotDir = 54,
    /// Directory not empty.
    NotEmpty = 55,
    /// State not recoverable.
    NotRecoverable = 56,
    /// Not a socket.
    NotSock = 57,
    /// Not supported.
    NotSup = 58,
    /// Inappropriate I/O control operation.
    NoTty = 59,
    /// No such device or address.
    NxIo = 60,
    /// Value too large to be stored in data type.
    Overflow = 61,
    /// Previous owner died.
    OwnerDead = 62,
    /// Operation not permitted.
    Perm = 63,
    /// Broken pipe.
    Pipe = 64,
    /// Protocol error.
    Proto = 65,
    /// Protocol not supported.
    ProtoNoSupport = 66,
    /// Protocol wrong type for socket.
    Prototype = 67,
    /// Result too large.
    Range = 68,
    /// Read-only file system.
    RoFs = 69,
    /// Invalid seek.
    SPipe = 70,
    /// No such process.
    Srch = 71,
    /// Reserved.
    Stale = 72,
    /// Connection timed out.
    TimedOut = 73,
    /// Text file busy.
    TxtBsy = 74,
    /// Cross-device link.
    XDev = 75,
    /// Capabilities insufficient.
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
