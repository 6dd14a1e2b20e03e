//! What a layout is worth: one file a metric.
