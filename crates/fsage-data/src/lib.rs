//! Workloads, snapshots and run results on disk: Parquet and the .ops text form.
