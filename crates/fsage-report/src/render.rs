//! From a [`Report`] to a page.

use crate::model::{Exhibit, Report};
use crate::{assets, payload, text};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, context};

/// Files of `templates/`. Their names end in `.html`: what stands in them is escaped.
const TEMPLATES: [(&str, &str); 3] = [
    ("page.html", include_str!("../templates/page.html")),
    ("exhibits.html", include_str!("../templates/exhibits.html")),
    ("map.html", include_str!("../templates/map.html")),
];

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// Two parts of the page have the same name, so that neither could be linked to.
    #[error("two parts of the report have the id '{0}': each needs its own")]
    SameId(String),
    /// A template of this crate is wrong.
    #[error("a template of the report is wrong: {0}")]
    Template(#[from] minijinja::Error),
    /// A specification of a chart cannot be written as JSON.
    #[error("the data of the report cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The page: HTML that needs no other file and no network.
///
/// # Errors
///
/// Where two sections or exhibits have the same id.
pub fn render(report: &Report) -> Result<String, RenderError> {
    check_ids(report)?;
    let page = environment()?.get_template("page.html")?.render(context! {
        report => Value::from(Serde(report)),
        style => assets::STYLE,
        scripts => assets::SCRIPTS,
        licenses => assets::LICENSES,
        payload => payload::json(report)?,
        version => env!("CARGO_PKG_VERSION"),
    })?;
    Ok(page)
}

fn environment() -> Result<Environment<'static>, RenderError> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(text::write);
    environment.add_filter("cell", text::cell);
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// Ids of the page itself.
const OWN_IDS: [&str; 5] = ["verdict", "targets", "again", "map", "terms"];

fn check_ids(report: &Report) -> Result<(), RenderError> {
    let exhibits = report.sections.iter().flat_map(|section| {
        let ids = section.exhibits.iter().map(|exhibit| match exhibit {
            Exhibit::Chart(chart) => chart.id.as_str(),
            Exhibit::Table(sheet) => sheet.id.as_str(),
        });
        ids.chain([section.id.as_str()])
    });
    let mut ids: Vec<&str> = exhibits.chain(OWN_IDS).collect();
    ids.sort_unstable();
    let same = ids.windows(2).find(|pair| pair[0] == pair[1]);
    same.map_or(Ok(()), |pair| Err(RenderError::SameId(pair[0].to_owned())))
}
