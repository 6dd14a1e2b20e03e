//! Paths of foreign formats as paths from the root of a snapshot.

/// The root of a snapshot.
const ROOT: &[u8] = b".";

/// A path without slashes at its start; [`ROOT`] if nothing else is left.
pub(super) fn relative(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|&c| c != b'/');
    start.map_or(ROOT, |start| &path[start..])
}

/// A directory without slashes at its end.
pub(super) fn without_end(dir: &[u8]) -> &[u8] {
    let end = dir.iter().rposition(|&c| c != b'/').map_or(0, |at| at + 1);
    &dir[..end]
}

/// A path below a directory, which has no slash at its end; `None` if it lies elsewhere.
pub(super) fn below<'p>(dir: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    let rest = path.strip_prefix(dir)?;
    matches!(rest, [] | [b'/', ..]).then(|| relative(rest))
}
