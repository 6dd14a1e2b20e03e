//! Rules of the operation log.

use super::kit::{import_op_log, only_new, words};
use fsage_import::trace::TraceOptions;

fn import(text: &str) -> (Vec<String>, Vec<(String, u64)>) {
    let (events, state, s) = import_op_log(text.as_bytes(), &TraceOptions::default()).unwrap();
    assert_eq!(s.trace.bad_lines, 0, "{:?}", s.trace.first_bad);
    (words(&events), state.files())
}

/// The example of the format's description.
const EXAMPLE: &str = "\
t_ns,op,ret,path,path2,ino,gen,offset,length,size,pid
2486946401643000,create,0,d25/f720,,1042,77120911,,,0,17075
2486946424492000,write,8192,d25/f720,,1042,77120911,0,8192,8192,17075
2486946635640000,rename,0,d25/f720,d5/f679,1042,77120911,,,,17075
2486950578881000,unlink,0,d5/f679,,1042,77120911,,,,17075
";

#[test]
fn the_example_is_a_file_that_is_made_moved_and_removed() {
    let (words, files) = import(EXAMPLE);
    assert_eq!(words, ["create 0 8192", "rename 0", "delete 0"]);
    assert!(files.is_empty());
    let (events, _, _) = import_op_log(EXAMPLE.as_bytes(), &only_new()).unwrap();
    let made = events.iter().find(|e| e.src_ino.is_some()).unwrap();
    assert_eq!((made.src_ino, made.src_gen), (Some(1042), Some(77_120_911)));
}

#[test]
fn inode_numbers_identify_and_paths_only_name() {
    let (words, files) = import(
        "t_ns,op,path,path2,ino,offset,length\n\
         1,create,a,,7,,\n\
         2,write,elsewhere,,7,0,5\n\
         3,rename,unknown,b,7,,\n\
         4,create,c,,8,,\n\
         5,unlink,not-its-path,,8,,\n",
    );
    assert_eq!(words, ["create 0 5", "rename 0", "create 1 0", "delete 1"]);
    assert_eq!(files, [("/b".to_owned(), 5)]);
}

#[test]
fn directories_may_be_inode_numbers() {
    let (_, files) = import(
        "t_ns,op,dir_ino,name,ino,offset,length\n\
         1,mkdir,2,d,50,,\n\
         2,create,50,f,51,,\n\
         3,write,50,f,51,0,9\n",
    );
    assert_eq!(files, [("/d0-2/d/f".to_owned(), 9)]);
}

#[test]
fn every_operation_has_its_effect() {
    let (words, files) = import(
        "#epoch_unix_s=1000\n\
         t_ns,op,ret,path,path2,offset,length,size\n\
         1,mkdir,,d,,,,\n\
         2,create,,d/a,,,,\n\
         3,write,6,d/a,,0,10,\n\
         4,write,-28,d/a,,0,10,\n\
         5,truncate,,d/a,,,4,\n\
         6,fallocate,,d/a,,0,100,100\n\
         7,punch,,d/a,,0,50,\n\
         8,link,,d/a,b,,,\n\
         9,symlink,,l,target,,,\n\
         10,fsync,,d/a,,,,\n\
         11,close,,d/a,,,,\n\
         12,sync,,,,,,\n\
         13,unlink,,d/a,,,,\n\
         14,rmdir,,d,,,,\n\
         15,open_trunc,,b,,,,\n\
         16,write,,b,,0,3,\n\
         17,write,,old,,0,3,77\n",
    );
    assert_eq!(
        words,
        [
            "before: create 3 77",
            "create 0 6",
            "truncate 0 4",
            "fallocate 0 0 100",
            "punch 0 0 50",
            "link 1 0",
            "symlink 2 6",
            "fsync 0",
            "sync",
            "delete 0",
            "rmdir",
            "rewrite 1 3",
            "overwrite 3 0 3"
        ]
    );
    let expected = [("/b", 3), ("/l", 6), ("/old", 77)];
    assert_eq!(files, expected.map(|(p, b)| (p.to_owned(), b)));
}

#[test]
fn names_are_escaped_as_in_other_tables() {
    let (_, files) = import("t_ns,op,path\n1,create,\"a,\"\"b\\x0a\"\n");
    assert_eq!(files, [("/a,\"b\n".to_owned(), 0)]);
}

#[test]
fn unknown_columns_are_named_and_unknown_operations_are_bad() {
    let rows = "1,create,a,x\n".to_owned() + &"2,fsync,a,x\n".repeat(150) + "3,explode,a,x\n";
    let text = format!("t_ns,op,path,mood\n{rows}");
    let (_, _, s) = import_op_log(text.as_bytes(), &TraceOptions::default()).unwrap();
    assert_eq!(s.unknown_columns, ["mood"]);
    assert_eq!(s.trace.bad_lines, 1);
    let message = s.trace.first_bad[0].to_string();
    assert!(
        message.starts_with("test.log:153: expected an operation"),
        "{message}"
    );
}

#[test]
fn a_log_without_its_columns_or_mostly_bad_is_an_error() {
    for (text, words) in [
        ("op,path\n", "t_ns and op"),
        ("t_ns,op\n", "path"),
        ("t_ns,op,path,op\n", "twice"),
        ("t_ns,op,path\n1,create,/\n", "1 of 1 lines"),
        ("t_ns,op,path\n1,create,\n", "a path"),
        ("t_ns,op,path\nx,create,a\n", "whole numbers"),
        ("t_ns,op,path\n1,write,a\n", "offset"),
    ] {
        let error = import_op_log(text.as_bytes(), &TraceOptions::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
}

#[test]
fn a_quote_that_is_never_closed_does_not_fill_memory() {
    let text = format!("t_ns,op,path\n1,create,\"{}", "x".repeat(3 << 20));
    let error = import_op_log(text.as_bytes(), &TraceOptions::default()).unwrap_err();
    let source = std::error::Error::source(&error).map(ToString::to_string);
    assert!(source.is_some_and(|s| s.contains("1 MiB")), "{error}");
}
