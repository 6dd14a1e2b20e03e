//! What every page carries: its own style and scripts, and Vega with its licenses.

/// Files of `assets/`, one after the other.
macro_rules! assets {
    ($($name:literal),+ $(,)?) => {
        concat!($(include_str!(concat!("../assets/", $name)), "\n"),+)
    };
}

/// Files of `vendor/`, which `scripts/vega.sh` puts there.
macro_rules! vendor {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/vendor/", $name))
    };
}

/// The style.
pub const STYLE: &str = assets!["page.css", "map.css"];

/// The scripts, in the order in which they run: each stands in an element of its own.
pub const SCRIPTS: [&str; 6] = [
    vendor!("vega.min.js"),
    vendor!("vega-lite.min.js"),
    vendor!("vega-embed.min.js"),
    assets!["data.js", "theme.js"],
    assets!["charts.js", "page.js"],
    assets!["map-data.js", "map.js"],
];

/// What the page contains of others, and under which license.
pub const LICENSES: [(&str, &str); 3] = [
    ("Vega", vendor!("vega.LICENSE")),
    ("Vega-Lite", vendor!("vega-lite.LICENSE")),
    ("vega-embed", vendor!("vega-embed.LICENSE")),
];
