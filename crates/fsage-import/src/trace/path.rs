//! Paths as bytes: joined and normalized as text, without following symbolic links.

/// Longest path of Linux, bytes. Longer ones name nothing.
const MOST_BYTES: usize = 4096;

/// Puts the absolute path of `path`, seen from the directory `base`, into `out`: no `.`, `..`, double or last
/// slashes; the root is `/`. False: too long, or a NUL byte.
pub(crate) fn normalize(base: &[u8], path: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    if path.first() != Some(&b'/') {
        append(base, out);
    }
    append(path, out);
    if out.is_empty() {
        out.push(b'/');
    }
    out.len() <= MOST_BYTES && !out.contains(&0)
}

fn append(path: &[u8], out: &mut Vec<u8>) {
    for part in path.split(|&b| b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                let cut = out.iter().rposition(|&b| b == b'/').unwrap_or(0);
                out.truncate(cut);
            }
            _ => {
                out.push(b'/');
                out.extend_from_slice(part);
            }
        }
    }
}

/// The directory of a normalized path; of `/` itself `/`.
pub(crate) fn parent(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&b| b == b'/') {
        Some(0) | None => b"/",
        Some(slash) => &path[..slash],
    }
}

/// What follows the last slash.
pub(crate) fn last_component(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|&b| b == b'/');
    &path[slash.map_or(0, |s| s + 1)..]
}

/// Whether a normalized path is `top` or lies below it.
pub(crate) fn is_below(path: &[u8], top: &[u8]) -> bool {
    top == b"/"
        || path
            .strip_prefix(top)
            .is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalized_as_text() {
        let table: [(&str, &str, &str); 8] = [
            ("/a/b", "c", "/a/b/c"),
            ("/a/b", "/c//d/", "/c/d"),
            ("/a/b", "../c/./d", "/a/c/d"),
            ("/a", "../../..", "/"),
            ("/", "x", "/x"),
            ("/a", "", "/a"),
            ("", "x/y", "/x/y"),
            ("/a/b/", ".", "/a/b"),
        ];
        let mut out = Vec::new();
        for (base, path, expected) in table {
            assert!(normalize(base.as_bytes(), path.as_bytes(), &mut out));
            assert_eq!(out, expected.as_bytes(), "{base} {path}");
        }
        assert!(!normalize(b"/", b"a\0b", &mut out));
        assert!(!normalize(b"/", &[b'x'; 5000], &mut out));
        assert_eq!(parent(b"/a/b"), b"/a");
        assert_eq!(parent(b"/a"), b"/");
        assert_eq!(last_component(b"/a/b"), b"b");
    }

    #[test]
    fn a_name_that_only_starts_alike_is_not_below() {
        assert!(is_below(b"/proc", b"/proc"));
        assert!(is_below(b"/proc/1", b"/proc"));
        assert!(!is_below(b"/process", b"/proc"));
        assert!(is_below(b"/x", b"/"));
    }
}
