//! Packages: directories whose files are made together and removed together, as software is installed and replaced.

use super::Profile;
use super::engine::Engine;
use fsage_core::SinkError;

/// A directory and the places of its files.
pub(super) struct Package {
    dir: u32,
    files: Vec<u32>,
}

/// Checks what packages do not go with: all that makes, moves or removes files one at a time.
pub(super) fn check(profile: &Profile, depths: &[f64]) -> Result<(), String> {
    if depths[0] > 0.0 {
        return Err(
            "packages: expected a `depth` of 1 and more for all files, since a package is a directory".into(),
        );
    }
    let others = [
        ("age", profile.age.is_some()),
        ("directories", profile.directories.is_some()),
        ("short_lived", profile.short_lived > 0.0),
        ("interleaved", profile.interleaved > 0.0),
        ("mix.rename", profile.mix.rename > 0),
    ];
    match others.iter().find(|other| other.1) {
        None => Ok(()),
        Some((key, _)) => Err(format!(
            "packages: files come and go by the directory, which `{key}` does not go with: expected one of the two"
        )),
    }
}

impl Engine<'_> {
    /// The directories above the packages: those of a depth lie in one directory of the depth above.
    pub(super) fn make_sections(&mut self) -> Result<(), SinkError> {
        for _ in 2..self.depth_shares.len() {
            let parent = self.dirs.chain_end();
            let name = format!("d{}", self.dirs.next_number());
            let section = self.mkdir(parent, &name, false)?;
            self.dirs.lengthen_chain(section);
        }
        Ok(())
    }

    /// Installs a package of the depth that is farthest below its share, and its files of the sizes that are.
    pub(super) fn install(&mut self) -> Result<(), SinkError> {
        let files = self.files_of_a_package();
        self.install_files(files, |engine| {
            let bytes = engine.lacking_size(engine.room() as f64)?;
            (engine.space.fragments(bytes) <= engine.room()).then_some(bytes)
        })
    }

    /// Removes a package, each equally likely, with its directory.
    pub(super) fn uninstall(&mut self) -> Result<(), SinkError> {
        let drawn = self.rng.below(self.packages.len() as u64) as usize;
        let Package { dir, files } = self.packages.swap_remove(drawn);
        for slot in files {
            self.delete(slot)?;
        }
        self.rmdir(dir)
    }

    /// Brings what is in use to within the tolerance of the target, by whole packages. The last one that is installed
    /// has no more files than the gap takes.
    pub(super) fn settle_packages(&mut self) -> Result<(), SinkError> {
        let slack = self.slack();
        while self.used as f64 > self.target + slack && !self.packages.is_empty() {
            self.uninstall()?;
        }
        while (self.used as f64) < self.target - slack {
            let files = self.files_of_a_package();
            self.install_files(files, |engine| {
                let gap = engine.target - engine.used as f64;
                (gap > slack).then(|| engine.gap_bytes(gap as u64, gap as u64))
            })?;
        }
        Ok(())
    }

    /// Files of a package: exponential around its mean, at least one.
    fn files_of_a_package(&mut self) -> u64 {
        let more = (self.profile.files_per_directory - 1) as f64;
        1 + (self.rng.exponential() * more).round() as u64
    }

    /// Installs a package of `files` of the sizes that `next` says, or fewer where it says no more.
    fn install_files(
        &mut self,
        files: u64,
        mut next: impl FnMut(&mut Self) -> Option<u64>,
    ) -> Result<(), SinkError> {
        let Some(bytes) = next(self) else {
            self.summary.left_out += 1;
            return Ok(());
        };
        let parent = self.dirs.above(self.lacking_depth());
        let name = format!("d{}", self.dirs.next_number());
        let dir = self.mkdir(parent, &name, true)?;
        let mut package = Package {
            dir,
            files: vec![self.create_whole(bytes, dir)?],
        };
        for _ in 1..files {
            let Some(bytes) = next(self) else { break };
            package.files.push(self.create_whole(bytes, dir)?);
        }
        self.packages.push(package);
        Ok(())
    }
}
