//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod account;
mod clones;
mod from_snapshots;
mod futures;
mod geriatrix;
mod herrin;
mod home;
mod packages;
mod presets;
mod profile;
mod replay;
mod server;
mod short_lived;
mod staged;
mod transform;
