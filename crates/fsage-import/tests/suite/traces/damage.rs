//! Damaged logs: a clear error or a counted repair, and always a workload that replays.

use super::kit::{import_nfsdump, import_op_log, import_strace, only_new};
use fsage_import::trace::{TraceError, TraceOptions};

const STRACE: &str = "\
7 1.000001 openat(AT_FDCWD</w>, \"old\", O_RDWR) = 4</w/old>
7 1.000002 write(4</w/old>, \"\"..., 9) = 9
7 1.000003 mkdir(\"/w/d\", 0777) = 0
7 1.000004 openat(AT_FDCWD</w>, \"d/a\", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</w/d/a>
7 1.000005 write(3</w/d/a>, \"\"..., 5000) = 5000
7 1.000006 link(\"/w/d/a\", \"/w/b\" <unfinished ...>
8 1.000007 ftruncate(3</w/d/a>, 100) = 0
7 1.000008 <... link resumed>) = 0
7 1.000009 rename(\"/w/d\", \"/w/e\") = 0
7 1.000010 rename(\"/w/b\", \"/w/old\") = 0
7 1.000011 unlinkat(AT_FDCWD</w>, \"e/a\", 0) = 0
7 1.000012 unlinkat(AT_FDCWD</w>, \"e\", AT_REMOVEDIR) = 0
7 1.000013 +++ exited with 0 +++
";

const NFS: &str = "\
1.000001 1.2 3.4 U C3 1 3 lookup fh 00 name \"d\" con = X len = X
1.000002 3.4 1.2 U R3 1 3 lookup OK fh d1 ftype 2 nlink 2 size 200 mtime 1.0 status=X pl = X con = X len = X
1.000003 1.2 3.4 U C3 2 8 create fh d1 name \"a\" how X con = X len = X
1.000004 3.4 1.2 U R3 2 8 create OK fh f1 ftype 1 nlink 1 size 0 mtime 1.0 status=X pl = X con = X len = X
1.000005 1.2 3.4 U C3 3 7 write fh f1 off 0 count 10 stable U con = X len = X
1.000006 3.4 1.2 U R3 3 7 write OK ftype 1 nlink 1 size 10 mtime 2.0 count 10 stable U status=X pl = X con = X len = X
1.000007 1.2 3.4 U C3 4 f link fh f1 fh2 d1 name \"b\" con = X len = X
1.000008 3.4 1.2 U R3 4 f link OK status=X pl = X con = X len = X
1.000009 1.2 3.4 U C3 5 e rename fh d1 name \"a\" fh2 00 name2 \"c\" con = X len = X
1.000010 3.4 1.2 U R3 5 e rename OK status=X pl = X con = X len = X
1.000011 1.2 3.4 U C3 6 c remove fh d1 name \"b\" con = X len = X
1.000012 3.4 1.2 U R3 6 c remove OK status=X pl = X con = X len = X
";

const OPS: &str = "\
t_ns,op,ret,path,path2,ino,gen,offset,length,size
1,create,0,d/a,,5,1,,,
2,write,10,d/a,,5,1,0,10,10
3,link,0,d/a,b,5,1,,,
4,rename,0,b,d/c,5,1,,,
5,truncate,0,old,,,,,7,
6,unlink,0,d/a,,5,1,,,
7,create,0,d/n,,5,2,,,
8,unlink,0,d/n,,5,2,,,
";

/// Imports a log in all three formats and both ways; the kit replays what comes out.
fn import_all(log: &[u8]) {
    for options in [TraceOptions::default(), only_new()] {
        let results: [Result<u64, TraceError>; 3] = [
            import_strace(log, &options).map(|r| r.2.trace.lines),
            import_nfsdump(log, &options).map(|r| r.2.trace.lines),
            import_op_log(log, &options).map(|r| r.2.trace.lines),
        ];
        for result in results {
            if let Err(e) = result {
                assert!(!e.to_string().contains('\n'), "{e}");
            }
        }
    }
}

#[test]
fn the_logs_are_sound_as_they_stand() {
    let options = TraceOptions::default();
    let (_, state, _) = import_strace(STRACE.as_bytes(), &options).unwrap();
    assert_eq!(state.files(), [("/w/old".to_owned(), 100)]);
    let (_, state, _) = import_nfsdump(NFS.as_bytes(), &options).unwrap();
    assert_eq!(state.files().len(), 1);
    let (_, state, _) = import_op_log(OPS.as_bytes(), &options).unwrap();
    let left = [("/d/c".to_owned(), 10), ("/old".to_owned(), 7)];
    assert_eq!(state.files(), left);
}

#[test]
fn logs_cut_at_any_byte_do_no_harm() {
    for log in [STRACE, NFS, OPS] {
        for end in 0..log.len() {
            import_all(&log.as_bytes()[..end]);
        }
    }
}

#[test]
fn garbled_bytes_do_no_harm() {
    for log in [STRACE, NFS, OPS] {
        for at in 0..log.len() {
            for byte in [0, b'"', b'<', b'\n', b' ', b'9', b'/', 0xff] {
                let mut bytes = log.as_bytes().to_vec();
                bytes[at] = byte;
                // A long sound log around it: one bad line is no reason to stop.
                import_all(&bytes);
            }
        }
    }
}

#[test]
fn lines_twice_lost_or_exchanged_do_no_harm() {
    for log in [STRACE, NFS, OPS] {
        let lines: Vec<&str> = log.lines().collect();
        for i in 1..lines.len() {
            let mut twice = lines.clone();
            twice.insert(i, lines[i]);
            import_all(twice.join("\n").as_bytes());
            let mut lost = lines.clone();
            lost.remove(i);
            import_all(lost.join("\n").as_bytes());
            for j in 1..lines.len() {
                let mut exchanged = lines.clone();
                exchanged.swap(i, j);
                import_all(exchanged.join("\n").as_bytes());
            }
        }
    }
}

#[test]
fn clocks_that_jump_do_no_harm_and_are_counted() {
    let jumps = ["0", "4000000000", "9223372036"];
    for t in jumps {
        let text = STRACE.replace("7 1.000005", &format!("7 {t}.000005"));
        let (_, _, s) = import_strace(text.as_bytes(), &TraceOptions::default()).unwrap();
        assert_eq!(s.trace.times_going_down, 1, "{t}");
        let text = NFS.replace("1.000005 1.2", &format!("{t}.000005 1.2"));
        let (_, _, s) = import_nfsdump(text.as_bytes(), &TraceOptions::default()).unwrap();
        assert_eq!(s.trace.times_going_down, 1, "{t}");
    }
    for t in ["-9223372036854775808", "9223372036854775807"] {
        let text = OPS.replace("4,rename", &format!("{t},rename"));
        import_op_log(text.as_bytes(), &TraceOptions::default()).unwrap();
    }
}

#[test]
fn enormous_offsets_and_lengths_are_contradictions() {
    let huge = u64::MAX.to_string();
    let text = OPS.replace("0,10,10", &format!("{huge},{huge},"));
    let (_, _, s) = import_op_log(text.as_bytes(), &TraceOptions::default()).unwrap();
    assert!(s.trace.contradictions > 0);
    let text = NFS.replace(
        "off 0 count 10",
        "off ffffffffffffffff count ffffffffffffffff",
    );
    let (_, _, s) = import_nfsdump(text.as_bytes(), &TraceOptions::default()).unwrap();
    assert!(s.trace.contradictions > 0);
}
