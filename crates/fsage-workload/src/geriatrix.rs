//! Profiles of Geriatrix (Kadekodi, Nagarajan, Ganger, USENIX ATC 2018): its three files, aged by our engine.
//!
//! A Geriatrix profile is a multiset of live files (sizes, depths) and their relative ages. It has no appends,
//! rewrites, renames, bursts or days, so the workload made of it is creates and deletes alone, evenly over the
//! days. Its turnover is what its ages need ([`crate::profile::turnover_ticks`]).

mod files;

pub use files::{GeriatrixError, Rows, parse};

use crate::distribution::Distribution;
use crate::profile::{Activity, Mix, Profile};
use crate::space::SpaceRule;
use std::path::Path;

/// Days of a workload made of a triple, which has none of its own.
const DAYS: u64 = 100;
/// Capacity unless given.
const CAPACITY_BYTES: u64 = 1 << 30;
/// Utilization unless given.
const UTILIZATION: f64 = 0.8;

/// The three distributions.
#[derive(Clone, Debug, PartialEq)]
pub struct Triple {
    /// Relative age cutoff, weight.
    pub ages: Vec<(f64, f64)>,
    /// Bytes, weight.
    pub sizes: Vec<(f64, f64)>,
    /// Depth, weight.
    pub depths: Vec<(f64, f64)>,
    /// Directories of each depth, from 1 on.
    pub directories: Vec<u64>,
    /// What was not as announced, for the user.
    pub warnings: Vec<String>,
}

impl Triple {
    /// Reads the three files of a folder.
    ///
    /// # Errors
    /// A file that cannot be read, or a missing or malformed number, with file and line.
    pub fn read(folder: &Path) -> Result<Triple, GeriatrixError> {
        let text = |name: &str| {
            let path = folder.join(name);
            let file = path.display().to_string();
            match fsage_input::bytes(&path, fsage_input::TEXT_BYTES) {
                Ok(text) => Ok((file, text)),
                Err(error) => Err(GeriatrixError::Read { file, error }),
            }
        };
        Triple::parse([
            text("age_distribution.txt")?,
            text("size_distribution.txt")?,
            text("dir_distribution.txt")?,
        ])
    }

    /// The same from file names and bytes: ages, sizes, directories.
    ///
    /// # Errors
    /// As [`Triple::read`].
    pub fn parse(files: [(String, Vec<u8>); 3]) -> Result<Triple, GeriatrixError> {
        let [ages, sizes, depths] = files;
        let ages = parse::<2>(&ages.0, &ages.1)?;
        let sizes = parse::<2>(&sizes.0, &sizes.1)?;
        let depths = parse::<3>(&depths.0, &depths.1)?;
        let pairs = |rows: &[[f64; 2]]| rows.iter().map(|r| (r[0], r[1])).collect();
        let mut directories = Vec::new();
        for row in &depths.rows {
            let depth = row[0] as usize;
            if directories.len() < depth {
                directories.resize(depth, 0);
            }
            if depth > 0 {
                directories[depth - 1] = row[2] as u64;
            }
        }
        Ok(Triple {
            ages: pairs(&ages.rows),
            sizes: pairs(&sizes.rows),
            depths: depths.rows.iter().map(|r| (r[0], r[1])).collect(),
            directories,
            warnings: [ages.warnings, sizes.warnings, depths.warnings].concat(),
        })
    }

    /// The profile that our engine ages. Sizes from 4,096 bytes on are cut to multiples of 4,096, those from 1,024
    /// on to multiples of 1,024, as the original does.
    pub fn profile(&self) -> Profile {
        let mut sizes: Vec<(f64, f64)> = Vec::new();
        for &(bytes, weight) in &self.sizes {
            let bytes = cut(bytes as u64) as f64;
            match sizes.last_mut() {
                Some(last) if last.0 >= bytes => last.1 += weight,
                _ => sizes.push((bytes, weight)),
            }
        }
        Profile {
            days: DAYS,
            operations_per_day: None,
            capacity_bytes: CAPACITY_BYTES,
            block_bytes: SpaceRule::FFS.block_bytes,
            fragment_bytes: SpaceRule::FFS.fragment_bytes,
            dirent_bytes: 0,
            utilization: vec![(0.0, UTILIZATION)],
            size: Distribution::Table(sizes),
            largest_bytes: None,
            age: Some(Distribution::Points(self.ages.clone())),
            depth: Some(Distribution::Table(self.depths.clone())),
            directories: Some(self.directories.clone()),
            files_per_directory: 16,
            packages: false,
            staged: false,
            short_lived: 0.0,
            short_lived_minutes: 30.0,
            interleaved: 0.0,
            chunk_bytes: 64 << 10,
            hot: 1,
            append_bytes: 4096,
            mix: Mix::default(),
            activity: Activity::default(),
        }
    }
}

fn cut(bytes: u64) -> u64 {
    match bytes {
        0..1024 => bytes,
        1024..4096 => bytes / 1024 * 1024,
        _ => bytes / 4096 * 4096,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_cut_as_the_original_cuts_them() {
        let cuts = [1000, 1500, 4095, 4100, 10_000].map(cut);
        assert_eq!(cuts, [1000, 1024, 3072, 4096, 8192]);
    }
}
