//! What there is to choose from, as JSON: for `fsage targets --json`, and for other languages.

use fsage_core::keys::{Key, Unset};
use fsage_metrics::METRICS;
use fsage_target::catalogue::{Described, catalogue};
use serde_json::{Value, json};

/// All that a workload can be replayed on, with the keys of each.
pub fn targets() -> Vec<Value> {
    catalogue().iter().map(target).collect()
}

/// All metrics, in the order of their columns.
pub fn metrics() -> Vec<Value> {
    let metrics = METRICS.iter().map(|metric| {
        json!({
            "name": metric.id,
            "title": metric.title,
            "unit": metric.unit.name(),
            "better": metric.better.name(),
            "section": metric.section.title(),
            "has_control": metric.has_control,
            "ratio": metric.ratio,
            "doc": metric.doc,
        })
    });
    metrics.collect()
}

/// A target as JSON.
pub fn target(described: &Described) -> Value {
    let policies = described.policies.iter();
    let policies = policies.map(|policy| json!({ "name": policy.name, "summary": policy.summary }));
    json!({
        "name": described.name,
        "is": described.sort.as_str(),
        "summary": described.summary,
        "place": described.place,
        "keys": described.keys.iter().map(|key| key_as_json(key)).collect::<Vec<_>>(),
        "policies": policies.collect::<Vec<_>>(),
        "related": described.related,
        "microscope": described.microscope,
        "examples": described.examples,
    })
}

fn key_as_json(key: &Key) -> Value {
    let (default, rule) = match key.unset {
        Unset::Value(value) => (Some(value), None),
        Unset::Rule(rule) => (None, Some(plain(rule))),
    };
    let otherwise = key
        .otherwise
        .map(|(key, value, default)| json!({ "key": key, "value": value, "default": default }));
    json!({
        "name": key.name,
        "type": key.type_name(),
        "unit": key.unit(),
        "words": key.completions(),
        "least": key.range.map(|(least, _)| least),
        "most": key.range.map(|(_, most)| most),
        "default": default,
        "default_rule": rule,
        "default_where": otherwise,
        "doc": plain(key.doc),
    })
}

/// Without the marks of code that the documentation has.
pub fn plain(text: &str) -> String {
    text.replace('`', "")
}
