//! Targets with gaps, `ffs:policy={policy},maxcontig={maxcontig}`, and what they become with every value of a matrix.

use std::collections::BTreeMap;

/// Values by the name of the gap that they fill.
pub type Matrix = BTreeMap<String, Vec<String>>;

/// Text with gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Gap(String),
}

impl Template {
    /// Finds the gaps: names in braces. `{{` and `}}` are braces themselves.
    pub fn parse(text: &str) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let gap = rest.split_once('}').filter(|_| brace == "{");
            let Some((name, after)) = gap else {
                return Err(format!(
                    "`{brace}` stands alone; expected {{NAME}}, or {brace}{brace} for the brace itself"
                ));
            };
            if name.is_empty() || name.contains(|c: char| !c.is_alphanumeric() && !"_-".contains(c))
            {
                return Err(format!(
                    "{{{name}}}: expected the name of a list in [matrix]"
                ));
            }
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Gap(name.to_owned()));
            rest = after;
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        Ok(Template(pieces))
    }

    /// Names of the gaps, each once, in the order in which they come first.
    pub fn gaps(&self) -> Vec<&str> {
        let mut gaps = Vec::new();
        for piece in &self.0 {
            if let Piece::Gap(name) = piece
                && !gaps.contains(&name.as_str())
            {
                gaps.push(name.as_str());
            }
        }
        gaps
    }

    /// How many texts there are.
    pub fn count(&self, matrix: &Matrix) -> u64 {
        let values = |gap: &&str| matrix.get(*gap).map_or(0, Vec::len) as u64;
        self.gaps().iter().map(values).fold(1, u64::saturating_mul)
    }

    /// The texts with every combination of values: the first gap varies slowest. A gap that the matrix does not know
    /// leaves none.
    pub fn expand(&self, matrix: &Matrix) -> Vec<String> {
        let mut filled: Vec<BTreeMap<&str, &str>> = vec![BTreeMap::new()];
        for gap in self.gaps() {
            let values = matrix.get(gap).map_or(&[][..], Vec::as_slice);
            let mut next = Vec::new();
            for so_far in &filled {
                for value in values {
                    let mut with = so_far.clone();
                    with.insert(gap, value);
                    next.push(with);
                }
            }
            filled = next;
        }
        let text = |values: &BTreeMap<&str, &str>| {
            let pieces = self.0.iter().map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                Piece::Gap(name) => values[name.as_str()],
            });
            pieces.collect()
        };
        filled.iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::Rng;
    use std::fmt::Write as _;

    fn matrix(lists: &[(&str, &[&str])]) -> Matrix {
        let lists = lists.iter().map(|(name, values)| {
            let values = values.iter().map(|&value| value.to_owned());
            ((*name).to_owned(), values.collect())
        });
        lists.collect()
    }

    #[test]
    fn every_combination_comes_once_and_the_first_gap_varies_slowest() {
        let matrix = matrix(&[("p", &["orig", "realloc"]), ("m", &["7", "14"])]);
        let template = Template::parse("ffs:policy={p},maxcontig={m}").expect("a template");
        assert_eq!(
            template.expand(&matrix),
            [
                "ffs:policy=orig,maxcontig=7",
                "ffs:policy=orig,maxcontig=14",
                "ffs:policy=realloc,maxcontig=7",
                "ffs:policy=realloc,maxcontig=14",
            ]
        );
        let twice = Template::parse("{m}-{m}{{x}}").expect("a template");
        assert_eq!(twice.expand(&matrix), ["7-7{x}", "14-14{x}"]);
        let plain = Template::parse("ffs").expect("a template");
        assert_eq!(plain.expand(&matrix), ["ffs"]);
        let unknown = Template::parse("ffs:policy={q}").expect("a template");
        assert_eq!(unknown.expand(&matrix), Vec::<String>::new());
    }

    /// For random matrices the number of texts is the product of the lengths of the lists that are used.
    #[test]
    fn there_are_as_many_texts_as_the_product_of_the_lists() {
        let mut rng = Rng::new(1);
        for _ in 0..200 {
            let mut lists = Matrix::new();
            let mut text = "ffs:".to_owned();
            let mut product = 1;
            for name in ["a", "b", "c", "d"] {
                let length = 1 + rng.next_u64() % 4;
                let values = (0..length).map(|value| value.to_string()).collect();
                lists.insert(name.to_owned(), values);
                if rng.next_u64().is_multiple_of(2) {
                    write!(text, "{name}={{{name}}},").expect("text");
                    product *= length;
                }
            }
            let template = Template::parse(&text).expect("a template");
            let mut texts = template.expand(&lists);
            assert_eq!(template.count(&lists), product);
            texts.sort();
            texts.dedup();
            assert_eq!(texts.len() as u64, product, "{text} {lists:?}");
        }
    }

    #[test]
    fn braces_that_stand_alone_are_refused() {
        for (text, word) in [
            ("ffs:policy={p", "`{` stands alone"),
            ("ffs:policy=p}", "`}` stands alone"),
            ("ffs:policy={}", "expected the name"),
            ("ffs:policy={a b}", "expected the name"),
        ] {
            let error = Template::parse(text).expect_err(text);
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
