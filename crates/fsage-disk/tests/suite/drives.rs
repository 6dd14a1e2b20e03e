//! Presets are whole, and a drive that cannot be is refused with the name of the key.

use fsage_disk::{Drive, presets};

#[test]
fn every_preset_says_where_its_values_come_from() {
    for (name, text) in presets::PRESETS {
        let drive = Drive::parse(name, text).unwrap_or_else(|e| panic!("{e}"));
        let sources: Vec<&str> = drive.source.keys().map(String::as_str).collect();
        for group in [
            "rpm",
            "cylinders",
            "heads",
            "zones",
            "seek",
            "head_switch_ms",
            "write_settle_ms",
            "overhead_ms",
            "buffer",
            "bus",
            "skews",
        ] {
            // The three points of a curve have a source each.
            assert!(
                sources.iter().any(|s| s.starts_with(group)),
                "{name}: {group}"
            );
        }
        assert!(drive.source.values().all(|source| !source.is_empty()));
    }
}

#[test]
fn capacities_are_those_of_the_drive_tables() {
    for (name, sectors) in [
        ("st32430n", 4_167_648),
        ("m2694", 2_563_380),
        ("barracuda9", 17_773_260),
        ("st340016a", 78_158_400),
        ("st4000nm0033", 7_814_037_168),
        ("hp_c2247a", 2_054_864),
        ("dec_rz26", 2_050_860),
        ("atlas10k", 17_938_986),
    ] {
        let drive = Drive::preset(name).expect("a preset");
        assert_eq!(drive.usable_sectors(), sectors, "{name}");
    }
}

#[test]
fn skews_that_are_not_given_cover_a_head_switch_and_the_settling_of_a_write() {
    // The tables' skews of st32430n were computed with this rule.
    let given = Drive::preset("st32430n").expect("a preset");
    let mut computed = given.clone();
    for zone in &mut computed.zones {
        (zone.track_skew, zone.cylinder_skew) = (None, None);
    }
    for (a, b) in given.zones.iter().zip(&computed.zones) {
        assert_eq!(given.skews(a), computed.skews(b));
    }
}

/// Replaces one line of a preset, and gives the message.
fn refused(preset: &str, line: &str, by: &str) -> String {
    let text = presets::toml_of(preset).expect("a preset");
    assert!(text.contains(line), "{line}");
    let error = Drive::parse("my.toml", &text.replace(line, by)).expect_err(by);
    let message = error.to_string();
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn a_drive_that_cannot_be_is_refused_with_the_name_of_the_key() {
    let table = [
        (
            "st32430n",
            "average_ms = 11.0",
            "average_ms = 30.0",
            "seek.three_points.average_ms",
        ),
        (
            "st32430n",
            "max_ms = 23.0",
            "max_ms = 1.0",
            "seek.three_points.max_ms",
        ),
        (
            "st32430n",
            "one_ms = 1.7",
            "one_ms = nan",
            "seek.three_points.one_ms",
        ),
        ("hp_c2247a", "may_fall = true\n", "", "seek.two_pieces"),
        ("barracuda", "may_fall = true\n", "", "seek.table.points"),
        ("barracuda", "[2, 1.956]", "[1, 1.956]", "seek.table.points"),
        (
            "dec_rz26",
            "sectors = 2050860\nhead",
            "sectors = 0\nhead",
            "sectors",
        ),
        (
            "dec_rz26",
            "sectors = 2050860\nhead",
            "sectors = 2050861\nhead",
            "sectors",
        ),
        (
            "st32430n",
            "sectors_per_track = 138",
            "sectors_per_track = 0",
            "zones[0].sectors_per_track",
        ),
        (
            "m2694",
            "sectors = 2109375",
            "sectors = 2563381",
            "partition.sectors",
        ),
        (
            "m2694",
            "first_sector = 0",
            "first_sector = 2563380",
            "partition.first_sector",
        ),
        ("m2694", "rpm = 5400", "rpm = 0", "rpm"),
        ("m2694", "heads = 15", "heads = 0", "heads"),
        ("m2694", "[441, 706]", "[440, 706]", "zones[1].cylinders"),
        (
            "m2694",
            "[1660, 1817]",
            "[1660, 1818]",
            "zones[7].cylinders",
        ),
        (
            "m2694",
            "track_skew = 21",
            "track_skew = 111",
            "zones[0].track_skew",
        ),
        ("m2694", "segments = 4", "segments = 0", "buffer.segments"),
        ("m2694", "write = 0.8", "write = -1.0", "overhead_ms.write"),
        (
            "m2694",
            "read_ms_per_sector = 0.0512",
            "read_ms_per_sector = inf",
            "bus.read_ms_per_sector",
        ),
        (
            "hp_c2247a",
            "sectors = 664800",
            "sectors = 697000",
            "zones[0].sectors",
        ),
        (
            "m2694",
            "cylinder_skew = 36 }",
            "cylinder_skew = 36, slips = [4] }",
            "zones[0].slips",
        ),
    ];
    for (preset, line, by, key) in table {
        let message = refused(preset, line, by);
        assert!(
            message.starts_with(&format!("my.toml: {key}: ")),
            "{message}"
        );
    }
}

#[test]
fn what_is_no_drive_is_refused_with_its_line() {
    let message = refused("m2694", "heads = 15", "hats = 15");
    assert!(
        message.starts_with("my.toml:8: unknown field `hats`"),
        "{message}"
    );
    let message = refused("m2694", "heads = 15", "heads = many");
    assert!(message.starts_with("my.toml:8: "), "{message}");
    // 32 bits hold the number of heads, and a zone ends with a number.
    for (line, by, key) in [
        ("heads = 15", "heads = 99999999999", "heads"),
        ("[1660, 1817]", "[1660, \"1817\"]", "zones[7].cylinders[1]"),
        ("segments = 4", "segments = 4.5", "buffer.segments"),
    ] {
        let message = refused("m2694", line, by);
        assert!(message.contains(&format!(": {key}: invalid ")), "{message}");
    }
    let message = refused("m2694", "heads = 15\n", "");
    assert!(message.contains("missing field `heads`"), "{message}");
    let message = refused("m2694", "[seek.three_points]", "[seek.four_points]");
    assert!(message.contains("three_points"), "{message}");
}

#[test]
fn the_drive_of_the_documentation_is_one() {
    let documentation = include_str!("../../../../docs/disks.md");
    let (_, rest) = documentation.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let drive = Drive::parse("docs/disks.md", example).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(drive.usable_sectors(), 8 * (100_000 + 80_000));
}
