//! What `fsage --version` and results say: in an optimized build from a clone, the commit too, and whether its sources
//! were changed. A debug build says none, so that a commit compiles nothing anew.

use std::process::Command;

fn main() {
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let is_debug = std::env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    println!("cargo::rerun-if-changed=build.rs");
    let commit = if is_debug { None } else { commit() };
    println!(
        "cargo::rustc-env=FSAGE_COMMIT={}",
        commit.as_deref().unwrap_or_default()
    );
    let version = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=FSAGE_VERSION={version}");
}

/// The commit, with `-dirty` where tracked files differ from it; none outside a clone, or where git is missing.
fn commit() -> Option<String> {
    const ROOT: &str = "../..";
    // The sources, and what moves with every commit and checkout.
    for watched in ["crates", ".git/HEAD", ".git/logs/HEAD"] {
        let path = std::path::Path::new(ROOT).join(watched);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    if !std::path::Path::new(ROOT).join(".git").exists() {
        return None;
    }
    let output = Command::new("git")
        .args([
            "-C",
            ROOT,
            "describe",
            "--always",
            "--exclude=*",
            "--abbrev=12",
            "--dirty",
        ])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let commit = String::from_utf8(output.stdout).ok()?;
    Some(commit.trim().to_owned()).filter(|commit| !commit.is_empty())
}
