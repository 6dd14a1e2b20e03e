//! What every model of the list has to keep, with every policy and under every layer: the contracts of `FileSystem`,
//! `Layout` and `Hosted`.

#[path = "../../tests/suite/steps/any_op.rs"]
mod any_op;
#[path = "../../tests/suite/steps/rules.rs"]
#[allow(dead_code)] // Others use the rest of it.
mod rules;

use super::{Entry, LAYERS, Options};
use crate::{AnyModel, MODELS};
use any_op::any_op_of;
use fsage_core::io::{AnyHosted, Buffer, Io};
use fsage_core::keys::Key;
use fsage_core::operations::Namespace as _;
use fsage_core::{DirId, Extent, FileId, Layout, Op, Outcome};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use rules::{End, Rules};
use std::fmt::Write as _;

/// Lengths around blocks and fragments, and some that fill a small file system.
fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..20_000,
        2 => (0_u64..80).prop_map(|blocks| blocks * 4096),
        1 => 100_000_u64..3_000_000,
    ]
}

/// A model with the keys that it is made with.
struct Case {
    entry: &'static Entry,
    options: Vec<(&'static str, Option<&'static str>)>,
}

impl Case {
    fn name(&self) -> String {
        format!("{}:{:?}", self.entry.name, self.options)
    }

    fn make(&self) -> Box<dyn AnyModel> {
        let made = self.entry.make(&self.options);
        made.unwrap_or_else(|error| panic!("{}: {error}", self.name()))
    }
}

fn parsed(text: &'static str) -> Vec<(&'static str, Option<&'static str>)> {
    crate::options::split(text).collect()
}

/// Every model in every small form, with each of its policies, and under each way of each layer.
fn all() -> Vec<Case> {
    let mut all = Vec::new();
    for &entry in MODELS {
        for small in entry.small.iter().map(|text| parsed(text)) {
            let key = entry.policy_key().map(|key| key.name);
            let policies = entry.policies().into_iter();
            let policies = policies.filter_map(|policy| Some((key?, Some(policy.name))));
            let chosen = policies.map(Some).chain(key.is_none().then_some(None));
            for policy in chosen {
                let options = small.iter().copied().chain(policy).collect();
                all.push(Case { entry, options });
            }
            if entry.layered.is_some() {
                all.extend(layered(entry, &small));
            }
        }
    }
    all
}

fn layered(entry: &'static Entry, small: &Options<'static>) -> Vec<Case> {
    let ways = LAYERS.iter().flat_map(|layer| ways(&layer.keys[0]));
    let keys = parsed("ra=25%,threshold=2,near=0,period=30,ra_inode=8K,cylinder=64K");
    let cases = ways.map(|way| Case {
        entry,
        options: small
            .iter()
            .copied()
            .chain([way])
            .chain(keys.iter().copied())
            .collect(),
    });
    cases.collect()
}

fn ways(key: &'static Key) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    key.words.iter().map(|word| (key.name, Some(*word)))
}

/// All that can be seen of a state.
fn looks(fs: &dyn AnyModel) -> String {
    let mut out = format!("{:?} {:?}\n", fs.geometry(), fs.space());
    fs.visit_files(&mut |file| {
        writeln!(out, "{file:?}").expect("a String takes everything");
    });
    fs.visit_free(&mut |run| {
        writeln!(out, "{run:?}").expect("a String takes everything");
    });
    fs.visit_further_names(&mut |name| {
        writeln!(out, "{name:?}").expect("a String takes everything");
    });
    for id in 0..6 {
        let (file, dir) = (FileId(id), DirId(id));
        let seen = (fs.file_size(file), fs.inode(file), fs.directory_inode(dir));
        write!(out, "{seen:?} ").expect("a String takes everything");
    }
    out
}

/// What a layout says of itself fits together.
fn layout_is_sound(fs: &dyn Layout) -> Result<(), TestCaseError> {
    let geometry = fs.geometry();
    let mut free = Vec::new();
    fs.visit_free(&mut |run| free.push((run.start_bytes, run.start_bytes + run.length_bytes)));
    for pair in free.windows(2) {
        prop_assert!(pair[0].1 < pair[1].0, "runs of free space: {:?}", pair);
    }
    prop_assert!(
        free.last().is_none_or(|run| run.1 <= geometry.size_bytes),
        "{:?}",
        free.last()
    );
    let mut used = Vec::new();
    fs.visit_files(&mut |file| {
        let extents = file.extents.unwrap_or_default().iter();
        let unplaced = Extent::DELALLOC | Extent::UNKNOWN | Extent::INLINE;
        let extents = extents.filter(|e| e.flags & unplaced == 0);
        used.extend(extents.map(|e| (e.physical_bytes, e.physical_bytes + e.length_bytes)));
    });
    used.sort_unstable();
    for pair in used.windows(2) {
        prop_assert!(pair[0].1 <= pair[1].0, "used twice: {:?}", pair);
    }
    prop_assert!(
        used.last().is_none_or(|run| run.1 <= geometry.size_bytes),
        "{:?}",
        used.last()
    );
    for run in &used {
        let at = free.partition_point(|free| free.1 <= run.0);
        prop_assert!(
            free.get(at).is_none_or(|free| free.0 >= run.1),
            "used and free: {:?}",
            run
        );
    }
    Ok(())
}

/// Plays operations: every one is answered, checked, and the same the second time; one that is refused changes nothing.
fn conforms(case: &Case, ops: &[Op]) -> Result<(), TestCaseError> {
    let (mut fs, mut again) = (case.make(), case.make());
    // Telling a follower changes nothing.
    if let Some(hosted) = again.as_hosted() {
        hosted.emit_to_follower();
    }
    for (i, op) in ops.iter().enumerate() {
        let before = looks(&*fs);
        let got = fs.apply(op);
        prop_assert_eq!(again.apply(op), got, "the second time, {:?}", op);
        let after = looks(&*fs);
        if matches!(got, Err(_) | Ok(Outcome::Ignored)) {
            prop_assert_eq!(before, after, "{:?} gave {:?}", op, got);
        }
        if let (Op::Create { file, bytes, .. }, Ok(Outcome::Done), true) =
            (*op, got, case.entry.keeps_files)
        {
            prop_assert_eq!(fs.file_size(file), Some(bytes));
        }
        let checked = fs.check();
        prop_assert!(checked.is_ok(), "after {:?}: {:?}", op, checked);
        layout_is_sound(&*fs)?;
        if i % 16 == 15 {
            fs.end_day();
            again.end_day();
            fs.begin_day();
            again.begin_day();
        }
    }
    prop_assert_eq!(looks(&*fs), looks(&*again));
    if let Some(hosted) = fs.into_hosted() {
        return emitted_fits(hosted, ops);
    }
    prop_assert!(!case.entry.keeps_files, "no host can run it");
    Ok(())
}

/// A host that follows sees the same operations, and buffers that lie on the disk.
fn emitted_fits(mut fs: Box<dyn AnyHosted>, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut silent = fs.copy();
    silent.emit(false);
    fs.emit(true);
    let size_bytes = fs.geometry().size_bytes;
    // What a log has not written yet lies nowhere: its address is the last one.
    let lies = |b: Buffer| {
        let end = b.start_bytes.checked_add(b.bytes.into());
        end.is_none_or(|end| end <= size_bytes)
    };
    for op in ops {
        prop_assert_eq!(fs.apply(op).is_ok(), silent.apply(op).is_ok(), "{:?}", op);
        for io in fs.emitted().drain(..) {
            let (Io::Need(buffer)
            | Io::Modify(buffer, _)
            | Io::Fill(buffer, _)
            | Io::Place(buffer)
            | Io::Assign(buffer)) = io
            else {
                continue;
            };
            prop_assert!(lies(buffer), "{:?}: {:?}", op, buffer);
        }
        for id in (0..6).map(FileId).filter(|&id| fs.inode(id).is_some()) {
            let map = fs.block_map(id, 0);
            prop_assert!(map.buffer.is_none_or(lies), "{:?}", map);
        }
    }
    Ok(())
}

/// Plays operations: what may be done, is refused, or is skipped as an earlier one found no space, is what the rules
/// alone say, which are told how each ended that may be done.
fn follows_the_rules(case: &Case, ops: &[Op]) -> Result<(), TestCaseError> {
    let (mut fs, mut rules) = (case.make(), Rules::new());
    for op in ops {
        let found = fs.apply(op);
        let written = match *op {
            Op::Symlink { file, .. } => Some(file),
            _ => op.written_file(),
        };
        let mut was_done = false;
        let wanted = rules.apply(op, || {
            was_done = true;
            End {
                outcome: found.unwrap_or(Outcome::Absent),
                bytes: written.and_then(|file| fs.file_size(file)),
            }
        });
        prop_assert_eq!(found, wanted, "{:?}", op);
        let is_skipped = matches!(found, Err(_) | Ok(Outcome::Absent));
        prop_assert_eq!(is_skipped, !was_done, "{:?}: {:?}", op, found);
        for id in 0..6 {
            let (file, dir) = (FileId(id), DirId(id));
            prop_assert_eq!(fs.file_size(file), rules.file_size(file), "{:?}", op);
            let is_known = rules.dir_ids().get(dir).is_some();
            prop_assert_eq!(fs.directory_inode(dir).is_some(), is_known, "{:?}", op);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn every_model_conforms_with_every_policy_and_under_every_layer(
        ops in prop::collection::vec(any_op_of(bytes()), 1..60),
    ) {
        for case in all() {
            conforms(&case, &ops).map_err(|e| TestCaseError::fail(format!("{}: {e}", case.name())))?;
        }
    }

    #[test]
    fn every_model_does_refuses_and_skips_what_the_rules_say(
        ops in prop::collection::vec(any_op_of(bytes()), 1..200),
    ) {
        for case in all().into_iter().filter(|case| case.entry.keeps_files) {
            let followed = follows_the_rules(&case, &ops);
            followed.map_err(|e| TestCaseError::fail(format!("{}: {e}", case.name())))?;
        }
    }
}

/// The keys of a line of the list: what they say of themselves is what is made.
#[test]
fn every_word_of_every_key_of_every_model_can_be_made_or_is_refused_by_its_sizes() {
    for entry in MODELS {
        entry
            .can_be_made(&[])
            .unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        for key in entry.keys {
            for word in key.completions() {
                let made = entry.can_be_made(&[(key.name, Some(word))]);
                assert!(
                    !matches!(made, Err(crate::MakeError::Key(_))),
                    "{}: {}={word}",
                    entry.name,
                    key.name
                );
            }
        }
        for example in entry.examples {
            let options: Vec<_> = crate::options::split(example).collect();
            entry
                .can_be_made(&options)
                .unwrap_or_else(|e| panic!("{}:{example}: {e}", entry.name));
        }
    }
}

/// What CONTRIBUTING.md shows of the worked example is what stands in its folder.
#[test]
fn the_worked_example_is_quoted_as_it_is() {
    let page = include_str!("../../../../CONTRIBUTING.md");
    let (_, section) = page
        .split_once("## Add a model, step by step")
        .expect("the section");
    let (section, _) = section.split_once("\n## ").expect("the next section");
    let example = concat!(
        include_str!("../bump/mod.rs"),
        include_str!("../bump/seen.rs")
    );
    let quoted: Vec<&str> = section.split("```rust\n").skip(1).collect();
    assert!(quoted.len() >= 3, "{} blocks of it", quoted.len());
    for block in quoted {
        let (block, _) = block.split_once("\n   ```").expect("an end of the block");
        let lines = block
            .lines()
            .map(|line| line.strip_prefix("   ").unwrap_or(line));
        let block = lines.collect::<Vec<_>>().join("\n");
        assert!(
            example.contains(&block),
            "CONTRIBUTING.md: not in the example:\n{block}"
        );
    }
    let list = include_str!("../lib.rs");
    assert!(section.contains("+    bump\n") && list.contains("\n    bump\n"));
}
