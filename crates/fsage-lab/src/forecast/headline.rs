//! What those read who read one sentence: what breaks first, and what would help most against that.

use super::answer::Answer;
use super::{Forecast, NO_GROWTH, a_day};
use crate::report::by_value::sentence_case;
use crate::report::words::{counted, list};

impl Forecast {
    /// The answer in a sentence: what breaks first, and what is broken already. Of a past that has filled up and grows
    /// no more, what comes if it stays so, and what if it grew again.
    pub fn in_short(&self) -> String {
        let already = self.answers.iter().filter(|answer| answer.already);
        let already: Vec<&str> = already.map(|answer| answer.limit.text.as_str()).collect();
        let (next, other, behind) = if already.is_empty() {
            ("first", "no limit", String::new())
        } else {
            let behind = format!(" Crossed already: {}.", already.join(", "));
            ("next", "no other limit", behind)
        };
        match self.first_crossed().map(|place| &self.answers[place]) {
            Some(answer) => {
                let ended = self.observed.later_growth().filter(|growth| *growth <= 0.0);
                // Said once of all of them.
                let when = |answer: &Answer| match (&answer.by_lives, ended) {
                    (Some(by_lives), Some(_)) => by_lives.clone(),
                    _ => answer.when().to_owned(),
                };
                let lead = ended.map_or_else(|| "In short,".to_owned(), |now| self.stays(now));
                let open = self.answers.iter().filter(|other| !other.already);
                let mut outages = open.filter(|other| other.limit.is_of_failures());
                // Whatever comes first: that is when work stops.
                let outage = outages
                    .find(|other| !std::ptr::eq(*other, answer) && other.median_day.is_some());
                let outage = outage.map_or_else(String::new, |outage| {
                    format!(" {}: {}", sentence_case(&outage.limit.text), when(outage))
                });
                format!(
                    "{lead} {next}: {}, {}{outage}{behind}",
                    answer.limit.text,
                    when(answer)
                )
            }
            None if self.answers.iter().all(|answer| answer.already) => {
                format!("In short, crossed already: {}.", already.join(", "))
            }
            None => format!(
                "In short, {other} is crossed within {} in any of {} lives.{behind}",
                counted(self.horizon_days, "day"),
                self.lives
            ),
        }
    }

    /// That growth has ended, what comes if it stays so, and at what growth the rest of the sentence is.
    fn stays(&self, growth_lately: f64) -> String {
        let unchanged = self.drivers.iter().find(|driver| driver.name == NO_GROWTH);
        let stays = unchanged.map_or_else(
            || "free space lasts".to_owned(),
            |unchanged| {
                let open = unchanged.answers.iter().filter(|answer| !answer.already);
                let crossed = open.filter_map(|answer| Some((answer.median_day?, answer)));
                match crossed.min_by_key(|(day, _)| *day) {
                    Some((day, answer)) => {
                        format!(
                            "{} comes all the same, in {}",
                            answer.limit.text,
                            counted(day, "day")
                        )
                    }
                    None => format!(
                        "no limit is crossed in most lives within {}",
                        counted(self.horizon_days, "day")
                    ),
                }
            },
        );
        format!(
            "In short: it has filled up and grows no more ({} over its later days). If it stays so, {stays}. If it \
             grew again as over all of its days ({}),",
            a_day(growth_lately),
            a_day(self.observed.growth_bytes_per_day)
        )
    }

    /// What of all that was tried puts off most what is crossed first; none where nothing was tried, or helps.
    pub fn helps_most(&self) -> Option<String> {
        let place = self.first_crossed()?;
        let base = &self.answers[place];
        let late = |answer: &Answer| answer.median_day.unwrap_or(u64::MAX);
        let known = self.helps.iter().filter(|help| {
            let answer = &help.answers[place];
            answer.now.is_some() && !answer.already && late(answer) > late(base)
        });
        let known: Vec<(u64, &str)> = known
            .map(|help| (late(&help.answers[place]), help.name.as_str()))
            .collect();
        let most = known.iter().map(|(day, _)| *day).max()?;
        let most_late = known.iter().filter(|(day, _)| *day == most);
        let names: Vec<&str> = most_late.map(|(_, name)| *name).collect();
        let put_off = if most == u64::MAX {
            let within = counted(self.horizon_days, "day");
            format!("not within {within} in most lives")
        } else {
            format!("in {}", counted(most, "day"))
        };
        Some(format!(
            "What helps most against {}: {}, {put_off} (as it is: in {}).",
            base.limit.text,
            list(&names),
            counted(late(base), "day")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Build;
    use crate::forecast::{Observed, Variant};

    const MIB: f64 = 1_048_576.0;

    fn answer(limit: &str, day: Option<u64>) -> Answer {
        let limit = limit.parse().expect("a limit");
        Answer::new(&limit, Some(0.2), &[day; 19], 60, None, 1.0, |_| None)
    }

    /// Answers on free space and on failures, of a past that grew by 10 MiB a day for 50 days, and by `lately` at last.
    fn forecast(lately: f64, days: [Option<u64>; 2]) -> Forecast {
        let [free, fails] = days;
        let mut answers = vec![answer("free=5%", free), answer("enospc", fails)];
        let observed = Observed {
            days: 100,
            first: String::new(),
            last: String::new(),
            has_dates: false,
            operations: 1000,
            used_bytes: (500.0 * MIB) as u64,
            growth_bytes_per_day: 5.0 * MIB,
            growth_by_half: [10.0 * MIB, lately],
            growth_changed: 9.0,
            growth_lately: lately,
        };
        if let Some(later) = observed.later_growth() {
            answers[0].set_later(50.0 * MIB, later);
            answers[1].set_as_before();
        }
        Forecast {
            build: Build::this(),
            target: "xfs".to_owned(),
            target_bytes: None,
            no_interval: None,
            observed,
            horizon_days: 60,
            lives: 19,
            seed: 1,
            answers,
            premise: None,
            now_is: None,
            drivers: Vec::new(),
            helps: Vec::new(),
            held_out: Vec::new(),
            doubts: Vec::new(),
            stale_days: None,
        }
    }

    fn variant(name: &str, days: [Option<u64>; 2]) -> Variant {
        let [free, fails] = days;
        Variant {
            name: name.to_owned(),
            target: "xfs".to_owned(),
            answers: vec![answer("free=5%", free), answer("enospc", fails)],
        }
    }

    #[test]
    fn what_grows_no_more_breaks_only_if_it_grew_again() {
        let mut found = forecast(-MIB, [Some(20), Some(22)]);
        let again = " If it grew again as over all of its days (+5.0 MiB a day), first: free space under 5.0 %, in 20 \
                     days (90 % interval: 19 to 20, as narrow as days can tell; 19 of 19 lives on day 20). A write \
                     fails for lack of space: in 22 days (90 % interval: 21 to 22, as narrow as days can tell; 19 of \
                     19 lives on day 22).";
        let ended = "In short: it has filled up and grows no more (-1.0 MiB a day over its later days). If it stays \
                     so,";
        assert_eq!(
            found.in_short(),
            format!("{ended} free space lasts.{again}")
        );
        found.drivers = vec![variant(NO_GROWTH, [None, None])];
        let none = "no limit is crossed in most lives within 60 days.";
        assert_eq!(found.in_short(), format!("{ended} {none}{again}"));
        found.drivers = vec![variant(NO_GROWTH, [None, Some(40)])];
        let comes = "a write fails for lack of space comes all the same, in 40 days.";
        assert_eq!(found.in_short(), format!("{ended} {comes}{again}"));
        // Each by itself says at what growth it comes.
        let fails = &found.answers[1].sentence;
        assert!(
            fails.starts_with(
                "A write fails for lack of space: if it grew on as over all of its days, in 22 days ("
            ),
            "{fails}"
        );
    }

    #[test]
    fn what_grows_on_has_no_condition() {
        let found = forecast(6.0 * MIB, [Some(20), None]);
        assert!(
            found
                .in_short()
                .starts_with("In short, first: free space under 5.0 %, in 20 days (90 % interval"),
            "{}",
            found.in_short()
        );
    }

    #[test]
    fn the_latest_of_what_was_tried_helps_most() {
        let mut found = forecast(6.0 * MIB, [Some(20), Some(22)]);
        assert_eq!(found.helps_most(), None);
        found.helps = vec![variant("ext4", [Some(12), None])];
        assert_eq!(found.helps_most(), None, "it comes sooner");
        found
            .helps
            .push(variant("10 % more space", [Some(33), None]));
        let said = "What helps most against free space under 5.0 %: 10 % more space, in 33 days (as it is: in 20 \
                    days).";
        assert_eq!(found.helps_most().as_deref(), Some(said));
        found.helps.push(variant("btrfs", [None, None]));
        found.helps.push(variant("f2fs", [None, None]));
        let said = found.helps_most().expect("some help");
        let both = ": btrfs and f2fs, not within 60 days in most lives (as it is: in 20 days).";
        assert!(said.ends_with(both), "{said}");
    }
}
