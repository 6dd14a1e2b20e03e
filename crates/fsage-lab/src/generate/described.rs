//! What every source can be told, for languages that make calls of it.

use super::call;
use clap::{Arg, Command};
use serde::Serialize;
use serde_json::Value;

/// A source of workloads.
#[derive(Clone, Debug, Serialize)]
pub struct DescribedSource {
    /// Its name: of the verb, and of the key in an experiment.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// What it can be told, in the order of its struct.
    pub options: Vec<DescribedOption>,
}

/// An option of a source.
#[derive(Clone, Debug, Serialize)]
pub struct DescribedOption {
    /// Its key in an experiment.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// It must be given, and on the command line stands without its name.
    pub is_required: bool,
    /// What holds without it; an object for a table of further options.
    pub default: Value,
    /// The words that it takes, if it takes only some.
    pub words: Vec<String>,
}

/// All sources, as the command line and the file of an experiment have them.
///
/// # Panics
/// The command line of a source does not take its own arguments.
pub fn described() -> Vec<DescribedSource> {
    let command = call::command();
    command.get_subcommands().map(source).collect()
}

fn source(command: &Command) -> DescribedSource {
    let name = command.get_name().to_owned();
    let positionals = command.get_positionals().map(|_| "x".to_owned());
    let words: Vec<String> = [name.clone()].into_iter().chain(positionals).collect();
    let made = call::source(&words).expect("a call with nothing but what must be given");
    let made = serde_json::to_value(made).expect("options have names");
    let table = made[&name].as_object().cloned().unwrap_or_default();
    let arg = |key: &str| command.get_arguments().find(|arg| arg.get_id() == key);
    let options = table
        .into_iter()
        .map(|(key, default)| option(key.clone(), arg(&key), default));
    DescribedSource {
        summary: command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default(),
        options: options.collect(),
        name,
    }
}

fn option(name: String, arg: Option<&Arg>, default: Value) -> DescribedOption {
    let is_required = arg.is_some_and(Arg::is_positional);
    let words = arg.map(Arg::get_possible_values).unwrap_or_default();
    let is_word = |arg: &Arg| arg.get_action().takes_values();
    DescribedOption {
        doc: arg
            .and_then(Arg::get_help)
            .map(ToString::to_string)
            .unwrap_or_default(),
        words: if arg.is_some_and(is_word) {
            words
                .iter()
                .map(|word| word.get_name().to_owned())
                .collect()
        } else {
            Vec::new()
        },
        default: if is_required { Value::Null } else { default },
        name,
        is_required,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_says_what_it_can_be_told() {
        let sources = described();
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "snapshots",
                "git",
                "strace",
                "nfsdump",
                "oplog",
                "playback",
                "profile"
            ]
        );
        let of = |source: &str, option: &str| {
            let source = sources.iter().find(|s| s.name == source).expect(source);
            source
                .options
                .iter()
                .find(|o| o.name == option)
                .cloned()
                .expect(option)
        };
        assert!(of("git", "repo").is_required);
        assert_eq!(of("git", "clones").default, 1);
        assert_eq!(of("git", "view").words, ["commit", "day"]);
        assert!(of("strace", "trace").default.is_object());
        assert_eq!(of("profile", "utilization").default, Value::Null);
        for source in &sources {
            assert!(!source.summary.is_empty(), "{}", source.name);
            for option in source
                .options
                .iter()
                .filter(|option| !option.default.is_object())
            {
                assert!(!option.doc.is_empty(), "{} {}", source.name, option.name);
            }
        }
    }
}
