//! Every metric of the page in a sentence: what it is, its unit, and what is good.

use fsage_report::Term;

/// Names and meanings; docs/metrics.md says more.
const TERMS: [(&str, &str); 21] = [
    (
        "layout score",
        "Of all blocks that have a block of their file before them, the share that lies directly behind it on the \
         disk; 100 % is best, and means that no file is broken.",
    ),
    (
        "contiguous blocks",
        "Blocks that lie directly behind the block of their file before them: what the layout score counts.",
    ),
    (
        "unaged control",
        "The files that are alive at the end, copied to a fresh file system of the same kind: what the layout would be \
         without age. The distance to it is what age took.",
    ),
    (
        "utilization",
        "Used share of the data space, a reserve counted as free; layout decays faster on a fuller disk.",
    ),
    (
        "pieces per file",
        "Runs of a file that are contiguous on disk, on average over files with data; 1 is best.",
    ),
    (
        "files in several pieces",
        "Files that are not contiguous on disk as a whole; fewer are better.",
    ),
    (
        "split files",
        "Files whose first block lies in another cylinder or block group than their inode; fewer are better, and none \
         are possible where a file system has no groups.",
    ),
    (
        "files in the main group of their directory",
        "The share of files that begin in the group in which most files of their directory begin; 1 is best.",
    ),
    (
        "dynamic layout score",
        "The share of contiguous steps over all blocks when all files are read directory by directory, within files \
         and between them; 100 % is best. It approximates what a disk is asked for by a backup.",
    ),
    (
        "files right behind the one before",
        "Of two files that follow each other in a directory, how often the second begins right behind the end of the \
         first; 1 is best (also called adjacency).",
    ),
    (
        "median distance to the next file",
        "Bytes from the end of a file to the start of the next one of its directory, in either direction; less is \
         better.",
    ),
    (
        "free runs",
        "Maximal runs of free space: the fewer they are for the same free bytes, the better large files can be placed.",
    ),
    (
        "longest run",
        "The longest run of free space in bytes: no file can have a longer piece.",
    ),
    (
        "room for 64 KiB, 1 MiB, 64 MiB",
        "How many extents of that length could still be placed, over all runs of free space; more are better, and 0 \
         means that a file of that size cannot lie in one piece.",
    ),
    (
        "operations done and not done",
        "What became of the operations of the workload: what a file system had no room for is skipped and counted, and \
         the run goes on.",
    ),
    (
        "aged, control, empty",
        "What a file system went through before it was benchmarked: the workload; a copy of the files that the \
         workload leaves; nothing.",
    ),
    (
        "aged / control",
        "Throughput of the aged file system as a multiple of that of its unaged control, repetition by repetition; \
         below 1 the aged one is slower.",
    ),
    (
        "MB/s, files/s",
        "Megabytes of 1,000,000 bytes, or files where no bytes are moved, in a second; more are better.",
    ),
    (
        "spread",
        "The interval in which the median lies with at least 95 % confidence; of fewer than six repetitions, and over \
         seeds, the smallest and the largest value.",
    ),
    (
        "origin",
        "Where an operation of the workload comes from: a trace, the comparison of snapshots, a generator.",
    ),
    (
        "exact and guessed times",
        "How well the time of an operation is known, from exact over bounded by evidence to random; what is guessed is \
         said, so that nobody takes it for history.",
    ),
];

/// All terms.
pub fn terms() -> Vec<Term> {
    let terms = TERMS.iter().map(|(name, meaning)| Term {
        name: (*name).to_owned(),
        meaning: (*meaning).to_owned(),
    });
    terms.collect()
}
