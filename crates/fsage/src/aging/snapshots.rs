//! Snapshots that are taken while a target ages.
//!
//! Those of a model are one series in delta form, `snapshots.parquet`. Those of a real file system are one file each in
//! the folder `snapshots`, so that those before an interruption stay; commands that take a series take the folder.
