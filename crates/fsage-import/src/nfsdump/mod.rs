//! nfsdump traces as workloads: the format of the Harvard NFS traces of 2001 to 2003 (Ellard).
//!
//! One packet a line, call and reply joined by client and transaction id; only calls that were answered `OK`
//! count. A file is known by its handle; which name a handle has is learned from replies to lookup, create,
//! mkdir, symlink and readdirp. What is never named gets `h` and eight digits of a hash of its handle as its
//! name, in the root.
//!
//! Traps of the format, all taken care of: keys come twice (the first set is the object's), the attributes in a
//! reply to remove are the directory's, microseconds are not padded, short and overlong packets, garbage
//! attributes, exchanged words of sizes, clocks that jump back, retransmissions.

mod apply;
mod calls;
mod handles;
mod packet;

use crate::trace::{self, Fault, Format, Log, Namespace, TraceError, TraceOptions, TraceSummary};
use calls::{Arrival, Calls};
use fsage_core::{EventSink, WorkloadHeader};
use handles::Handles;
use packet::{Line, Packet, Procedure};
use std::io;

/// What was read and made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NfsSummary {
    /// What every trace has.
    pub trace: TraceSummary,
    /// Calls with their replies.
    pub pairs: u64,
    /// Replies whose call the trace lacks.
    pub replies_without_call: u64,
    /// Calls whose reply the trace lacks.
    pub calls_without_reply: u64,
    /// Calls sent again within a minute; they count once.
    pub retransmissions: u64,
    /// Packets that were too short to carry anything.
    pub short_packets: u64,
    /// Replies with garbage for attributes, which were dropped.
    pub garbage_attributes: u64,
    /// Sizes with exchanged words.
    pub swapped_sizes: u64,
    /// Times set to that of the file's operation before, because the clock had jumped back.
    pub clamped_times: u64,
    /// Sizes in replies older than one already seen; not used.
    pub stale_sizes: u64,
    /// Guessed: removals of unknown names taken as those of the file that had the name last.
    pub guessed_deletes: u64,
    /// Directories known by their handle alone when they were first used.
    pub unnamed_dirs: u64,
    /// Files known by their handle alone when they were first used.
    pub unnamed_files: u64,
    /// Replies with both a handle and an inode number.
    pub handles_checked: u64,
    /// Of them, those whose handle has that number where such handles have it. If all do, inode numbers and
    /// generations come from the handles.
    pub handles_agree: u64,
}

/// What can be said of the workload before a trace is read: times are Unix times, and where it came from.
pub fn header(names: &[String]) -> WorkloadHeader {
    WorkloadHeader {
        epoch_unix_s: Some(0),
        source: Some(format!("NFS trace {}", names.join(", "))),
        ..WorkloadHeader::default()
    }
}

/// Reads traces in order, as one, and gives their events to `sink`. Unless [`TraceOptions::only_new`] is set they
/// are read twice. `go_on` is asked now and then. [`TraceOptions::roots`] has no meaning: handles have no paths.
///
/// Times are nanoseconds since 1970-01-01 UTC.
///
/// # Errors
/// A trace cannot be read, more than 1 % of its lines are not nfsdump's, or the sink failed.
pub fn import(
    logs: &mut [Log<'_>],
    options: &TraceOptions,
    sink: &mut dyn EventSink,
    go_on: &mut dyn FnMut() -> io::Result<()>,
) -> Result<NfsSummary, TraceError> {
    let options = TraceOptions {
        roots: Vec::new(),
        ..options.clone()
    };
    let guess = options.guess;
    let make = |ns, first: Option<&Nfs<'_>>| {
        let agree = first.is_some_and(|f| {
            f.counts.handles_checked > 0 && f.counts.handles_agree == f.counts.handles_checked
        });
        Nfs {
            ns,
            calls: Calls::default(),
            handles: Handles::new(guess, agree),
            counts: NfsSummary::default(),
        }
    };
    let made = trace::import(logs, &options, "an nfsdump trace", sink, go_on, make)?;
    Ok(NfsSummary {
        trace: made.ns.summary,
        calls_without_reply: made.calls.unanswered,
        ..made.counts
    })
}

struct Nfs<'s> {
    ns: Namespace<'s>,
    calls: Calls,
    handles: Handles,
    counts: NfsSummary,
}

impl<'s> Format<'s> for Nfs<'s> {
    fn namespace(&mut self) -> &mut Namespace<'s> {
        &mut self.ns
    }

    fn read(
        &mut self,
        log: &mut Log<'_>,
        go_on: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), TraceError> {
        trace::read_lines(self, log, go_on, Self::line)
    }

    fn end(&mut self) {
        self.calls.end();
    }
}

impl Nfs<'_> {
    fn line(&mut self, line: &[u8]) -> Result<(), Fault> {
        match packet::parse(line).map_err(Fault::Bad)? {
            Line::Packet(packet) => {
                self.ns.tick(packet.t_ns);
                self.packet(&packet)
            }
            Line::Short(packet) => {
                self.counts.short_packets += 1;
                self.ns.tick(packet.t_ns);
                self.packet(&packet)
            }
        }
    }

    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), Fault> {
        let client = self.calls.client(packet.client);
        if !packet.reply {
            let again = self.calls.add(client, packet) == Arrival::Again;
            self.counts.retransmissions += u64::from(again);
            return Ok(());
        }
        let Some(call) = self.calls.take(client, packet) else {
            self.counts.replies_without_call += 1;
            return Ok(());
        };
        self.counts.pairs += 1;
        let done = if packet.procedure == Procedure::Other {
            self.ns.summary.calls_ignored += 1;
            Ok(())
        } else if packet.ok {
            self.ns.summary.calls_used += 1;
            self.apply(&call, packet, u64::from(client) + 1)
        } else {
            self.ns.summary.calls_failed += 1;
            Ok(())
        };
        self.calls.give_back(client, packet.xid, call);
        done
    }
}
