//! What comes first of a verdict, for those who read the terminal.

use super::SPEED;
use super::consequences::FRESH;
use crate::report::over_days::OVER_DAYS;
use crate::report::subject::Group;
use fsage_report::{Finding, Tone};

/// What comes first of the sentences on a workload: the answer, behind what is to be known before it, and with what is
/// said of speed where the layout leads, of what age did to the order of targets, and of speed over the days.
pub fn headlines<'a>(group: &Group, findings: &'a [Finding]) -> &'a [Finding] {
    let title = group.title.as_ref().map(|title| format!("{title}: "));
    let Some(answer) = findings.iter().position(|f| f.tone != Tone::Bad) else {
        return findings;
    };
    let behind = findings[answer + 1..].iter();
    let of_it = |finding: &&Finding| {
        let text = finding.text.as_str();
        let text = title
            .as_ref()
            .and_then(|title| text.strip_prefix(title))
            .unwrap_or(text);
        let leads = [SPEED, FRESH, OVER_DAYS];
        leads.iter().any(|lead| text.starts_with(lead))
    };
    &findings[..=answer + behind.take_while(of_it).count()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::verdict::finding;

    /// Who reads one sentence reads of the target that had no room, too.
    #[test]
    fn what_is_bad_comes_with_the_answer_as_a_headline() {
        let texts_of = |group: &Group, findings: &[Finding]| -> Vec<String> {
            let headlines = headlines(group, findings).iter();
            headlines.map(|finding| finding.text.clone()).collect()
        };
        let texts = |findings: &[Finding]| texts_of(&Group::default(), findings);
        let of = |text: &str, tone| finding(text.to_owned(), tone, "decay");
        let bad = of("c ran out of space", Tone::Bad);
        let (answer, more) = (
            of("a is best", Tone::Neutral),
            of("b is not", Tone::Neutral),
        );
        let all = [bad.clone(), answer, more];
        assert_eq!(texts(&all), ["c ran out of space", "a is best"]);
        assert_eq!(texts(&all[1..]), ["a is best"]);
        // Of two targets with what age did to their order, which is said behind it.
        let fresh = of("Fresh, a is slower", Tone::Neutral);
        let with_fresh = [all[1].clone(), fresh, all[2].clone()];
        assert_eq!(texts(&with_fresh), ["a is best", "Fresh, a is slower"]);
        // Of several workloads each sentence begins with its own.
        let titled = Group {
            title: Some("mail".to_owned()),
            ..Group::default()
        };
        let with_fresh = [
            of("mail: a is best", Tone::Neutral),
            of("mail: Fresh, a is slower", Tone::Neutral),
            of("mail: b is not", Tone::Neutral),
        ];
        assert_eq!(
            texts_of(&titled, &with_fresh),
            ["mail: a is best", "mail: Fresh, a is slower"]
        );
        assert_eq!(texts(&[bad]), ["c ran out of space"]);
        assert_eq!(texts(&[]), [""; 0]);
    }
}
