//! Number, arguments and result of a system call in the registers of x86-64.

use crate::tracee::Call;
use nix::sys::ptrace;
use nix::unistd::Pid;

pub const KNOWN: bool = true;

/// The call that a process has stopped at.
pub fn call(pid: Pid) -> nix::Result<Call> {
    let r = ptrace::getregs(pid)?;
    Ok(Call {
        number: r.orig_rax as i64,
        args: [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9],
    })
}

/// What the call gave that a process has come back from.
pub fn result(pid: Pid) -> nix::Result<i64> {
    Ok(ptrace::getregs(pid)?.rax as i64)
}

/// Keeps the kernel from making the call that a process has stopped at.
pub fn skip(pid: Pid) -> nix::Result<()> {
    let mut r = ptrace::getregs(pid)?;
    r.orig_rax = u64::MAX;
    ptrace::setregs(pid, r)
}

/// Has the call give this.
pub fn set_result(pid: Pid, result: i64) -> nix::Result<()> {
    let mut r = ptrace::getregs(pid)?;
    r.rax = result as u64;
    ptrace::setregs(pid, r)
}

/// The third argument: how many bytes to write. A compiler relies on it to be the same after the call.
pub fn set_third(pid: Pid, value: u64) -> nix::Result<()> {
    let mut r = ptrace::getregs(pid)?;
    r.rdx = value;
    ptrace::setregs(pid, r)
}
