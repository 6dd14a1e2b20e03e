//! All that `--on` may name, described: models, layers over them, real file systems.

use fsage_core::keys::{Choice, Key};
use fsage_models::MODELS;
use fsage_models::registry::{Entry, LAYERS, Layer};
use fsage_real::REAL_KINDS;

/// What a target, or a part of one, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A simulated file system.
    Model,
    /// Something that lies over a simulated file system.
    Layer,
    /// A real file system.
    Real,
}

impl Sort {
    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Sort::Model => "model",
            Sort::Layer => "layer",
            Sort::Real => "real",
        }
    }
}

/// What help says of a target.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its name: the kind of `--on KIND:...`, of a layer its key.
    pub name: &'static str,
    /// What it is.
    pub sort: Sort,
    /// The same in a line.
    pub summary: &'static str,
    /// What stands before its keys, if something does.
    pub place: Option<&'static str>,
    /// Its keys, in the order of the documentation.
    pub keys: Vec<&'static Key>,
    /// Its policies, if it has a choice of them.
    pub policies: Vec<Choice>,
    /// What `--trace` prints of it, if it does.
    pub microscope: Option<&'static str>,
    /// Of a model the layers that may lie over it, of a layer the models over which it may lie.
    pub related: Vec<&'static str>,
    /// Options of the original that a model does not have, each with why and what has it.
    pub lacks: &'static [(&'static str, &'static str)],
    /// Whole targets, as examples.
    pub examples: Vec<String>,
}

/// Everything that `--on` may name, in the order of help and documentation.
pub fn catalogue() -> Vec<Described> {
    let models = MODELS.iter().map(|entry| model(entry));
    let layers = LAYERS.iter().map(|layer| of_layer(layer));
    models.chain(layers).chain(real()).collect()
}

fn model(entry: &'static Entry) -> Described {
    let layers = LAYERS.iter();
    let over = layers.filter(|layer| layer.models().any(|model| model.name == entry.name));
    let with_keys = entry.examples.iter();
    let with_keys = with_keys.map(|keys| format!("{}:{keys}", entry.name));
    Described {
        name: entry.name,
        sort: Sort::Model,
        summary: entry.summary,
        place: None,
        keys: entry.keys.iter().collect(),
        policies: entry.policies(),
        microscope: entry.microscope.map(|microscope| microscope.prints),
        related: over.map(|layer| layer.name).collect(),
        lacks: entry.lacks,
        examples: [entry.name.to_owned()]
            .into_iter()
            .chain(with_keys)
            .collect(),
    }
}

fn of_layer(layer: &'static Layer) -> Described {
    Described {
        name: layer.name,
        sort: Sort::Layer,
        summary: layer.summary,
        place: None,
        keys: layer.keys.iter().collect(),
        policies: Vec::new(),
        microscope: None,
        related: layer.models().map(|entry| entry.name).collect(),
        lacks: &[],
        examples: layer.examples.iter().map(|&text| text.to_owned()).collect(),
    }
}

fn real() -> impl Iterator<Item = Described> {
    REAL_KINDS.iter().map(|kind| Described {
        name: kind.name,
        sort: Sort::Real,
        summary: kind.summary,
        place: Some(kind.place),
        keys: kind.keys().collect(),
        policies: Vec::new(),
        microscope: None,
        related: Vec::new(),
        lacks: &[],
        examples: kind.examples.iter().map(|&text| text.to_owned()).collect(),
    })
}

/// Whole targets and beginnings of them, as a shell may complete them: every kind, of each every key, and of a key
/// every word that it takes.
pub fn completions() -> Vec<String> {
    let mut all = Vec::new();
    for described in catalogue() {
        let kinds: Vec<String> = match described.sort {
            Sort::Layer => described
                .related
                .iter()
                .map(|&model| model.to_owned())
                .collect(),
            Sort::Model => vec![described.name.to_owned()],
            // What comes first is a path, or a type of file system.
            Sort::Real => {
                all.push(format!("{}:", described.name));
                continue;
            }
        };
        if described.sort == Sort::Model {
            all.push(described.name.to_owned());
        }
        for (kind, key) in kinds
            .iter()
            .flat_map(|kind| described.keys.iter().map(move |key| (kind, key)))
        {
            let words = key.completions();
            if words.is_empty() {
                all.push(format!("{kind}:{}=", key.name));
            }
            all.extend(
                words
                    .iter()
                    .map(|word| format!("{kind}:{}={word}", key.name)),
            );
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Target, TargetSpec, kinds};

    #[test]
    fn every_example_names_a_target_that_can_be_made() {
        for described in catalogue() {
            assert!(!described.examples.is_empty(), "{}", described.name);
            for example in &described.examples {
                let spec = TargetSpec::parse(example).expect(example);
                if spec.real().expect(example).is_none() {
                    Target::can_be_made(&spec).expect(example);
                }
            }
        }
    }

    #[test]
    fn everything_that_is_a_kind_is_described_once() {
        let all = catalogue();
        let of = |sort| all.iter().filter(move |described| described.sort == sort);
        let names: Vec<&str> = of(Sort::Model)
            .chain(of(Sort::Real))
            .map(|d| d.name)
            .collect();
        let kinds: Vec<&str> = kinds().map(|(name, _)| name).collect();
        assert_eq!(names, kinds);
    }

    #[test]
    fn what_is_completed_can_be_parsed() {
        let all = completions();
        for text in [
            "ffs",
            "ffs:policy=realloc",
            "ext3:rearrange=files",
            "ffs:ra=",
            "loop:",
        ] {
            assert!(all.iter().any(|known| known == text), "{text}");
        }
        for text in all.iter().filter(|text| !text.ends_with([':', '='])) {
            assert!(TargetSpec::parse(text).is_ok(), "{text}");
        }
    }
}
