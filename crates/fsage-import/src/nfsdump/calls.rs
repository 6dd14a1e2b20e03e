//! Calls that wait for their replies.

use super::packet::{Packet, Procedure};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// How long a call waits, and how long a repeated one is a retransmission.
const WAIT_NS: i64 = 60_000_000_000;
/// Calls kept at most, whatever the clock says.
const MOST: usize = 1 << 20;

/// A call.
#[derive(Debug)]
pub(super) struct Call {
    pub t_ns: i64,
    pub procedure: Procedure,
    pub pairs: Vec<u8>,
    answered: bool,
}

/// What became of a call that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    New,
    /// The same call with the same id came within a minute.
    Again,
}

/// Calls by client and transaction id, for a minute.
#[derive(Debug, Default)]
pub(super) struct Calls {
    clients: FxHashMap<Box<[u8]>, u32>,
    kept: FxHashMap<(u32, u64), Call>,
    /// Keys in the order of their calls.
    order: VecDeque<((u32, u64), i64)>,
    spare: Vec<Vec<u8>>,
    /// Calls that no reply came for.
    pub unanswered: u64,
}

impl Calls {
    /// Number of a client.
    pub fn client(&mut self, address: &[u8]) -> u32 {
        if let Some(&number) = self.clients.get(address) {
            return number;
        }
        let number = self.clients.len() as u32;
        self.clients.insert(address.into(), number);
        number
    }

    pub fn add(&mut self, client: u32, packet: &Packet<'_>) -> Arrival {
        self.expire(packet.t_ns);
        let key = (client, packet.xid);
        if let Some(old) = self.kept.get(&key) {
            let recent = packet.t_ns.saturating_sub(old.t_ns).saturating_abs() <= WAIT_NS;
            if recent && old.procedure == packet.procedure && old.pairs == packet.pairs {
                return Arrival::Again;
            }
            self.unanswered += u64::from(!old.answered);
        }
        let mut pairs = self.spare.pop().unwrap_or_default();
        pairs.clear();
        pairs.extend_from_slice(packet.pairs);
        let call = Call {
            t_ns: packet.t_ns,
            procedure: packet.procedure,
            pairs,
            answered: false,
        };
        if let Some(old) = self.kept.insert(key, call) {
            self.spare.push(old.pairs);
        }
        self.order.push_back((key, packet.t_ns));
        Arrival::New
    }

    /// The call that a reply answers; the first reply of each only. [`Calls::give_back`] must follow.
    pub fn take(&mut self, client: u32, packet: &Packet<'_>) -> Option<Call> {
        self.expire(packet.t_ns);
        let call = self.kept.get_mut(&(client, packet.xid))?;
        if call.answered || call.procedure != packet.procedure {
            return None;
        }
        call.answered = true;
        Some(Call {
            pairs: std::mem::take(&mut call.pairs),
            ..*call
        })
    }

    /// Keeps an answered call, so that retransmissions of it are known.
    pub fn give_back(&mut self, client: u32, xid: u64, call: Call) {
        if let Some(kept) = self.kept.get_mut(&(client, xid)) {
            kept.pairs = call.pairs;
        }
    }

    /// Calls that still wait at the end are unanswered.
    pub fn end(&mut self) {
        let waiting = self.kept.values().filter(|c| !c.answered).count();
        self.unanswered += waiting as u64;
        self.kept.clear();
        self.order.clear();
    }

    fn expire(&mut self, now_ns: i64) {
        while let Some(&(key, t_ns)) = self.order.front() {
            if now_ns.saturating_sub(t_ns) <= WAIT_NS && self.order.len() <= MOST {
                break;
            }
            self.order.pop_front();
            // A newer call may have taken its place.
            if self.kept.get(&key).is_some_and(|c| c.t_ns == t_ns)
                && let Some(call) = self.kept.remove(&key)
            {
                self.unanswered += u64::from(!call.answered);
                self.spare.push(call.pairs);
            }
        }
        self.spare.truncate(64);
    }
}
