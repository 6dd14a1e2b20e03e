//! Measures that are kept as a layout changes: a day costs what changed in it.
//!
//! Everything that is a sum over inodes is added for what an inode has become, and taken back for what it was; free
//! space and directory order know what they are made of. The numbers are those of [`measure`], which
//! looks at everything.

use crate::block_map::{Grid, Tallies};
use crate::directory_order::KeptOrder;
use crate::free_space::KeptFree;
use crate::sign::Sign;
use crate::{DirectoryOrder, Measures, Recorder, measure};
use fsage_core::{Change, FileView, Layout, Space};

/// The measures of a layout that says what changes in it.
#[derive(Clone, Debug)]
pub struct Kept {
    measures: Measures,
    order: KeptOrder,
    free: KeptFree,
    space: Option<Space>,
    tallies: Option<Tallies>,
}

impl Kept {
    /// Measures a layout as it stands and has it say from now on what changes; `None` if it cannot. `with_map` also
    /// counts what a block map shows.
    pub fn begin(layout: &mut dyn Layout, with_map: bool) -> Option<Kept> {
        let geometry = layout.geometry();
        if layout.space().is_none() || !layout.watch() {
            return None;
        }
        let grid = Grid::of(&geometry, Grid::MAX_CELLS);
        let mut kept = Kept {
            order: KeptOrder::new(has_names(layout)),
            tallies: with_map.then(|| Tallies::new(grid.clone(), true)),
            free: KeptFree::new(grid, geometry.clone()),
            space: None,
            measures: Measures::new(geometry),
        };
        layout.visit_files(&mut |file| kept.count(file, Sign::Add));
        kept.derive(layout);
        Some(kept)
    }

    /// Takes in what has changed since.
    pub fn update(&mut self, layout: &mut dyn Layout) -> &Measures {
        // What a log transfers and cleans changes on its own, and others may take space of a real file system.
        let mut changed = self.measures.log.is_some() || self.space != layout.space();
        layout.take_changes(&mut |change| {
            changed = true;
            match change {
                Change::Before(file) => self.count(file, Sign::TakeBack),
                Change::Now(file) => self.count(file, Sign::Add),
                Change::Free(range) => self.free.touch(range),
            }
        });
        if changed {
            self.derive(layout);
        }
        &self.measures
    }

    /// Offers a day to a block map, which must have been asked for. Says whether it was kept.
    pub fn offer(&mut self, day: u32, recorder: &mut Recorder) -> bool {
        match &mut self.tallies {
            Some(tallies) if recorder.wants(day) => {
                recorder.keep(day, tallies);
                true
            }
            _ => false,
        }
    }

    /// Compares what is kept with the measurement of the whole layout; says what differs.
    pub fn differs_from(&self, layout: &dyn Layout) -> Option<String> {
        let all = measure(layout);
        if all != self.measures {
            return Some(format!(
                "the measures that were kept are {:?}; the layout has {all:?}",
                self.measures
            ));
        }
        let tallies = self.tallies.as_ref()?;
        let mut all = Tallies::of_free(tallies.grid().clone(), layout);
        layout.visit_files(&mut |file| all.count(file, Sign::Add));
        (!tallies.same(&all)).then(|| "the block map that was kept is not the layout's".to_owned())
    }

    fn count(&mut self, file: &FileView<'_>, sign: Sign) {
        self.measures.count(file, sign);
        self.order.count(file, &self.measures.geometry, sign);
        if let Some(tallies) = &mut self.tallies {
            tallies.count(file, sign);
        }
    }

    /// What is no sum over inodes.
    fn derive(&mut self, layout: &dyn Layout) {
        let measures = &mut self.measures;
        self.space = layout.space();
        self.free.update(layout, self.tallies.as_mut());
        measures.free = self.free.measure(layout, &measures.geometry);
        measures.log = layout.log_usage();
        if measures.log.is_some() {
            // It makes room for more inodes as it needs it.
            measures.geometry.inodes_total = layout.geometry().inodes_total;
        }
        let order = self.order.measure(measures.layout(), &measures.geometry);
        measures.order = order.unwrap_or_else(|| DirectoryOrder::of(layout));
    }
}

/// Whether a layout knows the names of its entries.
fn has_names(layout: &dyn Layout) -> bool {
    let mut has_names = false;
    layout.visit_files(&mut |file| has_names |= file.path.is_some());
    has_names
}
