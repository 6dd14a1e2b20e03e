//! The same steps as system calls on a simulated file system, over a host and the device.

use super::bare::mib_a_second;
use super::plan::Pieces;
use super::writing::Step;
use anyhow::Context;
use fsage_bench::{Part, Simulated, Subject, direct_read};
use fsage_core::FileId;
use fsage_core::io::AnyHosted;
use fsage_disk::{FlashDevice, FlashDrive};
use fsage_host::{Host, HostParams};
use fsage_target::{Target, TargetSpec};

/// What the file system made of the file, and how fast it is read.
#[derive(Clone, Copy, Debug)]
pub struct Through {
    /// MiB/s of direct reads.
    pub rate: f64,
    /// Extents of the file.
    pub extents: u64,
}

/// Plays steps on an empty file system, empties all caches, and reads the file with direct calls. Others are a new file
/// each, and every step is followed by an `fsync`.
///
/// # Errors
/// The specification names no model that a host runs; the steps do not fit.
pub fn play(
    spec: &str,
    drive: &FlashDrive,
    params: &HostParams,
    plan: &Pieces,
    steps: &[Step],
) -> anyhow::Result<Through> {
    let spec = TargetSpec::parse(spec)?;
    let fs = Target::make(&spec)?.into_hosted();
    let fs = fs.with_context(|| format!("`{spec}`: expected a model that a host runs"))?;
    let host = Host::new(params, FlashDevice::new(drive), 0, fs.block_bytes());
    let mut subject: Simulated<dyn AnyHosted, FlashDevice> = Simulated::over(fs, host, 1);
    let dir = subject.mkdir()?;
    let file = subject.create(dir, 0, plan.call.0)?;
    for step in steps {
        match *step {
            Step::Append(bytes) => {
                subject.append(file, bytes)?;
                subject.fsync(file)?;
            }
            Step::Overwrite(offset, bytes) => {
                let part = Part {
                    offset,
                    bytes,
                    call_bytes: bytes,
                };
                subject.overwrite(file, part)?;
                subject.fsync(file)?;
            }
            Step::Other(bytes) => {
                let other = subject.create(dir, bytes, bytes)?;
                subject.fsync(other)?;
            }
        }
    }
    subject.drop_caches()?;
    let bytes = subject.file_bytes(file)?;
    let id = FileId(file.0);
    let extents = extents(subject.model(), id, bytes);
    let offsets = (0..bytes).step_by(plan.call.0 as usize);
    let calls = offsets.map(|at| direct_read(subject.model(), id, at, plan.call.0.min(bytes - at)));
    let calls: Vec<_> = calls.collect();
    // The file is open when the clock begins.
    let mut needs = Vec::new();
    subject.model().look_up(id, &mut needs);
    let host = subject.host_mut();
    host.execute(&needs);
    host.device_mut().rest();
    let begun_ns = host.now_ns();
    host.read_direct(calls, 1);
    let elapsed_ns = host.now_ns() - begun_ns;
    Ok(Through {
        rate: mib_a_second(bytes, elapsed_ns),
        extents,
    })
}

fn extents(fs: &dyn AnyHosted, file: FileId, bytes: u64) -> u64 {
    let all = direct_read(fs, file, 0, bytes);
    all.ranges.len() as u64
}
