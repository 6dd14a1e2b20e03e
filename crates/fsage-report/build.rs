//! Looks for Vega in `target/vega`, where `scripts/vega.sh` puts it, or in the folder that `FSAGE_VEGA` names. Where it
//! is there, the program embeds it; else reports have static charts. Fetches nothing, and writes into `OUT_DIR` alone.

use std::path::{Path, PathBuf};

const FOLDER: &str = "FSAGE_VEGA";
const FILES: [&str; 6] = [
    "vega.min.js",
    "vega-lite.min.js",
    "vega-embed.min.js",
    "vega.LICENSE",
    "vega-lite.LICENSE",
    "vega-embed.LICENSE",
];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(vega)");
    println!("cargo::rerun-if-env-changed={FOLDER}");
    // A file that is not there would make every build run this again. So `scripts/vega.sh` touches itself when it has
    // put something there.
    println!("cargo::rerun-if-changed=../../scripts/vega.sh");
    let named = std::env::var_os(FOLDER).filter(|name| !name.is_empty());
    let folder = Path::new("../..").join(named.unwrap_or_else(|| "target/vega".into()));
    let missing = FILES.iter().find(|name| !folder.join(name).is_file());
    if let Some(name) = missing {
        println!(
            "cargo::warning=charts of reports will be static: there is no {name} in {}; \
             `scripts/vega.sh` fetches Vega",
            folder.display()
        );
        return;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for name in FILES {
        embed(&folder.join(name), &out.join(name));
    }
    println!("cargo::rustc-cfg=vega");
}

fn embed(from: &Path, to: &Path) {
    println!("cargo::rerun-if-changed={}", from.display());
    if let Err(e) = std::fs::copy(from, to) {
        println!("cargo::error={} cannot be copied: {e}", from.display());
    }
}
