//! Logs: segments and cleaner of a log-structured file system. What was transferred is that of the day.
//!
//! **Units.** Segments, bytes; the write cost is bytes for a byte.
//!
//! **Source.** The log says it itself, see [`fsage_core::LogUsage`]. Write cost: Rosenblum and Ousterhout 1992.

use crate::metric::{Better, Metric, Section, Unit};

/// The metrics of this file.
pub const METRICS: &[&Metric] = &[
    &SEGMENTS,
    &CLEAN_SEGMENTS,
    &LIVE_SHARE,
    &NEW_BYTES,
    &CLEANER_WRITTEN_BYTES,
    &CLEANER_READ_BYTES,
    &CLEANED_SEGMENTS,
    &CLEANED_LIVE_SHARE,
    &WRITE_COST,
    &ENDED,
];

/// Segments of the log.
pub static SEGMENTS: Metric = Metric {
    generation: 1,
    ..Metric::count(
        "segments",
        "segments of the log",
        Unit::Number("segments"),
        Section::Log,
        "Segments of the log.",
        |m| Some(m.log.as_ref()?.segments),
    )
};

/// Of these, those without data.
pub static CLEAN_SEGMENTS: Metric = Metric {
    better: Better::Higher,
    generation: 1,
    ..Metric::count(
        "clean_segments",
        "segments without data",
        Unit::Number("segments"),
        Section::Log,
        "Segments without data, which can be written at once.",
        |m| Some(m.log.as_ref()?.clean_segments),
    )
};

/// Live bytes as a share of all segments.
pub static LIVE_SHARE: Metric = Metric {
    generation: 1,
    ..Metric::real(
        "live_share",
        "live share",
        Unit::Share,
        Section::Log,
        "Live bytes as a share of all segments: the fuller the log, the more its cleaner must carry along.",
        |m| Some(m.log.as_ref()?.live_share()),
    )
};

/// Bytes that the log wrote, without its cleaner.
pub static NEW_BYTES: Metric = Metric {
    generation: 1,
    ..Metric::count(
        "log_new_bytes",
        "written anew",
        Unit::Bytes,
        Section::Log,
        "Bytes that the log wrote on this day, without those of its cleaner.",
        |m| Some(m.log.as_ref()?.new_bytes),
    )
};

/// Bytes that the cleaner wrote.
pub static CLEANER_WRITTEN_BYTES: Metric = Metric {
    better: Better::Lower,
    generation: 1,
    ..Metric::count(
        "cleaner_written_bytes",
        "written by the cleaner",
        Unit::Bytes,
        Section::Log,
        "Bytes that the cleaner of the log wrote on this day.",
        |m| Some(m.log.as_ref()?.cleaner_written_bytes),
    )
};

/// Bytes that the cleaner read.
pub static CLEANER_READ_BYTES: Metric = Metric {
    better: Better::Lower,
    generation: 1,
    ..Metric::count(
        "cleaner_read_bytes",
        "read by the cleaner",
        Unit::Bytes,
        Section::Log,
        "Bytes of the segments that the cleaner of the log read on this day.",
        |m| {
            let log = m.log.as_ref()?;
            Some(log.cleaner_read_segments * log.segment_bytes)
        },
    )
};

/// Segments that were cleaned.
pub static CLEANED_SEGMENTS: Metric = Metric {
    better: Better::Lower,
    generation: 1,
    ..Metric::count(
        "cleaned_segments",
        "segments cleaned",
        Unit::Number("segments"),
        Section::Log,
        "Segments that were cleaned on this day, those without live bytes among them.",
        |m| Some(m.log.as_ref()?.cleaned_segments),
    )
};

/// Mean live share of the segments that were cleaned.
pub static CLEANED_LIVE_SHARE: Metric = Metric {
    better: Better::Lower,
    generation: 1,
    ..Metric::real(
        "cleaned_live_share",
        "live share of segments cleaned",
        Unit::Share,
        Section::Log,
        "How much of the segments that were cleaned on this day was alive.",
        |m| m.log.as_ref()?.cleaned_live_share(),
    )
};

/// Bytes transferred for a byte that is new.
pub static WRITE_COST: Metric = Metric {
    better: Better::Lower,
    generation: 1,
    ..Metric::real(
        "write_cost",
        "write cost",
        Unit::Mean("bytes a new byte", 2),
        Section::Log,
        "Bytes that log and cleaner wrote, and those that the cleaner read, for a byte rewritten on this day: 1 is \
         a log that never cleans (Rosenblum and Ousterhout 1992).",
        |m| m.log.as_ref()?.write_cost(),
    )
};

/// Whether the log has come to its end.
pub static ENDED: Metric = Metric {
    better: Better::Lower,
    generation: 1,
    ..Metric::count(
        "log_ended",
        "end of the log",
        Unit::Flag,
        Section::Log,
        "Whether the log has come to its end: its cleaner cannot progress, and nothing more is written.",
        |m| Some(m.log.as_ref()?.end.is_some().into()),
    )
};
