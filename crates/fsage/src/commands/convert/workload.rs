//! A workload between Parquet and `.ops` text.

use crate::commands::inspect::for_each_event;
use crate::ui::Ui;
use fsage_data::{create_workload, open_workload};
use std::path::Path;

/// Converts a workload, and warns of what the other form cannot say.
pub fn convert(from: &Path, to: &Path, force: bool, ui: Ui) -> anyhow::Result<()> {
    let mut source = open_workload(from)?;
    let mut output = create_workload(to, source.header(), force)?;
    let mut last_t = None;
    let mut times_down = 0_u64;
    for_each_event(source.as_mut(), ui, "converting", |event| {
        times_down += u64::from(event.t_ns.is_some() && event.t_ns < last_t);
        last_t = event.t_ns.or(last_t);
        Ok(output.write(event)?)
    })?;
    let lost = output.finish()?;
    let name = from.display();
    if times_down > 0 {
        ui.warn(&format!(
            "{name}: {times_down} events are earlier than the one before them; their order is kept"
        ));
    }
    if lost.probes > 0 {
        ui.warn(&format!(
            "{name}: {} probes (dump, cgs, geom, check, layout) are left out: Parquet does not store them",
            lost.probes
        ));
    }
    if lost.times > 0 {
        ui.warn(&format!(
            "{name}: {} events of unknown time got the time of the event before them: text cannot say it",
            lost.times
        ));
    }
    Ok(())
}
