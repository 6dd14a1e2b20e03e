//! Models beside the kernel of this machine. Needs root and loop devices.

mod default_runs;
mod ext4_default;
mod verify_model;
mod xfs_default;
