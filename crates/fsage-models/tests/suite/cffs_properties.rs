//! What C-FFS has to keep whatever is asked of it: the file system check after every operation, with all switches.

use crate::steps::any_op;
use crate::steps::cases;
use crate::steps::cffs::{Step, World, params, step};
use fsage_core::io::Hosted;
use fsage_core::{FileSystem, Layout, Op, Outcome};
use fsage_models::cffs::{Cffs, InodeId, Params};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::fmt::Write as _;

/// What can be seen of a state.
fn looks(fs: &Cffs) -> String {
    let mut out = format!("{}\n", fs.free_blocks());
    fs.visit_files(&mut |file| {
        writeln!(out, "{file:?}").expect("a String takes everything");
    });
    fs.visit_free(&mut |run| {
        write!(out, "{run:?} ").expect("a String takes everything");
    });
    fs.visit_further_names(&mut |name| {
        write!(out, "{name:?} ").expect("a String takes everything");
    });
    out
}

fn checked(fs: &Cffs, what: &dyn std::fmt::Debug) -> Result<(), TestCaseError> {
    fs.check()
        .map_err(|e| TestCaseError::fail(format!("{what:?}: {:?}", e.findings)))
}

/// Parameters, with what an image has no room for.
fn all_params(blocks: u64) -> impl Strategy<Value = Params> {
    let more = (prop::bool::weighted(0.3), any::<bool>());
    (params(blocks), more).prop_map(|(params, (table, hints))| Params {
        inode_id: if table {
            InodeId::Table
        } else {
            params.inode_id
        },
        hints,
        ..params
    })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn every_verb_with_any_arguments_is_answered_and_an_error_changes_nothing(
        params in all_params(400),
        ops in prop::collection::vec(any_op(), 1..100),
    ) {
        let mut fs = Cffs::new(params).expect("the sizes work");
        let mut again = fs.clone();
        for op in &ops {
            let before = looks(&fs);
            let got = fs.apply(op);
            checked(&fs, op)?;
            prop_assert_eq!(again.apply(op), got, "the second time, {:?}", op);
            let changes_nothing = matches!(
                got,
                Err(_) | Ok(Outcome::Ignored | Outcome::Absent | Outcome::NoInode)
            ) || matches!(op, Op::Read { .. } | Op::Fsync { .. } | Op::Sync | Op::Remount);
            if changes_nothing || op.verb().is_probe() {
                prop_assert_eq!(&before, &looks(&fs), "{:?}: {:?}", op, got);
            }
        }
        prop_assert_eq!(looks(&fs), looks(&again));
    }

    /// Small disks, which fill up; links, moves and open files; in the end everything goes, and all space is free.
    #[test]
    fn it_is_consistent_after_every_operation(
        params in all_params(300),
        steps in prop::collection::vec((step(), prop::option::of(0_u64..4)), 1..90),
    ) {
        let mut fs = Cffs::new(params).expect("the sizes work");
        let mut world = World::default();
        for (step, together) in &steps {
            fs.name_together(*together);
            match step {
                Step::Open(pick) => {
                    if let Some((file, _)) = world.file(*pick) {
                        world.open.extend(fs.open(file));
                    }
                }
                Step::Close(pick) => {
                    if let Some(n) = usize::from(*pick).checked_rem(world.open.len()) {
                        fs.close(world.open.swap_remove(n));
                    }
                }
                _ => {}
            }
            checked(&fs, step)?;
            for op in world.ops(step).unwrap_or_default() {
                let _ = fs.apply(&op);
                checked(&fs, &op)?;
                world.note(&op, &fs);
            }
        }
        for file in std::mem::take(&mut world.open) {
            fs.close(file);
            checked(&fs, &"close")?;
        }
        for (file, _) in std::mem::take(&mut world.files) {
            prop_assert_eq!(fs.apply(&Op::Delete { file }), Ok(Outcome::Done));
            checked(&fs, &file)?;
        }
        let mut left = 0;
        fs.visit_files(&mut |file| left += u64::from(file.kind == fsage_core::FileKind::Regular));
        prop_assert_eq!(left, 0);
    }
}
