//! `fsage age --trace`: what happens inside a model, line by line.

use super::super::targets;
use crate::ui::{self, Ui};
use anyhow::{Context, bail};
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
    let microscope = spec.entry().and_then(|entry| entry.microscope);
    if inode.is_some() && !microscope.is_some_and(|microscope| microscope.is_by_inode) {
        bail!("--inode is of models whose requests for blocks are traced, as ext4 and xfs");
    }
    match microscope.and_then(|microscope| (microscope.over)(fs)) {
        Some(Trace::Workload(mut trace)) => {
            let mut lines = Lines {
                trace: &mut *trace,
                inode,
                buffer: Vec::new(),
                has_begun: false,
                out: ui::stdout(),
            };
            if is_table {
                lines.of_table(workload)?;
            } else {
                lines.of_text(workload)?;
            }
            lines.print(|trace, out| trace.finish(out))?;
            Ok(lines.out.flush()?)
        }
        Some(Trace::Script(mut trace)) => of_script(workload, &mut *trace),
        None => bail!("--trace knows {}, not `{spec}`", targets::with_microscope()),
    }
}

/// What a microscope prints of a workload.
struct Lines<'a, W> {
    trace: &'a mut dyn WorkloadTrace,
    /// The only inode that is printed.
    inode: Option<u64>,
    buffer: Vec<u8>,
    /// The names of columns were printed.
    has_begun: bool,
    out: W,
}

impl<W: Write> Lines<'_, W> {
    /// Takes a step, and prints what it prints.
    fn print(
        &mut self,
        step: impl FnOnce(&mut dyn WorkloadTrace, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(inode) = self.inode else {
            return step(self.trace, &mut self.out);
        };
        self.buffer.clear();
        step(self.trace, &mut self.buffer)?;
        let first = format!("{inode}\t");
        // What an operation caused follows its line; where there is nothing of the inode, that is left out too.
        let mut comment: Option<&[u8]> = None;
        for line in self.buffer.split_inclusive(|&byte| byte == b'\n') {
            if line.starts_with(b"# ") {
                comment = Some(line);
            } else if line.starts_with(b"#") && !self.has_begun {
                self.has_begun = true;
                self.out.write_all(line)?;
            } else if line.starts_with(first.as_bytes()) {
                self.out.write_all(comment.take().unwrap_or_default())?;
                self.out.write_all(line)?;
            }
        }
        Ok(())
    }

    fn of_text(&mut self, workload: &Path) -> anyhow::Result<()> {
        let mut reader = OpsReader::open(workload)?;
        loop {
            ui::go_on()?;
            match reader.next_event() {
                Ok(Some(event)) => {
                    let line = reader.line_text().as_bytes();
                    self.print(|trace, out| trace.step(&event, line, out))?;
                }
                Ok(None) => return Ok(()),
                Err(error) if error.is_unknown_operation() => {
                    let line = reader.line_text().as_bytes();
                    self.print(|trace, out| trace.bad_line(line, out))?;
                }
                Err(error) => {
                    self.out.flush()?;
                    return Err(error).context("the trace ends here");
                }
            }
        }
    }

    /// The lines are those that `fsage convert` would write.
    fn of_table(&mut self, workload: &Path) -> anyhow::Result<()> {
        let mut events = open_workload(workload)?;
        let text = Text::default();
        let mut writer = OpsWriter::new(text.clone(), &events.header().clone())?;
        while let Some(event) = events.next_event().map_err(fsage_lab::error::boxed)? {
            ui::go_on()?;
            text.0.borrow_mut().clear();
            writer.write(&event)?;
            let line = text.0.borrow();
            self.print(|trace, out| trace.step(&event, &line, out))?;
        }
        Ok(())
    }
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
