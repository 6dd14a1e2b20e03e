//! `/proc/self/mountinfo`: what is mounted.

use std::borrow::Cow;
use std::fs;
use std::io;

/// A line of the table of mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Number of the mount, as `statx` gives it.
    pub id: u64,
    /// Major and minor number of the device.
    pub device: (u32, u32),
    /// Where it is mounted, as bytes.
    pub at: Vec<u8>,
    /// Type of file system, as `mount -t` names it.
    pub fs_type: String,
    /// What is mounted: mostly the path of a device.
    pub source: String,
    /// Options of this mount, then those of the file system, separated by commas.
    pub options: String,
}

/// What is mounted, as far as this process sees it.
///
/// # Errors
/// The table cannot be read: `/proc` is not mounted.
pub fn mounts() -> io::Result<Vec<Mount>> {
    let table = fs::read("/proc/self/mountinfo")?;
    Ok(table.split(|&c| c == b'\n').filter_map(parse).collect())
}

/// `ID PARENT MAJOR:MINOR ROOT AT OPTIONS [TAG:VALUE ...] - TYPE SOURCE OPTIONS`; octal escapes for blanks.
fn parse(line: &[u8]) -> Option<Mount> {
    let text = |field: &[u8]| String::from_utf8_lossy(&unescape(field)).into_owned();
    let number = |field: &[u8]| str::from_utf8(field).ok()?.parse().ok();
    let mut fields = line.split(|&c| c == b' ');
    let id = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let device = fields.nth(1)?;
    let colon = device.iter().position(|&c| c == b':')?;
    let device = (number(&device[..colon])?, number(&device[colon + 1..])?);
    let at = unescape(fields.nth(1)?).into_owned();
    let mut options = text(fields.next()?);
    fields.find(|field| *field == b"-")?;
    let fs_type = text(fields.next()?);
    let source = text(fields.next()?);
    for option in text(fields.next().unwrap_or_default()).split(',') {
        if !options.split(',').any(|known| known == option) {
            options.push(',');
            options.push_str(option);
        }
    }
    Some(Mount {
        id,
        device,
        at,
        fs_type,
        source,
        options,
    })
}

/// `\ooo` is a byte in octal.
fn unescape(field: &[u8]) -> Cow<'_, [u8]> {
    if !field.contains(&b'\\') {
        return Cow::Borrowed(field);
    }
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        if let [
            b'\\',
            a @ b'0'..=b'3',
            b @ b'0'..=b'7',
            c @ b'0'..=b'7',
            after @ ..,
        ] = rest
        {
            bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_is_read() {
        // The example of proc(5), with a blank in the path.
        let line =
            b"36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse(line).unwrap();
        assert_eq!(
            mount,
            Mount {
                id: 36,
                device: (98, 0),
                at: b"/mnt 2".to_vec(),
                fs_type: "ext3".to_owned(),
                source: "/dev/root".to_owned(),
                options: "rw,noatime,errors=continue".to_owned(),
            }
        );
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"36 35 98 /mnt1 /mnt2 rw -"), None);
        assert_eq!(&*unescape(b"\\\\134\\12"), b"\\\\\\12");
    }
}
