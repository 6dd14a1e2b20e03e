//! Naming a real file system.

use fsage_real::directory::{Data, Options, Sync};
use fsage_real::loop_image::{Kind, LoopOptions, Uuid};
use fsage_real::{Place, RealSpec};
use fsage_target::TargetSpec;
use std::path::PathBuf;

fn real(text: &str) -> RealSpec {
    let spec = TargetSpec::parse(text).unwrap();
    // What is printed is read as the same.
    assert_eq!(TargetSpec::parse(&spec.to_string()).unwrap(), spec);
    spec.real().unwrap().unwrap()
}

fn error(text: &str) -> String {
    TargetSpec::parse(text)
        .unwrap()
        .real()
        .unwrap_err()
        .to_string()
}

#[test]
fn a_directory_may_have_any_path() {
    for (text, path) in [
        ("dir:/mnt/a", "/mnt/a"),
        ("dir:/mnt/a:b=c d", "/mnt/a:b=c d"),
        ("dir:\"/mnt/a,b\"", "/mnt/a,b"),
        (r#"dir:"/mnt/say \"no\"",sync=day"#, r#"/mnt/say "no""#),
        ("dir:it's", "it's"),
    ] {
        assert_eq!(real(text).place, Place::Dir(PathBuf::from(path)), "{text}");
    }
}

#[test]
fn keys_of_every_real_file_system() {
    let real = real("dir:x,sync=each,data=hole,threads=4,control=/mnt/c=d,reserve=2G");
    let options = Options {
        sync: Sync::Each,
        data: Data::Hole,
        threads: 4,
        reserve_bytes: Some(2 << 30),
    };
    assert_eq!(real.options, options);
    assert_eq!(real.control, Some(PathBuf::from("/mnt/c=d")));
}

#[test]
fn keys_of_an_image() {
    let text = "loop:ext4,size=2G,image=/i/a:b,mkfs=\"-O ^has_journal -L 'a b'\",\
                mount=\"noatime,data=writeback\",direct,\
                uuid=0fc63daf-8483-4772-8e79-3d69d8477de4,sync=end,stream_req=64,\
                sysfs=\"mb_max_to_scan=20,mb_stats=1\"";
    let real = real(text);
    let expected = LoopOptions {
        kind: Kind::Ext4,
        size_bytes: 2 << 30,
        image: Some(PathBuf::from("/i/a:b")),
        mkfs: ["-O", "^has_journal", "-L", "a b"]
            .map(str::to_owned)
            .to_vec(),
        mount: "noatime,data=writeback".to_owned(),
        direct: true,
        uuid: Uuid::parse("0fc63daf-8483-4772-8e79-3d69d8477de4").unwrap(),
        regime: None,
        stream_request: Some(64),
        settings: [("mb_max_to_scan", "20"), ("mb_stats", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
    };
    assert_eq!(real.place, Place::Loop(expected));
    assert_eq!(real.options.sync, Sync::End);
}

#[test]
fn errors_say_what_would_be_right() {
    let table = [
        ("loop:ext5", "known: ext2, ext3, ext4, xfs, btrfs"),
        (
            "dir:x,size=1G",
            "unknown key `size`; known: sync, data, threads, control, reserve; a path",
        ),
        (
            "loop:xfs,shade=red",
            "threads, control, size, image, mkfs, mount, direct, uuid",
        ),
        ("loop:xfs,size=5k", "a multiple of 4K"),
        ("loop:xfs,size=4097", "a multiple of 4K"),
        ("loop:xfs,size=8388608T", "a multiple of 4K"),
        ("loop:xfs,direct=yes", "takes no value"),
        ("loop:xfs,uuid=1", "the form 01234567-89ab-"),
        ("loop:xfs,mkfs=\"-L 'x\"", "a quote ' is not closed"),
        (
            "loop:btrfs,mkfs=/path/victim.img",
            "mkfs=/path/victim.img: `/path/victim.img` is no option",
        ),
        ("loop:ext4,mkfs=\"-d /etc\"", "`-d` is not allowed"),
        ("loop:xfs,mount=loop", "leave it out"),
        ("loop:xfs,mount=logdev=/dev/sda", "names a file or device"),
        ("loop:xfs,image", "image needs a value"),
        ("loop:btrfs,sysfs=a=1", "has no settings by device"),
        ("loop:ext4,sysfs=mb_stats", "expected NAME=VALUE"),
        ("dir:x,threads=0", "from 1 to 1024"),
        ("dir:x,reserve=some", "a size, as in"),
        ("loop:xfs,reserve=1G", "unknown key `reserve`"),
        ("dir:x,sync=never", "one of day, each, end"),
        ("dir:x,data=zeros", "one of write, fallocate, hole"),
    ];
    for (text, expected) in table {
        let error = error(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}
