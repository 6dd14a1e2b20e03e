//! Parameters of an XFS: keys of `xfs:key=value,...`, and defaults.

use crate::clock;
use crate::options::{ParamError, Setting};
use fsage_core::keys::Key;
use std::path::PathBuf;

/// What a file system has beside the oldest structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Features {
    /// Those of xfsprogs 6.1: a tree of free inodes, sparse chunks of inodes, a tree of references.
    Default,
    /// None of them.
    Plain,
    /// Those of `Default`, and a tree of owners: `-m rmapbt=1`.
    Rmapbt,
}

impl Features {
    pub(super) const ALL: [Features; 3] = [Features::Default, Features::Plain, Features::Rmapbt];

    /// The word of the key `features`.
    pub fn as_str(self) -> &'static str {
        match self {
            Features::Default => "default",
            Features::Plain => "plain",
            Features::Rmapbt => "rmapbt",
        }
    }

    /// No tree of free inodes, no sparse chunks, no tree of references.
    pub(super) fn is_plain(self) -> bool {
        self == Features::Plain
    }

    /// A tree says who owns each block.
    pub(super) fn has_owners(self) -> bool {
        self == Features::Rmapbt
    }

    /// Roots of trees behind the headers of an AG.
    pub(super) fn roots(self) -> u32 {
        match self {
            Features::Default => 5,
            Features::Plain => 3,
            Features::Rmapbt => 6,
        }
    }

    /// Blocks of the smallest log, of small AGs.
    pub(super) fn least_log(self) -> u64 {
        match self {
            Features::Default => 1368,
            Features::Plain => 857,
            Features::Rmapbt => 3075,
        }
    }
}

/// When data that was written back is told to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// Once all files are written back.
    Strict,
    /// File by file, in the order in which they were changed.
    PerFile,
    /// Once all files are written back. When that is, and when what is deleted or not needed is given back, is a matter
    /// of time, and partly drawn.
    Default,
}

impl Regime {
    /// What holds where nobody says so: with a tree of owners only one of them repeats.
    pub(super) fn usual(features: Features) -> Regime {
        match features {
            Features::Rmapbt => Regime::PerFile,
            Features::Default | Features::Plain => Regime::Strict,
        }
    }

    /// The word of the key `regime`.
    pub fn as_str(self) -> &'static str {
        match self {
            Regime::Strict => "strict",
            Regime::PerFile => "perfile",
            Regime::Default => "default",
        }
    }
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    Key::bytes("size", "1G", "of the partition, at least 16M, at most 16T"),
    Key::number("agcount", "AGs", "", "allocation groups of 16M to 1T")
        .by_rule("4; 2 below 64M, 1 below 32M, of 1T each from 4T on"),
    Key::bytes("log", "", "of the log")
        .by_rule("64M, a part in 2048 from 128G on, the least possible below 300M"),
    Key::word(
        "features",
        &["default", "plain", "rmapbt"],
        "default",
        "`default`: those of xfsprogs 6.1; `plain`: `-m finobt=0,reflink=0 -i sparse=0`; `rmapbt`: `-m rmapbt=1`",
    ),
    Key::word(
        "regime",
        &["strict", "perfile", "default"],
        "strict",
        "at the end of a day, `strict`: all files are written back, then complete; `perfile`: one after the other; \
         `default`: as `strict`, and by time, one run of many",
    )
    .where_given("features", "rmapbt", "perfile"),
    clock::SEED,
    clock::RATE,
    clock::DIRTY,
    clock::cpus_key("of `default`: of the machine, which count free blocks and give back what is deleted"),
    Key::text(
        "from",
        "path",
        "nothing",
        "an unmounted XFS image or device, or a snapshot of one, that it begins with, and that decides what it says",
    ),
];

/// Parameters of an XFS, as `mkfs.xfs` and the replay take them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Partition size.
    pub size_bytes: u64,
    /// Allocation groups; `None` is what `mkfs.xfs` chooses.
    pub ag_count: Option<u64>,
    /// Size of the log; `None` is what `mkfs.xfs` chooses.
    pub log_bytes: Option<u64>,
    /// What it has.
    pub features: Features,
    /// When data that was written back is told to be there.
    pub regime: Regime,
    /// In [`Regime::Default`]: which run it is.
    pub seed: u64,
    /// In [`Regime::Default`]: operations a second; `None` leaves their times to the workload.
    pub rate: Option<u64>,
    /// In [`Regime::Default`]: data that may wait before the oldest is written back.
    pub dirty_bytes: u64,
    /// In [`Regime::Default`]: processors of the machine.
    pub cpus: u32,
    /// The image or snapshot that it begins with, and that decides what it says; `None`: a fresh one.
    pub from: Option<PathBuf>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            size_bytes: 1 << 30,
            ag_count: None,
            log_bytes: None,
            features: Features::Default,
            regime: Regime::Strict,
            seed: 1,
            rate: None,
            dirty_bytes: 1 << 30,
            cpus: 2,
            from: None,
        }
    }
}

impl Params {
    /// Reads keys and values.
    ///
    /// # Errors
    /// A key that does not exist or a value that does not fit it.
    pub fn from_options<'a>(
        options: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<Params, ParamError> {
        let mut params = Params::default();
        let mut regime = None;
        for (key, value) in options {
            let setting = Setting { key, value };
            match key {
                "size" => params.size_bytes = setting.number()?,
                "agcount" => params.ag_count = Some(setting.number()?),
                "log" => params.log_bytes = Some(setting.number()?),
                "from" => params.from = Some(setting.word()?.into()),
                "features" => {
                    let word = setting.word()?;
                    let known = Features::ALL.into_iter();
                    let features = { known }.find(|features| features.as_str() == word);
                    params.features =
                        features.ok_or_else(|| setting.bad("default, plain or rmapbt"))?;
                }
                "regime" => {
                    regime = Some(match setting.word()? {
                        "strict" => Regime::Strict,
                        "perfile" => Regime::PerFile,
                        "default" => Regime::Default,
                        _ => return Err(setting.bad("strict, perfile or default")),
                    });
                }
                "seed" => params.seed = setting.number()?,
                "rate" => params.rate = Some(clock::rate_of(setting)?),
                "dirty" => params.dirty_bytes = setting.number()?,
                "cpus" => params.cpus = clock::cpus_of(setting)?,
                _ => return Err(setting.unknown(KEYS)),
            }
        }
        params.regime = regime.unwrap_or(Regime::usual(params.features));
        Ok(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{every_key_is_as_described, split};

    #[test]
    fn every_key_is_read_and_described() {
        every_key_is_as_described(KEYS, "size=1G", |text| Params::from_options(split(text)));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "features=all",
            "regime=natural",
            "agcount=x",
            "cpus=0",
            "rate=0",
            "bsize=1K",
            "shade=red",
        ] {
            assert!(Params::from_options(split(text)).is_err(), "{text}");
        }
    }
}
