//! The machines that come with fsage, and what is said of bad descriptions.

use fsage_host::{HostParams, PRESETS, ReadAhead};

#[test]
fn every_preset_is_read_and_says_where_its_values_come_from() {
    for (name, text) in PRESETS {
        let params = HostParams::parse(name, text).expect(name);
        assert_eq!(HostParams::preset(name).as_ref(), Some(&params));
        // Every key of the file has its source.
        for line in text.lines().take_while(|line| *line != "[source]") {
            let Some((key, _)) = line.split_once(" = ") else {
                continue;
            };
            let sourced = params.source.contains_key(key);
            assert!(
                sourced || ["name", "used_in"].contains(&key),
                "{name}: {key}"
            );
        }
    }
    assert!(HostParams::preset("pdp-11").is_none());
}

#[test]
fn the_figures_are_those_of_the_papers() {
    // docs/spec/host_io.md, sections 2 and 8: cache in MB, copying 4 KB in ms.
    let table = [
        ("pentium-120", 6.4, 0.14),
        ("pentium-pro-200", 3.2, 0.055),
        ("sparcstation-2", 1.6, 0.9),
    ];
    for (name, cache_mb, copy_ms) in table {
        let params = HostParams::preset(name).expect(name);
        let cache = params.cache_bytes as f64 / f64::from(1 << 20);
        assert!((cache - cache_mb).abs() < 0.001, "{name}: {cache}");
        let copy = params.cpu.copy_ns_per_4k as f64 / 1e6;
        assert!((copy - copy_ms).abs() < 0.001, "{name}: {copy}");
        assert_eq!(params.max_transfer_bytes, 65_536);
        assert_eq!(params.sync_interval_ns, 30_000_000_000);
        assert_eq!(params.read_ahead, ReadAhead::Clustered);
    }
}

#[test]
fn bad_descriptions_are_refused_by_key() {
    let good = PRESETS[0].1;
    let table = [
        (
            "cache_bytes = 6_710_886",
            "cache_bytes = 1",
            "cache_bytes: expected 65536 to",
        ),
        (
            "= 65536",
            "= 65000",
            "max_transfer_bytes: expected a multiple of 512",
        ),
        ("= 65536", "= 512", "max_transfer_bytes: expected 4096 to"),
        (
            "\"disksort\"",
            "\"elevator\"",
            "scheduler: expected one of fcfs, clook",
        ),
        (
            "= 140_143",
            "= 9_999_999_999",
            "cpu.copy_ns_per_4k: expected 0 to",
        ),
        (
            "= 30_000_000_000",
            "= 99_000_000_000_000_000",
            "sync_interval_ns: expected 0 to",
        ),
        ("name = \"", "name = \"\\n", "name: expected one line"),
        (
            "\"clustered\"",
            "\"all\"",
            "host.toml:7: unknown variant `all`",
        ),
        ("tail_alone", "tail", "host.toml:8: unknown field `tail`"),
        ("[cpu]", "[gpu]", "host.toml:"),
    ];
    for (from, to, message) in table {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let error = HostParams::parse("host.toml", &text)
            .expect_err(to)
            .to_string();
        assert!(error.contains(message), "{error}");
        assert!(error.starts_with("host.toml:"), "{error}");
    }
}

#[test]
fn what_is_left_out_is_4_4bsd() {
    let text = "name = \"mine\"\nused_in = \"nowhere\"\ncache_bytes = 1000000\n\
                [cpu]\ncopy_ns_per_4k = 1\ncreate_ns = 2\ndelete_ns = 3\ncall_ns = 4\n";
    let params = HostParams::parse("host.toml", text).expect("complete");
    let preset = HostParams::preset("pentium-120").expect("a preset");
    let expected = HostParams {
        name: "mine".to_owned(),
        used_in: "nowhere".to_owned(),
        cache_bytes: 1_000_000,
        cpu: params.cpu,
        source: params.source.clone(),
        ..preset
    };
    assert_eq!(params, expected);
}
