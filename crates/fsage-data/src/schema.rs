//! The Parquet schema of workloads, version 1.
//!
//! The columns are those of the workload format, section 2, and two more that keep what the text form can say:
//!
//! | column | Arrow type | null | meaning |
//! |---|---|---|---|
//! | `mode` | uint32 | yes | permission bits (`mode=` of the text form) |
//! | `extra` | utf8 | yes | attributes `x-...=...`, separated by one space |
//!
//! Readers take files without these two. What the header of a workload says lies in the key-value metadata
//! under the names of the format; pragmas without such a name are kept as `pragma.KEY`.

use arrow_schema::{DataType, Field, Schema};
use fsage_core::WorkloadHeader;

/// Name of the schema in the key-value metadata.
pub const WORKLOAD: &str = "workload";

/// Columns that a file may lack.
pub(crate) const OPTIONAL_COLUMNS: [&str; 2] = ["mode", "extra"];

/// Prefix of the keys of pragmas that the format does not know.
const PRAGMA: &str = "pragma.";

/// The columns of a workload.
pub fn workload_schema() -> Schema {
    let required = |name: &str, kind| Field::new(name, kind, false);
    let nullable = |name: &str, kind| Field::new(name, kind, true);
    Schema::new(vec![
        required("seq", DataType::UInt64),
        required("day", DataType::UInt32),
        nullable("t_ns", DataType::Int64),
        required("op", DataType::Utf8),
        nullable("file_id", DataType::UInt64),
        nullable("dir_id", DataType::UInt64),
        nullable("id2", DataType::UInt64),
        nullable("offset_bytes", DataType::UInt64),
        nullable("length_bytes", DataType::UInt64),
        nullable("name", DataType::Utf8),
        nullable("origin", DataType::Utf8),
        nullable("t_quality", DataType::Utf8),
        nullable("hint_group", DataType::UInt32),
        nullable("src_ino", DataType::UInt64),
        nullable("src_gen", DataType::UInt32),
        nullable("profile_id", DataType::UInt32),
        nullable("mode", DataType::UInt32),
        nullable("extra", DataType::Utf8),
    ])
}

/// The header as key-value metadata.
pub(crate) fn header_to_metadata(header: &WorkloadHeader) -> Vec<(String, String)> {
    let known = [
        ("epoch_unix_s", header.epoch_unix_s.map(|n| n.to_string())),
        (
            "capacity_bytes",
            header.capacity_bytes.map(|n| n.to_string()),
        ),
        ("block_bytes", header.block_bytes.map(|n| n.to_string())),
        ("group_count", header.group_count.map(|n| n.to_string())),
        (
            "inodes_per_group",
            header.inodes_per_group.map(|n| n.to_string()),
        ),
        ("first_ino", header.first_ino.map(|n| n.to_string())),
        ("generator", header.generator.clone()),
        ("seed", header.seed.map(|n| n.to_string())),
        ("source", header.source.clone()),
    ];
    let known = known
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let others = header.other.iter();
    let others = others.map(|(key, value)| (format!("{PRAGMA}{key}"), value.clone()));
    known.chain(others).collect()
}

/// The header that key-value metadata say; what is neither known nor a `pragma.KEY` is left out.
///
/// # Errors
/// The key and the value that are wrong.
pub fn header_from_metadata(
    metadata: &[(String, String)],
) -> Result<WorkloadHeader, (String, String)> {
    let mut header = WorkloadHeader::default();
    for (key, value) in metadata {
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| (key.clone(), value.clone()))
        };
        match key.as_str() {
            "epoch_unix_s" => {
                let epoch = value.parse().map_err(|_| (key.clone(), value.clone()))?;
                header.epoch_unix_s = Some(epoch);
            }
            "capacity_bytes" => header.capacity_bytes = Some(number()?),
            "block_bytes" => header.block_bytes = Some(number()?),
            "group_count" => header.group_count = Some(number()?),
            "inodes_per_group" => header.inodes_per_group = Some(number()?),
            "first_ino" => header.first_ino = Some(number()?),
            "seed" => header.seed = Some(number()?),
            "generator" => header.generator = Some(value.clone()),
            "source" => header.source = Some(value.clone()),
            other => {
                if let Some(pragma) = other.strip_prefix(PRAGMA) {
                    header.other.push((pragma.to_owned(), value.clone()));
                }
            }
        }
    }
    Ok(header)
}
