//! What every page carries: its own style and scripts, and Vega with its licenses where the program has it.

/// Files of `assets/`, one after the other.
macro_rules! assets {
    ($($name:literal),+ $(,)?) => {
        concat!($(include_str!(concat!("../assets/", $name)), "\n"),+)
    };
}

/// Files of Vega, which `build.rs` puts where they can be embedded from.
#[cfg(vega)]
macro_rules! vega {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

/// What a page is made of beside its report.
pub struct Assets {
    /// The style.
    pub style: &'static str,
    /// The scripts, in the order in which they run: each stands in an element of its own.
    pub scripts: &'static [&'static str],
    /// What the page contains of others, and under which license.
    pub licenses: &'static [(&'static str, &'static str)],
    /// Whether charts are pictures, and not drawn by the page.
    pub is_static: bool,
}

/// Charts that Vega draws; none where the program was built without it.
#[cfg(vega)]
pub const INTERACTIVE: Option<Assets> = Some(Assets {
    style: assets!["page.css", "map.css", "drawn.css"],
    scripts: &[
        vega!("vega.min.js"),
        vega!("vega-lite.min.js"),
        vega!("vega-embed.min.js"),
        assets!["data.js", "theme.js"],
        assets!["charts.js", "page.js"],
        assets!["map-data.js", "map.js"],
    ],
    licenses: &[
        ("Vega", vega!("vega.LICENSE")),
        ("Vega-Lite", vega!("vega-lite.LICENSE")),
        ("vega-embed", vega!("vega-embed.LICENSE")),
    ],
    is_static: false,
});

/// Charts that Vega draws; none where the program was built without it.
#[cfg(not(vega))]
pub const INTERACTIVE: Option<Assets> = None;

/// Charts that are pictures.
pub const STATIC: Assets = Assets {
    style: assets!["page.css", "map.css", "drawn.css"],
    scripts: &[
        assets!["data.js", "theme.js"],
        assets!["drawn.js", "page.js"],
        assets!["map-data.js", "map.js"],
    ],
    licenses: &[],
    is_static: true,
};
