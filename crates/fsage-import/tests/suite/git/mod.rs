//! Git histories as workloads. The expected events are written by hand from the rules in the documentation of
//! `fsage_import::git`; the files alive at the end are counted by git itself.

mod damage;
mod hostile;
mod redis;
mod repo;

use fsage_core::{Op, Origin, TQuality};
use fsage_import::git::{GitOptions, View, count_commits, header, tip};
use repo::{MIDNIGHT, Repo, lines, options, try_import};

const HOUR: i64 = 3600;
const DAY: i64 = 86_400;

/// Two days; changes of every kind.
fn small() -> Repo {
    let r = Repo::new();
    r.write(b"b.txt", 10, b'1');
    r.write(b"src/lib/deep.c", 300, b'1');
    r.write(b"src/main.c", 100, b'1');
    r.commit(HOUR);
    r.write(b"b.txt", 20, b'2');
    r.write(b"a.txt", 0, b'2');
    std::fs::remove_file(r.file(b"src/main.c")).unwrap();
    r.commit(2 * HOUR);
    r.write(b"b.txt", 20, b'3');
    r.write(b"src/main.c", 5, b'3');
    r.commit(DAY + HOUR);
    r
}

#[test]
fn commits_become_creates_rewrites_and_deletes_in_path_order() {
    let r = small();
    let (events, s) = lines(&r, &options(View::Commit));
    assert_eq!(
        events,
        [
            "@3600 create 0 0 10 b.txt",
            "@3600 mkdir 1 0 src",
            "@3600 mkdir 2 1 lib",
            "@3600 create 1 2 300 deep.c",
            "@3600 create 2 1 100 main.c",
            "@7200 delete 2",
            "@7200 create 3 0 0 a.txt",
            "@7200 rewrite 0 20",
            "@7200 day 0",
            "@90000 rewrite 0 20",
            "@90000 create 4 1 5 main.c",
            "@90000 day 1",
        ]
    );
    assert_eq!(
        (s.commits, s.steps, s.days, s.days_with_commits),
        (3, 3, 2, 2)
    );
    assert_eq!((s.mkdirs, s.creates, s.rewrites, s.deletes), (2, 5, 2, 1));
    assert_eq!(s.bytes_written, 10 + 300 + 100 + 20 + 20 + 5);
    assert_eq!((s.live_files, s.live_bytes), r.files_at_head());
    assert_eq!((s.most_live_files, s.most_live_bytes), (4, 410));
    assert_eq!(
        (s.first_commit_s, s.last_step_s),
        (MIDNIGHT + HOUR, MIDNIGHT + DAY + HOUR)
    );
    assert_eq!(s.operations(), 10);
}

#[test]
fn days_become_checkouts_that_replace_inodes_at_the_last_second() {
    let r = small();
    let (events, s) = lines(&r, &options(View::Day));
    assert_eq!(
        events,
        [
            "@86399 create 0 0 0 a.txt",
            "@86399 create 1 0 20 b.txt",
            "@86399 mkdir 1 0 src",
            "@86399 mkdir 2 1 lib",
            "@86399 create 2 2 300 deep.c",
            "@86399 day 0",
            "@172799 delete 1",
            "@172799 create 3 0 20 b.txt",
            "@172799 create 4 1 5 main.c",
            "@172799 day 1",
        ]
    );
    assert_eq!(
        (s.commits, s.steps, s.replacements, s.deletes),
        (3, 2, 1, 1)
    );
    assert_eq!((s.live_files, s.live_bytes), r.files_at_head());
}

#[test]
fn events_say_that_they_come_from_a_trace_with_exact_times() {
    let r = small();
    let (events, _) = try_import(&r.path, &GitOptions::default()).unwrap();
    for e in events.iter().filter(|e| e.op != Op::Day) {
        assert_eq!(
            (e.origin, e.t_quality),
            (Some(Origin::Trace), Some(TQuality::Exact))
        );
    }
    assert_eq!(
        header(&r.path, &GitOptions::default()).epoch_unix_s,
        Some(0)
    );
    let options = GitOptions::default();
    assert_eq!(count_commits(&r.path, &options).unwrap(), 3);
    assert_eq!(
        tip(&r.path, &options).unwrap(),
        r.git(&["rev-parse", "HEAD"])
    );
}

#[test]
fn a_merge_is_one_step_against_its_first_parent() {
    let r = Repo::new();
    r.write(b"a", 1, b'1');
    r.commit(10);
    r.git(&["checkout", "-q", "-b", "side"]);
    r.write(b"s1", 11, b'1');
    r.commit(20);
    r.write(b"s2", 12, b'1');
    r.commit(30);
    r.git(&["checkout", "-q", "main"]);
    r.write(b"m", 13, b'1');
    r.commit(40);
    r.git_at(50, &["merge", "-q", "--no-ff", "-m", "x", "side"]);
    let (events, s) = lines(&r, &options(View::Commit));
    assert_eq!(
        events,
        [
            "@10 create 0 0 1 a",
            "@40 create 1 0 13 m",
            "@50 create 2 0 11 s1",
            "@50 create 3 0 12 s2",
            "@50 day 0",
        ]
    );
    assert_eq!(s.commits, 3);
    // The other branch, by name, is a chain of its own.
    let side = GitOptions {
        branch: Some("side".into()),
        ..GitOptions::default()
    };
    assert_eq!(lines(&r, &side).1.commits, 3);
}

#[test]
fn links_and_submodules_are_no_files_but_the_way_there_is_a_delete() {
    let r = Repo::new();
    r.write(b"f", 7, b'1');
    std::os::unix::fs::symlink("nowhere", r.file(b"link")).unwrap();
    r.commit(10);
    std::fs::remove_file(r.file(b"f")).unwrap();
    std::os::unix::fs::symlink("nowhere", r.file(b"f")).unwrap();
    std::fs::remove_file(r.file(b"link")).unwrap();
    r.write(b"link", 8, b'1');
    r.commit(20);
    std::fs::remove_file(r.file(b"f")).unwrap();
    r.write(b"f", 9, b'1');
    r.commit(30);
    let commit = r.git(&["rev-parse", "HEAD"]);
    let entry = format!("160000,{commit},sub/mod");
    r.git(&["update-index", "--add", "--cacheinfo", &entry]);
    r.commit_index(40);
    r.git(&["update-index", "--force-remove", "f"]);
    r.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{commit},f"),
    ]);
    r.commit_index(50);
    let (events, s) = lines(&r, &options(View::Commit));
    assert_eq!(
        events,
        [
            "@10 create 0 0 7 f",
            "@20 delete 0",
            "@20 create 1 0 8 link",
            "@30 create 2 0 9 f",
            "@50 delete 2",
            "@50 day 0",
        ]
    );
    // link, f -> link, link -> file, f back; then sub/mod and f as submodules.
    assert_eq!((s.symlink_changes, s.submodule_changes), (4, 2));
    assert_eq!((s.live_files, s.live_bytes), (1, 8));
    assert_eq!((s.live_files, s.live_bytes), r.files_at_head());
}

#[test]
fn a_change_of_mode_alone_is_counted_and_nothing_else() {
    let r = Repo::new();
    r.write(b"run", 7, b'1');
    r.commit(10);
    r.git(&["update-index", "--chmod=+x", "run"]);
    r.commit_index(20);
    r.write(b"run", 7, b'2');
    r.git(&["add", "run"]);
    r.git(&["update-index", "--chmod=-x", "run"]);
    r.commit_index(30);
    let (events, s) = lines(&r, &options(View::Commit));
    assert_eq!(
        events,
        ["@10 create 0 0 7 run", "@30 rewrite 0 7", "@30 day 0"]
    );
    assert_eq!(s.mode_only_changes, 1);
}

#[test]
fn paths_are_bytes_and_sort_as_bytes() {
    let r = Repo::new();
    for name in [
        &b"new\nline"[..],
        b"quo\"te",
        b"\xff\xfe",
        b"tab\there",
        b"back\\slash",
        b"d\xe9/x",
    ] {
        r.write(name, 1, b'1');
    }
    r.write(b"dir.c", 1, b'1');
    r.write(b"dir/z", 1, b'1');
    r.write(b"dir0", 1, b'1');
    r.commit(10);
    let (events, _) = lines(&r, &options(View::Commit));
    assert_eq!(
        events,
        [
            r"@10 create 0 0 1 back\\slash",
            r"@10 create 1 0 1 dir.c",
            r"@10 mkdir 1 0 dir",
            r"@10 create 2 1 1 z",
            r"@10 create 3 0 1 dir0",
            r"@10 mkdir 2 0 d\xe9",
            r"@10 create 4 2 1 x",
            r"@10 create 5 0 1 new\nline",
            r#"@10 create 6 0 1 quo\"te"#,
            r"@10 create 7 0 1 tab\there",
            r"@10 create 8 0 1 \xff\xfe",
            "@10 day 0",
        ]
    );
}

#[test]
fn days_never_go_back_although_commit_clocks_do() {
    let r = Repo::new();
    for (n, at) in [
        (1, 2 * DAY),
        (2, 5 * DAY + 7),
        (3, 4 * DAY),
        (4, DAY),
        (5, 5 * DAY + 9),
    ] {
        r.write(b"a", n, b'1');
        r.commit(at);
    }
    let (events, s) = lines(&r, &options(View::Commit));
    assert_eq!(
        events,
        [
            "@172800 create 0 0 1 a",
            "@172800 day 0",
            "@432007 rewrite 0 2",
            "@345600 rewrite 0 3",
            "@86400 rewrite 0 4",
            "@432009 rewrite 0 5",
            "@432009 day 3",
        ]
    );
    assert_eq!((s.times_going_down, s.days, s.days_with_commits), (2, 4, 2));
    let (events, s) = lines(&r, &options(View::Day));
    assert_eq!(
        events,
        [
            "@259199 create 0 0 1 a",
            "@259199 day 0",
            "@518399 delete 0",
            "@518399 create 1 0 5 a",
            "@518399 day 3",
        ]
    );
    assert_eq!(s.times_going_down, 0);
}

#[test]
fn a_file_that_becomes_a_directory_and_back_never_shares_its_name() {
    let r = Repo::new();
    r.write(b"x", 1, b'1');
    r.commit(10);
    std::fs::remove_file(r.file(b"x")).unwrap();
    r.write(b"x/y/z", 2, b'1');
    r.write(b"x/w/z", 3, b'1');
    r.commit(20);
    std::fs::remove_dir_all(r.file(b"x")).unwrap();
    r.write(b"x", 4, b'1');
    r.commit(30);
    let (events, s) = lines(&r, &options(View::Commit));
    assert_eq!(
        events,
        [
            "@10 create 0 0 1 x",
            "@20 delete 0",
            "@20 mkdir 1 0 x",
            "@20 mkdir 2 1 w",
            "@20 create 1 2 3 z",
            "@20 mkdir 3 1 y",
            "@20 create 2 3 2 z",
            "@30 delete 1",
            "@30 delete 2",
            "@30 rmdir 3",
            "@30 rmdir 2",
            "@30 rmdir 1",
            "@30 create 3 0 4 x",
            "@30 day 0",
        ]
    );
    assert_eq!(s.rmdirs, 3);
}

#[test]
fn empty_directories_stay_unless_asked_to_go() {
    let r = Repo::new();
    r.write(b"a/b/c", 1, b'1');
    r.write(b"a/k", 1, b'1');
    r.commit(10);
    std::fs::remove_dir_all(r.file(b"a/b")).unwrap();
    r.commit(20);
    std::fs::remove_dir_all(r.file(b"a")).unwrap();
    r.write(b"o", 1, b'1');
    r.commit(30);
    r.write(b"a/b/c", 1, b'1');
    r.commit(40);
    let made = [
        "@10 mkdir 1 0 a",
        "@10 mkdir 2 1 b",
        "@10 create 0 2 1 c",
        "@10 create 1 1 1 k",
    ];
    let (events, _) = lines(&r, &options(View::Commit));
    assert_eq!(events[..4], made);
    assert_eq!(
        events[4..],
        [
            "@20 delete 0",
            "@30 delete 1",
            "@30 create 2 0 1 o",
            "@40 create 3 2 1 c",
            "@40 day 0"
        ]
    );
    let rmdir = GitOptions {
        remove_empty_dirs: true,
        ..GitOptions::default()
    };
    let (events, s) = lines(&r, &rmdir);
    assert_eq!(events[..4], made);
    assert_eq!(
        events[4..],
        [
            "@20 delete 0",
            "@20 rmdir 2",
            "@30 delete 1",
            "@30 rmdir 1",
            "@30 create 2 0 1 o",
            "@40 mkdir 3 0 a",
            "@40 mkdir 4 3 b",
            "@40 create 3 4 1 c",
            "@40 day 0",
        ]
    );
    assert_eq!((s.mkdirs, s.rmdirs), (4, 2));
}

#[test]
fn a_day_of_commits_without_changes_is_a_day_all_the_same() {
    let r = Repo::new();
    r.write(b"a", 1, b'1');
    r.commit(10);
    for n in 1..60 {
        r.commit_index(n * DAY);
    }
    r.write(b"a", 2, b'1');
    r.commit(60 * DAY);
    for view in [View::Commit, View::Day] {
        let (events, s) = lines(&r, &options(view));
        assert_eq!((s.steps, s.days_with_commits), (61, 61));
        let days = events.iter().filter(|e| e.contains(" day ")).count();
        assert_eq!(days, 61);
    }
}

#[test]
fn a_shallow_clone_begins_with_the_whole_tree_of_its_first_commit() {
    let r = small();
    let folder = tempfile::tempdir().unwrap();
    let clone = folder.path().join("clone.git");
    let source = format!("file://{}", r.path.display());
    r.git(&[
        "clone",
        "-q",
        "--bare",
        "--depth",
        "2",
        &source,
        clone.to_str().unwrap(),
    ]);
    let (events, s) = try_import(&clone, &options(View::Commit)).unwrap();
    assert_eq!(s.commits, 2);
    assert_eq!((s.creates, s.rewrites, s.deletes), (4, 1, 0));
    assert_eq!((s.live_files, s.live_bytes), r.files_at_head());
    assert_eq!(events.len(), 2 + 4 + 1 + 2);
}

#[test]
fn a_folder_inside_the_working_tree_stands_for_the_whole_repository() {
    let r = small();
    let (whole, _) = try_import(&r.path, &GitOptions::default()).unwrap();
    let (inside, _) = try_import(&r.file(b"src"), &GitOptions::default()).unwrap();
    assert_eq!(whole, inside);
}

#[test]
fn a_step_with_more_files_than_any_pipe_holds_does_not_hang() {
    let r = Repo::new();
    r.write(b"first", 1, b'1');
    r.commit(10);
    let mut input = b"blob\nmark :1\ndata 4\nabcd\n".to_vec();
    input.extend(
        format!(
            "commit refs/heads/main\ncommitter a <a> {} +0000\ndata 0\nfrom refs/heads/main^0\n",
            MIDNIGHT + 20
        )
        .bytes(),
    );
    for n in 0..20_000 {
        input.extend(format!("M 100644 :1 some/directory/with/a/long/name/{n}\n").bytes());
    }
    r.git_with_input(&["fast-import", "--quiet"], &input);
    let (_, s) = lines(&r, &options(View::Commit));
    assert_eq!((s.live_files, s.live_bytes), (20_001, 80_001));
}

#[test]
fn sha256_repositories_are_read_too() {
    let r = Repo::new();
    let folder = r.file(b"other");
    let path = folder.to_str().unwrap();
    r.git(&["init", "-q", "-b", "main", "--object-format=sha256", path]);
    std::fs::write(folder.join("a"), b"abc").unwrap();
    r.git(&["-C", path, "add", "a"]);
    r.git_at(10, &["-C", path, "commit", "-q", "-m", "x"]);
    std::fs::write(folder.join("a"), b"abcd").unwrap();
    r.git_at(20, &["-C", path, "commit", "-q", "-a", "-m", "x"]);
    let (_, s) = try_import(&folder, &GitOptions::default()).unwrap();
    assert_eq!((s.creates, s.rewrites, s.live_bytes), (1, 1, 4));
}
