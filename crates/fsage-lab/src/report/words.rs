//! Numbers and lists in sentences.

use fsage_core::size::human;
use std::time::Duration;

/// A share as percent, without digits that make no difference: `90 %`; near both ends with one digit.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if (percent - percent.round()).abs() > 0.05 && !(1.0..=99.0).contains(&percent.abs()) {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// Shares as percent, with as few digits as tell those apart that differ by `least`.
pub fn percents(shares: &[f64], least: f64) -> Vec<String> {
    let differ = |digits: usize| {
        let mut sorted = shares.to_vec();
        sorted.sort_by(f64::total_cmp);
        let text = |share: f64| format!("{:.digits$}", share * 100.0);
        let mut pairs = sorted.windows(2);
        pairs.all(|p| p[1] - p[0] < least || text(p[0]) != text(p[1]))
    };
    // What is nearly all is not all.
    let is_nearly_all = |share: &f64| (0.995..0.9995).contains(share);
    let digits = usize::from(!differ(0) || shares.iter().any(is_nearly_all));
    let text = |&share: &f64| format!("{:.digits$} %", share * 100.0);
    shares.iter().map(text).collect()
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [most @ .., last] => {
            let most: Vec<&str> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// `1 day`, `300 days`.
pub fn counted(n: u64, one: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {one}{s}", thousands(n))
}

/// An integer with a comma before every three digits.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes with their unit, without digits that say nothing: `32 KiB`.
pub fn size(bytes: u64) -> String {
    human(bytes).replace(".0 ", " ")
}

/// A word as a shell takes it.
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.chars().any(char::is_control) {
        format!("$'{}'", word.escape_debug())
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A time to wait, roughly: `40 s`, `12 min`, `3.5 h`.
pub fn lasting(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_wait_is_rough() {
        let texts = [40, 89, 90, 700, 5400, 12_600].map(|s| lasting(Duration::from_secs(s)));
        assert_eq!(texts, ["40 s", "89 s", "2 min", "12 min", "1.5 h", "3.5 h"]);
    }

    #[test]
    fn shares_have_the_digits_that_tell_them_apart() {
        assert_eq!(percents(&[0.899, 0.766], 0.005), ["90 %", "77 %"]);
        assert_eq!(percents(&[0.904, 0.896], 0.005), ["90.4 %", "89.6 %"]);
        assert_eq!(percents(&[0.899, 0.898], 0.005), ["90 %", "90 %"]);
        assert_eq!(percent(0.004), "0.4 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.996), "99.6 %");
        assert_eq!(percent(0.766), "77 %");
    }

    #[test]
    fn lists_and_counts_read_as_sentences_do() {
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list::<&str>(&[]), "");
        assert_eq!(counted(1, "day"), "1 day");
        assert_eq!(counted(3650, "day"), "3,650 days");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(100), "100");
        assert_eq!(
            (size(32 << 10), size(1536 << 10)),
            ("32 KiB".into(), "1.5 MiB".into())
        );
    }
}
