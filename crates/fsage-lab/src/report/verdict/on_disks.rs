//! What a verdict on disks that rotate rests on: whether the allocator knew, and how much of the disk is used.

use super::finding;
use crate::aging::bytes_of;
use crate::device::disk;
use crate::report::names::is_simulated;
use crate::report::subject::{Group, Subject};
use crate::report::words::list;
use fsage_core::size::human;
use fsage_disk::{Disk, Drive};
use fsage_report::{Finding, Tone};
use fsage_target::TargetSpec;

/// A file system on a disk so many times as large is a corner of it.
const CORNER: u64 = 4;

/// The two findings, each where it applies.
pub fn findings(group: &Group) -> impl Iterator<Item = Finding> {
    let said = [turns(group), corner(group)].into_iter().flatten();
    said.map(|text| finding(text, Tone::Neutral, "bench"))
}

/// That ext4 was not told that the disk below rotates.
fn turns(group: &Group) -> Option<String> {
    let names = |is: fn(&Subject) -> bool| -> Vec<&str> {
        let subjects = group.subjects.iter().filter(|of| is(of));
        subjects.map(|of| of.name.as_str()).collect()
    };
    let unsaid = names(turns_unsaid);
    if unsaid.is_empty() {
        return None;
    }
    let is_xfs = |of: &Subject| TargetSpec::parse(&of.spec).is_ok_and(|spec| spec.kind == "xfs");
    let xfs = if names(is_xfs).is_empty() {
        ""
    } else {
        " XFS places blocks alike on both."
    };
    Some(format!(
        "{} lived as on flash, and the disk below rotates, which a kernel sees by itself: --on ext4:rotational lives \
         so.{xfs}",
        list(&unsaid)
    ))
}

/// Whether a target is a model of ext4 that was not told that the disk below rotates.
fn turns_unsaid(subject: &Subject) -> bool {
    let is_plain = TargetSpec::parse(&subject.spec)
        .is_ok_and(|spec| spec.kind == "ext4" && !spec.has("rotational"));
    is_plain && subject.device().and_then(rotating).is_some()
}

/// That the arm hardly moves, as the file system is a corner of the disk.
fn corner(group: &Group) -> Option<String> {
    let name = group.drive()?;
    let drive = rotating(name)?;
    let simulated = group.subjects.iter().filter(|of| is_simulated(&of.spec));
    let sizes = simulated.filter_map(|of| bytes_of(&TargetSpec::parse(&of.spec).ok()?));
    let most = sizes.max()?;
    let of_disk = drive.usable_sectors() * 512;
    if of_disk / most.max(1) < CORNER {
        return None;
    }
    let (plain, options) = name.split_once(':').unwrap_or((name, ""));
    let whole = rotating(plain)?;
    let scaled = format!("scale={}", scale(&whole, most)?);
    let others = options.split(',');
    let others = others.filter(|of| !of.is_empty() && !of.starts_with("scale="));
    let options: Vec<&str> = std::iter::once(scaled.as_str()).chain(others).collect();
    Some(format!(
        "{} on a disk of {} is a corner of it, in which the arm moves little. As a whole disk, with seeks from end to \
         end: --device {plain}:{}.",
        human(most),
        human(of_disk),
        options.join(",")
    ))
}

/// How many times a disk may be made smaller so that a file system has room, in two digits.
fn scale(drive: &Drive, bytes: u64) -> Option<u64> {
    /// Zones lose a part of a cylinder each.
    const ROOM: u64 = 20;
    let bytes = bytes.max(1);
    let times = drive.usable_sectors() * 512 / (bytes + bytes / ROOM);
    let cylinders = drive
        .zones
        .iter()
        .map(|z| u64::from(z.cylinders.1 - z.cylinders.0 + 1));
    let times = times.min(cylinders.min()?);
    let step = 10_u64.pow(times.checked_ilog10()?.saturating_sub(1));
    Some(times / step * step).filter(|&times| times > 1)
}

/// A drive with an arm.
fn rotating(device: &str) -> Option<Box<Drive>> {
    match disk(device) {
        Ok(Disk::Rotating(drive)) => Some(drive),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benching::State;
    use crate::benching::results::Row;
    use crate::report::subject::Life;
    use fsage_bench::Measurement;

    fn group(spec: &str, device: Option<&str>) -> Group {
        let row = Row {
            target: spec.to_owned(),
            state: State::Aged,
            device: device.map(str::to_owned),
            host: None,
            measurement: Measurement::default(),
        };
        let subject = Subject {
            name: spec.to_owned(),
            spec: spec.to_owned(),
            lives: vec![Life {
                bench: vec![row],
                ..Life::default()
            }],
            ..Subject::default()
        };
        Group {
            subjects: vec![subject],
            ..Group::default()
        }
    }

    #[test]
    fn an_ext4_on_a_disk_that_rotates_says_so_or_is_named() {
        let turns = |spec: &str, device: Option<&str>| turns(&group(spec, device)).is_some();
        assert!(turns("ext4:size=1G", Some("st4000nm0033:scale=900")));
        assert!(!turns("ext4:size=1G,rotational", Some("st4000nm0033")));
        assert!(!turns("ext4:size=1G", Some("nvme_a")));
        assert!(!turns("xfs:size=1G", Some("st4000nm0033")));
        assert!(!turns("loop:ext4,size=1G", None));
    }

    /// By its data sheet the drive has 4000.8 GB: 3726 times 1 GiB, and 3548 times as much and a twentieth.
    #[test]
    fn a_corner_of_a_disk_comes_with_the_disk_of_its_size() {
        let said = corner(&group("xfs:size=1G", Some("st4000nm0033"))).unwrap();
        assert!(said.contains("--device st4000nm0033:scale=3500."), "{said}");
        let scaled = corner(&group("xfs:size=1G", Some("st4000nm0033:scale=3500")));
        assert_eq!(scaled, None);
        // Of a disk that was made smaller, and not by enough.
        let device = Some("st4000nm0033:scale=9,write-cache=off");
        let said = corner(&group("xfs:size=1G", device)).unwrap();
        assert!(
            said.contains("st4000nm0033:scale=3500,write-cache=off."),
            "{said}"
        );
        assert_eq!(corner(&group("xfs:size=1G", Some("nvme_a"))), None);
        assert_eq!(corner(&group("loop:xfs,size=1G", None)), None);
        let drive = rotating("st4000nm0033:scale=3500").unwrap();
        assert!(drive.usable_sectors() * 512 >= 1 << 30);
    }
}
