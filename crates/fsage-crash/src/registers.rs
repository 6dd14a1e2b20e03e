//! Arguments and results of system calls in the registers of a traced process.

#[cfg(not(target_arch = "x86_64"))]
mod other;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(not(target_arch = "x86_64"))]
pub use other::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
