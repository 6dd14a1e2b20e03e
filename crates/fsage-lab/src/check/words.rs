//! Words of rules: patterns over names, and what somebody may have meant.

/// Whether a name fits a pattern, in which `*` stands for any characters and `?` for one.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and how much of the name it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// The known word that is nearest, if it is near at all: at most a third of its characters away.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = known
        .into_iter()
        .map(|known| (distance(word, known), known));
    let near = distances.filter(|&(distance, known)| distance <= known.chars().count().div_ceil(3));
    near.min_by_key(|&(distance, _)| distance)
        .map(|(_, known)| known)
}

/// How many characters to insert, remove or replace on the way from one word to the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_takes_any_characters_and_a_question_mark_one() {
        let table = [
            ("*", "", true),
            ("*", "ffs:policy=realloc", true),
            ("*realloc*", "ffs:policy=realloc,nrpos=1", true),
            ("ffs:*=realloc", "ffs:policy=realloc,nrpos=1", false),
            ("*a*b", "aab", true),
            ("*a*b", "aba", false),
            ("ext?", "ext4", true),
            ("ext?", "ext", false),
            ("ext4", "ext4", true),
            ("", "x", false),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    /// The distance of kitten and sitting is 3 (Levenshtein's own kind of example, in any textbook).
    #[test]
    fn the_nearest_word_is_meant_if_it_is_near() {
        assert_eq!(
            (
                distance("kitten", "sitting"),
                distance("", "abc"),
                distance("abc", "abc")
            ),
            (3, 3, 0)
        );
        let known = ["layout_score", "layout_ratio", "utilization"];
        assert_eq!(nearest("layout_scor", known), Some("layout_score"));
        assert_eq!(nearest("utilisation", known), Some("utilization")); // typos: ignore
        assert_eq!(nearest("speed", known), None);
    }
}
