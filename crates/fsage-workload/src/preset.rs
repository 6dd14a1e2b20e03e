//! Presets: workloads by name, each a TOML file that says which generator makes it, with which parameters, and where
//! each value comes from. A file of one's own has the same form.

use crate::herrin::Herrin;
use crate::home::Home;
use crate::profile::Profile;
use crate::server::Server;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use toml::{Table, Value};

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../presets/workloads/", $name, ".toml")))),*]
    };
}

/// Name and TOML of every preset.
pub const PRESETS: [(&str, &str); 20] = embedded!(
    "home-1996",
    "home-1997",
    "cnews",
    "glan5",
    "staff",
    "usr4",
    "usr6",
    "white",
    "news-spool",
    "mail-spool",
    "maildir",
    "build-cache",
    "container-images",
    "database-files",
    "mixed-growth",
    "fileserver",
    "varmail",
    "ganger50",
    "ganger70",
    "ganger90",
);

/// Other names: what `home-1996` was called first.
pub const ALIASES: [(&str, &str); 1] = [("smith96", "home-1996")];

/// A workload that can be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// What it is, in one line.
    pub summary: String,
    /// What the header of the workload says of its source.
    pub source: String,
    /// What makes it.
    pub generator: Generator,
}

/// What makes a workload: the table of the TOML file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Generator {
    /// `[home]`.
    Home(Box<Home>),
    /// `[profile]`.
    Profile(Box<Profile>),
    /// `[herrin]`.
    Herrin(Herrin),
    /// `[server]`.
    Server(Server),
}

/// The file as it stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    summary: String,
    source: String,
    home: Option<Home>,
    profile: Option<Profile>,
    herrin: Option<Herrin>,
    server: Option<Server>,
}

/// What is wrong with a TOML file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {message}")]
pub struct PresetError {
    /// The file, or the name of the preset.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong; for an unknown key the known ones.
    pub message: String,
}

impl Preset {
    /// The preset of that name.
    pub fn named(name: &str) -> Option<Preset> {
        let text = toml_of(name)?;
        Some(Preset::parse(name, text).expect("a preset that a test reads"))
    }

    /// Reads TOML; `file` is its name in messages.
    ///
    /// # Errors
    /// What is not TOML, an unknown key or one that is missing, a value out of range: with the line.
    pub fn parse(file: &str, text: &str) -> Result<Preset, PresetError> {
        let wrong = |line: usize, message: String| PresetError {
            file: file.to_owned(),
            line,
            message,
        };
        let read: File = toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            let line = 1 + text.bytes().take(at).filter(|&b| b == b'\n').count();
            wrong(line, e.message().replace('\n', "; "))
        })?;
        let line_of = |table: &str| {
            let header = format!("[{table}]");
            let at = text.lines().position(|l| l.trim() == header);
            at.map_or(1, |i| i + 1)
        };
        read.checked(&|table, message| wrong(table.map_or(1, line_of), message))
    }

    /// The same with some values of its table in place of those of the text: by key, `mix.turnover` or a table in a
    /// table. Text stands for what it says in TOML, unless the text of the file has a text there.
    ///
    /// # Errors
    /// As for [`parse`](Preset::parse); what is wrong with a value that was set has the line of the table.
    pub fn parse_with(file: &str, text: &str, set: &Table) -> Result<Preset, PresetError> {
        let preset = Preset::parse(file, text)?;
        if set.is_empty() {
            return Ok(preset);
        }
        let name = preset.generator.table();
        let wrong = |message: &str| PresetError {
            file: file.to_owned(),
            line: 1 + text
                .lines()
                .position(|l| l.trim() == format!("[{name}]"))
                .unwrap_or(0),
            message: format!(
                "with what is set in [{name}]: {}",
                message.replace('\n', "; ")
            ),
        };
        let mut whole: Table = toml::from_str(text).map_err(|e| wrong(e.message()))?;
        if let Some(table) = whole.get_mut(name).and_then(Value::as_table_mut) {
            put_all(table, set);
        }
        let read: File = whole
            .try_into()
            .map_err(|e: toml::de::Error| wrong(e.to_string().trim()))?;
        read.checked(&|_, message| wrong(&message))
    }
}

impl File {
    /// The preset, if its values fit together; `wrong` is told in which table they do not.
    fn checked(
        self,
        wrong: &dyn Fn(Option<&str>, String) -> PresetError,
    ) -> Result<Preset, PresetError> {
        let mut generators = Vec::new();
        generators.extend(self.home.map(|h| Generator::Home(Box::new(h))));
        generators.extend(self.profile.map(|p| Generator::Profile(Box::new(p))));
        generators.extend(self.herrin.map(Generator::Herrin));
        generators.extend(self.server.map(Generator::Server));
        let [generator] = <[Generator; 1]>::try_from(generators).map_err(|all| {
            let message = format!(
                "expected one of the tables [home], [profile], [herrin], [server], found {}",
                all.len()
            );
            wrong(None, message)
        })?;
        if self.summary.lines().count() != 1 {
            return Err(wrong(None, "summary: expected one line".into()));
        }
        generator
            .check()
            .map_err(|message| wrong(Some(generator.table()), message))?;
        Ok(Preset {
            summary: self.summary,
            source: self.source,
            generator,
        })
    }
}

/// Sets values in a table, by key.
fn put_all(table: &mut Table, set: &Table) {
    for (key, value) in set {
        put(table, key, value);
    }
}

fn put(table: &mut Table, key: &str, value: &Value) {
    if let Some((outer, rest)) = key.split_once('.') {
        let inner = table
            .entry(outer)
            .or_insert_with(|| Value::Table(Table::new()));
        match inner {
            Value::Table(inner) => put(inner, rest, value),
            // No table, as the parser will say.
            other => *other = Value::Table(Table::from_iter([(rest.to_owned(), value.clone())])),
        }
        return;
    }
    match (table.get_mut(key), value) {
        (Some(Value::Table(inner)), Value::Table(set)) => put_all(inner, set),
        (Some(Value::String(known)), Value::String(text)) => known.clone_from(text),
        (_, Value::String(text)) => {
            let meant = format!("x = {text}").parse::<Table>().ok();
            let meant = meant.and_then(|mut table| table.remove("x"));
            table.insert(key.to_owned(), meant.unwrap_or_else(|| value.clone()));
        }
        _ => {
            table.insert(key.to_owned(), value.clone());
        }
    }
}

impl Generator {
    /// Name of its table.
    pub fn table(&self) -> &'static str {
        match self {
            Generator::Home(_) => "home",
            Generator::Profile(_) => "profile",
            Generator::Herrin(_) => "herrin",
            Generator::Server(_) => "server",
        }
    }

    /// Bytes of all files when there is most of them, by its curve; of a server's about, since it has no curve: those
    /// that it begins with, and 15 % more, which is about what appends make of the presets'.
    pub fn most_bytes(&self) -> u64 {
        match self {
            Generator::Home(home) => {
                let most = home.utilization.iter().map(|&(_, permille)| permille).max();
                (home.data_space_kb << 10) / 1000 * most.unwrap_or(0)
            }
            Generator::Profile(profile) => {
                let shares = profile.utilization.iter().map(|&(_, share)| share);
                (profile.capacity_bytes as f64 * shares.fold(0.0, f64::max)) as u64
            }
            Generator::Herrin(herrin) => {
                herrin.blocks * herrin.block_bytes / 100 * herrin.target_percent
            }
            Generator::Server(server) => {
                let files = server.files as f64 * server.preallocated;
                (files * server.mean_bytes as f64 * 1.15) as u64
            }
        }
    }

    /// Checks values and how they fit together.
    ///
    /// # Errors
    /// Says which key is wrong, and what was expected.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Generator::Home(home) => home.check(),
            Generator::Profile(profile) => profile.check().map_err(|e| e.to_string()),
            Generator::Herrin(herrin) => herrin.check(),
            Generator::Server(server) => server.check(),
        }
    }
}

/// The TOML of the preset of that name.
pub fn toml_of(name: &str) -> Option<&'static str> {
    let name = ALIASES
        .iter()
        .find(|(alias, _)| *alias == name)
        .map_or(name, |(_, name)| name);
    let found = PRESETS.iter().find(|(preset, _)| *preset == name);
    found.map(|(_, text)| *text)
}
