//! What stands on a page, from top to bottom. All text is plain: the page escapes it, whatever is in it.

use crate::data::DataTable;
use crate::drawn::Figure;
use crate::map::BlockMap;
use serde::Serialize;

/// A page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// What was compared, in a few words.
    pub title: String,
    /// Below it: workload, days, when and by which version.
    pub subtitle: String,
    /// The answer first.
    pub verdict: Vec<Finding>,
    /// The rest of the answer, where it is long: behind a line to press, so that the first picture is near.
    pub folded: Folded,
    /// What is not there, and how to get it: a failed target, no benchmark, an interrupted run.
    pub missing: Vec<String>,
    /// Why the answer is not to be trusted, or less so.
    pub doubts: Vec<String>,
    /// The targets, in the order of their colors.
    pub targets: Vec<Target>,
    /// What was run: workload, its generator and seed, operations, host.
    pub facts: Vec<Fact>,
    /// How to run it again.
    pub commands: Vec<Command>,
    /// Charts and tables.
    pub sections: Vec<Section>,
    /// The disk of each target, day by day; none where no run kept one.
    pub maps: Vec<BlockMap>,
    /// Every metric, in a sentence.
    pub terms: Vec<Term>,
}

/// Sentences behind a line to press.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Folded {
    /// What the line says they are.
    pub title: String,
    /// The sentences; nothing is drawn without any.
    pub findings: Vec<Finding>,
}

/// A file system or policy that was compared.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Target {
    /// Short name, unlike that of any other target of the page.
    pub name: String,
    /// The whole specification.
    pub spec: String,
    /// A model, a real file system, and what is known of it.
    pub facts: Vec<Fact>,
}

/// A label and what stands beside it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Fact {
    /// What it is.
    pub label: String,
    /// Its value, with its unit.
    pub value: String,
}

/// A command to type, and what for.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Command {
    /// What it does.
    pub what: String,
    /// The line to type.
    pub line: String,
}

/// How a sentence of the verdict is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Good news.
    Good,
    /// Neither.
    #[default]
    Neutral,
    /// Bad news.
    Bad,
}

/// A sentence of the verdict.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Finding {
    /// The sentence.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// Id of the section that shows why.
    pub section: Option<String>,
}

/// A part of the page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// Its anchor: letters, digits and hyphens.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What one learns here, in a sentence or two.
    pub lead: String,
    /// Its charts and tables.
    pub exhibits: Vec<Exhibit>,
}

/// A chart or a table.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Exhibit {
    /// A chart.
    Chart(Chart),
    /// A table.
    Table(Sheet),
}

/// A chart with the data behind it. The constructors are in [`charts`](crate::charts). Templates see its texts only.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Chart {
    /// Name of its download and of its anchor: letters, digits and hyphens.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows, for those who do not see it and as a caption.
    pub description: String,
    /// Vega-Lite, without the data; its marks use the columns of `data` by their names.
    #[serde(skip)]
    pub spec: serde_json::Value,
    /// The data.
    #[serde(skip)]
    pub data: DataTable,
    /// What a static picture is drawn from.
    #[serde(skip)]
    pub(crate) figure: Option<Box<Figure>>,
}

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sheet {
    /// Name of its download and of its anchor.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it says.
    pub description: String,
    /// Its cells; numbers stand to the right.
    pub data: DataTable,
}

/// A metric and what it means.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Term {
    /// Its name.
    pub name: String,
    /// One sentence, with the unit and what is good.
    pub meaning: String,
}
