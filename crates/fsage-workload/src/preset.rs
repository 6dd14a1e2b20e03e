//! Presets: workloads by name, each a TOML file that says which generator makes it, with which parameters, and where
//! each value comes from. A file of one's own has the same form.

use crate::herrin::Herrin;
use crate::home::Home;
use crate::profile::Profile;
use crate::server::Server;
use serde::{Deserialize, Serialize};
use thiserror::Error;

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../presets/workloads/", $name, ".toml")))),*]
    };
}

/// Name and TOML of every preset.
pub const PRESETS: [(&str, &str); 19] = embedded!(
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
        let mut generators = Vec::new();
        generators.extend(read.home.map(|h| Generator::Home(Box::new(h))));
        generators.extend(read.profile.map(|p| Generator::Profile(Box::new(p))));
        generators.extend(read.herrin.map(Generator::Herrin));
        generators.extend(read.server.map(Generator::Server));
        let [generator] = <[Generator; 1]>::try_from(generators).map_err(|all| {
            let message = format!(
                "expected one of the tables [home], [profile], [herrin], [server], found {}",
                all.len()
            );
            wrong(1, message)
        })?;
        if read.summary.lines().count() != 1 {
            return Err(wrong(1, "summary: expected one line".into()));
        }
        generator
            .check()
            .map_err(|message| wrong(line_of(generator.table()), message))?;
        Ok(Preset {
            summary: read.summary,
            source: read.source,
            generator,
        })
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
