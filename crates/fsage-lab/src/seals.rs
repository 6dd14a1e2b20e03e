//! Whether the images of a run are as they were when it ended: somebody may have mounted one, and written to it.
//!
//! A checksum of the first 128 KiB says so. Superblocks lie there, and with them what every mount that writes leaves:
//! its time on ext4, the log sequence number on XFS, the generation on btrfs.

use crate::images;
use crate::run_folder::TargetFacts;
use crate::watch::Watch;
use fsage_target::TargetSpec;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes that are sealed.
const HEAD_BYTES: u64 = 128 << 10;

/// The entry in the facts of a target.
pub(crate) const SEALS: &str = "seals";

/// What the images of a target are now, by what they are; none where it has none.
pub(crate) fn of(spec: &TargetSpec, folder: &Path) -> Option<Value> {
    let seals = images::of(spec, folder)
        .into_iter()
        .filter_map(|(what, image)| {
            let seal = seal(&image).ok()?;
            Some((what.to_owned(), Value::String(seal)))
        });
    let seals: Map<String, Value> = seals.collect();
    (!seals.is_empty()).then_some(Value::Object(seals))
}

/// Warns of images that are not as the run left them. Of one that is gone whoever needs it speaks.
pub(crate) fn warn_of_changed(
    spec: &TargetSpec,
    folder: &Path,
    facts: &TargetFacts,
    ui: &dyn Watch,
) {
    for image in changed(spec, folder, &facts.facts) {
        ui.warn(&format!(
            "{}: this image was changed since it was aged, as by a mount that writes: what is measured is not what the \
             workload made; `fsage age --force` makes it anew",
            image.display()
        ));
    }
}

/// The images whose seals, among these facts, do not hold.
fn changed(spec: &TargetSpec, folder: &Path, facts: &Map<String, Value>) -> Vec<PathBuf> {
    let is_changed = |(what, image): (&str, PathBuf)| {
        let then = facts.get(SEALS)?.get(what)?.as_str()?;
        let now = seal(&image).ok()?;
        (then != now).then_some(image)
    };
    images::of(spec, folder)
        .into_iter()
        .filter_map(is_changed)
        .collect()
}

fn seal(image: &Path) -> io::Result<String> {
    let mut head = Vec::new();
    File::open(image)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(format!("{:08x}", crc32c::crc32c(&head)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_image_whose_superblock_changed_is_named_and_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let (aged, control) = (folder.path().join("a.img"), folder.path().join("c.img"));
        let text = format!(
            "loop:ext4,size=1M,image={},control={}",
            aged.display(),
            control.display()
        );
        let spec = TargetSpec::parse(&text).expect("a target");
        for image in [&aged, &control] {
            fs::write(image, vec![7; 256 << 10]).expect("an image");
        }
        let seals = of(&spec, folder.path()).expect("two images");
        let facts = Map::from_iter([(SEALS.to_owned(), seals)]);
        assert!(changed(&spec, folder.path(), &facts).is_empty());
        let mut other = vec![7; 256 << 10];
        other[1024] = 8;
        fs::write(&aged, other).expect("another image");
        assert_eq!(
            changed(&spec, folder.path(), &facts),
            std::slice::from_ref(&aged)
        );
        // One that is gone is not changed, and neither is one of a run without seals.
        fs::remove_file(&aged).expect("it was there");
        assert!(changed(&spec, folder.path(), &facts).is_empty());
        assert!(changed(&spec, folder.path(), &Map::new()).is_empty());
    }
}
