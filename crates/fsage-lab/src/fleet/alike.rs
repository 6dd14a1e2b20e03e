//! Which hosts are alike: no two hosts of a group differ by more than a step in any trait.
//!
//! Hosts are taken in order of their names. Each joins the group whose farthest member is nearest, if no member is
//! farther than asked for; otherwise it begins a new one. The distance of two hosts is the largest of their
//! differences, each in steps of its trait. So a group says something that can be checked, and the same hosts give the
//! same groups.

use super::tables::Facts;
use serde::Serialize;

/// Something that hosts are compared by.
pub struct Trait {
    /// Its name.
    pub name: &'static str,
    /// The difference up to which two hosts are alike: of values, or where `is_factor` of their ratio.
    pub step: f64,
    /// Whether values are compared by their ratio.
    pub is_factor: bool,
    /// Where it is known.
    value: fn(&Facts) -> Option<f64>,
}

/// A share below which nobody tells churn from none.
const LEAST_CHURN: f64 = 1e-6;

/// All traits.
pub static TRAITS: [Trait; 5] = [
    Trait {
        name: "layout_score",
        step: 0.1,
        is_factor: false,
        value: |host| host.value("layout_score"),
    },
    Trait {
        name: "layout_score_per_day",
        step: 0.001,
        is_factor: false,
        value: |host| host.value("layout_score_per_day"),
    },
    Trait {
        name: "used_share",
        step: 0.1,
        is_factor: false,
        value: |host| host.value("used_share"),
    },
    Trait {
        name: "mean_file_bytes",
        step: 2.0,
        is_factor: true,
        value: |host| {
            Some(host.value("file_bytes")? / host.value("files").filter(|&files| files > 0.0)?)
        },
    },
    Trait {
        name: "changed_share_per_day",
        step: 4.0,
        is_factor: true,
        value: |host| host.value("changed_share_per_day"),
    },
];

impl Trait {
    /// Its value of a host; `None` where it is not known.
    pub fn of(&self, host: &Facts) -> Option<f64> {
        (self.value)(host)
    }

    /// A value in steps.
    fn in_steps(&self, value: f64) -> f64 {
        if self.is_factor {
            value.max(LEAST_CHURN).log2() / self.step.log2()
        } else {
            value / self.step
        }
    }
}

/// Hosts that are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Its number, from 1.
    pub group: u64,
    /// Its hosts, by name.
    pub hosts: Vec<String>,
    /// The median of each trait, in the order of [`TRAITS`]; `None` where it is not known.
    pub medians: [Option<f64>; TRAITS.len()],
}

type Place = [Option<f64>; TRAITS.len()];

/// In steps; a trait that is known of one of the two alone sets them apart.
fn distance(a: &Place, b: &Place) -> f64 {
    let of_each = a.iter().zip(b).map(|(a, b)| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs(),
        (None, None) => 0.0,
        _ => f64::INFINITY,
    });
    of_each.fold(0.0, f64::max)
}

/// Puts hosts into groups, the largest first, and tells each its own.
pub(super) fn group(hosts: &mut [Facts], limit: f64) -> Vec<Group> {
    let values: Vec<Place> = hosts
        .iter()
        .map(|host| std::array::from_fn(|at| TRAITS[at].of(host)))
        .collect();
    let places: Vec<Place> = values
        .iter()
        .map(|values| std::array::from_fn(|at| values[at].map(|value| TRAITS[at].in_steps(value))))
        .collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (host, place) in places.iter().enumerate() {
        let farthest = |group: &[usize]| {
            let distances = group.iter().map(|&member| distance(&places[member], place));
            distances.fold(0.0, f64::max)
        };
        let distances = groups.iter().map(|group| farthest(group)).enumerate();
        let nearest = distances.min_by(|(_, a), (_, b)| a.total_cmp(b));
        match nearest.filter(|&(_, distance)| distance <= limit) {
            Some((at, _)) => groups[at].push(host),
            None => groups.push(vec![host]),
        }
    }
    // Stable: groups of one size stay in the order of their first hosts.
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let numbered = (1..).zip(groups);
    numbered
        .map(|(number, members)| {
            for &member in &members {
                hosts[member].group = number;
            }
            Group {
                group: number,
                hosts: members
                    .iter()
                    .map(|&member| hosts[member].host.clone())
                    .collect(),
                medians: std::array::from_fn(|at| {
                    median(members.iter().filter_map(|&m| values[m][at]).collect())
                }),
            }
        })
        .collect()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (
        values.get((values.len().max(1) - 1) / 2)?,
        values.get(values.len() / 2)?,
    );
    Some(f64::midpoint(*low, *high))
}

#[cfg(test)]
mod tests {
    use super::super::tables::Known;
    use super::*;

    fn host(name: &str, score: f64, files: f64) -> Facts {
        let value = |metric: &str, value| Known {
            metric: metric.to_owned(),
            value,
            unit: String::new(),
        };
        Facts {
            host: name.to_owned(),
            values: vec![
                value("layout_score", score),
                value("files", files),
                value("file_bytes", 1000.0 * 4096.0),
            ],
            ..Facts::default()
        }
    }

    /// Scores 0.95, 0.90, 0.84: a and b are half a step apart, b and c 0.6, a and c 1.1. The files of d are a quarter
    /// as many, so four times as long: two steps.
    #[test]
    fn no_two_hosts_of_a_group_are_farther_than_a_step() {
        let all = || {
            [
                host("a", 0.95, 1000.0),
                host("b", 0.90, 1000.0),
                host("c", 0.84, 1000.0),
                host("d", 0.90, 250.0),
            ]
        };
        let named = |groups: &[Group]| {
            groups
                .iter()
                .map(|group| group.hosts.join(" "))
                .collect::<Vec<_>>()
        };
        let mut hosts = all();
        let groups = group(&mut hosts, 1.0);
        assert_eq!(named(&groups), ["a b", "c", "d"]);
        assert_eq!(hosts.map(|host| host.group), [1, 1, 2, 3]);
        assert_eq!(
            groups[0].medians,
            [Some(0.925), None, None, Some(4096.0), None]
        );
        assert_eq!(named(&group(&mut all(), 1.2)), ["a b c", "d"]);
        assert_eq!(named(&group(&mut all(), 2.0)), ["a b c d"]);
        let mut unknown = [
            host("a", 0.9, 10.0),
            Facts {
                values: Vec::new(),
                ..host("b", 0.9, 10.0)
            },
        ];
        assert_eq!(
            named(&group(&mut unknown, 1e9)),
            ["a", "b"],
            "nothing is known of b"
        );
        assert_eq!(median(vec![4.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }
}
