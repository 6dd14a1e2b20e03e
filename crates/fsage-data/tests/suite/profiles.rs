//! Pools of profiles of short-lived files: tables, CSV, and what cannot be right.

use crate::kit;
use fsage_core::short_lived::ProfileVerb::{Append, Create, Delete};
use fsage_core::short_lived::{Profile, ProfileOp, ProfileVerb};
use fsage_data::profiles::{profile_tables, read_profiles_csv, write_profiles_csv};
use fsage_data::{read_profiles, write_profiles};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// The exchange form of the sample traces: 522 files in 46 profiles (its index).
#[test]
fn the_sample_pool_comes_back_byte_for_byte() {
    let Some(sample) = kit::shared("data/strace/profiles.csv") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let profiles = read_profiles(&sample).unwrap();
    let files = |source: &str| {
        let of = profiles.iter().filter(|p| p.source == source);
        (of.clone().count(), of.map(Profile::files).sum::<u64>())
    };
    assert_eq!((files("pip"), files("redismake")), ((40, 58), (6, 464)));
    let pool = dir.path().join("pool.profiles.parquet");
    write_profiles(&pool, &profiles, false).unwrap();
    let read = read_profiles(&pool).unwrap();
    assert_eq!(read, profiles);
    assert_eq!(read_profiles(dir.path().join("pool")).unwrap(), profiles);
    let csv = dir.path().join("pool.csv");
    write_profiles_csv(&csv, &read, false).unwrap();
    assert!(write_profiles_csv(&csv, &read, false).is_err());
    assert_eq!(fs::read(csv).unwrap(), fs::read(sample).unwrap());
}

prop_compose! {
    /// A profile of files made at `starts`, each with its life, size, an append and a name.
    fn any_profile()(
        files in vec((0..50_i64, 0..9_i64, 0..1000_u64, proptest::option::of(0..9_u64), "[a-z,\" \u{e9}]{0,4}"), 1..6),
        source in "[a-b]",
        dir in "[a-c/]{1,3}",
        day in 0..3_u32,
        start_ns in 0..1_000_000_i64,
    ) -> Profile {
        let mut files = files;
        files.sort();
        let first = files[0].0;
        let mut profile = Profile { source, dir, day, start_ns, ..Profile::default() };
        for (local_id, (start, life, bytes, append, name)) in files.into_iter().enumerate() {
            let op = |t_rel_ns, verb, bytes| ProfileOp { t_rel_ns, verb, local_id: local_id as u64, bytes };
            profile.ops.push(op(start - first, ProfileVerb::Create, bytes));
            if let Some(bytes) = append {
                profile.ops.push(op(start - first + life / 2, ProfileVerb::Append, bytes));
            }
            profile.ops.push(op(start - first + life, ProfileVerb::Delete, 0));
            profile.names.push(name.into());
        }
        profile.ops.sort_by_key(|op| (op.t_rel_ns, op.local_id, op.verb));
        if profile.names.iter().all(|name| name.is_empty()) {
            profile.names.clear();
        }
        profile
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_pool_comes_back_from_its_tables(profiles in vec(any_profile(), 0..5)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p");
        write_profiles(&path, &profiles, false).unwrap();
        prop_assert_eq!(read_profiles(&path).unwrap(), profiles);
    }

    /// The exchange form loses windows and appends, and no file, byte, name or time.
    #[test]
    fn any_pool_keeps_its_files_in_the_exchange_form(profiles in vec(any_profile(), 0..5)) {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("1.csv"), dir.path().join("2.csv"));
        write_profiles_csv(&one, &profiles, false).unwrap();
        let read = read_profiles_csv(&one).unwrap();
        let total = |profiles: &[Profile]| {
            let mut lives: Vec<(i64, i64)> = Vec::new();
            for profile in profiles {
                let mut made = vec![0; profile.files() as usize];
                for op in &profile.ops {
                    let t_ns = profile.start_ns + op.t_rel_ns;
                    match op.verb {
                        ProfileVerb::Create => made[op.local_id as usize] = t_ns,
                        ProfileVerb::Delete => lives.push((made[op.local_id as usize], t_ns)),
                        ProfileVerb::Append => {}
                    }
                }
            }
            lives.sort_unstable();
            let mut names: Vec<_> = profiles.iter().flat_map(|p| p.names.iter().cloned()).collect();
            names.retain(|name| !name.is_empty());
            names.sort();
            (lives, names, profiles.iter().map(Profile::bytes).sum::<u64>())
        };
        prop_assert_eq!(total(&read), total(&profiles));
        write_profiles_csv(&two, &read, false).unwrap();
        prop_assert_eq!(fs::read(&one).unwrap(), fs::read(&two).unwrap());
    }
}

fn csv_problem(dir: &Path, text: &str) -> String {
    let path = dir.join("x.csv");
    fs::write(&path, text).unwrap();
    read_profiles(&path).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_with_a_csv_names_the_row() {
    let dir = tempfile::tempdir().unwrap();
    let problem = |rows: &str| {
        csv_problem(
            dir.path(),
            &format!("source,dir,start_s,life_s,bytes,name\n{rows}"),
        )
    };
    for (rows, words) in [
        (
            "a,0,1,2,3,x\na,0,one,2,3,x\n",
            "row 2: `start_s` is \"one\"",
        ),
        ("a,0,1,-2,3,x\n", "row 1: `life_s` is \"-2\""),
        ("a,0,1,2.0000000001,3,x\n", "row 1: `life_s`"),
        ("a,0,9223372036,2,3,x\n", "row 1: the file lives beyond"),
        ("a,0,99999999999,2,3,x\n", "row 1: `start_s`"),
        ("a,0,1,2,3.5,x\n", "row 1: `bytes` is \"3.5\""),
        ("a,0,1,2,3\n", "row 1: 5 fields, expected 6"),
    ] {
        let message = problem(rows);
        assert!(
            message.contains("x.csv") && message.contains(words),
            "{message}"
        );
    }
    let message = csv_problem(dir.path(), "a,b\n1,2\n");
    assert!(
        message.contains("expected \"source,dir,start_s"),
        "{message}"
    );
    assert!(csv_problem(dir.path(), "").contains("first line"));
    assert!(read_profiles(dir.path().join("absent.csv")).is_err());
}

#[test]
fn profiles_that_are_not_in_order_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let op = |t_rel_ns, verb, local_id| ProfileOp {
        t_rel_ns,
        verb,
        local_id,
        bytes: 1,
    };
    let problem = |ops: Vec<ProfileOp>| {
        let profile = Profile {
            ops,
            ..Profile::default()
        };
        let result = write_profiles(dir.path().join("p"), &[profile], true);
        result.map_or_else(|e| e.to_string(), |()| "none".to_owned())
    };
    assert_eq!(
        problem(vec![op(0, Create, 0), op(0, Append, 0), op(5, Delete, 0)]),
        "none"
    );
    for (ops, words) in [
        (vec![op(1, Create, 0), op(5, Delete, 0)], "not at time 0"),
        (vec![op(0, Create, 0), op(-1, Delete, 0)], "earlier"),
        (vec![op(0, Create, 0)], "file 0 is never deleted"),
        (
            vec![op(0, Delete, 0), op(0, Create, 0)],
            "operation 1: delete of file 0, which was not made",
        ),
        (
            vec![op(0, Create, 0), op(0, Create, 0)],
            "create of file 0, which is there already",
        ),
        (
            vec![op(0, Create, 0), op(0, Delete, 0), op(0, Append, 0)],
            "was deleted before",
        ),
        (vec![op(0, Create, 7), op(0, Delete, 7)], "`local_id` 7"),
        (
            vec![op(0, Create, u64::MAX)],
            "`local_id` 18446744073709551615",
        ),
    ] {
        let message = problem(ops);
        assert!(message.contains(words), "{message}");
    }
    // The operations of another pool beside the table.
    let op = |bytes| {
        vec![
            ProfileOp {
                bytes,
                ..op(0, Create, 0)
            },
            op(1, Delete, 0),
        ]
    };
    for (name, bytes) in [("a", 5), ("b", 6)] {
        let profile = Profile {
            ops: op(bytes),
            ..Profile::default()
        };
        write_profiles(dir.path().join(name), &[profile], false).unwrap();
    }
    let (_, ops) = profile_tables(&dir.path().join("a"));
    fs::copy(profile_tables(&dir.path().join("b")).1, &ops).unwrap();
    let message = read_profiles(dir.path().join("a")).unwrap_err().to_string();
    assert!(
        message.contains("row 1: profile 0 has 1 files and 6 bytes"),
        "{message}"
    );
    fs::remove_file(ops).unwrap();
    assert!(read_profiles(dir.path().join("a")).is_err());
}
