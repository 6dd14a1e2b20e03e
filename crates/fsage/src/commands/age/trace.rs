//! `fsage age --trace`: what happens inside a model, line by line.

use super::super::targets;
use crate::ui::{self, Ui};
use anyhow::{Context, anyhow, bail};
use fsage_data::{OpsReader, OpsWriter, is_parquet, open_workload, stream};
use fsage_lab::aging;
use fsage_models::microscope::{ScriptTrace, Trace, WorkloadTrace};
use fsage_target::{Target, TargetSpec};
use std::cell::RefCell;
use std::io::{self, BufRead as _, Write};
use std::path::Path;
use std::rc::Rc;

/// Prints the microscope's lines to stdout; of `inode` alone, where one is given.
pub fn trace(
    workload: &Path,
    specs: &[TargetSpec],
    inode: Option<u64>,
    ui: Ui,
) -> anyhow::Result<()> {
    let [spec] = specs else {
        bail!("--trace looks at one target: give --on once");
    };
    let is_table = is_parquet(workload)?;
    let sized = if is_table {
        aging::sized(workload, specs, &ui)?
    } else {
        specs.to_vec()
    };
    let Target::Model(fs) = Target::make(&sized[0])? else {
        bail!("--trace looks at models, and `{spec}` is a real file system");
    };
    let unknown = || anyhow!("--trace knows {}, not `{spec}`", targets::with_microscope());
    let microscope = spec.entry().and_then(|entry| entry.microscope);
    let microscope = microscope.ok_or_else(unknown)?;
    let trace = match (inode, microscope.over_inode) {
        (None, _) => (microscope.over)(fs),
        (Some(inode), Some(over_inode)) => over_inode(fs, inode),
        (Some(_), None) => {
            bail!(
                "--inode is of models whose requests for blocks are traced: {}",
                targets::with_requests()
            )
        }
    };
    match trace.ok_or_else(unknown)? {
        Trace::Workload(mut trace) if is_table => of_table(workload, &mut *trace),
        Trace::Workload(mut trace) => of_text(workload, &mut *trace),
        Trace::Script(mut trace) => of_script(workload, &mut *trace),
    }
}

fn of_text(workload: &Path, trace: &mut dyn WorkloadTrace) -> anyhow::Result<()> {
    let mut reader = OpsReader::open(workload)?;
    let mut out = ui::stdout();
    loop {
        ui::go_on()?;
        match reader.next_event() {
            Ok(Some(event)) => trace.step(&event, reader.line_text().as_bytes(), &mut out)?,
            Ok(None) => break,
            Err(error) if error.is_unknown_operation() => {
                trace.bad_line(reader.line_text().as_bytes(), &mut out)?;
            }
            Err(error) => {
                out.flush()?;
                return Err(error).context("the trace ends here");
            }
        }
    }
    trace.finish(&mut out)?;
    Ok(out.flush()?)
}

/// The lines are those that `fsage convert` would write.
fn of_table(workload: &Path, trace: &mut dyn WorkloadTrace) -> anyhow::Result<()> {
    let mut events = open_workload(workload)?;
    let mut out = ui::stdout();
    let text = Text::default();
    let mut writer = OpsWriter::new(text.clone(), &events.header().clone())?;
    while let Some(event) = events.next_event().map_err(fsage_lab::error::boxed)? {
        ui::go_on()?;
        text.0.borrow_mut().clear();
        writer.write(&event)?;
        trace.step(&event, &text.0.borrow(), &mut out)?;
    }
    trace.finish(&mut out)?;
    Ok(out.flush()?)
}

/// Text that is read while it is written.
#[derive(Clone, Default)]
struct Text(Rc<RefCell<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn of_script(workload: &Path, trace: &mut dyn ScriptTrace) -> anyhow::Result<()> {
    let cannot_read = || format!("cannot read {}", workload.display());
    let (script, _) = stream::open(workload).with_context(cannot_read)?;
    let mut out = ui::stdout();
    for (i, line) in script.lines().enumerate() {
        ui::go_on()?;
        if let Err(error) = trace.step(&line.with_context(cannot_read)?, &mut out, &ui::go_on) {
            out.flush()?;
            return Err(error).with_context(|| format!("{}:{}", workload.display(), i + 1));
        }
    }
    trace.finish(&mut out)?;
    Ok(out.flush()?)
}
