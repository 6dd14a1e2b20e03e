//! Rules of strace logs, each by a few lines. Expected values follow from what the calls do.

use super::kit::{import_strace, only_new, words};
use fsage_core::Event;
use fsage_import::strace::StraceSummary;
use fsage_import::trace::{TraceError, TraceOptions};

/// Lines of process 7 in `/w`, a second apart; a line may name its own process as `8: `.
fn log(lines: &[&str]) -> String {
    let timed = lines.iter().enumerate().map(|(i, line)| {
        let (pid, line) = line.split_once(": ").unwrap_or(("7", line));
        format!("{pid} {}.000001 {line}\n", 1000 + i)
    });
    timed.collect()
}

fn import(lines: &[&str]) -> (Vec<Event>, Vec<(String, u64)>, StraceSummary) {
    let text = log(lines);
    let (events, state, summary) =
        import_strace(text.as_bytes(), &TraceOptions::default()).unwrap();
    (events, state.files(), summary)
}

fn files(lines: &[&str]) -> Vec<(String, u64)> {
    import(lines).1
}

fn file(path: &str, bytes: u64) -> (String, u64) {
    (path.to_owned(), bytes)
}

const NEW: &str = r#"openat(AT_FDCWD</w>, "a", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</w/a>"#;
const NEW_B: &str = r#"openat(AT_FDCWD</w>, "b", O_WRONLY|O_CREAT|O_EXCL, 0666) = 4</w/b>"#;

#[test]
fn sizes_are_what_calls_returned_at_their_offsets() {
    let made = files(&[
        NEW,
        r#"write(3</w/a>, ""..., 100) = 60"#,
        r#"pwrite64(3</w/a>, ""..., 10, 200) = 10"#,
        "lseek(3</w/a>, 20, SEEK_SET) = 20",
        r#"write(3</w/a>, ""..., 5) = 5"#,
        r#"write(3</w/a>, ""..., 5) = -1 ENOSPC (No space left on device)"#,
    ]);
    assert_eq!(made, [file("/w/a", 210)]);
}

#[test]
fn duplicated_descriptors_share_one_offset() {
    let made = files(&[
        NEW,
        "dup(3</w/a>) = 5</w/a>",
        "fcntl(5</w/a>, F_DUPFD_CLOEXEC, 10) = 10</w/a>",
        r#"write(3</w/a>, ""..., 10) = 10"#,
        r#"write(5</w/a>, ""..., 10) = 10"#,
        "dup2(10</w/a>, 11) = 11</w/a>",
        r#"write(11</w/a>, ""..., 10) = 10"#,
    ]);
    assert_eq!(made, [file("/w/a", 30)]);
}

#[test]
fn children_share_offsets_and_inherit_the_directory() {
    let made = files(&[
        NEW,
        r#"write(3</w/a>, ""..., 10) = 10"#,
        "clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 8",
        r#"8: write(3</w/a>, ""..., 10) = 10"#,
        r#"write(3</w/a>, ""..., 10) = 10"#,
        r#"8: rename("a", "c") = 0"#,
        r#"8: chdir("/v") = 0"#,
        r#"8: mkdir("d", 0777) = 0"#,
        r#"rename("c", "d") = 0"#,
    ]);
    assert_eq!(made, [file("/w/d", 30)]);
}

#[test]
fn a_child_may_show_up_before_its_parents_call_returns() {
    let made = files(&[
        NEW,
        "vfork( <unfinished ...>",
        r#"8: unlink("a") = 0"#,
        "<... vfork resumed>) = 8",
    ]);
    assert_eq!(made, []);
}

/// `npm install`, followed without `-f` from its start: two threads write in turn through a descriptor that a third one
/// opened, and no clone is in the log. The file has what all three wrote, one behind the other.
#[test]
fn threads_whose_clones_were_not_recorded_share_offsets() {
    let made = files(&[
        r#"8: openat(AT_FDCWD</w>, "a", O_WRONLY|O_CREAT|O_EXCL, 0666) = 20</w/a>"#,
        r#"8: write(20</w/a>, ""..., 10) = 10"#,
        r#"9: write(20</w/a>, ""..., 10) = 10"#,
        r#"8: write(20</w/a>, ""..., 10) = 10"#,
        r#"10: write(20</w/a>, ""..., 10) = 10"#,
    ]);
    assert_eq!(made, [file("/w/a", 40)]);
}

#[test]
fn threads_share_the_current_directory() {
    let made = files(&[
        NEW,
        "clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD}, 88) = 8",
        r#"8: chdir("/") = 0"#,
        r#"rename("w/a", "w/c") = 0"#,
    ]);
    assert_eq!(made, [file("/w/c", 0)]);
}

#[test]
fn interrupted_calls_take_effect_where_they_return_at_the_time_they_began() {
    let (events, made, _) = import(&[
        NEW,
        r#"unlink("a" <unfinished ...>"#,
        r#"8: openat(AT_FDCWD</w>, "b", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</w/b>"#,
        "<... unlink resumed>) = 0",
    ]);
    assert_eq!(made, [file("/w/b", 0)]);
    assert_eq!(words(&events), ["create 0 0", "create 1 0", "delete 0"]);
    let deleted = events.iter().find(|e| e.op.verb().as_str() == "delete");
    assert_eq!(deleted.unwrap().t_ns, Some(1_001_000_001_000));
}

#[test]
fn a_half_without_its_other_half_is_a_bad_line() {
    let text = log(&["<... unlink resumed>) = 0"]);
    let error = import_strace(text.as_bytes(), &TraceOptions::default()).unwrap_err();
    assert!(error.to_string().contains("test.log:1"), "{error}");
}

#[test]
fn writes_after_the_last_unlink_go_nowhere() {
    let (events, made, _) = import(&[
        NEW,
        r#"write(3</w/a>, ""..., 10) = 10"#,
        r#"unlink("/w/a") = 0"#,
        r#"write(3</w/a (deleted)>, ""..., 10) = 10"#,
        r#"write(3</w/a>(deleted), ""..., 10) = 10"#,
    ]);
    assert_eq!(made, []);
    assert_eq!(words(&events), ["create 0 10", "delete 0"]);
}

#[test]
fn a_temporary_file_counts_once_it_is_linked() {
    let lines = [
        r#"openat(AT_FDCWD</w>, "/w", O_WRONLY|O_TMPFILE, 0600) = 3</w/#12 (deleted)>"#,
        r#"write(3</w/#12 (deleted)>, ""..., 10) = 10"#,
        r#"linkat(AT_FDCWD</w>, "/proc/self/fd/3", AT_FDCWD</w>, "t", AT_SYMLINK_FOLLOW) = 0"#,
        r#"write(3</w/t>, ""..., 5) = 5"#,
    ];
    assert_eq!(files(&lines), [file("/w/t", 15)]);
    assert_eq!(files(&lines[..2]), []);
}

#[test]
fn renames_replace_and_exchange() {
    let (events, made, s) = import(&[
        NEW,
        r#"write(3</w/a>, ""..., 1) = 1"#,
        NEW_B,
        r#"write(4</w/b>, ""..., 2) = 2"#,
        r#"renameat2(AT_FDCWD</w>, "a", AT_FDCWD</w>, "b", RENAME_EXCHANGE) = 0"#,
        r#"write(3</w/b>, ""..., 10) = 10"#,
        r#"rename("b", "a") = 0"#,
    ]);
    assert_eq!(made, [file("/w/a", 11)]);
    assert_eq!(
        (s.trace.renames, s.trace.replaced, s.trace.deletes),
        (2, 1, 1)
    );
    assert!(words(&events).contains(&"rename 0 over 1".to_owned()));
}

#[test]
fn a_renamed_directory_takes_everything_below_along() {
    let (events, made, _) = import(&[
        r#"mkdir("/w/d", 0777) = 0"#,
        r#"openat(AT_FDCWD</w>, "d/x", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</w/d/x>"#,
        r#"rename("/w/d", "/w/e") = 0"#,
        r#"write(3</w/e/x>, ""..., 5) = 5"#,
        r#"unlink("/w/e/x") = 0"#,
        r#"rmdir("/w/e") = 0"#,
    ]);
    assert_eq!(made, []);
    let expected = ["create 0 5", "renamedir", "delete 0", "rmdir"];
    assert_eq!(words(&events), expected);
}

#[test]
fn hard_links_die_with_their_last_name() {
    let (events, made, s) = import(&[
        NEW,
        r#"link("a", "b") = 0"#,
        r#"unlink("a") = 0"#,
        r#"write(3</w/b>, ""..., 5) = 5"#,
        r#"unlink("b") = 0"#,
    ]);
    assert_eq!(made, []);
    assert_eq!((s.trace.unlinks, s.trace.deletes), (2, 1));
    assert_eq!(
        words(&events),
        ["create 0 5", "link 1 0", "delete 0", "delete 1"]
    );
}

#[test]
fn files_from_before_are_made_at_the_start_with_the_size_that_shows() {
    let lines = [
        r#"newfstatat(AT_FDCWD</w>, "old", {st_mode=S_IFREG|0644, st_size=500, ...}, 0) = 0"#,
        r#"openat(AT_FDCWD</w>, "read", O_RDONLY) = 5</w/read>"#,
        NEW,
        r#"openat(AT_FDCWD</w>, "old", O_WRONLY|O_APPEND) = 6</w/old>"#,
        r#"write(6</w/old>, ""..., 20) = 20"#,
        r#"rename("a", "gone") = 0"#,
        r#"unlink("never-seen") = 0"#,
    ];
    let (events, made, s) = import(&lines);
    // A file that is only read is not in the workload.
    assert_eq!(made, [file("/w/gone", 0), file("/w/old", 520)]);
    assert_eq!(
        words(&events)[..2],
        ["before: create 1 500", "before: create 2 0"]
    );
    assert_eq!(
        (s.trace.initial_files, s.trace.initial_sizes_unknown),
        (2, 1)
    );
    assert_eq!(s.trace.unknown_deletes, 1);
    let text = log(&lines);
    let (_, state, s) = import_strace(text.as_bytes(), &only_new()).unwrap();
    assert_eq!(state.files(), [file("/w/gone", 0)]);
    assert_eq!((s.trace.initial_files, s.trace.left_out_before), (0, 2));
}

#[test]
fn opening_creates_cuts_or_finds() {
    let (events, made, s) = import(&[
        NEW,
        r#"write(3</w/a>, ""..., 9) = 9"#,
        // Known: no create, but cut.
        r#"openat(AT_FDCWD</w>, "a", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 4</w/a>"#,
        r#"write(4</w/a>, ""..., 4) = 4"#,
        // Missing before: surely new.
        r#"openat(AT_FDCWD</w>, "m", O_RDONLY) = -1 ENOENT (No such file or directory)"#,
        r#"openat(AT_FDCWD</w>, "m", O_WRONLY|O_CREAT|O_APPEND, 0666) = 5</w/m>"#,
        // Nothing said so: uncertain.
        r#"openat(AT_FDCWD</w>, "u", O_WRONLY|O_CREAT|O_NOCTTY, 0666) = 6</w/u>"#,
        r#"creat("/w/c", 0666) = 7</w/c>"#,
    ]);
    let expected = [
        file("/w/a", 4),
        file("/w/c", 0),
        file("/w/m", 0),
        file("/w/u", 0),
    ];
    assert_eq!(made, expected);
    assert_eq!((s.trace.creates, s.uncertain_creates), (4, 1));
    assert_eq!(words(&events)[..2], ["create 0 9", "rewrite 0 4"]);
}

#[test]
fn lengths_are_set_allocated_and_punched() {
    let (events, made, _) = import(&[
        NEW,
        "ftruncate(3</w/a>, 1000) = 0",
        r#"truncate("a", 500) = 0"#,
        "fallocate(3</w/a>, FALLOC_FL_KEEP_SIZE, 0, 4096) = 0",
        "fallocate(3</w/a>, 0, 500, 100) = 0",
        "fallocate(3</w/a>, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 100) = 0",
        "fsync(3</w/a>) = 0",
    ]);
    assert_eq!(made, [file("/w/a", 600)]);
    assert_eq!(
        words(&events),
        [
            "create 0 0",
            "truncate 0 1000",
            "truncate 0 500",
            "fallocate 0 0 500",
            "fallocate 0 500 100",
            "punch 0 0 100",
            "fsync 0"
        ]
    );
}

#[test]
fn copies_write_what_they_returned() {
    let made = files(&[
        NEW,
        NEW_B,
        r#"write(3</w/a>, ""..., 50) = 50"#,
        "copy_file_range(3</w/a>, [0], 4</w/b>, NULL, 9223372035781033984, 0) = 50",
        "copy_file_range(3</w/a>, [0] => [5], 4</w/b>, [100] => [105], 5, 0) = 5",
        "sendfile(4</w/b>, 3</w/a>, [0] => [7], 7) = 7",
    ]);
    // sendfile goes on where the first copy ended.
    assert_eq!(made, [file("/w/a", 50), file("/w/b", 105)]);
}

#[test]
fn writes_in_a_row_are_one_operation_and_others_stand_apart() {
    let lines = [
        NEW,
        r#"write(3</w/a>, ""..., 10) = 10"#,
        r#"write(3</w/a>, ""..., 10) = 10"#,
        NEW_B,
        r#"write(4</w/b>, ""..., 7) = 7"#,
        r#"write(3</w/a>, ""..., 10) = 10"#,
        r#"write(3</w/a>, ""..., 10) = 10"#,
        r#"write(4</w/b>, ""..., 7) = 7"#,
    ];
    let (events, _, _) = import(&lines);
    assert_eq!(
        words(&events),
        ["create 0 20", "create 1 7", "append 0 20", "append 1 7"]
    );
    let wide = TraceOptions {
        merge_ns: 60_000_000_000,
        ..TraceOptions::default()
    };
    let text = log(&lines);
    let (events, _, _) = import_strace(text.as_bytes(), &wide).unwrap();
    assert_eq!(words(&events), ["create 0 40", "create 1 14"]);
}

#[test]
fn roots_are_borders() {
    let options = TraceOptions {
        roots: vec![b"/w/in".to_vec()],
        ..TraceOptions::default()
    };
    let text = log(&[
        r#"openat(AT_FDCWD</w>, "/w/out/x", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</w/out/x>"#,
        r#"write(3</w/out/x>, ""..., 10) = 10"#,
        r#"rename("/w/out/x", "/w/in/x") = 0"#,
        r#"openat(AT_FDCWD</w>, "/w/in/y", O_WRONLY|O_CREAT|O_EXCL, 0666) = 4</w/in/y>"#,
        r#"rename("/w/in/y", "/w/out/y") = 0"#,
        r#"mkdir("/w/out/d", 0777) = 0"#,
        r#"openat(AT_FDCWD</w>, "/w/out/d/z", O_WRONLY|O_CREAT|O_EXCL, 0666) = 5</w/out/d/z>"#,
        r#"rename("/w/out/d", "/w/in/d") = 0"#,
    ]);
    let (events, state, _) = import_strace(text.as_bytes(), &options).unwrap();
    assert_eq!(state.files(), [file("/w/in/d/z", 0), file("/w/in/x", 10)]);
    assert_eq!(
        words(&events),
        ["create 0 10", "create 1 0", "delete 1", "create 2 0"]
    );
}

#[test]
fn proc_sys_and_dev_do_not_count() {
    let made = files(&[
        r#"openat(AT_FDCWD</w>, "/dev/null", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</dev/null>"#,
        r#"write(3</dev/null>, ""..., 10) = 10"#,
        r#"openat(AT_FDCWD</w>, "/devel", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</devel>"#,
    ]);
    assert_eq!(made, [file("/devel", 0)]);
}

#[test]
fn relative_paths_without_a_directory_are_left_out_and_counted() {
    let (_, made, s) = import(&[r#"unlink("x") = 0"#]);
    assert_eq!((made.len(), s.unknown_directories), (0, 1));
}

#[test]
fn names_may_have_any_bytes() {
    let line = r#"openat(AT_FDCWD</w>, "\303\244\n,)", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</w/\303\244\n,)>"#;
    assert_eq!(files(&[line]), [file("/w/\u{e4}\n,)", 0)]);
}

#[test]
fn a_log_without_paths_says_what_to_do() {
    let text = log(&[r#"openat(AT_FDCWD, "a", O_WRONLY|O_CREAT, 0666) = 3"#]);
    let error = import_strace(text.as_bytes(), &TraceOptions::default()).unwrap_err();
    assert!(matches!(error, TraceError::Useless { .. }), "{error}");
    assert!(error.to_string().contains("strace -y"), "{error}");
}

#[test]
fn more_than_one_bad_line_of_a_hundred_is_an_error() {
    let good = log(&[NEW]).repeat(99);
    let one = format!("{good}garbage\n");
    let (_, _, s) = import_strace(one.as_bytes(), &TraceOptions::default()).unwrap();
    assert_eq!(s.trace.bad_lines, 1);
    assert!(
        s.trace.first_bad[0]
            .to_string()
            .starts_with("test.log:100: expected")
    );
    let two = format!("{good}garbage\ngarbage\n");
    let error = import_strace(two.as_bytes(), &TraceOptions::default()).unwrap_err();
    assert!(error.to_string().contains("2 of 101 lines"), "{error}");
}
