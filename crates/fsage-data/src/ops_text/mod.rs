//! The text form of workloads: `.ops`, one operation a line, UTF-8.
//!
//! [`OpsReader`] reads it line by line, whatever its length; [`OpsWriter`] writes the canonical form, which
//! comes back byte for byte from Parquet. The grammar is that of the workload format, section 3.1.
//!
//! ```
//! use fsage_data::OpsReader;
//! use fsage_core::{DirId, FileId, Op};
//!
//! let text: &[u8] = b"@0.5 create 1 0 64K \"main.c\"  # in the root\n";
//! let mut reader = OpsReader::new(text, "example.ops")?;
//! let event = reader.next_event()?.expect("one operation");
//! assert_eq!(event.op, Op::Create { file: FileId(1), dir: DirId(0), bytes: 65536 });
//! assert_eq!(event.t_ns, Some(500_000_000));
//! # Ok::<(), fsage_data::OpsError>(())
//! ```

mod attribute;
mod error;
mod line;
mod number;
mod pragma;
mod reader;
mod verb;
mod writer;

pub use error::{Fault, OpsError, SyntaxError};
pub use reader::OpsReader;
pub use writer::{OpsWriteError, OpsWriter};

/// Longest line that is read or written, without its end.
pub const MAX_LINE_BYTES: usize = 1 << 20;
