//! Programs of the system: where they are, and which version.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where `mkfs` and its like are; users' `PATH` often lacks these.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Finds a program in `PATH` and the system's folders.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(SYSTEM_FOLDERS.map(PathBuf::from))
        // An empty or relative entry means the current folder, whose programs nobody wants to run as root.
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| {
            fs::metadata(program)
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
}

/// The first line that a program prints about its version; empty if it prints none.
///
/// # Errors
/// Why it cannot be started: a library that it needs is not there, say.
pub fn version(program: &Path, argument: &str) -> Result<String, String> {
    let output = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| error.to_string())?;
    // mke2fs and its family print it to stderr.
    let line = [output.stdout, output.stderr].iter().find_map(|text| {
        let text = String::from_utf8_lossy(text);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.to_owned())
    });
    // What the loader ends with, and the shell. Programs that know no such option end with other ones.
    let is_started = output
        .status
        .code()
        .is_some_and(|code| !matches!(code, 126 | 127));
    match (is_started, line) {
        (true, line) => Ok(line.unwrap_or_default()),
        (false, Some(line)) => Err(line),
        (false, None) => Err(output.status.to_string()),
    }
}
