//! What is benchmarked, as it is asked for.

use super::{MAX_REPETITIONS, Machine, State, file_size, suites};
use crate::aging::bytes_of;
use crate::device::disk;
use crate::error::{Context, bail, error};
use fsage_bench::benchmarks::delivery::DELIVERY;
use fsage_bench::{Benchmark, DriveTooSmall};
use fsage_disk::Disk;
use fsage_target::TargetSpec;
use serde::{Deserialize, Serialize};

/// The disk of simulated targets where none is named, that of the papers, and disks for those that are larger.
const DEVICE: &str = "st32430n";
const LARGER: [&str; 2] = ["st340016a", "st4000nm0033"];
/// Flash for file systems of today, in a size in which they fit.
const DEVICE_OF_TODAY: &str = "nvme_a";
/// The machine of simulated targets where none is named, neither by the call nor by the device.
const HOST: &str = "pentium-120";
/// The same above flash.
const FLASH_HOST: &str = "linux-nvme";
/// The suites where none is named.
const SUITES: &str = "sequential,hot-files";
/// The same in a comparison where files are delivered, as mail is.
const MAIL_SUITES: &str = "delivery,hot-files";
/// Two sizes say what a comparison wants to know, in a fraction of the time of all of them.
const SIZES: &str = "16K,1M";
/// The same where mail is delivered, which is smaller.
const MAIL_SIZES: &str = "4K,16K,64K";
/// How long a suite goes on repeating on real targets where nobody says so.
const MINUTES: u32 = 5;
/// Stands for the sizes of the suites themselves.
const ALL: &str = "all";
/// How long before the end of the workload a file must have been changed to be hot, in days, where nobody says so.
const HOT_DAYS: u32 = 30;

/// What is benchmarked, and on what. The same are options of `fsage bench` and `fsage compare`, and the table `[bench]`
/// of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
#[group(skip)]
pub struct Options {
    /// Suites, separated by commas, or `all`; `fsage bench --list` names them.
    #[arg(long = "suite", value_name = "NAME", value_delimiter = ',', default_value = SUITES)]
    pub suites: Vec<String>,
    /// Sizes of files instead of the suites' own, separated by commas: 16K,1M; `all` for those of the suites.
    #[arg(long = "size", value_name = "SIZE", value_delimiter = ',', value_parser = size)]
    pub sizes: Vec<String>,
    /// Repetitions of every case [default: 10 of simulated targets, 1 on flash, which does the same every time, of
    /// suites that draw nothing; of real ones 6 to 30, until every speed is known to
    /// 5 %, or the time is up].
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPETITIONS)))]
    pub repetitions: Option<u32>,
    /// Minutes after which a suite repeats nothing more on real targets that ran 6 times.
    #[arg(long, value_name = "MINUTES", default_value_t = MINUTES, conflicts_with = "repetitions")]
    pub minutes: u32,
    /// Disk below simulated targets: a name of `fsage device list`, or a TOML file [default: `nvme_a`, flash, where one
    /// of them is a file system of today, as ext4 and XFS are; else `st32430n`, a disk of 1996; where one of them is
    /// larger than that, `nvme_a:size=...`, `st340016a` or `st4000nm0033`].
    #[arg(long, value_name = "DRIVE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Machine of simulated targets: pentium-120, pentium-120-cffs, pentium-pro-200, sparcstation-1, sparcstation-2,
    /// sun-4-260, pentium-4-1600, linux-hdd or linux-nvme, or a TOML file [default: that of the device; linux-nvme
    /// above flash].
    #[arg(long, value_name = "HOST")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// States to measure, separated by commas [default: aged,control; without a run empty].
    #[arg(
        long = "state",
        value_enum,
        value_name = "STATE",
        value_delimiter = ','
    )]
    pub states: Vec<State>,
    /// Hot files are those that were changed so many days before the workload ends, or later.
    #[arg(long, value_name = "DAYS", default_value_t = HOT_DAYS)]
    pub hot_days: u32,
    /// Where a directory is measured, drop all caches of this machine, those of other file systems too (root).
    #[arg(long)]
    pub drop_caches: bool,
    /// Split what aged file systems lose on a flash device into its causes: every suite runs once more without each.
    #[arg(long)]
    pub causes: bool,
    /// Also measure models on earlier days of their life, so many days in all, evenly spread, each beside a fresh copy
    /// of the files of that day: how speed changes with age, as a curve.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_days: Option<u32>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            suites: SUITES.split(',').map(str::to_owned).collect(),
            sizes: Vec::new(),
            repetitions: None,
            minutes: MINUTES,
            device: None,
            host: None,
            states: Vec::new(),
            hot_days: HOT_DAYS,
            drop_caches: false,
            causes: false,
            over_days: None,
        }
    }
}

impl Options {
    /// The same with what a comparison takes where no suite, or no size, is named. `is_mail` says that the workload
    /// delivers its files.
    #[must_use]
    pub fn in_comparison(&self, is_mail: bool) -> Options {
        let split = |names: &str| names.split(',').map(str::to_owned).collect();
        let mut options = self.clone();
        if self.suites.is_empty() {
            options.suites = split(if is_mail { MAIL_SUITES } else { SUITES });
        }
        if self.sizes.is_empty() {
            let delivers = options.suites.iter().any(|suite| suite == DELIVERY.name());
            options.sizes = split(if delivers { MAIL_SIZES } else { SIZES });
        }
        options
    }

    /// The suites, each once.
    ///
    /// # Errors
    /// There is no such suite, or none at all.
    pub fn suites(&self) -> crate::Result<Vec<&'static dyn Benchmark>> {
        let suites = suites(&self.suites)?;
        if suites.is_empty() {
            bail!("expected at least one suite");
        }
        Ok(suites)
    }

    /// Sizes of files in bytes; none for the suites' own.
    ///
    /// # Errors
    /// One of them is no size.
    pub fn sizes(&self) -> crate::Result<Vec<u64>> {
        if self.sizes.iter().any(|size| size == ALL) {
            return Ok(Vec::new());
        }
        let sizes = self.sizes.iter();
        let sizes = sizes.map(|text| file_size(text).map_err(crate::Error::new));
        sizes.collect()
    }

    /// The same below these targets, which are all that are compared: the disk and the machine have their names.
    ///
    /// # Errors
    /// There is no such disk.
    pub fn below<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a TargetSpec>,
    ) -> crate::Result<Options> {
        let device = match &self.device {
            Some(device) => device.clone(),
            None => usual_device(targets)?,
        };
        let host = match &self.host {
            Some(host) => host.clone(),
            None => match disk(&device)? {
                Disk::Flash(_) => FLASH_HOST.to_owned(),
                Disk::Rotating(drive) => drive.host.unwrap_or_else(|| HOST.to_owned()),
                Disk::Null => HOST.to_owned(),
            },
        };
        Ok(Options {
            device: Some(device),
            host: Some(host),
            ..self.clone()
        })
    }

    /// That simulated targets fit the disk; for before long work.
    ///
    /// # Errors
    /// One does not; there is no such disk or machine.
    pub fn all_fit<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a TargetSpec>,
    ) -> crate::Result<()> {
        let machine = self.machine()?;
        for (spec, bytes) in sizes_of(targets) {
            let fits = machine.check_fits(bytes);
            fits.map_err(|why| error!("{spec}: {why}"))?;
        }
        Ok(())
    }

    /// Names of the disk and the machine: those of papers where nothing else is known.
    pub fn machine_names(&self) -> (&str, &str) {
        let device = self.device.as_deref().unwrap_or(DEVICE);
        (device, self.host.as_deref().unwrap_or(HOST))
    }

    /// The simulated machine and its disk.
    ///
    /// # Errors
    /// There is no such disk or machine.
    pub fn machine(&self) -> crate::Result<Machine> {
        let (device, host) = self.machine_names();
        Machine::named(device, host)
    }

    /// Whether the disk and the machine are those of the papers.
    pub fn is_of_papers(&self) -> bool {
        self.machine_names() == (DEVICE, HOST)
    }

    /// That losses can be split into causes, where that is asked for.
    ///
    /// # Errors
    /// The device is no flash, or aged and control are not both measured.
    pub fn may_split(&self) -> crate::Result<()> {
        if !self.causes {
            return Ok(());
        }
        if let Some(device) = &self.device
            && !matches!(disk(device)?, Disk::Flash(_))
        {
            bail!(
                "--causes: losses are split on flash only, and {device} is none; expected a flash device of `fsage \
                 device list`, as in --device nvme_mlc_p1"
            );
        }
        let both = [State::Aged, State::Control];
        if !self.states.is_empty() && !both.iter().all(|state| self.states.contains(state)) {
            bail!(
                "--causes: a loss is that of aged against control; name both with --state, or none"
            );
        }
        Ok(())
    }

    /// That all of it makes sense; for before long work.
    ///
    /// # Errors
    /// It does not.
    pub fn check(&self) -> crate::Result<()> {
        self.suites().context("suites")?;
        self.sizes().context("sizes")?;
        self.machine()?;
        self.may_split()?;
        if self
            .over_days
            .is_some_and(|days| !(2..=1000).contains(&days))
        {
            bail!("over_days: expected 2 to 1000 days");
        }
        match self.repetitions {
            Some(n) if n == 0 || n > MAX_REPETITIONS => {
                bail!("repetitions: expected 1 to {MAX_REPETITIONS}")
            }
            _ => Ok(()),
        }
    }
}

/// The simulated ones of these targets, and how large they are.
fn sizes_of<'a>(
    targets: impl IntoIterator<Item = &'a TargetSpec>,
) -> impl Iterator<Item = (&'a TargetSpec, u64)> {
    let simulated = targets.into_iter();
    let simulated = simulated.filter(|spec| matches!(spec.real(), Ok(None)));
    simulated.filter_map(|spec| Some((spec, bytes_of(spec)?)))
}

/// The disk of targets where none is named: the first of the usual ones that all of them fit.
fn usual_device<'a>(targets: impl IntoIterator<Item = &'a TargetSpec>) -> crate::Result<String> {
    let (mut of_today, mut largest) = (false, 0);
    for (spec, bytes) in sizes_of(targets) {
        of_today |= spec.is_of_today();
        largest = largest.max(bytes);
    }
    let fits = |name: &str| -> crate::Result<bool> {
        Ok(DriveTooSmall::check(&disk(name)?, largest).is_ok())
    };
    let of_papers = LARGER.iter().map(|&name| name.to_owned());
    let flash = (4..13).map(|shift| format!("{DEVICE_OF_TODAY}:size={}G", 1_u64 << shift));
    let (usual, larger): (&str, Vec<String>) = if of_today {
        (DEVICE_OF_TODAY, flash.collect())
    } else {
        (DEVICE, of_papers.collect())
    };
    for name in [usual.to_owned()].into_iter().chain(larger) {
        if fits(&name)? {
            return Ok(name);
        }
    }
    // Whoever checks what fits says so.
    Ok(usual.to_owned())
}

/// A size of files, as it was given.
fn size(text: &str) -> Result<String, String> {
    if text != ALL {
        file_size(text)?;
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_and_all_stands_for_those_of_the_suites() {
        let sizes = |sizes: &[&str]| {
            let sizes = sizes.iter().map(|&size| size.to_owned()).collect();
            let options = Options {
                sizes,
                ..Options::default()
            };
            options.sizes()
        };
        assert_eq!(sizes(&["16K", "1M"]).expect("sizes"), [16_384, 1 << 20]);
        assert!(sizes(&["all"]).expect("all").is_empty());
        assert!(sizes(&["0"]).is_err() && sizes(&["x"]).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let refused = |table: &str| {
            let options: Options = toml::from_str(table).expect("a table");
            format!("{:#}", options.check().expect_err("it makes no sense"))
        };
        for (table, expected) in [
            ("suites = [\"fast\"]", "suites: no suite is called `fast`"),
            ("suites = []", "suites: expected at least one"),
            ("sizes = [\"0\"]", "sizes: a file of 0 bytes"),
            ("repetitions = 0", "repetitions: expected 1 to"),
            ("over_days = 1", "over_days: expected 2 to 1000"),
            ("host = \"cray\"", "no host is called cray"),
            (
                "causes = true\ndevice = \"st32430n\"",
                "--causes: losses are split on flash only",
            ),
            (
                "causes = true\ndevice = \"emu24\"\nstates = [\"aged\"]",
                "--causes: a loss is that of aged against control",
            ),
        ] {
            let why = refused(table);
            assert!(why.contains(expected), "{why}");
        }
        assert!(Options::default().check().is_ok());
    }

    #[test]
    fn one_file_system_of_today_brings_all_targets_to_a_machine_of_today() {
        let names = |options: &Options, targets: &[&str]| {
            let targets = targets
                .iter()
                .map(|text| TargetSpec::parse(text).expect("a target"));
            let targets: Vec<TargetSpec> = targets.collect();
            let options = options.below(&targets).expect("a machine");
            let (device, host) = options.machine_names();
            (device.to_owned(), host.to_owned(), options.is_of_papers())
        };
        let is =
            |device: &str, host: &str, of_papers| (device.to_owned(), host.to_owned(), of_papers);
        let usual = Options::default();
        assert_eq!(
            names(&usual, &["ffs", "loop:ext4,size=64M"]),
            is("st32430n", "pentium-120", true)
        );
        assert_eq!(
            names(&usual, &["ffs", "xfs"]),
            is("nvme_a", "linux-nvme", false)
        );
        let asked = Options {
            device: Some("st4000nm0033".to_owned()),
            ..Options::default()
        };
        assert_eq!(
            names(&asked, &["ext4"]),
            is("st4000nm0033", "linux-hdd", false)
        );
        let old = Options {
            host: Some("pentium-120".to_owned()),
            ..Options::default()
        };
        assert_eq!(names(&old, &["ext4"]), is("nvme_a", "pentium-120", false));
        // nvme_a has 7.5 GiB, st32430n has 2.0, st340016a 37.3.
        assert_eq!(
            names(&usual, &["ext4:size=7G", "ffs"]),
            is("nvme_a", "linux-nvme", false)
        );
        assert_eq!(
            names(&usual, &["ext4", "xfs:size=40G"]),
            is("nvme_a:size=64G", "linux-nvme", false)
        );
        assert_eq!(
            names(&usual, &["ffs:size=30G", "loop:ext4,size=100G"]).0,
            "st340016a"
        );
        assert_eq!(names(&usual, &["ffs:size=100G"]).0, "st4000nm0033");
        let all_fit = |options: &Options, target: &str| {
            options.all_fit(&[TargetSpec::parse(target).expect("a target")])
        };
        assert!(all_fit(&asked, "ext4:size=1T").is_ok());
        let error = all_fit(&asked, "ext4:size=5T").expect_err("it is larger");
        assert!(error.to_string().contains("ext4:size=5T"), "{error}");
    }
}
