//! A workload that is made once, and copied.

use super::output::{Output, Temporary, write};
use super::tally::{Counted, Tally};
use crate::watch::Watch;
use fsage_core::{EventSink, WorkloadHeader};
use fsage_data::{WorkloadReader, create_workload};
use fsage_workload::clones::{Clones, ClonesSummary};

/// Makes the workload of which `single` is the header, and writes its copies.
///
/// # Errors
/// It cannot be made, or not be copied; the output cannot be written.
pub(super) fn write_copies<S>(
    output: &Output,
    single: &WorkloadHeader,
    generator: String,
    clones: &Clones,
    ui: &dyn Watch,
    make: impl FnOnce(&mut dyn EventSink) -> crate::Result<S>,
) -> crate::Result<(S, ClonesSummary, Tally)> {
    let header = WorkloadHeader {
        generator: Some(generator),
        ..clones.header(single)
    };
    // Before the history is read, which may take long.
    output.check([])?;
    // The copies read the single history side by side, each at its own place: it must lie in a file.
    let file = Temporary::beside(&output.path, "single.parquet")?;
    let mut once = create_workload(file.path(), single, true)?;
    let mut counted = Counted::new(&mut once, None);
    let made = make(&mut counted)?;
    let operations = counted.tally.total().ops;
    once.finish()?;
    let total = (operations + 1).saturating_mul(clones.count);
    let (copies, tally) = write(output, &header, ui, Some(total), |sink| {
        Ok(clones.interleave(|| Ok(WorkloadReader::open(file.path())?), sink)?)
    })?;
    Ok((made, copies, tally))
}
