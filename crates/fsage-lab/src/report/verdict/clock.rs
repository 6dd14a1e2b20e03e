//! When data went to disk: what a replay makes of it, and a model with a clock that is drawn.

use super::finding;
use crate::report::subject::{Group, Life, Subject};
use crate::report::words::list;
use fsage_report::{Finding, Tone};
use fsage_target::{TargetSpec, kernel_models};

/// The key of models that says when they write back, and its value where that is by time.
const REGIME: &str = "regime";
const BY_TIME: &str = "default";
/// Values for an ext4 whose blocks are found in the call itself, without delayed allocation or by `fallocate`: when
/// they go to disk is of no account.
const IN_THE_CALL: [&str; 2] = ["c", "d"];
/// The key of models that replaces the times of a workload by a pace.
const RATE: &str = "rate";
/// The key that draws what such a model leaves to chance.
const SEED: &str = "seed";

/// When the data of a target go to disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteBack {
    /// Of a model, at the end of each day.
    EndOfDay,
    /// Of a model, as by a kernel that is left alone, by the workload's clock.
    ByTime,
    /// Of a model that finds its blocks in the call itself: when they go to disk is of no account.
    InTheCall,
    /// Of a real file system, while a workload is replayed faster than it was lived.
    Replayed,
}

impl WriteBack {
    /// None where that is not known, or of no account.
    fn of(subject: &Subject) -> Option<WriteBack> {
        let spec = TargetSpec::parse(&subject.spec).ok()?;
        if spec.real().ok()?.is_some() {
            let lived = subject.lives.iter().any(|life| life.days.len() > 1);
            return lived.then_some(WriteBack::Replayed);
        }
        let by_time = spec.value(REGIME) == Some(BY_TIME);
        let in_the_call = spec
            .value(REGIME)
            .is_some_and(|regime| IN_THE_CALL.contains(&regime));
        if in_the_call {
            return Some(WriteBack::InTheCall);
        }
        if by_time && spec.has(RATE) {
            return None;
        }
        spec.is_of_today().then_some(if by_time {
            WriteBack::ByTime
        } else {
            WriteBack::EndOfDay
        })
    }
}

fn with(group: &Group, wanted: WriteBack) -> Vec<&Subject> {
    let subjects = group.subjects.iter();
    let with = subjects.filter(|subject| WriteBack::of(subject) == Some(wanted));
    with.collect()
}

fn names(subjects: &[&Subject]) -> String {
    let names: Vec<&str> = subjects
        .iter()
        .map(|subject| subject.name.as_str())
        .collect();
    list(&names)
}

/// That some targets wrote back at the end of each day and others by time, or found their blocks in the call: what they
/// differ in is that, too.
pub fn mixed(group: &Group) -> Option<Finding> {
    let (end_of_day, by_time) = (
        with(group, WriteBack::EndOfDay),
        with(group, WriteBack::ByTime),
    );
    let in_the_call = with(group, WriteBack::InTheCall);
    if end_of_day.is_empty() {
        return None;
    }
    if by_time.is_empty() {
        return (!in_the_call.is_empty()).then(|| {
            let text = format!(
                "{} {} back at the end of each day, as no kernel does that is left alone, and {} {} blocks in the call \
                 itself: most of the difference may be that. Beside {REGIME}={BY_TIME} it is one of a kernel's own.",
                names(&end_of_day),
                if end_of_day.len() == 1 { "writes" } else { "write" },
                names(&in_the_call),
                if in_the_call.len() == 1 { "finds" } else { "find" }
            );
            finding(text, Tone::Bad, "decay")
        });
    }
    let (writes, do_so) = match (end_of_day.len(), by_time.len()) {
        (1, 1) => ("writes", "does so"),
        (1, _) => ("writes", "do so"),
        (_, 1) => ("write", "does so"),
        _ => ("write", "do so"),
    };
    let text = format!(
        "{} {writes} back at the end of each day, as no kernel does that is left alone; {} {do_so} by time, as it \
         would: part of the difference is that.",
        names(&end_of_day),
        names(&by_time)
    );
    Some(finding(text, Tone::Bad, "decay"))
}

/// That all data went to disk otherwise than by a kernel that lives through these days.
pub fn findings(group: &Group) -> Vec<Finding> {
    let by_time = with(group, WriteBack::ByTime);
    let end_of_day = match by_time[..] {
        [] => end_of_day(&with(group, WriteBack::EndOfDay)),
        _ => None,
    };
    let texts =
        end_of_day
            .into_iter()
            .chain(replayed(group, &with(group, WriteBack::Replayed), &by_time));
    texts
        .map(|text| finding(text, Tone::Neutral, "decay"))
        .collect()
}

fn end_of_day(all: &[&Subject]) -> Option<String> {
    let mut kinds: Vec<&str> = Vec::new();
    for subject in all {
        let kind = subject.spec.split(':').next().unwrap_or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let first = kinds.first()?;
    let (model, writes) = match kinds.len() {
        1 => ("The model of", "writes"),
        _ => ("The models of", "write"),
    };
    Some(format!(
        "{model} {} {writes} back at the end of each day, as a kernel does that is set up so. One that is left alone \
         writes back by time too, and usually decays more: --on {first}:{REGIME}={BY_TIME}.",
        list(&kinds)
    ))
}

/// Whether a model lives at a pace instead of by the workload's clock.
fn has_pace(subject: &Subject) -> bool {
    TargetSpec::parse(&subject.spec).is_ok_and(|spec| spec.has(RATE))
}

fn replayed(group: &Group, replayed: &[&Subject], by_time: &[&Subject]) -> Option<String> {
    let first = TargetSpec::parse(&replayed.first()?.spec).ok()?;
    let model = first
        .place
        .filter(|system| kernel_models().contains(&system.as_str()));
    let model = match model {
        None => String::new(),
        Some(_) if !by_time.is_empty() => format!(
            " {} lived by the workload's clock: that is part of the difference, and {RATE}=N, the operations a second \
             of the replay, takes it away.",
            names(by_time)
        ),
        // A model that keeps the pace of the replay is what is to be taken already.
        Some(_) if group.subjects.iter().any(has_pace) => String::new(),
        Some(system) => {
            format!(" The model lives by the workload's clock: --on {system}:{REGIME}={BY_TIME}.")
        }
    };
    Some(format!(
        "{} lived these days as fast as they could be replayed, so that delayed allocation may have seen all that a \
         day wrote at once. A kernel to which they really happen writes back every 30 seconds, and usually decays \
         more, but where programs flush what they write.{model}",
        names(replayed)
    ))
}

/// That the targets are one file system with its clock drawn anew, and how far such draws are apart; none where they
/// differ in more.
pub fn one_system(group: &Group) -> Option<Finding> {
    let [first, others @ ..] = &group.subjects[..] else {
        return None;
    };
    let without_seed = |subject: &Subject| {
        let spec = TargetSpec::parse(&subject.spec).ok()?;
        Some(spec.without(SEED).to_string())
    };
    let system = without_seed(first)?;
    let is_one = |other: &Subject| without_seed(other).as_ref() == Some(&system);
    if others.is_empty() || !others.iter().all(is_one) {
        return None;
    }
    let scores: Option<Vec<f64>> = group
        .subjects
        .iter()
        .map(|subject| Some(subject.over(Life::end_score)?.mean))
        .collect();
    let scores = scores?;
    let (least, most) = scores
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), &score| {
            (least.min(score), most.max(score))
        });
    let text = format!(
        "These are {} draws of one file system, {system}: its layout score ends between {least:.3} and {most:.3}. \
         Which of them is ahead is chance; whatever is compared with it has to differ by more.",
        scores.len()
    );
    Some(finding(text, Tone::Neutral, "decay"))
}
