//! What a file system check finds, and the checks that models have in common: who owns which unit of the device, and
//! which id names which file.

use crate::names::Names;
use fsage_core::operations::{DirIds, ROOT};
use fsage_core::{DirId, FileId, Inconsistency};
use rustc_hash::FxHashMap;
use std::fmt::Debug;

/// Findings that are told in words; more are only counted.
const MOST: usize = 100;

/// What was found so far.
#[derive(Debug)]
pub(crate) struct Findings(Inconsistency);

impl Default for Findings {
    fn default() -> Findings {
        Findings(Inconsistency {
            count: 0,
            findings: Vec::new(),
        })
    }
}

impl Findings {
    /// Something is wrong.
    pub fn find(&mut self, finding: impl FnOnce() -> String) {
        self.0.count += 1;
        if self.0.findings.len() < MOST {
            self.0.findings.push(finding());
        }
    }

    /// Something is wrong unless this holds.
    pub fn expect(&mut self, right: bool, finding: impl FnOnce() -> String) {
        if !right {
            self.find(finding);
        }
    }

    /// What is kept must be what is counted anew.
    pub fn compare<T: PartialEq + Debug + ?Sized>(&mut self, what: &str, kept: &T, counted: &T) {
        self.expect(kept == counted, || {
            format!("{what}: {kept:?} is kept, a recount gives {counted:?}")
        });
    }

    /// What was found in a part.
    pub fn take(&mut self, part: &str, checked: Result<(), Inconsistency>) {
        if let Err(inconsistency) = checked {
            let in_words = inconsistency.findings.len() as u64;
            for finding in inconsistency.findings {
                self.find(|| format!("{part}: {finding}"));
            }
            self.0.count += inconsistency.count - in_words;
        }
    }

    /// The result of the check.
    pub fn result(self) -> Result<(), Inconsistency> {
        if self.0.count == 0 {
            Ok(())
        } else {
            Err(self.0)
        }
    }

    /// The id of a directory leads to it. Not that of the root, whose number another directory may have taken.
    pub fn dir_id(&mut self, ids: &DirIds, slot: u32, id: u64) {
        self.expect(slot == ROOT || ids.get(DirId(id)) == Some(slot), || {
            format!("directory {id}: its id does not lead to it")
        });
    }

    /// The names of files lead to them, and every file counts its names.
    pub fn names<I: Copy>(&mut self, names: &Names<I>) {
        let mut further: FxHashMap<u32, u32> = FxHashMap::default();
        for (_, alias) in names.aliases() {
            *further.entry(alias.file).or_default() += 1;
        }
        let mut files = 0;
        for (slot, file) in names.iter() {
            files += 1;
            self.expect(names.find(FileId(file.id)) == Some(slot), || {
                format!("file {}: its id does not lead to it", file.id)
            });
            let counted = 1 + further.remove(&slot).unwrap_or(0);
            let kept = names.links(slot);
            let right = kept == counted && file.entry.is_linked() == (counted > 1);
            self.expect(right, || {
                format!("file {}: {kept} links, {counted} names", file.id)
            });
        }
        self.compare("files that are indexed", &names.len(), &files);
        self.expect(further.is_empty(), || {
            format!("names of {} files that are not there", further.len())
        });
    }
}

/// Which units of a device have an owner: one bit each.
#[derive(Debug)]
pub(crate) struct Owned {
    used: Vec<u64>,
    /// What a unit is called.
    unit: &'static str,
    units: u64,
}

impl Owned {
    /// Nothing has an owner yet.
    pub fn new(units: u64, unit: &'static str) -> Owned {
        Owned {
            used: vec![0; units.div_ceil(64) as usize],
            unit,
            units,
        }
    }

    /// Units get an owner: they lie on the device, and have no other.
    pub fn claim(
        &mut self,
        (start, n): (u64, u64),
        owner: &dyn Fn() -> String,
        found: &mut Findings,
    ) {
        let unit = self.unit;
        if start.saturating_add(n) > self.units {
            found.find(|| {
                format!(
                    "{}: {unit}s {start}+{n} lie outside the file system",
                    owner()
                )
            });
            return;
        }
        for at in start..start + n {
            let (word, bit) = (&mut self.used[(at / 64) as usize], 1 << (at % 64));
            if *word & bit != 0 {
                found.find(|| format!("{}: {unit} {at} has two owners", owner()));
                return;
            }
            *word |= bit;
        }
    }

    /// Whether a unit has an owner.
    pub fn is_used(&self, at: u64) -> bool {
        self.used[(at / 64) as usize] >> (at % 64) & 1 == 1
    }
}
