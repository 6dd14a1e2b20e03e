//! The key of a value in a TOML text, by where the value stands.

use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The key of the value that takes these bytes, with the tables that it stands in: `zones[1].spares`. None where the
/// text is no TOML, or no value is there.
pub(super) fn of_value(text: &str, bytes: &Range<usize>) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    in_table(table.get_ref(), bytes)
}

fn in_table(table: &DeTable<'_>, bytes: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(name, value)| {
        let rest = in_value(value, bytes)?;
        Some(format!("{}{rest}", name.get_ref()))
    })
}

/// What follows the key of `value`: nothing if it is the one.
fn in_value(value: &Spanned<DeValue<'_>>, bytes: &Range<usize>) -> Option<String> {
    let deeper = match value.get_ref() {
        DeValue::Table(table) => in_table(table, bytes).map(|key| format!(".{key}")),
        DeValue::Array(values) => values.iter().enumerate().find_map(|(i, value)| {
            let rest = in_value(value, bytes)?;
            Some(format!("[{i}]{rest}"))
        }),
        _ => None,
    };
    deeper.or_else(|| (value.span() == *bytes).then(String::new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_key_that_it_was_written_with() {
        let text = "rpm = 1\n[bus]\nrate = 20\n[[zones]]\nends = [3, 44]\n[[zones]]\nskew = { track = 555 }\n";
        for (value, key) in [
            ("1", "rpm"),
            ("20", "bus.rate"),
            ("44", "zones[0].ends[1]"),
            ("555", "zones[1].skew.track"),
        ] {
            let start = text.find(value).expect("it is there");
            let found = of_value(text, &(start..start + value.len()));
            assert_eq!(found.as_deref(), Some(key));
        }
        assert_eq!(of_value(text, &(0..3)), None, "a key is no value");
        assert_eq!(of_value("rpm = many", &(6..10)), None);
    }
}
