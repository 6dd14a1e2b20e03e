//! Fleets: the snapshots of many hosts, what changed on each, how its layout decays, and which are alike.
//!
//! One host is in memory at a time, and of a host one snapshot: [`find`] names the hosts, [`read`] gives the life of
//! one, and a [`Tally`] takes lives in order and leaves tables. [`fleet()`] does the three on threads; a cluster calls
//! the first and the last, and its workers the second, and gets the same bytes.

mod alike;
mod find;
mod life;
mod page;
mod tables;

pub use alike::{Group, TRAITS, Trait};
pub use find::{Host, find};
pub use life::{Changes, Life, Night, read, read_seen};
pub use tables::{Facts, PAGE, Tally, is_fleet};

use crate::build::Build;
use crate::error::bail;
use crate::interrupt;
use crate::watch::Watch;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Folders and patterns, see [`find`].
    pub paths: &'a [PathBuf],
    /// The folder for tables and page; none are written without one.
    pub output: Option<&'a Path>,
    /// Whether the folder of another fleet may be replaced.
    pub force: bool,
    /// Hosts that are read at the same time; each takes the memory of its largest snapshot.
    pub threads: usize,
    /// How far hosts of a group may differ, in steps of each trait.
    pub alike: f64,
}

impl<'a> Request<'a> {
    /// One host at a time, with no output.
    pub fn new(paths: &'a [PathBuf]) -> Request<'a> {
        Request {
            paths,
            output: None,
            force: false,
            threads: 1,
            alike: 1.0,
        }
    }
}

/// What is known of many hosts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Fleet {
    /// Who made it.
    #[serde(flatten)]
    pub build: Build,
    /// Every host that could be read, by name.
    pub hosts: Vec<Facts>,
    /// Hosts that are alike, the largest group first.
    pub groups: Vec<Group>,
    /// Hosts that could not be read.
    pub left_out: Vec<LeftOut>,
}

impl Fleet {
    /// The hosts whose layout score falls fastest first; those of which nobody knows last.
    pub fn by_decay(&self) -> Vec<&Facts> {
        let mut hosts: Vec<&Facts> = self.hosts.iter().collect();
        hosts.sort_by(|a, b| {
            let decay = |host: &Facts| host.value("layout_score_per_day").unwrap_or(f64::INFINITY);
            decay(a).total_cmp(&decay(b))
        });
        hosts
    }
}

/// A host that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub host: String,
    /// What was wrong, with the file.
    pub why: String,
}

/// Reads all hosts that paths name. A file that is no snapshot, empty or damaged is a warning, and what is left of the
/// host is read; a host that cannot be read is left out, and told. The others go on.
///
/// # Errors
/// As for [`find`]; no host can be read; the output exists, or cannot be written; an interrupt.
pub fn fleet(request: &Request<'_>, watch: &dyn Watch) -> crate::Result<Fleet> {
    let hosts = find(request.paths)?;
    let mut tally = Tally::begin(request.output, request.force)?;
    let bar = watch.bar_count(Some(hosts.len() as u64), "hosts");
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (done, lives) = mpsc::channel();
        for _ in 0..request.threads.clamp(1, hosts.len().max(1)) {
            let (done, next, hosts) = (done.clone(), &next, &hosts);
            scope.spawn(move || {
                while let at = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(host) = hosts.get(at)
                    && done.send((at, read(host))).is_ok()
                {}
            });
        }
        drop(done);
        // Lives that are there before those in front of them.
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (at, life) in lives {
            interrupt::go_on()?;
            early.insert(at, life);
            while let Some(life) = early.remove(&due) {
                tally.add(
                    &hosts[due].name,
                    life.map_err(|error| format!("{error:#}")),
                    watch,
                )?;
                due += 1;
                bar.set_position(due as u64);
            }
        }
        Ok::<(), crate::Error>(())
    })?;
    drop(bar);
    tally.finish(request.alike)
}

/// No fleet without a host.
fn refuse_none(fleet: &Fleet) -> crate::Result<()> {
    match (fleet.hosts.is_empty(), &fleet.left_out[..]) {
        (true, [LeftOut { host, why }, rest @ ..]) => {
            let others = if rest.is_empty() {
                ""
            } else {
                "; nor any other"
            };
            bail!("no host can be read: {host}: {why}{others}")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unwatched;
    use crate::days::DayRow;
    use fsage_core::snapshot::Inode;
    use fsage_core::{Extent, FileKind, Geometry, LayoutInMemory, Run, Space};
    use fsage_data::table::{Value as Cell, read_table};
    use fsage_data::{SnapshotMeta, write_snapshot};

    const BLOCK: u64 = 4096;
    /// 2026-01-01.
    const NEW_YEAR_S: i64 = 1_767_225_600;

    /// A file of whole blocks, each piece at a block of the disk and so many blocks long.
    fn file(ino: u64, pieces: &[(u64, u64)]) -> Inode {
        let mut logical = 0;
        let extents = pieces.iter().map(|&(at, blocks)| {
            let extent = Extent {
                logical_bytes: logical,
                physical_bytes: at * BLOCK,
                length_bytes: blocks * BLOCK,
                flags: 0,
            };
            logical += blocks * BLOCK;
            extent
        });
        let extents: Vec<Extent> = extents.collect();
        let mut inode = Inode::new(ino, Some(1), FileKind::Regular, logical);
        inode.extents = Some(extents.into());
        inode.ctime_ns = Some(
            i64::try_from(logical).expect("small") + i64::try_from(pieces[0].0).expect("small"),
        );
        inode
    }

    /// A disk of 100 blocks, of which those from `used` are free.
    fn night(path: &Path, day: i64, used: u64, inodes: Vec<Inode>) {
        let layout = LayoutInMemory {
            geometry: Geometry {
                size_bytes: 100 * BLOCK,
                block_bytes: 4096,
                frag_bytes: 4096,
                ..fsage_core::snapshot::SnapshotInfo::default().geometry()
            },
            space: Some(Space {
                free_blocks: 100 - used,
                free_frags: 0,
                free_inodes: 0,
            }),
            inodes,
            names: Vec::new(),
            free: Some(vec![Run {
                start_bytes: used * BLOCK,
                length_bytes: (100 - used) * BLOCK,
            }]),
        };
        let meta = SnapshotMeta {
            taken_at_ns: (NEW_YEAR_S + day * 86_400) * 1_000_000_000,
            source: "model".to_owned(),
            fs_uuid: Some("u".to_owned()),
            ..SnapshotMeta::default()
        };
        fsage_durable::make_folders(path.parent().expect("a folder")).expect("folders");
        write_snapshot(path, &layout, &meta, false).expect("a snapshot");
    }

    /// Host `a`, on days 0, 2 and 4:
    /// - two files in one piece, 4 and 2 blocks: 4 of 4 blocks follow, score 1; 90 blocks free;
    /// - file 2 is gone, file 3 of 3 blocks came in 3 pieces: 3 of 5 follow, 0.6; 80 free;
    /// - file 1 grew by 2 blocks, apart: 4 of 7, 70 free.
    ///
    /// Host `b` has the first of these on days 0 and 4.
    fn two_hosts(folder: &Path) {
        let first = || vec![file(1, &[(10, 4)]), file(2, &[(20, 2)])];
        let scattered = || file(3, &[(30, 1), (40, 1), (50, 1)]);
        night(&folder.join("a/0.parquet"), 0, 10, first());
        night(
            &folder.join("a/2.parquet"),
            2,
            20,
            vec![file(1, &[(10, 4)]), scattered()],
        );
        night(
            &folder.join("a/4.parquet"),
            4,
            30,
            vec![file(1, &[(10, 4), (60, 2)]), scattered()],
        );
        night(&folder.join("b/0.parquet"), 0, 10, first());
        night(&folder.join("b/4.parquet"), 4, 10, first());
    }

    #[test]
    fn rates_and_slopes_are_those_reckoned_by_hand() {
        let dir = tempfile::tempdir().expect("a folder");
        let (snapshots, output) = (dir.path().join("snapshots"), dir.path().join("fleet"));
        two_hosts(&snapshots);
        let paths = [snapshots];
        let request = Request {
            output: Some(&output),
            ..Request::new(&paths)
        };
        let found = fleet(&request, &Unwatched).expect("a fleet");
        let [a, b] = &found.hosts[..] else {
            panic!("{found:?}")
        };
        assert_eq!((a.host.as_str(), a.snapshots, b.snapshots), ("a", 3, 2));
        assert!((a.days - 4.0).abs() < 1e-12);
        let near = |host: &Facts, metric: &str, wanted: f64| {
            let is = host.value(metric).unwrap_or_else(|| panic!("no {metric}"));
            assert!(
                (is - wanted).abs() < 1e-9,
                "{} {metric}: {is} and not {wanted}",
                host.host
            );
        };
        near(a, "files", 2.0);
        near(a, "created_files_per_day", 1.0 / 4.0);
        near(a, "deleted_files_per_day", 1.0 / 4.0);
        near(a, "modified_files_per_day", 1.0 / 4.0);
        near(a, "created_bytes_per_day", 3.0 * 4096.0 / 4.0);
        near(a, "deleted_bytes_per_day", 2.0 * 4096.0 / 4.0);
        near(a, "grown_bytes_per_day", 2.0 * 4096.0 / 4.0);
        near(a, "shrunk_bytes_per_day", 0.0);
        // 7 blocks in 4 days, of the 9 that are there.
        near(a, "changed_share_per_day", 7.0 / 4.0 / 9.0);
        near(a, "layout_score", 4.0 / 7.0);
        // Evenly spaced, so the slope is that from the first to the last.
        near(a, "layout_score_per_day", (4.0 / 7.0 - 1.0) / 4.0);
        near(a, "free_bytes_per_day", -20.0 * 4096.0 / 4.0);
        near(a, "used_share", 0.3);
        near(b, "layout_score_per_day", 0.0);
        near(b, "created_bytes_per_day", 0.0);
        assert_eq!(found.by_decay()[0].host, "a");
        assert_eq!(found.groups.len(), 2);

        let days = read_table(output.join("days.parquet")).expect("days");
        let column = |name: &str| {
            let at = days.column(name).unwrap_or_else(|| panic!("no {name}"));
            days.rows
                .iter()
                .map(|row| row[at].clone())
                .collect::<Vec<Cell>>()
        };
        let none = Cell::Null;
        assert_eq!(column("host"), ["a", "a", "a", "b", "b"].map(Cell::from));
        assert_eq!(
            column("created_files"),
            [none.clone(), 1.into(), 0.into(), none, 0.into()]
        );
        assert_eq!(column("free_bytes")[1], (80 * BLOCK).into());
        assert_eq!(column("layout_score")[1], 0.6.into());
        assert_eq!(
            column("taken_at_unix_s")[1],
            ((NEW_YEAR_S + 2 * 86_400) as f64).into()
        );
        assert!(
            days.column("control_layout_score").is_none() && days.column("operations").is_none()
        );
        let hosts = read_table(output.join("hosts.parquet")).expect("hosts");
        assert_eq!(hosts.rows.len(), a.values.len() + b.values.len());
        // What one host says is what `measure` says of its last snapshot.
        let last =
            crate::measure::snapshot(&paths[0].join("a/4.parquet"), None).expect("a snapshot");
        let last = DayRow::of_layout(&fsage_metrics::measure(&last));
        for metric in fsage_metrics::METRICS {
            assert_eq!(a.value(metric.id), last.value(metric), "{}", metric.id);
        }
    }

    #[test]
    fn threads_and_workers_leave_the_same_bytes() {
        let dir = tempfile::tempdir().expect("a folder");
        let snapshots = dir.path().join("snapshots");
        two_hosts(&snapshots);
        for host in ["c", "d", "e"] {
            night(
                &snapshots.join(host).join("0.parquet"),
                0,
                10,
                vec![file(7, &[(1, 3)])],
            );
        }
        let paths = [snapshots];
        let at = |name: &str| dir.path().join(name);
        for (name, threads) in [("one", 1), ("four", 4)] {
            let output = at(name);
            let request = Request {
                output: Some(&output),
                threads,
                ..Request::new(&paths)
            };
            fleet(&request, &Unwatched).expect("a fleet");
        }
        let mut tally = Tally::begin(Some(&at("sent")), false).expect("a tally");
        for host in find(&paths).expect("hosts") {
            let sent = serde_json::to_string(&read(&host).expect("a life")).expect("JSON");
            let life = serde_json::from_str(&sent).expect("a life");
            tally.add(&host.name, Ok(life), &Unwatched).expect("added");
        }
        tally.finish(1.0).expect("a fleet");
        for file in ["hosts.parquet", "days.parquet", "fleet.json", "fleet.html"] {
            let bytes = |name: &str| std::fs::read(at(name).join(file)).expect("a file");
            assert!(
                bytes("one") == bytes("four") && bytes("one") == bytes("sent"),
                "{file}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_reported_and_the_others_go_on() {
        let dir = tempfile::tempdir().expect("a folder");
        let snapshots = dir.path().join("snapshots");
        two_hosts(&snapshots);
        // A file that was cut off while it was copied, beside a sound one; a host with nothing else; one whose disk was
        // replaced; one that is empty.
        let whole = std::fs::read(snapshots.join("b/4.parquet")).expect("a file");
        fsage_durable::write(
            &snapshots.join("b/5.parquet"),
            &whole[..whole.len() / 2],
            false,
        )
        .expect("a file");
        fsage_durable::make_folders(&snapshots.join("cut")).expect("a folder");
        fsage_durable::write(&snapshots.join("cut/1.parquet"), &whole[..50], false)
            .expect("a file");
        night(&snapshots.join("empty/1.parquet"), 0, 10, Vec::new());
        let warned = Warned::default();
        let paths = [snapshots.clone()];
        let found = fleet(&Request::new(&paths), &warned).expect("a fleet");
        let names: Vec<&str> = found.hosts.iter().map(|host| host.host.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(found.hosts[1].snapshots, 2);
        let left_out: Vec<&str> = found.left_out.iter().map(|out| out.host.as_str()).collect();
        assert_eq!(left_out, ["cut", "empty"]);
        assert!(
            found.left_out[0].why.contains("cut/1.parquet"),
            "{:?}",
            found.left_out
        );
        assert!(
            found.left_out[1]
                .why
                .contains("empty/1.parquet: an empty snapshot"),
            "{:?}",
            found.left_out
        );
        let warned = warned.0.into_inner().expect("not poisoned");
        assert!(
            warned
                .iter()
                .any(|line| line.starts_with("b: ") && line.contains("b/5.parquet")),
            "{warned:?}"
        );

        let alone = [snapshots.join("cut")];
        let error = fleet(&Request::new(&alone), &Unwatched)
            .expect_err("no host")
            .to_string();
        assert!(error.contains("no host can be read: cut: "), "{error}");
        let output = dir.path().join("mine");
        fsage_durable::write(&output, "", false).expect("a file");
        for force in [false, true] {
            let request = Request {
                output: Some(&output),
                force,
                ..Request::new(&paths)
            };
            let error = fleet(&request, &Unwatched)
                .expect_err("somebody's file")
                .to_string();
            assert!(error.contains("mine"), "{error}");
        }
    }

    /// Keeps warnings.
    #[derive(Default)]
    struct Warned(std::sync::Mutex<Vec<String>>);

    impl Watch for Warned {
        fn begin(&self, _: &str, _: Option<u64>, _: crate::Unit) -> Box<dyn crate::Progress> {
            Box::new(Unwatched)
        }

        fn warn(&self, text: &str) {
            self.0.lock().expect("not poisoned").push(text.to_owned());
        }

        fn note(&self, _: &str) {}
    }
}
