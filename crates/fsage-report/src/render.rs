//! From a [`Report`] to a page.

use crate::assets::{self, Assets};
use crate::drawn::Drawing;
use crate::model::{Exhibit, Report, Term};
use crate::{payload, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, context};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Files of `templates/`. Their names end in `.html`: what stands in them is escaped.
const TEMPLATES: [(&str, &str); 4] = [
    ("page.html", include_str!("../templates/page.html")),
    ("finding.html", include_str!("../templates/finding.html")),
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

/// The page: HTML that needs no other file and no network. Vega draws its charts, where the program was built with it;
/// until then, and where scripts may not run, pictures of them stand there.
///
/// # Errors
///
/// Where two sections or exhibits have the same id.
pub fn render(report: &Report) -> Result<String, RenderError> {
    render_with(report, &assets::INTERACTIVE.unwrap_or(assets::STATIC))
}

/// The same with charts that are static pictures, as a program that was built without Vega makes it.
///
/// # Errors
///
/// As for [`render`].
pub fn render_static(report: &Report) -> Result<String, RenderError> {
    render_with(report, &assets::STATIC)
}

fn render_with(report: &Report, assets: &Assets) -> Result<String, RenderError> {
    let ids = ids(report)?;
    let page = environment(&report.terms)?
        .get_template("page.html")?
        .render(context! {
            ids => Value::from(Serde(ids)),
            report => Value::from(Serde(report)),
            style => assets.style,
            scripts => Value::from(Serde(assets.scripts)),
            script_sources => script_sources(assets.scripts),
            licenses => Value::from(Serde(assets.licenses)),
            is_static => assets.is_static,
            drawings => Value::from(Serde(drawings(report))),
            payload => payload::json(report)?,
            version => env!("CARGO_PKG_VERSION"),
        })?;
    Ok(page)
}

/// Pictures of the charts that have something to show, by their ids.
fn drawings(report: &Report) -> BTreeMap<&str, Drawing> {
    let exhibits = report.sections.iter().flat_map(|section| &section.exhibits);
    let drawn = exhibits.filter_map(|exhibit| match exhibit {
        Exhibit::Chart(chart) => Some((chart.id.as_str(), chart.figure.as_ref()?.draw()?)),
        Exhibit::Table(_) => None,
    });
    drawn.collect()
}

/// What may run, for the policy of the page: its own scripts, each by its hash. Nothing else can, wherever it comes
/// from.
fn script_sources(scripts: &[&str]) -> String {
    let sources = scripts.iter().map(|script| {
        let hash = Sha256::digest(script.as_bytes());
        format!("'sha256-{}'", STANDARD.encode(hash))
    });
    sources.collect::<Vec<String>>().join(" ")
}

fn environment(terms: &[Term]) -> Result<Environment<'static>, RenderError> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(text::write);
    environment.add_filter("cell", text::cell);
    environment.add_filter("sentence", text::sentence);
    environment.add_filter("code", text::code);
    let terms = terms.to_vec();
    environment.add_function("terms_in", move |exhibit: &Value| terms_in(&terms, exhibit));
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// Metrics that the title or the description of an exhibit names, of which the reader may not know what they are.
fn terms_in(terms: &[Term], exhibit: &Value) -> Result<Value, minijinja::Error> {
    let words = |key| Ok::<_, minijinja::Error>(text::words(&exhibit.get_attr(key)?.to_string()));
    let said = [words("title")?, words("description")?];
    let is_named = |term: &&Term| {
        let name = text::words(&term.name);
        !name.is_empty()
            && said
                .iter()
                .any(|said| said.windows(name.len()).any(|some| some == name))
    };
    let named: Vec<&Term> = terms.iter().filter(is_named).take(MAX_TERMS).collect();
    Ok(Value::from(Serde(named)))
}

/// Most terms that are explained beside one exhibit.
const MAX_TERMS: usize = 3;

/// Ids of the page itself.
const OWN_IDS: [&str; 5] = ["verdict", "targets", "again", "map", "terms"];

/// Ids that the page can be linked to by.
fn ids(report: &Report) -> Result<Vec<&str>, RenderError> {
    let exhibits = report.sections.iter().flat_map(|section| {
        let ids = section.exhibits.iter().map(|exhibit| match exhibit {
            Exhibit::Chart(chart) => chart.id.as_str(),
            Exhibit::Table(sheet) => sheet.id.as_str(),
        });
        ids.chain([section.id.as_str()])
    });
    let mut ids: Vec<&str> = exhibits.chain(OWN_IDS).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(RenderError::SameId(pair[0].to_owned())),
        None => Ok(ids),
    }
}
