//! Real targets walked as a whole, for what is kept from day to day to be compared with.
//!
//! A day is measured by what operations have touched: the file system is asked for nothing else. What something else
//! writes into the tree, and data that a file system moves by itself, are not seen so. The last day, and with `--check`
//! every day, is measured by a walk, which knows nothing of the operations; what it finds stands.

use crate::collect;
use crate::days::DayRow;
use crate::interrupt;
use fsage_collect::{Memory, WalkOptions};
use fsage_core::{FileView, Geometry, Layout, LayoutInMemory, Run, Space};
use fsage_metrics::{Measures, measure};
use fsage_real::directory::Directory;
use fsage_target::MeasureAnew;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Metrics of a day that a warning names.
const NAMED: usize = 4;

/// Days whose kept numbers were not those of the disk.
#[derive(Clone, Default)]
pub struct Differences(Arc<Mutex<Found>>);

#[derive(Default)]
struct Found {
    first: Option<(u64, String)>,
    further_days: u64,
}

impl Differences {
    /// Corrects a day by what a walk found, and remembers what was other than it.
    pub fn correct(&self, day: &mut DayRow, walked: &DayRow) {
        let mut differences = day.correct(walked);
        if differences.is_empty() {
            return;
        }
        let rest = differences.len().saturating_sub(NAMED);
        differences.truncate(NAMED);
        let mut text = differences.join(", ");
        if rest > 0 {
            text = format!("{text}, and {rest} more");
        }
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &found.first {
            Some((first, _)) => found.further_days += u64::from(*first != day.day),
            None => found.first = Some((day.day, text)),
        }
    }

    /// What to say of them on such a file system; nothing the second time.
    pub fn take_warning(&self, system: Option<&str>) -> Option<String> {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (day, text) = found.first.take()?;
        let further = match std::mem::take(&mut found.further_days) {
            0 => String::new(),
            1 => "; so does 1 more day".to_owned(),
            days => format!("; so do {days} more days"),
        };
        let why = match system {
            Some("xfs") => {
                "XFS gives back what it kept behind the ends of files that have been idle for minutes; if more than \
                 free space differs, something else has changed the tree"
            }
            _ => "something else has changed the tree, or the file system has moved data by itself",
        };
        Some(format!(
            "day {day} differs from what its operations left: {text}{further}. The numbers are those of the disk: {why}"
        ))
    }

    /// Has every day measured by a walk.
    pub fn watch_every_day(&self, folder: &Path) -> MeasureAnew {
        let (differences, name) = (self.clone(), folder.to_owned());
        Box::new(move |day, kept, directory| {
            let found = walk_to_memory(directory.root(), &name)?;
            let walked = measure_walked(&found, directory);
            let mut row = DayRow {
                day: day.into(),
                ..DayRow::of_layout(kept)
            };
            differences.correct(&mut row, &DayRow::of_layout(&walked));
            Ok(walked)
        })
    }
}

/// The layout of what is mounted.
fn walk_to_memory(root: BorrowedFd<'_>, name: &Path) -> crate::Result<LayoutInMemory> {
    let mut memory = Memory::default();
    let mut go_on = |_, _| Ok(interrupt::go_on()?);
    let report = fsage_collect::walk(root, name, &WalkOptions::default(), &mut memory, &mut go_on);
    let report = report.map_err(collect::failed)?;
    Ok(memory.layout(&report))
}

/// Measures what a walk has found as the days of a target are measured.
pub fn measure_walked(found: &dyn Layout, target: &Directory) -> Measures {
    measure(&Walked { found, target })
}

/// What a walk has found, with the sizes that the target is known to have.
struct Walked<'a> {
    found: &'a dyn Layout,
    target: &'a Directory,
}

impl Walked<'_> {
    /// Where others keep files too, free space is theirs as well, and another one at any moment.
    fn free_space(&self) -> &dyn Layout {
        if self.target.volume().is_shared() {
            self.target
        } else {
            self.found
        }
    }
}

impl Layout for Walked<'_> {
    fn geometry(&self) -> Geometry {
        self.target.geometry()
    }

    fn space(&self) -> Option<Space> {
        self.free_space().space()
    }

    /// Without the `lost+found` that a file system is made with: no operation made it.
    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        self.found.visit_files(&mut |file| {
            if file.path != Some("lost+found") {
                visit(file);
            }
        });
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        self.free_space().visit_free(visit);
    }
}
