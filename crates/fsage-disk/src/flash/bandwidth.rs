//! A channel or the link: bandwidth cut into slots of time.
//!
//! A transfer takes what its first slot has left and goes on in the slots behind it. One that begins early may use an
//! early slot that is still free although a later transfer was computed before it: so a command can be computed to its
//! end when it arrives. docs/spec/flash.md, section 5.2.

/// Length of a slot.
const SLOT_NS: u64 = 4000;
/// What bandwidth is counted in.
const UNIT_BYTES: u64 = 128;
/// Slots of a new resource: 4 ms.
const FIRST_SLOTS: usize = 1 << 10;
/// Bits of an entry that count used units.
const USED_BITS: u32 = 8;
/// The farthest that an entry can point.
const FARTHEST: u32 = u32::MAX >> USED_BITS;

/// A resource with as much bandwidth in every slot.
#[derive(Clone, Debug)]
pub(super) struct Bandwidth {
    /// Units of a slot.
    capacity: u32,
    /// Time of a unit.
    unit_ns: u64,
    /// A ring. Low bits: units used. High bits: how far the next slot that may have room is; 0 if this one has some.
    slots: Vec<u32>,
    /// The first slot that counts; those before it are in the past.
    first: u64,
    /// No slot from here on has been used.
    end: u64,
}

/// Units of a slot of a resource with so much bandwidth.
pub(super) fn capacity_of(mib_s: u32) -> u64 {
    (u64::from(mib_s) << 20) * SLOT_NS / 1_000_000_000 / UNIT_BYTES
}

impl Bandwidth {
    /// A resource of which nothing is used; a unit takes `extra_ns` more than its bandwidth says.
    pub fn new(mib_s: u32, extra_ns: u64) -> Bandwidth {
        Bandwidth {
            capacity: capacity_of(mib_s) as u32,
            unit_ns: UNIT_BYTES * 1_000_000_000 / (u64::from(mib_s) << 20) + extra_ns,
            slots: vec![0; FIRST_SLOTS],
            first: 0,
            end: 0,
        }
    }

    /// When a transfer is over that begins at `at_ns`. No later call has a time before `now_ns`.
    pub fn transfer(&mut self, now_ns: u64, at_ns: u64, bytes: u64) -> u64 {
        self.forget_before(now_ns / SLOT_NS);
        let units = bytes.div_ceil(UNIT_BYTES);
        let begin = at_ns / SLOT_NS;
        let mut left = units as u32;
        let mut slot = begin;
        loop {
            slot = self.with_room(slot);
            let capacity = self.capacity;
            let entry = self.entry(slot);
            let taken = left.min(capacity - *entry);
            *entry += taken;
            if *entry == capacity {
                *entry |= 1 << USED_BITS;
            }
            self.end = self.end.max(slot + 1);
            left -= taken;
            if left == 0 {
                break;
            }
            slot += 1;
        }
        let delay = (slot - begin).saturating_sub(units / u64::from(self.capacity));
        at_ns + units * self.unit_ns + SLOT_NS * delay
    }

    /// The first slot from this one on that has room. The chain that leads there is shortened.
    fn with_room(&mut self, mut slot: u64) -> u64 {
        self.reach(slot);
        loop {
            let far = *self.entry(slot) >> USED_BITS;
            if far == 0 {
                return slot;
            }
            let next = slot + u64::from(far);
            self.reach(next);
            let farther = far.saturating_add(*self.entry(next) >> USED_BITS);
            *self.entry(slot) = self.capacity | farther.min(FARTHEST) << USED_BITS;
            slot = next;
        }
    }

    fn entry(&mut self, slot: u64) -> &mut u32 {
        let mask = self.slots.len() - 1;
        &mut self.slots[slot as usize & mask]
    }

    /// Makes the ring long enough for a slot and the one behind it.
    fn reach(&mut self, slot: u64) {
        let needed = (slot + 2 - self.first) as usize;
        if needed <= self.slots.len() {
            return;
        }
        let old_mask = self.slots.len() - 1;
        let mut slots = vec![0; needed.next_power_of_two()];
        let mask = slots.len() - 1;
        for kept in self.first..self.end {
            slots[kept as usize & mask] = self.slots[kept as usize & old_mask];
        }
        self.slots = slots;
    }

    fn forget_before(&mut self, slot: u64) {
        for past in self.first..slot.min(self.end) {
            *self.entry(past) = 0;
        }
        self.first = self.first.max(slot);
        self.end = self.end.max(self.first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn capacities_and_units_are_rounded_down_in_the_order_of_the_reference() {
        for (mib_s, capacity, unit_ns) in [
            (800, 26, 152),
            (3360, 110, 36),
            (450, 14, 271),
            (550, 18, 221),
        ] {
            let resource = Bandwidth::new(mib_s, 0);
            assert_eq!((resource.capacity, resource.unit_ns), (capacity, unit_ns));
        }
    }

    #[test]
    fn a_transfer_takes_what_a_slot_has_left() {
        // The worked example of two chunks of 16 KB on a channel of 800 MiB/s.
        let mut channel = Bandwidth::new(800, 0);
        assert_eq!(channel.transfer(0, 60_503, 16_384), 79_959);
        assert_eq!(channel.transfer(0, 79_959, 16_384), 103_415);
    }

    /// The rule itself, without ring and chains.
    struct Plain {
        capacity: u64,
        unit_ns: u64,
        used: std::collections::BTreeMap<u64, u64>,
    }

    impl Plain {
        fn transfer(&mut self, at_ns: u64, bytes: u64) -> u64 {
            let units = bytes.div_ceil(128);
            let (mut slot, mut left) = (at_ns / 4000, units);
            loop {
                let used = self.used.entry(slot).or_default();
                let taken = left.min(self.capacity - *used);
                *used += taken;
                left -= taken;
                if left == 0 {
                    break;
                }
                slot += 1;
            }
            let late = (slot - at_ns / 4000).saturating_sub(units / self.capacity);
            at_ns + units * self.unit_ns + 4000 * late
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn ring_and_chains_change_no_time(
            transfers in prop::collection::vec((0_u64..20_000, 0_u64..9_000_000, 1_u64..300_000), 1..60),
            mib_s in prop_oneof![Just(63_u32), Just(317), Just(800), Just(3360)],
        ) {
            let mut resource = Bandwidth::new(mib_s, 3);
            let mut plain = Plain {
                capacity: resource.capacity.into(),
                unit_ns: resource.unit_ns,
                used: std::collections::BTreeMap::new(),
            };
            let mut now_ns = 0;
            for (think_ns, ahead_ns, bytes) in transfers {
                now_ns += think_ns * think_ns / 1000;
                let at_ns = now_ns + ahead_ns;
                prop_assert_eq!(resource.transfer(now_ns, at_ns, bytes), plain.transfer(at_ns, bytes));
            }
        }
    }
}
