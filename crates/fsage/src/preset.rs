//! A preset instead of a workload that is there, as several verbs take it.

use anyhow::bail;
use fsage_core::size;
use fsage_lab::generate::{Profile, Source};
use std::path::Path;

/// The preset, and what only a preset can be asked for.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct Preset {
    /// A synthetic workload instead, by the name of a preset of `fsage generate profile` or a TOML file.
    #[arg(id = "preset", long, value_name = "NAME")]
    pub name: Option<String>,
    /// Days of the preset [default: as it says].
    #[arg(long, value_name = "DAYS")]
    pub days: Option<u64>,
    /// Another size of the preset's file system, as in 512M, with as many more operations and files.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub capacity: Option<u64>,
}

impl Preset {
    /// Its life of a seed, if one is named.
    pub fn life(&self, seed: u64) -> Option<Source> {
        let profile = Profile {
            profile: self.name.clone()?,
            seed: Some(seed),
            days: self.days,
            capacity: self.capacity,
            ..Profile::default()
        };
        Some(Source::Profile(profile))
    }

    /// What only a preset can do is not asked of a workload that is there, or of snapshots.
    pub fn is_not_asked_of(&self, file: &Path) -> anyhow::Result<()> {
        let shown = file.display();
        if let Some(days) = self.days {
            let next = if file.is_dir() {
                "; name the snapshots of fewer days".to_owned()
            } else {
                format!(
                    "; this cuts it:\n  fsage convert {shown} - | awk '{{ print }} /^(@[^ ]* )?day/ && ++n == {days} \
                     {{ exit }}' > cut.ops"
                )
            };
            bail!(
                "--days {days}: days belong to presets (--preset NAME), and {shown} is lived to its end{next}"
            );
        }
        if self.capacity.is_some() {
            bail!(
                "--capacity: it scales a preset (--preset NAME), and {shown} is as large as it is; make it smaller \
                 where it is made, as with `fsage generate snapshots --scale`"
            );
        }
        Ok(())
    }
}
