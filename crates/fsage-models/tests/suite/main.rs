//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod against_reference;
mod cffs;
mod cffs_against_reference;
mod cffs_crash;
mod cffs_image;
mod cffs_properties;
mod cffs_reference;
mod checked_scripts;
mod conformance;
mod crash;
mod ext2_vectors;
mod ext3_conformance;
mod ext3_io;
mod ext4_mkfs;
mod ext4_vectors;
mod io;
mod lfs;
mod lfs_cleaner;
mod lfs_recovery;
mod lfs_vectors;
mod rearrange;
mod reference;
mod reference_vectors;
mod shortfall;
mod steps;
mod told;
