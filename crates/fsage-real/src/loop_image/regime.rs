//! What fixes when and how the kernel allocates blocks, so that two replays give the same layout.

use super::Kind;
use crate::directory::Data;

/// A regime: mount options and a way of storing data under which the layout follows from the workload alone. Sources:
/// `docs/spec/ext4.md`, section 1; `docs/spec/xfs.md`, section 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regime {
    /// The word of the key `regime`.
    pub name: &'static str,
    /// The type of file system it is of.
    pub kind: Kind,
    /// Its mount options.
    mount: &'static [&'static str],
    /// How data is stored.
    pub data: Data,
}

/// Commits come at the marks of the workload, and reading changes no inode.
const ALWAYS_OF_EXT4: [&str; 2] = ["commit=86400", "noatime"];
const ALWAYS_OF_XFS: [&str; 1] = ["noatime"];

/// Every regime.
const REGIMES: [Regime; 5] = [
    Regime::of_ext4("a", &["dioread_lock"], Data::Write),
    Regime::of_ext4("b", &[], Data::Write),
    Regime::of_ext4("c", &["dioread_lock", "nodelalloc"], Data::Write),
    Regime::of_ext4("d", &[], Data::Fallocate),
    Regime {
        name: "strict",
        kind: Kind::Xfs,
        mount: &[],
        data: Data::Write,
    },
];

impl Regime {
    const fn of_ext4(name: &'static str, mount: &'static [&'static str], data: Data) -> Regime {
        Regime {
            name,
            kind: Kind::Ext4,
            mount,
            data,
        }
    }

    /// The regime of this name for a type of file system.
    ///
    /// # Errors
    /// The names of those that there are.
    pub fn find(kind: Kind, name: &str) -> Result<Regime, String> {
        let of_kind = || REGIMES.iter().filter(|regime| regime.kind == kind);
        let found = of_kind().find(|regime| regime.name == name);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = of_kind().map(|regime| regime.name).collect();
            match names.as_slice() {
                [] => format!("regime={name}: {kind} has no regime; ext4 and xfs have"),
                names => format!("regime={name}: expected one of {}", names.join(", ")),
            }
        })
    }

    /// Its mount options.
    pub(super) fn mount_options(&self) -> Vec<&'static str> {
        let always: &[&str] = match self.kind {
            Kind::Xfs => &ALWAYS_OF_XFS,
            _ => &ALWAYS_OF_EXT4,
        };
        [self.mount, always].concat()
    }
}
