//! Limits: when something counts as broken.

use super::room::Kept;
use crate::days::{self, DayRow};
use crate::error::bail;
use crate::table::{number, percent};
use fsage_core::{keys, size};
use fsage_metrics::{Metric, Unit, files, free_space, layout_score};
use fsage_report::Format;
use serde::Serialize;
use std::str::FromStr;

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// Share of the data space that is free.
    FreeShare,
    /// Operations of the day that failed for lack of space or inodes.
    Failed,
    /// A column of `days.parquet`.
    Column(String),
}

/// Something that must not happen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Its name on the command line: `free`, or `placeable_1m`.
    pub name: String,
    /// In words: `free space under 5 %`.
    pub text: String,
    /// The value that it has to fall below, or rise above.
    pub value: f64,
    /// Whether falling below it is bad.
    pub below: bool,
    #[serde(skip)]
    what: What,
}

/// Limits with names of their own: name, metric, and what stands in words for its value.
const NAMED: [(&str, &Metric, &str); 6] = [
    ("64k", &free_space::PLACEABLE_64K, "room for 64 KiB extents"),
    ("1m", &free_space::PLACEABLE_1M, "room for 1 MiB extents"),
    ("64m", &free_space::PLACEABLE_64M, "room for 64 MiB extents"),
    ("inodes", &free_space::INODE_ROOM, "room for inodes"),
    ("layout", &layout_score::SCORE, "layout score"),
    ("used", &files::UTILIZATION, "used space"),
];

/// Fewer bytes than this are no limit that anybody means.
const MIB: f64 = 1_048_576.0;

/// What `--limit` takes, for messages.
const EXPECTED: &str = "expected free=5%, free=10G, 64k=1, 1m=1, 64m=1, inodes=1, layout=0.7, enospc, or a column of \
                        days.parquet with < or > and a number, as in free_runs>100000";

impl Limit {
    /// Those that hold where nobody names any.
    pub fn usual() -> Vec<Limit> {
        [
            "free=5%",
            "64k=1",
            "1m=1",
            "inodes=1",
            "layout=0.7",
            "enospc",
        ]
        .iter()
        .map(|text| text.parse().expect("limits of our own"))
        .collect()
    }

    /// The same limit at another value.
    pub(super) fn at(&self, value: f64) -> Limit {
        let mut moved = self.clone();
        moved.value = value;
        moved.text = moved.words();
        moved
    }

    /// The value that counts; `None` where it is not known.
    pub fn value_of(&self, row: &DayRow) -> Option<f64> {
        match &self.what {
            What::FreeShare => Some(1.0 - row.value(&files::UTILIZATION)?),
            What::Failed => Some((row.no_space + row.no_inode) as f64),
            What::Column(name) => row.number(name),
        }
    }

    /// What of the free space that it looks at is kept from those who write, in its unit; 0 where it is not of space.
    pub(super) fn kept(&self, kept: Kept) -> f64 {
        match &self.what {
            What::FreeShare => kept.share,
            What::Column(name) if *name == free_space::BYTES.id => kept.bytes,
            _ => 0.0,
        }
    }

    /// Whether it is that operations fail for lack of space or of inodes.
    pub(super) fn is_of_failures(&self) -> bool {
        matches!(self.what, What::Failed)
    }

    /// Whether it is of free space, as a share or in bytes.
    pub(super) fn is_of_free_space(&self) -> bool {
        let all = Kept {
            share: 1.0,
            bytes: 1.0,
        };
        self.kept(all) > 0.0
    }

    /// Whether it is of free space, or of failures for lack of it.
    pub(super) fn is_of_space(&self) -> bool {
        self.is_of_failures() || self.free_bytes(0.0, 0).is_some()
    }

    /// Bytes that are free at a value of it, of so many; `None` where it is not of space.
    pub(super) fn free_bytes(&self, value: f64, all: u64) -> Option<f64> {
        match &self.what {
            What::FreeShare => Some(value * all as f64),
            What::Column(name) if *name == files::UTILIZATION.id => {
                Some((1.0 - value) * all as f64)
            }
            What::Column(name) if *name == free_space::BYTES.id => Some(value),
            _ => None,
        }
    }

    /// Whether a value is beyond it.
    pub fn is_crossed(&self, value: f64) -> bool {
        if self.below {
            value < self.value
        } else {
            value > self.value
        }
    }

    /// The name of its column in tables of lives.
    pub fn column(&self) -> String {
        match &self.what {
            What::FreeShare => "free_share".to_owned(),
            What::Failed => "failed_for_space".to_owned(),
            What::Column(name) => name.clone(),
        }
    }

    /// What it looks at, for people, and how that stands on an axis.
    pub(super) fn axis(&self) -> (String, Format) {
        match &self.what {
            What::FreeShare => ("free space".to_owned(), Format::Percent),
            What::Failed => (
                "writes that failed for lack of space".to_owned(),
                Format::Number,
            ),
            What::Column(name) => match days::metric_of(name) {
                Some(metric) => {
                    let format = match metric.unit {
                        Unit::Bytes => Format::Bytes,
                        Unit::Share => Format::Percent,
                        _ => Format::Number,
                    };
                    (metric.title.to_owned(), format)
                }
                None => (name.clone(), Format::Number),
            },
        }
    }

    /// Whether days can be told apart by it: a count of failures has no course.
    pub(super) fn has_course(&self) -> bool {
        self.what != What::Failed
    }

    /// A value as people read it.
    pub fn shown(&self, value: f64) -> String {
        match &self.what {
            What::FreeShare => percent(Some(value)),
            What::Failed => format!("{value:.0}"),
            What::Column(name) => match days::metric_of(name).map(|metric| metric.unit) {
                Some(Unit::Score) => format!("{value:.3}"),
                Some(unit) => number(unit, value),
                None => format!("{value}"),
            },
        }
    }

    fn words(&self) -> String {
        let shown = self.shown(self.value);
        let named = NAMED.iter().find(|(name, ..)| *name == self.name);
        let under = if self.below { "under" } else { "over" };
        match (&self.what, named) {
            (What::FreeShare, _) => format!("free space {under} {shown}"),
            (What::Failed, _) => "a write fails for lack of space".to_owned(),
            (_, Some((_, metric, words))) => {
                if self.below
                    && (self.value - 1.0).abs() < 1e-9
                    && matches!(metric.unit, Unit::Number(_))
                {
                    format!("no {words}")
                } else {
                    format!("{words} {under} {shown}")
                }
            }
            (What::Column(name), None) if *name == free_space::BYTES.id => {
                format!("free space {under} {shown}")
            }
            (What::Column(name), None) => format!("{name} {under} {shown}"),
        }
    }
}

impl FromStr for Limit {
    type Err = crate::Error;

    fn from_str(text: &str) -> crate::Result<Limit> {
        let made = |name: &str, what: What, value: f64, below: bool| {
            let limit = Limit {
                name: name.to_owned(),
                text: String::new(),
                value,
                below,
                what,
            };
            limit.at(value)
        };
        if text == "enospc" {
            return Ok(made(text, What::Failed, 0.0, false));
        }
        let Some(at) = text.find(['=', '<', '>']) else {
            bail!("--limit {text}: {EXPECTED}");
        };
        let (name, value) = (&text[..at], &text[at + 1..]);
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        let sign = text.as_bytes()[at];
        if sign == b'=' {
            if name == "free" {
                if let Some(percent) = value.strip_suffix('%').and_then(number)
                    && (0.0..=100.0).contains(&percent)
                {
                    return Ok(made(name, What::FreeShare, percent / 100.0, true));
                }
                if number(value).is_some_and(|n| n > 0.0 && n < MIB) {
                    bail!("--limit {text}: {value} of what? expected {value}% or {value}G");
                }
                if let Ok(bytes) = size::parse(value) {
                    let what = What::Column(free_space::BYTES.id.to_owned());
                    return Ok(made("free_bytes", what, bytes as f64, true));
                }
            }
            let named = NAMED.iter().find(|(known, ..)| *known == name);
            if let (Some((_, metric, _)), Some(value)) = (named, number(value)) {
                let below = name != "used";
                return Ok(made(name, What::Column(metric.id.to_owned()), value, below));
            }
        } else if let Some(value) = number(value)
            && DayRow::numbers().contains(&name)
        {
            return Ok(made(
                name,
                What::Column(name.to_owned()),
                value,
                sign == b'<',
            ));
        }
        bail!("--limit {text}: {}{EXPECTED}", meant(name, sign))
    }
}

/// A question where a known name was probably meant before the sign.
fn meant(name: &str, sign: u8) -> String {
    let near = if sign == b'=' {
        let named = NAMED.iter().map(|(known, ..)| *known);
        keys::nearest(name, named.chain(["free"])).filter(|near| *near != name)
    } else {
        keys::nearest(name, DayRow::numbers()).filter(|near| *near != name)
    };
    near.map_or_else(String::new, |near| {
        format!("did you mean `{near}{}`? ", char::from(sign))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_said_in_words() {
        let words = |text: &str| text.parse::<Limit>().expect(text).text;
        assert_eq!(words("free=5%"), "free space under 5.0 %");
        assert_eq!(words("free=1G"), "free space under 1.0 GiB");
        assert_eq!(words("1m=1"), "no room for 1 MiB extents");
        assert_eq!(words("64k=100"), "room for 64 KiB extents under 100");
        assert_eq!(words("layout=0.7"), "layout score under 0.700");
        assert_eq!(words("free_runs>100000"), "free_runs over 100000");
        assert_eq!(words("enospc"), "a write fails for lack of space");
        for wrong in [
            "free",
            "free=200%",
            "polcy=1",
            "free_runs>many",
            "nothing<1",
        ] {
            let error = wrong.parse::<Limit>().expect_err(wrong).to_string();
            assert!(
                error.contains(wrong) && error.contains("free=5%"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_was_probably_meant_is_named() {
        for (wrong, meant) in [
            ("layot=0.7", "did you mean `layout=`?"), // typos: ignore
            ("fre=5%", "did you mean `free=`?"),      // typos: ignore
            ("free_run>5", "did you mean `free_runs>`?"),
            ("free=5", "5 of what? expected 5% or 5G"),
        ] {
            let error = wrong.parse::<Limit>().expect_err(wrong).to_string();
            assert!(error.contains(meant), "{error}");
        }
        assert!("free=0".parse::<Limit>().is_ok());
    }

    #[test]
    fn a_limit_is_crossed_on_its_own_side() {
        let limit = |text: &str| text.parse::<Limit>().expect(text);
        let row = DayRow {
            no_space: 2,
            no_inode: 1,
            ..DayRow::default()
        };
        let row = row.with(&free_space::RUNS, 7_u64);
        assert!(limit("free_runs>6").is_crossed(7.0) && !limit("free_runs>7").is_crossed(7.0));
        assert!(limit("free_runs<8").is_crossed(7.0) && !limit("free_runs<7").is_crossed(7.0));
        assert_eq!(limit("free_runs<8").value_of(&row), Some(7.0));
        assert_eq!(limit("enospc").value_of(&row), Some(3.0));
        assert_eq!(limit("1m=1").value_of(&row), None);
    }
}
