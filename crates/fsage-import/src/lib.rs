//! Foreign histories and traces as workloads, one file a format.
