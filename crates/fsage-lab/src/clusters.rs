//! Targets whose layout scores do not compare since one of them gives space in clusters of several blocks.

use fsage_core::size::human;
use fsage_target::TargetSpec;

/// What is to be said where some targets, each a name and its specification, have clusters and others have none, or
/// others. Blocks of a cluster follow each other whatever the allocator does.
pub fn warning<'a>(targets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let known = targets.into_iter().filter_map(|(name, spec)| {
        let bytes = TargetSpec::parse(spec).ok()?.cluster_bytes();
        Some((name, bytes.unwrap_or(0)))
    });
    let known: Vec<(&str, u64)> = known.collect();
    let (most, large) = known.iter().max_by_key(|(_, bytes)| *bytes)?;
    let (least, small) = known.iter().min_by_key(|(_, bytes)| *bytes)?;
    let size = |bytes: u64| human(bytes).replace(".0 ", " ");
    let other = match *small {
        0 => "none".to_owned(),
        bytes => format!("such of {}", size(bytes)),
    };
    (large > small).then(|| {
        format!(
            "{most} has clusters of {} (bigalloc), {least} {other}: blocks of a cluster follow each other whatever the \
             allocator does, which raises the layout score. Pieces per file compare, layout scores do not.",
            size(*large)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(specs: &[&str]) -> Option<String> {
        warning(specs.iter().map(|spec| (*spec, *spec)))
    }

    #[test]
    fn clusters_beside_none_or_others_are_said() {
        let plain = "loop:ext4,size=1G";
        let clusters = "loop:ext4,mkfs=-O bigalloc -C 64K";
        let text = said(&[plain, clusters, "xfs"]).expect("a warning");
        assert!(
            text.starts_with(&format!(
                "{clusters} has clusters of 64 KiB (bigalloc), {plain} none: blocks of"
            )),
            "{text}"
        );
        let others = "loop:ext4,mkfs=\"-C 16384 -O extent,bigalloc\"";
        let text = said(&[clusters, others]).expect("a warning");
        assert!(text.contains("such of 16 KiB"), "{text}");
        // The same by another way to write it.
        assert_eq!(said(&[clusters, "loop:ext4,mkfs=-Obigalloc -C65536"]), None);
        assert_eq!(said(&[clusters, "loop:ext4,mkfs=-O bigalloc"]), None);
        assert_eq!(said(&[plain, "loop:ext4,mkfs=-O ^bigalloc", "ffs"]), None);
        assert_eq!(said(&[]), None);
    }
}
