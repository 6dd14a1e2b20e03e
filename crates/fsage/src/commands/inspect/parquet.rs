//! Other tables.

use crate::summary::{print_json, table as text_table};
use crate::ui;
use fsage_data::table::ParquetInfo;
use serde_json::{Map, Value, json};
use std::io::Write;

/// Prints what any other Parquet file says of itself.
pub fn table(info: &ParquetInfo, as_json: bool) -> anyhow::Result<()> {
    let mut out = ui::stdout();
    if as_json {
        let pairs = |pairs: &[(String, String)]| -> Value {
            pairs
                .iter()
                .map(|(key, value)| (key.clone(), json!(value)))
                .collect::<Map<_, _>>()
                .into()
        };
        let value = json!({
            "file": info.path.display().to_string(),
            "kind": info.schema,
            "rows": info.rows,
            "columns": pairs(&info.columns),
            "metadata": pairs(&info.metadata),
        });
        print_json(&mut out, &value)?;
        return Ok(out.flush()?);
    }
    let kind = info.schema.as_deref().unwrap_or("not written by fsage");
    writeln!(out, "{}: a Parquet table ({kind})", info.path.display())?;
    writeln!(out, "  {:18} {}", "rows", info.rows)?;
    for (key, value) in &info.metadata {
        writeln!(out, "  {key:18} {value}")?;
    }
    writeln!(out)?;
    let mut table = text_table(&["column", "type"]);
    for (name, kind) in &info.columns {
        table.add_row([name, kind]);
    }
    writeln!(out, "{table}")?;
    Ok(out.flush()?)
}
