//! What a model emits for a host, as lines.

use fsage_core::io::{Buffer, BufferId, Flush, Io};

fn name(buffer: &Buffer, unit: u64) -> String {
    let frags = (buffer.start_bytes / unit, u64::from(buffer.bytes) / unit);
    match buffer.id {
        BufferId::Data { ino, lbn } => format!("{ino}[{lbn}]@{}+{}", frags.0, frags.1),
        BufferId::Pointers { ino, index } => format!("{ino}p{index}@{}+{}", frags.0, frags.1),
        BufferId::Device { start_bytes } => {
            assert_eq!(start_bytes, buffer.start_bytes);
            format!("@{}+{}", frags.0, frags.1)
        }
    }
}

/// What was emitted, in a line: S, A, D and H are the times of the write; places are in units of so many bytes.
pub fn line(io: &Io, unit: u64) -> String {
    let flush = |flush: Flush| match flush {
        Flush::Sync => "S",
        Flush::Async => "A",
        Flush::Delayed => "D",
        Flush::Held => "H",
    };
    match io {
        Io::Need(buffer) => format!("need {}", name(buffer, unit)),
        Io::Modify(buffer, f) => format!("{} {}", flush(*f), name(buffer, unit)),
        Io::Fill(buffer, f) => format!("{}new {}", flush(*f), name(buffer, unit)),
        Io::Place(buffer) => format!("place {}", name(buffer, unit)),
        Io::Push { ino, first, last } => format!("push {ino}[{first}-{last}]"),
        Io::Discard { ino, from } => format!("discard {ino}[{from}..]"),
        Io::Copy { bytes } => format!("copy {bytes}"),
        other => format!("{other:?}"),
    }
}
