//! A service and a timer of systemd for nightly snapshots, as text.

use super::{Args, absolute};
use crate::ui;
use anyhow::{Context, bail};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What `sh` does: the name of the file is the time. `%` and `$` mean something to systemd, hence twice.
const SCRIPT: &str =
    r#"exec "$$0" snapshot "$$1" -o "$$2/$$(date -u +%%Y-%%m-%%dT%%H%%M%%SZ).parquet""#;

/// Where fsage is found: by the path that its users know, which may be a link that a newer one takes over.
fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find out where fsage is installed")?;
    let known = std::env::var_os("PATH").unwrap_or_default();
    let known = std::env::split_paths(&known).filter(|folder| folder.is_absolute());
    let mut known = known.map(|folder| folder.join("fsage"));
    let same = known.find(|link| fs::canonicalize(link).is_ok_and(|file| file == program));
    Ok(same.unwrap_or(program))
}

/// Prints both, and how to install them.
pub fn print(args: &Args) -> anyhow::Result<()> {
    let path = absolute(&args.path)?;
    let folder = absolute(&args.output)?;
    let program = program()?;
    let name = unit_name(&path);
    // In a command line, `$` means something too.
    let words = [word(&program)?, word(&path)?, word(&folder)?].join(" ");
    let words = words.replace('$', "$$");
    let mut options = String::new();
    for (given, option) in [
        (args.anonymize, " --anonymize"),
        (args.keep_extensions, " --keep-extensions"),
    ] {
        if given {
            options.push_str(option);
        }
    }
    let mut out = ui::stdout();
    write!(
        out,
        "\
# Nightly snapshots of {path} into {folder}. Nothing has been changed. To install:
#   1. put each of the two parts below into the file that its first line names
#   2. mkdir -p {folder}
#   3. systemctl daemon-reload && systemctl enable --now {name}.timer
# To take one now: systemctl start {name}.service
# To see the last one: systemctl status {name}.service; systemctl list-timers {name}.timer
# To end it: systemctl disable --now {name}.timer

# /etc/systemd/system/{name}.service
[Unit]
Description=fsage snapshot of {description}

[Service]
Type=oneshot
ExecStart=/bin/sh -c '{SCRIPT}{options}' {words}
Nice=19
IOSchedulingClass=idle
# Nothing but the output folder can be written. Options that mount something over parts of the tree (PrivateTmp,
# ProtectHome, ProtectKernelModules, ProtectSystem=full) would hide these parts from the snapshot. The output folder
# itself is a mount in this service, and thereby left out.
ProtectSystem=strict
ReadWritePaths={folder_word}
# Reads files of all users, without touching their access times.
CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_FOWNER
NoNewPrivileges=yes
RestrictAddressFamilies=none
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native

# /etc/systemd/system/{name}.timer
[Unit]
Description=Nightly fsage snapshot of {description}

[Timer]
OnCalendar=*-*-* 02:30:00
# A night that the machine slept through is made up for.
Persistent=true

[Install]
WantedBy=timers.target
",
        path = path.display(),
        folder = folder.display(),
        description = path.display().to_string().replace('%', "%%"),
        folder_word = word(&folder)?,
    )?;
    out.flush()?;
    Ok(())
}

/// A word of a unit file: in quotes, with escapes for what systemd would read in it.
fn word(path: &Path) -> anyhow::Result<String> {
    let Some(text) = path
        .to_str()
        .filter(|text| !text.chars().any(char::is_control))
    else {
        bail!(
            "{}: a unit of systemd cannot name a path that is not UTF-8 or has control characters",
            path.display()
        );
    };
    let mut word = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' | '"' => word.extend(['\\', c]),
            '%' => word.extend([c, c]),
            _ => word.push(c),
        }
    }
    word.push('"');
    Ok(word)
}

/// `fsage-snapshot-` and the path with dashes: `fsage-snapshot-var-lib`, `fsage-snapshot-root`.
fn unit_name(path: &Path) -> String {
    let text = path.to_string_lossy();
    let parts: Vec<&str> = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() {
        return "fsage-snapshot-root".to_owned();
    }
    format!("fsage-snapshot-{}", parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_units_keep_what_systemd_would_read_in_them() {
        // systemd.service(5), "Command lines"; systemd.unit(5), "Specifiers".
        let word = |path| word(Path::new(path)).ok();
        assert_eq!(word("/a b").as_deref(), Some("\"/a b\""));
        assert_eq!(word("/50%$x\"\\").as_deref(), Some("\"/50%%$x\\\"\\\\\""));
        assert_eq!(word("/a\nb"), None);
        assert_eq!(unit_name(Path::new("/")), "fsage-snapshot-root");
        assert_eq!(
            unit_name(Path::new("/var/lib x")),
            "fsage-snapshot-var-lib-x"
        );
    }
}
