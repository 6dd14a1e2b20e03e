//! The presets as a whole, and the messages about files of one's own.

use crate::account::Account;
use fsage_core::{Event, EventSink, SinkError};
use fsage_workload::preset::{ALIASES, Generator, PRESETS, Preset, toml_of};
use proptest::prelude::*;

#[test]
fn every_preset_is_valid_and_says_what_it_is() {
    for (name, text) in PRESETS {
        let preset = Preset::parse(name, text).expect(name);
        assert!(
            (20..=110).contains(&preset.summary.len()),
            "{name}: {}",
            preset.summary
        );
        assert!(
            preset.source.contains("no event of it ever happened"),
            "{name}"
        );
        assert!(
            text.starts_with("# "),
            "{name}: a preset begins with its source"
        );
    }
    for (alias, name) in ALIASES {
        assert_eq!(toml_of(alias), toml_of(name));
    }
    assert!(Preset::named("home-2025").is_none());
}

#[test]
fn profile_presets_hold_their_curves_for_as_long_as_they_run() {
    for (name, _) in PRESETS {
        let Generator::Profile(profile) = Preset::named(name).expect(name).generator else {
            continue;
        };
        let mut account = Account::new(profile.block_bytes, profile.fragment_bytes);
        let profile = profile.with_capacity(256 << 20).with_days(15);
        let s = profile
            .generate(1, &mut account)
            .expect("a sink that never fails");
        let capacity = (profile.capacity_bytes / profile.fragment_bytes) as f64;
        for (i, &used) in account.days.iter().enumerate() {
            let curve = profile.utilization_at((i + 1) as f64 / 15.0);
            let off = used as f64 / capacity - curve;
            assert!(off.abs() <= 0.005, "{name}: day {}: {off}", i + 1);
        }
        assert!(s.utilization_deviation <= 0.005, "{name}");
    }
}

/// The hashes change only on purpose: who changes a workload changes every result made with it.
#[test]
fn workloads_of_seed_1_are_what_they_always_were() {
    let mut hashes = Vec::new();
    for name in ["mail-spool", "maildir", "ganger70", "varmail"] {
        let mut account = Account::new(8192, 1024);
        match Preset::named(name).expect(name).generator {
            Generator::Profile(profile) => {
                let profile = profile.with_days(10);
                profile.generate(1, &mut account).map(|_| ())
            }
            Generator::Herrin(herrin) => herrin.generate(1, &mut account).map(|_| ()),
            Generator::Server(mut server) => {
                server.days = 2;
                server.generate(1, &mut account).map(|_| ())
            }
            Generator::Home(_) => panic!("tests/home.rs has its own"),
        }
        .expect("a sink that never fails");
        hashes.push(format!(
            "{name} {:016x} {}",
            account.hash, account.operations
        ));
    }
    assert_eq!(
        hashes,
        [
            "mail-spool c55e3fe44daad333 97391",
            "maildir e23490562ebf5ea9 727474",
            "ganger70 5b0c618aab9dd305 106064",
            "varmail fcd03bf327a1e61a 40801",
        ]
    );
}

fn message(text: &str) -> String {
    Preset::parse("own.toml", text).unwrap_err().to_string()
}

const HEAD: &str = "summary = \"s\"\nsource = \"s\"\n";

#[test]
fn errors_name_the_line_and_the_known_keys() {
    let text = format!("{HEAD}[profile]\ndays = 3\ncapacity = 5\n");
    let unknown = message(&text);
    assert!(
        unknown.starts_with("own.toml:5: unknown field `capacity`"),
        "{unknown}"
    );
    assert!(unknown.contains("`capacity_bytes`"), "{unknown}");

    let text = format!(
        "{HEAD}[profile]\ndays = 3\ncapacity_bytes = \"64M\"\nutilization = [[0, 0.5]]\n\n[profile.size]\n\
         kind = \"log-normal\"\nmedian = 4000\nspread = 1\n"
    );
    let unknown = message(&text);
    assert!(
        unknown.starts_with("own.toml:11: unknown field `spread`"),
        "{unknown}"
    );
    assert!(unknown.contains("`sigma`"), "{unknown}");

    let keys = message(&text.replace("spread = 1\n", ""));
    assert!(keys.contains("kind, median, sigma"), "{keys}");
    let kind = message(&text.replace("log-normal", "normal"));
    assert!(
        kind.contains("own.toml:9:") && kind.contains("hyperexponential"),
        "{kind}"
    );
    let curve = message(&text.replace("spread", "sigma").replace("0.5]]", "1.5]]"));
    assert!(
        curve.starts_with("own.toml:3: profile: utilization: [0, 1.5]"),
        "{curve}"
    );
    let size = message(&text.replace("\"64M\"", "\"64 MB\""));
    assert!(
        size.contains("own.toml:5:") && size.contains("no size as in"),
        "{size}"
    );
    assert!(message("summary = 1").starts_with("own.toml:1: invalid type"));
    assert!(message(HEAD).contains("[home], [profile], [herrin], [server], found 0"));
    assert!(message("[[[").starts_with("own.toml:1: "));
    for text in [
        "",
        "summary = \"a\\nb\"\nsource = \"\"\n",
        "= 3",
        "a = 1\na = 2",
    ] {
        assert!(!message(text).contains('\n'), "{text:?}");
    }
}

#[test]
fn values_out_of_range_are_refused_with_their_key() {
    for (name, from, to, expected) in [
        (
            "ganger50",
            "blocks = 32768 ",
            "blocks = 3 ",
            "blocks = 3: expected 65",
        ),
        ("ganger50", "[101, 0]", "[100, 0]", "rising to 101"),
        (
            "fileserver",
            "threads = 50",
            "threads = 0",
            "threads = 0: expected 1",
        ),
        (
            "home-1996",
            "days = 300 ",
            "days = 0 ",
            "days = 0: expected 1",
        ),
        (
            "home-1996",
            "[50, 250], ",
            "[150, 250], ",
            "utilization: expected",
        ),
        (
            "news-spool",
            "turnover = 92",
            "turnover = 0",
            "a turnover over 0",
        ),
        (
            "news-spool",
            "sigma = 1.0",
            "sigma = inf",
            "a number over 0",
        ),
        (
            "news-spool",
            "[14, 30], ",
            "[14, -30], ",
            "row 5: weight -30",
        ),
        ("news-spool", "\"1K\"", "\"3K\"", "powers of two"),
        (
            "news-spool",
            "\"565M\"",
            "\"565K\"",
            "capacity_bytes = 578560",
        ),
        ("news-spool", "\"1M\"", "0", "largest_bytes = 0"),
    ] {
        let text = toml_of(name).expect(name);
        assert!(text.contains(from), "{name} has no {from}");
        let message = message(&text.replace(from, to));
        assert!(message.contains(expected), "{message}");
    }
}

/// Has enough after some events.
struct Limited(u32);

impl EventSink for Limited {
    fn event(&mut self, _: Event) -> Result<(), SinkError> {
        self.0 += 1;
        if self.0 > 2000 {
            return Err("enough".into());
        }
        Ok(())
    }
}

/// A number in place of the one at or after a byte, if there is one.
fn with_number(text: &str, at: usize, number: &str) -> Option<String> {
    let from = at + text.get(at..)?.find(|c: char| c.is_ascii_digit())?;
    let length = text[from..].find(|c: char| !c.is_ascii_digit() && c != '.');
    let to = length.map_or(text.len(), |n| from + n);
    Some(format!("{}{number}{}", &text[..from], &text[to..]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A preset with some numbers replaced and a byte changed: no panic, a message of one line, and what is accepted
    /// makes a workload or says why not.
    #[test]
    fn damaged_presets_are_refused_or_make_a_workload(
        which in 0..PRESETS.len(),
        numbers in prop::collection::vec(
            (0..3000_usize, prop_oneof![
                Just("0"), Just("1"), Just("-1"), Just("0.5"), Just("98"), Just("1000"), Just("1e300"), Just("nan"),
                Just("65536"), Just("1099511627776"), Just("18446744073709551615"),
            ]),
            0..4,
        ),
        byte in prop::option::of((0..3000_usize, any::<u8>())),
    ) {
        let mut text = PRESETS[which].1.to_owned();
        for (at, number) in numbers {
            text = with_number(&text, at % text.len(), number).unwrap_or(text);
        }
        let mut bytes = text.into_bytes();
        if let Some((at, byte)) = byte {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let text = String::from_utf8_lossy(&bytes);
        match Preset::parse("damaged", &text) {
            Err(e) => {
                prop_assert!(!e.to_string().contains('\n'), "{}", e);
                prop_assert!(e.line > 0);
            }
            Ok(preset) => {
                let mut sink = Limited(0);
                // Operations that find nothing to do make no event, and would end only with the days.
                let short = |n: u64, days: u64| n.saturating_mul(days) < 3_000_000;
                let made = match &preset.generator {
                    Generator::Profile(g) if short(g.expected_operations().expect("checked"), 1) => {
                        g.generate(1, &mut sink).map(|_| ())
                    }
                    Generator::Herrin(g) => g.generate(1, &mut sink).map(|_| ()),
                    Generator::Server(g) if short(g.operations_per_day, g.days) => {
                        g.generate(1, &mut sink).map(|_| ())
                    }
                    _ => Ok(()),
                };
                if let Err(e) = made {
                    prop_assert!(!e.to_string().contains('\n'), "{}", e);
                }
            }
        }
    }
}
