//! Words of rules: patterns over names.

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
}
