//! Rules of NFS traces, each by a few packets. Expected values follow from what the calls do.

use super::kit::{import_nfsdump, words};
use fsage_core::Event;
use fsage_import::nfsdump::NfsSummary;
use fsage_import::trace::TraceOptions;

/// A trace: calls as `C 8 create fh ...`, replies as `R 8 create OK ...`. A call gets a new transaction id, a
/// reply that of the call before it; a line may begin with its time in seconds and a blank.
fn trace(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut xid = 0;
    for (i, line) in lines.iter().enumerate() {
        let (t, line) = match line.split_once(' ') {
            Some((t, rest)) if t.parse::<u64>().is_ok() => (t.to_owned(), rest),
            _ => ((1_037_000_000 + i).to_string(), *line),
        };
        let packet = match line.split_once(' ') {
            Some(("C", rest)) => {
                xid += 1;
                format!("1.2 3.4 U C3 {xid:x} {rest} con = X len = X")
            }
            Some(("A", rest)) => format!("1.2 3.4 U C3 {xid:x} {rest} con = X len = X"),
            Some(("R", rest)) => {
                format!("3.4 1.2 U R3 {xid:x} {rest} status=X pl = X con = X len = X")
            }
            _ => panic!("{line}"),
        };
        text += &t;
        text += ".000005 ";
        text += &packet;
        text.push('\n');
    }
    text
}

fn import_with(lines: &[&str], guess: bool) -> (Vec<Event>, Vec<(String, u64)>, NfsSummary) {
    let options = TraceOptions {
        guess,
        ..TraceOptions::default()
    };
    let text = trace(lines);
    let (events, state, summary) = import_nfsdump(text.as_bytes(), &options).unwrap();
    assert_eq!(summary.trace.bad_lines, 0, "{:?}", summary.trace.first_bad);
    (events, state.files(), summary)
}

fn import(lines: &[&str]) -> (Vec<Event>, Vec<(String, u64)>, NfsSummary) {
    import_with(lines, false)
}

/// The root of the export becomes known as `top`, and files are made in it.
const TOP: [&str; 2] = [
    r#"C 3 lookup fh 00 name "top""#,
    "R 3 lookup OK fh d1 ftype 2 nlink 2 size 200 mtime 1.0",
];
const NEW: [&str; 2] = [
    r#"C 8 create fh d1 name "t" how X"#,
    "R 8 create OK fh f1 ftype 1 nlink 1 size 0 mtime 1.0",
];

fn with_new(lines: &[&'static str]) -> Vec<&'static str> {
    [&TOP[..], &NEW[..], lines].concat()
}

/// Name of the directory of handle `00`, which no lookup names: `h` and FNV-1a.
fn top(name: &str) -> String {
    let hash = b"00".iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("/h{:08x}/top/{name}", hash >> 32)
}

#[test]
fn the_mail_lock_dies_with_its_second_name() {
    let (events, files, s) = import(&with_new(&[
        r#"C f link fh f1 fh2 d1 name ".inbox.lock""#,
        "R f link OK",
        r#"C c remove fh d1 name "t""#,
        // The directory's attributes: they say nothing of the file.
        "R c remove OK ftype 2 nlink c size 2000 mtime 9.0",
        r#"C c remove fh d1 name ".inbox.lock""#,
        "R c remove OK",
    ]));
    assert!(files.is_empty());
    assert_eq!((s.trace.unlinks, s.trace.deletes), (2, 1));
    assert_eq!(
        words(&events),
        ["create 0 0", "link 1 0", "delete 0", "delete 1"]
    );
}

#[test]
fn only_calls_that_were_answered_ok_count() {
    let (_, files, s) = import(
        &[
            &TOP[..],
            &[
                r#"C 8 create fh d1 name "no-answer" how X"#,
                r#"C 8 create fh d1 name "refused" how X"#,
                "R 8 create d",
            ],
        ]
        .concat(),
    );
    assert!(files.is_empty());
    assert_eq!((s.trace.calls_failed, s.calls_without_reply), (1, 1));
}

#[test]
fn a_retransmission_counts_once() {
    let (_, files, s) = import(&with_new(&[
        "C 7 write fh f1 off 0 count 10 stable U",
        "A 7 write fh f1 off 0 count 10 stable U",
        "R 7 write OK count 10 stable U",
        "R 7 write OK count 10 stable U",
    ]));
    assert_eq!(files, [(top("t"), 16)]);
    assert_eq!((s.retransmissions, s.replies_without_call), (1, 1));
    assert_eq!(s.trace.bytes_written, 16);
}

#[test]
fn a_reply_after_a_minute_has_no_call() {
    let (_, files, s) = import(&[
        "100 C 8 create fh d1 name \"x\" how X",
        "161 R 8 create OK fh f1 ftype 1 nlink 1 size 0",
    ]);
    assert!(files.is_empty());
    assert_eq!(
        (s.pairs, s.replies_without_call, s.calls_without_reply),
        (0, 1, 1)
    );
}

#[test]
fn sizes_come_from_writes_and_replies() {
    let (events, files, s) = import(&with_new(&[
        "C 7 write fh f1 off 1000 count 2000 stable U",
        "R 7 write OK ftype 1 nlink 1 size 3000 mtime 2.0 count 2000 stable U",
        // A reply that is older than the last: its size is not used.
        "C 1 getattr fh f1",
        "R 1 getattr OK ftype 1 nlink 1 size 10 mtime 1.5",
        // Somebody else wrote 256 bytes more.
        "C 1 getattr fh f1",
        "R 1 getattr OK ftype 1 nlink 1 size 3100 mtime 3.0",
        "C 2 setattr fh f1 size 5",
        "R 2 setattr OK",
    ]));
    assert_eq!(files, [(top("t"), 5)]);
    assert_eq!((s.stale_sizes, s.trace.sizes_corrected), (1, 1));
    assert_eq!(
        words(&events),
        ["create 0 0", "write 0 4096 8448", "truncate 0 5"]
    );
}

#[test]
fn garbage_drops_attributes_and_count() {
    let (_, files, s) = import(&with_new(&[
        "C 7 write fh f1 off 0 count 10 stable U",
        "R 7 write OK ftype 1 size ee62bc mtime 2516582400.301989 atime 3427926016.2516582 count 1 stable ?",
    ]));
    assert_eq!(files, [(top("t"), 16)]);
    assert_eq!(s.garbage_attributes, 1);
}

#[test]
fn exchanged_words_of_sizes_are_put_right_until_september_2003() {
    let set = |t: &str| format!("{t} C 2 setattr fh f1 size 123400000000");
    for (t, size, swapped) in [
        ("1063065599", 0x1234, 1),
        ("1063065601", 0x1234_0000_0000, 0),
    ] {
        let answer = format!("{t} R 2 setattr OK");
        let call = set(t);
        let lines = [&TOP[..], &NEW[..], &[call.as_str(), answer.as_str()]].concat();
        let (_, files, s) = import(&lines);
        assert_eq!(files, [(top("t"), size)]);
        assert_eq!(s.swapped_sizes, swapped);
    }
}

#[test]
fn a_clock_that_jumps_back_is_held_for_the_file() {
    let (events, _, s) = import(&[
        "2000 C 8 create fh d1 name \"x\" how X",
        "2000 R 8 create OK fh f1 ftype 1 nlink 1 size 0",
        "1700 C 2 setattr fh f1 size 5",
        "1700 R 2 setattr OK",
    ]);
    let times: Vec<_> = events.iter().map(|e| e.t_ns.unwrap()).collect();
    assert!(times.iter().all(|&t| t >= 2_000_000_005_000), "{times:?}");
    assert_eq!(s.clamped_times, 1);
}

#[test]
fn unknown_names_are_counted_and_guessed_on_demand() {
    let lines = with_new(&[r#"C c remove fh d2 name "t""#, "R c remove OK"]);
    let (_, files, s) = import(&lines);
    assert_eq!(
        (files.len(), s.trace.unknown_deletes, s.guessed_deletes),
        (1, 1, 0)
    );
    let (_, files, s) = import_with(&lines, true);
    assert_eq!(
        (files.len(), s.trace.unknown_deletes, s.guessed_deletes),
        (0, 1, 1)
    );
}

#[test]
fn renames_move_names_and_replace() {
    let (events, files, s) = import(&with_new(&[
        r#"C 8 create fh d1 name "u" how X"#,
        "R 8 create OK fh f2 ftype 1 nlink 1 size 0",
        r#"C e rename fh d1 name "t" fh2 d1 name2 "u""#,
        "R e rename OK",
        "C 7 write fh f1 off 0 count 3 stable F",
        "R 7 write OK count 3 stable F",
    ]));
    assert_eq!(files, [(top("u"), 3)]);
    assert_eq!((s.trace.renames, s.trace.replaced), (1, 1));
    assert!(words(&events).contains(&"rename 0 over 1".to_owned()));
}

#[test]
fn entries_of_a_directory_teach_names() {
    let (events, files, _) = import(&[
        &TOP[..],
        &[
            "C 11 readdirp fh d1 cookie 0 count 800 maxcnt 2000",
            r#"R 11 readdirp OK fileid-1 5 name-1 "a\20b" cookie-1 1 fh-1 f5 ftype-1 1 nlink-1 1 size-1 20"#,
            r#"C c remove fh d1 name "a\20b""#,
            "R c remove OK",
        ],
    ]
    .concat());
    assert!(files.is_empty());
    assert_eq!(words(&events), ["before: create 0 32", "delete 0"]);
}

#[test]
fn a_place_that_is_learned_late_is_the_place_from_the_start() {
    let (events, files, s) = import(&[
        "C 7 write fh f9 off 0 count 8 stable F",
        "R 7 write OK ftype 1 nlink 1 size 20 mtime 1.0 count 8 stable F",
        TOP[0],
        TOP[1],
        r#"C 3 lookup fh d1 name "nine""#,
        "R 3 lookup OK fh f9 ftype 1 nlink 1 size 20 mtime 1.0",
    ]);
    assert_eq!(files, [(top("nine"), 32)]);
    assert_eq!(words(&events), ["before: create 0 32", "overwrite 0 0 8"]);
    assert_eq!(s.unnamed_files, 1);
}
