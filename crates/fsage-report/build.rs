//! Sees to it that Vega is in `vendor/`, where [`assets.rs`](src/assets.rs) embeds it from.

use std::process::{Command, exit};

const FETCH: &str = "../../scripts/vega.sh";

fn main() {
    for path in [FETCH, "vendor/packages"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let fetched = Command::new("bash").arg(FETCH).output();
    let reason = match fetched {
        Ok(output) if output.status.success() => return,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(e) => format!("{FETCH} cannot be run by bash: {e}"),
    };
    for line in reason.lines() {
        println!("cargo::error={line}");
    }
    exit(1);
}
