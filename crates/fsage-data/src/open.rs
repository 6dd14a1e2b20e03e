//! Workloads by path: the first bytes of an input, or the extension of an output, say which form it has.

use crate::error::DataError;
use crate::ops_text::{OpsReader, OpsWriteError, OpsWriter};
use crate::parquet_file;
use crate::workload::{WorkloadReader, WorkloadWriter};
use flate2::write::GzEncoder;
use fsage_core::{Event, EventSink, EventSource, SinkError, WorkloadHeader};
use fsage_durable::PartialFile;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Opens a workload of any form: Parquet, or `.ops` text, which may be compressed with gzip or zstd. The first
/// bytes decide, not the name. `-` is text from standard input.
///
/// # Errors
/// The file cannot be read or is no workload.
pub fn open_workload(path: impl AsRef<Path>) -> Result<Box<dyn EventSource>, DataError> {
    let path = path.as_ref();
    if is_parquet(path)? {
        Ok(Box::new(WorkloadReader::open(path)?))
    } else {
        Ok(Box::new(OpsReader::open(path)?))
    }
}

/// Whether a file is Parquet: it starts so, or its name says so. `-` is not.
///
/// # Errors
/// The file cannot be read.
pub fn is_parquet(path: &Path) -> Result<bool, DataError> {
    if path.as_os_str() == "-" {
        return Ok(false);
    }
    let mut start = Vec::new();
    let failed = |e| DataError::io(path, "cannot open", e);
    // A pipe cannot be read twice, so its form is that of text; it is not even opened, which its writer would see.
    if !path.metadata().map_err(failed)?.is_file() {
        return Ok(false);
    }
    let file = fsage_input::file(path).map_err(failed)?;
    file.take(parquet_file::MAGIC.len() as u64)
        .read_to_end(&mut start)
        .map_err(|e| DataError::io(path, "cannot read", e))?;
    // By its name a file that was cut short to nothing is a damaged one, not an empty script.
    Ok(start == parquet_file::MAGIC || path.extension().is_some_and(|e| e == "parquet"))
}

/// Starts a workload in the form that the extension says: `.parquet`, `.ops`, `.ops.gz` or `.ops.zst`; `-` is
/// text to standard output. The file gets its name by [`WorkloadOutput::finish`] and is removed if the output
/// is dropped before.
///
/// # Errors
/// The file exists and `force` is not set; the extension is unknown; the folder cannot be written.
pub fn create_workload(
    path: impl AsRef<Path>,
    header: &WorkloadHeader,
    force: bool,
) -> Result<WorkloadOutput, DataError> {
    let path = path.as_ref();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let form = if path.as_os_str() == "-" {
        let stdout = BufWriter::with_capacity(1 << 16, io::stdout());
        return text(path, TextOutput::Stdout(stdout), header);
    } else if name.ends_with(".parquet") {
        Form::Parquet(Box::new(WorkloadWriter::create(path, header, force)?))
    } else if name.ends_with(".ops") {
        let file = PartialFile::create(path, force)?;
        return text(path, TextOutput::Plain(file), header);
    } else if name.ends_with(".ops.gz") {
        let file = PartialFile::create(path, force)?;
        let gzip = GzEncoder::new(file, flate2::Compression::default());
        return text(path, TextOutput::Gzip(BufWriter::new(gzip)), header);
    } else if name.ends_with(".ops.zst") {
        let file = PartialFile::create(path, force)?;
        let zstd =
            zstd::Encoder::new(file, 3).map_err(|e| DataError::io(path, "cannot compress", e))?;
        return text(path, TextOutput::Zstd(BufWriter::new(zstd)), header);
    } else {
        return Err(DataError::unsuitable(
            path,
            "the name of a workload ends in .parquet, .ops, .ops.gz or .ops.zst",
        ));
    };
    Ok(WorkloadOutput {
        path: path.to_owned(),
        form,
    })
}

/// A workload that is being written.
pub struct WorkloadOutput {
    path: PathBuf,
    form: Form,
}

enum Form {
    Parquet(Box<WorkloadWriter>),
    Text(Box<OpsWriter<TextOutput>>),
}

/// What a form could not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Probes, which Parquet does not store.
    pub probes: u64,
    /// Events of unknown time after one of a known time, which text gives the time of the line before.
    pub times: u64,
}

impl WorkloadOutput {
    /// Writes one event.
    ///
    /// # Errors
    /// Writing fails, or the form cannot say the event.
    pub fn write(&mut self, event: &Event) -> Result<(), DataError> {
        match &mut self.form {
            Form::Parquet(writer) => writer.write(event),
            Form::Text(writer) => writer.write(event).map_err(|e| refused(&self.path, e)),
        }
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(self) -> Result<Lost, DataError> {
        match self.form {
            Form::Parquet(writer) => {
                let probes = writer.probes_dropped();
                writer.finish()?;
                Ok(Lost { probes, times: 0 })
            }
            Form::Text(writer) => {
                let times = writer.times_lost();
                let output = writer
                    .finish()
                    .map_err(|e| DataError::io(&self.path, "cannot write", e))?;
                output.finish(&self.path)?;
                Ok(Lost { probes: 0, times })
            }
        }
    }
}

impl EventSink for WorkloadOutput {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        Ok(self.write(&event)?)
    }
}

fn text(
    path: &Path,
    output: TextOutput,
    header: &WorkloadHeader,
) -> Result<WorkloadOutput, DataError> {
    let writer = OpsWriter::new(output, header).map_err(|e| refused(path, e))?;
    Ok(WorkloadOutput {
        path: path.to_owned(),
        form: Form::Text(Box::new(writer)),
    })
}

fn refused(path: &Path, source: OpsWriteError) -> DataError {
    DataError::OpsWrite {
        path: path.to_owned(),
        source,
    }
}

/// Where text goes.
enum TextOutput {
    Stdout(BufWriter<io::Stdout>),
    Plain(PartialFile),
    Gzip(BufWriter<GzEncoder<PartialFile>>),
    Zstd(BufWriter<zstd::Encoder<'static, PartialFile>>),
}

impl TextOutput {
    fn finish(self, path: &Path) -> Result<(), DataError> {
        let failed = |e| DataError::io(path, "cannot write", e);
        let file = match self {
            TextOutput::Stdout(mut stdout) => return stdout.flush().map_err(failed),
            TextOutput::Plain(file) => file,
            TextOutput::Gzip(gzip) => {
                let gzip = gzip.into_inner().map_err(|e| failed(e.into_error()))?;
                gzip.finish().map_err(failed)?
            }
            TextOutput::Zstd(zstd) => {
                let zstd = zstd.into_inner().map_err(|e| failed(e.into_error()))?;
                zstd.finish().map_err(failed)?
            }
        };
        Ok(file.finish()?)
    }
}

impl Write for TextOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            TextOutput::Stdout(out) => out.write(bytes),
            TextOutput::Plain(out) => out.write(bytes),
            TextOutput::Gzip(out) => out.write(bytes),
            TextOutput::Zstd(out) => out.write(bytes),
        }
    }

    /// Only what is not compressed is passed on: a compressor would end a block at every flush.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            TextOutput::Stdout(out) => out.flush(),
            TextOutput::Plain(out) => out.flush(),
            TextOutput::Gzip(_) | TextOutput::Zstd(_) => Ok(()),
        }
    }
}

/// The BLAKE3 hash of bytes, as [`hash_file`] gives that of a file.
pub fn hash_bytes(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The BLAKE3 hash of a file as 64 hexadecimal digits, to name an input in a manifest.
///
/// # Errors
/// The file cannot be read.
pub fn hash_file(path: impl AsRef<Path>) -> Result<String, DataError> {
    let path = path.as_ref();
    let file = fsage_input::file(path).map_err(|e| DataError::io(path, "cannot open", e))?;
    let mut hasher = blake3::Hasher::new();
    hasher
        .update_reader(file)
        .map_err(|e| DataError::io(path, "cannot read", e))?;
    Ok(hasher.finalize().to_hex().to_string())
}
