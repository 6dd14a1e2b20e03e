//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod common;
mod ext_image_damage;
mod ext_image_features;
mod ext_image_vectors;
mod image_kit;
mod walk;
mod xfs_image;
