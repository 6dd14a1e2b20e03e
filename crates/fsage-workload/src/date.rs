//! Dates in UTC, and days of the week.

/// Nanoseconds of a day.
pub(crate) const DAY_NS: i64 = 86_400_000_000_000;

/// The date of a time since 1970, as `2009-03-22`, in UTC.
pub(crate) fn date_of(t_ns: i64) -> String {
    date_of_day(t_ns.div_euclid(DAY_NS))
}

/// The date that is so many days after 1970-01-01.
pub(crate) fn date_of_day(days_since_1970: i64) -> String {
    // Days to civil date, after the algorithm of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms".
    let days = days_since_1970 + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Day of the week of a day since 1970-01-01: 0 is Sunday.
pub(crate) fn weekday(days_since_1970: i64) -> usize {
    (days_since_1970 + 4).rem_euclid(7) as usize
}

#[cfg(test)]
mod tests {
    use super::{date_of, weekday};

    /// Dates from `date -u -d @SECONDS +%F`.
    #[test]
    fn days_are_labeled_with_their_date() {
        let date = |s: i64| date_of(s * 1_000_000_000);
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_237_766_399), "2009-03-22");
        assert_eq!(date(1_729_295_999), "2024-10-18");
        assert_eq!(date(-1), "1969-12-31");
    }

    /// Days of the week from `date -u -d @SECONDS +%a`.
    #[test]
    fn weeks_start_on_sunday() {
        let day = |s: i64| weekday(s.div_euclid(86_400));
        assert_eq!(day(0), 4); // Thu
        assert_eq!(day(951_782_400), 2); // Tue
        assert_eq!(day(1_729_295_999), 5); // Fri
        assert_eq!(day(-1), 3); // Wed
    }
}
