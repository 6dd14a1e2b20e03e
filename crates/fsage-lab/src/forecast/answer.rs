//! When a limit is crossed: what many lives say of it.

use super::limits::Limit;
use crate::report::words::counted;
use serde::Serialize;
use std::fmt::Write as _;

/// Share of lives that lie in an interval.
pub const INTERVAL: f64 = 0.90;
/// Lives with which the earliest and the latest one bound such an interval.
pub const LEAST_LIVES: usize = 19;
/// Days between two looks at a life: what is seen on one of them happened since the one before, and no interval is
/// narrower.
const STEP: u64 = 1;

/// What lives say of one limit. Days are counted from the last one of the past.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The limit.
    pub limit: Limit,
    /// Its value on the last day of the past; `None` where it is not known.
    pub now: Option<f64>,
    /// It is crossed on that day already.
    pub already: bool,
    /// Lives, and those that crossed it within the time that was looked at.
    pub lives: usize,
    /// Of these, those that crossed it.
    pub reached: usize,
    /// The day on which half of the lives have crossed it; `None` if not within the time.
    pub median_day: Option<u64>,
    /// Lives that crossed it on that very day.
    pub on_median_day: usize,
    /// Why no interval is claimed; then neither end of one is known.
    pub no_interval: Option<String>,
    /// Where 90 % of the lives cross it; an end that is `None` is not within the time. Where both ends are the same day
    /// it begins with the day before.
    pub low_day: Option<u64>,
    /// The other end.
    pub high_day: Option<u64>,
    /// The dates of these, where the past has dates.
    pub median_date: Option<String>,
    /// The date of the low end.
    pub low_date: Option<String>,
    /// The date of the high end.
    pub high_date: Option<String>,
    /// Its value on the last day that was looked at, in the middle one of the lives; `None` where most had crossed it.
    pub at_end: Option<f64>,
    /// Days from there to a file system that is full, at the growth observed, or at that of the later days where the
    /// past has filled up; `None` of a limit that is not of space, or is crossed already, and where nothing grows.
    pub headroom_days: Option<f64>,
    /// The day on which it is crossed at the growth of the later days of a past that has filled up before: lives go by
    /// all days, and come too early. `None` of other pasts, of a limit that is not of space, and where nothing grows.
    pub later_growth_day: Option<u64>,
    /// In a sentence.
    pub sentence: String,
    /// When lives cross it, in words, of a past that has filled up before: they grow on as it did over all of its days,
    /// and the sentence says so first. `None` of other pasts.
    #[serde(skip)]
    pub(super) by_lives: Option<String>,
}

/// Days at which lives cross a limit: the median, and the two between which a further life would with a probability of
/// 90 % at least. `None` is later than was looked at.
///
/// A further life falls with equal probability between any two neighbors of n that are drawn as it is. So the
/// interval from the k-th to the k-th last of them has it with (n + 1 - 2 k) / (n + 1).
pub fn quantiles(days: &[Option<u64>]) -> (Option<u64>, Option<u64>, Option<u64>) {
    let mut sorted: Vec<u64> = days.iter().map(|day| day.unwrap_or(u64::MAX)).collect();
    sorted.sort_unstable();
    let n = sorted.len();
    if n == 0 {
        return (None, None, None);
    }
    // In twentieths, so that no rounding decides: k = (n + 1) / 20.
    let k = ((n + 1) / 20).max(1);
    let day = |at: usize| Some(sorted[at]).filter(|&day| day < u64::MAX);
    (day((n - 1) / 2), day(k - 1), day(n - k))
}

impl Answer {
    /// Its sentence behind the name of the limit.
    pub(super) fn when(&self) -> &str {
        let when = self.sentence.split_once(": ");
        when.map_or(self.sentence.as_str(), |(_, when)| when)
    }

    /// Sums up the days on which lives crossed a limit, of which so many days were looked at. An interval is claimed
    /// unless there is a reason not to. Of a past that came to a slower pace than its mean one, by so many times, it
    /// reaches to where the latest life would be at that pace.
    pub(super) fn new(
        limit: &Limit,
        now: Option<f64>,
        days: &[Option<u64>],
        horizon: u64,
        no_interval: Option<&str>,
        slowed: f64,
        date: impl Fn(u64) -> Option<String>,
    ) -> Answer {
        let already = now.is_some_and(|now| limit.has_course() && limit.is_crossed(now));
        let (median_day, low_day, high_day) = quantiles(days);
        let later =
            |day: u64| Some((day as f64 * slowed).ceil()).filter(|&day| day <= horizon as f64);
        let high_day = high_day.and_then(later).map(|day| day as u64);
        let low_day = low_day.map(|day| match high_day {
            Some(high) => day.min(high.saturating_sub(STEP)),
            None => day,
        });
        let earned = |day: Option<u64>| day.filter(|_| no_interval.is_none());
        let (low_day, high_day) = (earned(low_day), earned(high_day));
        let mut answer = Answer {
            limit: limit.clone(),
            now,
            already,
            lives: days.len(),
            reached: days.iter().flatten().count(),
            median_day,
            on_median_day: days
                .iter()
                .filter(|day| day.is_some() && **day == median_day)
                .count(),
            no_interval: no_interval.map(str::to_owned),
            low_day,
            high_day,
            median_date: median_day.and_then(&date),
            low_date: low_day.and_then(&date),
            high_date: high_day.and_then(&date),
            at_end: None,
            headroom_days: None,
            later_growth_day: None,
            sentence: String::new(),
            by_lives: None,
        };
        answer.sentence = answer.said(horizon);
        answer
    }

    /// How long the space that is left at the limit lasts, where so many bytes come a day; `fails` is the day on which
    /// a write fails first, which may be sooner: files that come and go within a day need room too.
    pub(super) fn set_headroom(
        &mut self,
        left_bytes: f64,
        growth_bytes_per_day: f64,
        fails: Option<u64>,
    ) {
        let Some(median) = self.median_day else {
            return;
        };
        if self.already || growth_bytes_per_day <= 0.0 {
            return;
        }
        let days = left_bytes / growth_bytes_per_day;
        self.headroom_days = Some(days);
        let lasts = match days as u64 {
            0 => "less than a day".to_owned(),
            days => counted(days, "day"),
        };
        let growth = super::a_day(growth_bytes_per_day);
        let lasts = match fails {
            Some(day) if (day as f64) < median as f64 + days => format!(
                "At {growth} alone what is left then would last {lasts}; files that come and go within a day need it \
                 before that, as the day of the first failed write says"
            ),
            _ => format!("What is left then lasts {lasts} at {growth}"),
        };
        let _ = write!(self.sentence, " {lasts}.");
    }

    /// Leads with the day on which the space above the limit is gone at the growth of later days, of a past that has
    /// filled up before.
    pub(super) fn set_later(&mut self, above_bytes: f64, growth_bytes_per_day: f64) {
        if self.already {
            return;
        }
        let growth = super::a_day(growth_bytes_per_day);
        let by_later = format!("at the growth of its later days, {growth}");
        let later = if growth_bytes_per_day > 0.0 {
            let day = (above_bytes / growth_bytes_per_day).ceil() as u64;
            self.later_growth_day = Some(day);
            format!("in {} {by_later}", counted(day, "day"))
        } else {
            format!("never {by_later}")
        };
        self.lead_with(&format!(
            "{later}. If it grew on as over all of its days, early for what was filling up: "
        ));
    }

    /// Says of a limit that is not of space, and a past that has filled up before, at which growth lives cross it.
    pub(super) fn set_as_before(&mut self) {
        if !self.already && self.reached > 0 {
            self.lead_with("if it grew on as over all of its days, ");
        }
    }

    /// Puts words before what lives say.
    fn lead_with(&mut self, lead: &str) {
        let what = format!("{}: ", capitalized(&self.limit.text));
        if let Some(by_lives) = self.sentence.strip_prefix(&what).map(str::to_owned) {
            self.sentence = format!("{what}{lead}{by_lives}");
            self.by_lives = Some(by_lives);
        }
    }

    /// The day that its sentence leads with; `None` if that is not within the time.
    pub fn day_led(&self) -> Option<u64> {
        self.later_growth_day.or(self.median_day)
    }

    /// Whether an interval is claimed.
    pub fn has_interval(&self) -> bool {
        self.no_interval.is_none()
    }

    /// Whether a day on which it really was crossed lies in the interval, if there is one; a day that is `None` is not
    /// within the time.
    pub fn holds(&self, true_day: Option<u64>) -> Option<bool> {
        let late = |day: Option<u64>| day.unwrap_or(u64::MAX);
        let interval = late(self.low_day)..=late(self.high_day);
        self.has_interval()
            .then(|| interval.contains(&late(true_day)))
    }

    /// The median in a table.
    pub fn median_shown(&self, horizon: u64) -> String {
        if self.already {
            return "already".to_owned();
        }
        if self.now.is_none() {
            return "not known".to_owned();
        }
        self.median_day
            .map_or_else(|| format!("> {horizon}"), |day| day.to_string())
    }

    /// The median in a table, and where most lives do not get there, the value on the last day.
    pub fn median_and_end_shown(&self, horizon: u64) -> String {
        let median = self.median_shown(horizon);
        let is_open = !self.already && self.limit.has_course() && self.median_day.is_none();
        match self.at_end.filter(|_| is_open) {
            Some(value) => format!("{median} ({})", self.limit.shown(value)),
            None => median,
        }
    }

    /// The interval in a table.
    pub fn interval_shown(&self, horizon: u64) -> String {
        if self.already || self.now.is_none() || !self.has_interval() {
            return "-".to_owned();
        }
        match (self.low_day, self.high_day) {
            (None, _) => format!("> {horizon}"),
            (Some(low), None) => format!("{low} to > {horizon}"),
            (Some(low), Some(high)) => format!("{low} to {high}"),
        }
    }

    fn said(&self, horizon: u64) -> String {
        let what = capitalized(&self.limit.text);
        let Some(now) = self.now else {
            return format!("{what}: this file system does not report it.");
        };
        if self.already {
            return format!("{what}: already, at {}.", self.limit.shown(now));
        }
        let of = format!("{} of {} lives", self.reached, self.lives);
        match (self.median_day, self.low_day) {
            (Some(median), _) => {
                let about = self
                    .median_date
                    .as_ref()
                    .map(|date| format!(", about {date}"));
                let shown = self.interval_shown(horizon);
                let interval = match (&self.no_interval, self.high_day) {
                    (Some(why), _) => format!("no interval: {why}"),
                    (None, Some(high)) if self.low_day == high.checked_sub(STEP) => format!(
                        "90 % interval: {shown}, as narrow as days can tell; {} of {} lives on day {median}",
                        self.on_median_day, self.lives
                    ),
                    (None, _) => format!("90 % interval: {shown}"),
                };
                format!(
                    "{what}: in {} ({interval}){}.",
                    counted(median, "day"),
                    about.unwrap_or_default()
                )
            }
            (None, Some(low)) => format!(
                "{what}: not within {horizon} days in most lives, but in {of}; from day {low} on it can happen."
            ),
            (None, None) if self.reached > 0 && !self.has_interval() => {
                format!("{what}: not within {horizon} days in most lives, but in {of}.")
            }
            (None, None) if self.reached > 0 => {
                format!("{what}: hardly within {horizon} days, only in {of}.")
            }
            (None, None) => format!(
                "{what}: not within {horizon} days, in none of {} lives.",
                self.lives
            ),
        }
    }
}

pub(super) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(days: &[Option<u64>], no_interval: Option<&str>) -> Answer {
        let limit = "free=5%".parse().expect("a limit");
        Answer::new(&limit, Some(0.2), days, 100, no_interval, 1.0, |day| {
            Some(format!("day {day}"))
        })
    }

    /// Of 19 lives the interval is all of them: (19 + 1 - 2) / 20. Of 39 it leaves one out on each side, (40 - 4) / 40.
    #[test]
    fn the_interval_has_a_further_life_in_nine_of_ten() {
        let days: Vec<Option<u64>> = (1..=19).map(Some).collect();
        assert_eq!(quantiles(&days), (Some(10), Some(1), Some(19)));
        let days: Vec<Option<u64>> = (1..=39).rev().map(Some).collect();
        assert_eq!(quantiles(&days), (Some(20), Some(2), Some(38)));
        assert_eq!(quantiles(&[]), (None, None, None));
    }

    /// Lives that did not get there are later than all that did, and the truth may be so too.
    #[test]
    fn what_is_not_within_the_time_is_later() {
        let few: Vec<Option<u64>> = (0..19).map(|n| (n < 3).then_some(50 + n)).collect();
        let answer = self::answer(&few, None);
        assert_eq!(
            (answer.reached, answer.median_day, answer.low_day),
            (3, None, Some(50))
        );
        let holds = |answer: &Answer, day| answer.holds(day) == Some(true);
        assert!(holds(&answer, None) && holds(&answer, Some(99)) && !holds(&answer, Some(49)));
        assert_eq!(
            answer.sentence,
            "Free space under 5.0 %: not within 100 days in most lives, but in 3 of 19 lives; from day 50 on it can \
             happen."
        );
        let none = self::answer(&[None; 19], None);
        assert!(holds(&none, None) && !holds(&none, Some(100)));
        assert!(
            none.sentence.contains("in none of 19 lives"),
            "{}",
            none.sentence
        );
        let all = self::answer(&(0..19).map(|n| Some(40 + n)).collect::<Vec<_>>(), None);
        assert!(
            holds(&all, Some(40))
                && holds(&all, Some(58))
                && !holds(&all, Some(59))
                && !holds(&all, None)
        );
        assert_eq!(
            all.sentence,
            "Free space under 5.0 %: in 49 days (90 % interval: 40 to 58), about day 49."
        );
    }

    /// Lives cross it from day 21 to day 39; at half the pace the latest would on day 78, and at a third not in 100.
    #[test]
    fn a_past_that_slowed_reaches_later() {
        let days: Vec<Option<u64>> = (0..19).map(|n| Some(21 + n)).collect();
        let limit = "free=5%".parse().expect("a limit");
        let high = |slowed| {
            let found = Answer::new(&limit, Some(0.2), &days, 100, None, slowed, |_| None);
            assert_eq!((found.median_day, found.low_day), (Some(30), Some(21)));
            found.high_day
        };
        assert_eq!(
            [1.0, 2.0, 3.0, f64::INFINITY].map(high),
            [Some(39), Some(78), None, None]
        );
    }

    /// What is seen at the end of day 10 happened on that day: between the ends of days 9 and 10.
    #[test]
    fn lives_that_agree_have_the_interval_of_a_day() {
        let found = answer(&[Some(10); 19], None);
        assert_eq!((found.low_day, found.high_day), (Some(9), Some(10)));
        assert_eq!(found.interval_shown(100), "9 to 10");
        assert_eq!(
            found.sentence,
            "Free space under 5.0 %: in 10 days (90 % interval: 9 to 10, as narrow as days can tell; 19 of 19 lives on \
             day 10), about day 10."
        );
        // One in twenty lives is left out at each end of 39.
        let mut days = vec![Some(10); 37];
        days.extend([Some(3), Some(80)]);
        let found = answer(&days, None);
        assert_eq!((found.on_median_day, found.lives), (37, 39));
        assert_eq!((found.low_day, found.high_day), (Some(9), Some(10)));
    }

    /// The same two days and a half from day 10 on, and a write that fails on day 9.
    #[test]
    fn what_is_left_does_not_last_longer_than_until_a_write_fails() {
        const MIB: f64 = 1_048_576.0;
        let mut found = answer(&[Some(10); 19], None);
        found.set_headroom(50.0 * MIB, 20.0 * MIB, Some(9));
        let expected = " At +20.0 MiB a day alone what is left then would last 2 days; files that come and go within a \
                        day need it before that, as the day of the first failed write says.";
        assert!(found.sentence.ends_with(expected), "{}", found.sentence);
    }

    /// A value is that of a limit that most lives do not cross; failed writes have no course to have one of.
    #[test]
    fn what_is_not_crossed_has_its_value_on_the_last_day() {
        let mut late = answer(&[None; 19], None);
        late.at_end = Some(0.126);
        assert_eq!(late.median_and_end_shown(100), "> 100 (12.6 %)");
        let mut crossed = answer(&[Some(10); 19], None);
        crossed.at_end = Some(0.126);
        assert_eq!(crossed.median_and_end_shown(100), "10");
        late.limit = "enospc".parse().expect("a limit");
        assert_eq!(late.median_and_end_shown(100), "> 100");
    }

    /// 50 MiB at 20 MiB a day last two days and a half.
    #[test]
    fn what_is_left_at_a_limit_lasts_as_long_as_growth_takes_to_fill_it() {
        const MIB: f64 = 1_048_576.0;
        let mut found = answer(&[Some(10); 19], None);
        found.set_headroom(50.0 * MIB, 20.0 * MIB, Some(13));
        assert_eq!(found.headroom_days, Some(2.5));
        assert!(
            found
                .sentence
                .ends_with(" What is left then lasts 2 days at +20.0 MiB a day."),
            "{}",
            found.sentence
        );
        for (days, growth) in [([Some(10); 19], -1.0), ([None; 19], 1.0)] {
            let mut found = answer(&days, None);
            found.set_headroom(50.0 * MIB, growth, None);
            assert_eq!(found.headroom_days, None, "{}", found.sentence);
        }
    }

    /// 50 MiB above the limit are gone on day 25 at 2 MiB a day, whatever lives of all days say; and never where
    /// nothing grows any more.
    #[test]
    fn what_filled_up_leads_with_its_later_growth() {
        const MIB: f64 = 1_048_576.0;
        let mut found = answer(&[Some(10); 19], Some("growth changed"));
        found.set_later(50.0 * MIB, 2.0 * MIB);
        assert_eq!((found.day_led(), found.median_day), (Some(25), Some(10)));
        assert_eq!(
            found.sentence,
            "Free space under 5.0 %: in 25 days at the growth of its later days, +2.0 MiB a day. If it grew on \
             as over all of its days, early for what was filling up: in 10 days (no interval: growth changed), \
             about day 10."
        );
        let mut found = answer(&[None; 19], None);
        found.set_later(50.0 * MIB, -MIB);
        assert_eq!(found.later_growth_day, None);
        assert_eq!(
            found.sentence,
            "Free space under 5.0 %: never at the growth of its later days, -1.0 MiB a day. If it grew on \
             as over all of its days, early for what was filling up: not within 100 days, in none of 19 lives."
        );
    }

    /// Where no interval is earned there is a median, and the reason; nothing holds, and nothing fails to.
    #[test]
    fn an_interval_that_is_not_earned_is_not_claimed() {
        let days: Vec<Option<u64>> = (0..19).map(|n| Some(40 + n)).collect();
        let found = answer(&days, Some("growth changed"));
        assert!(!found.has_interval());
        assert_eq!(
            (found.median_day, found.low_day, found.high_day),
            (Some(49), None, None)
        );
        assert_eq!(found.low_date, None);
        assert_eq!((found.holds(Some(49)), found.holds(None)), (None, None));
        assert_eq!(found.interval_shown(100), "-");
        assert_eq!(
            found.sentence,
            "Free space under 5.0 %: in 49 days (no interval: growth changed), about day 49."
        );
        let few: Vec<Option<u64>> = (0..19).map(|n| (n < 3).then_some(50 + n)).collect();
        assert_eq!(
            answer(&few, Some("9 nights, 14 are needed")).sentence,
            "Free space under 5.0 %: not within 100 days in most lives, but in 3 of 19 lives."
        );
    }
}
