//! The importers of traces, from outside: acceptance numbers of real logs, hand-written lines for each rule, and
//! damaged logs. Whatever a log says, the workload made of it must replay without a state error.

mod damage;
mod kit;
mod nfsdump;
mod op_log;
mod properties;
mod samples;
mod strace;
