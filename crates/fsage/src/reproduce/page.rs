//! The page: one HTML file with everything in it, that needs nothing from elsewhere.

use super::comparison::{Line, Verdict};
use super::figure::Exhibit;
use super::paper::Paper;
use super::{Reproduction, facts};
use std::fmt::Write as _;

const STYLE: &str = "body{font-family:sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;margin:1em 0}\
th,td{padding:.25em .7em;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}\
th{border-bottom:2px solid #888}\
svg{max-width:100%;height:auto}\
section{display:inline-block;vertical-align:top;margin:0 2em 1.5em 0;max-width:100%}\
section p{max-width:46em}\
.met{color:#006d4e}.differs{color:#a63603}.not-measured{color:#666}\
small{color:#555}";

/// The page of a reproduction.
pub fn html(paper: &Paper, made: &Reproduction) -> String {
    let run = &paper.run;
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{} reproduced</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{}</h1>\n<p>{}. {}.</p>\n<p><em>{}</em></p>\n",
        escape(&paper.name),
        escape(&run.title),
        escape(&run.authors),
        escape(&run.published),
        escape(&run.question),
    );
    let _ = writeln!(out, "<p>{}</p>", escape(&facts(paper)));
    let _ = writeln!(
        out,
        "<h2>Beside the paper</h2>\n<p>{}</p>",
        escape(&tally(&made.lines))
    );
    comparison(&mut out, &made.lines);
    out.push_str("<h2>Figures and tables</h2>\n");
    for exhibit in &made.exhibits {
        match exhibit {
            Exhibit::Figure(figure) => {
                let _ = writeln!(
                    out,
                    "<section id=\"{}\">\n{}<p>{}</p>\n</section>",
                    figure.slug,
                    figure.svg(),
                    escape(&figure.text)
                );
            }
            Exhibit::Sheet(sheet) => {
                let _ = writeln!(
                    out,
                    "<section id=\"{}\">\n<h3>{}</h3>",
                    sheet.slug,
                    escape(&sheet.title)
                );
                table(&mut out, &sheet.header, &sheet.rows);
                let _ = writeln!(out, "<p>{}</p>\n</section>", escape(&sheet.text));
            }
        }
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// How many lines came out how.
pub fn tally(lines: &[Line]) -> String {
    let count = |verdict| lines.iter().filter(|line| line.verdict == verdict).count();
    format!(
        "{} of {} statements and figures are met, {} differ, {} were not measured.",
        count(Verdict::Met),
        lines.len(),
        count(Verdict::Differs),
        count(Verdict::NotMeasured)
    )
}

fn comparison(out: &mut String, lines: &[Line]) {
    out.push_str("<table>\n<tr><th>id</th><th>statement</th><th>published</th><th>ours</th><th>verdict</th></tr>\n");
    for line in lines {
        let expected = &line.expected;
        let notes = [&expected.place, &expected.measured];
        let notes: Vec<&str> = notes.into_iter().flatten().map(String::as_str).collect();
        let verdict = line.verdict.as_str();
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}<br><small>{}</small></td><td>{}</td><td>{}</td><td class=\"{}\">{verdict}</td></tr>",
            escape(&expected.id),
            escape(&expected.statement),
            escape(&notes.join("; ")),
            escape(&line.published_text()),
            escape(&line.ours_text()),
            verdict.replace(' ', "-"),
        );
    }
    out.push_str("</table>\n");
}

fn table(out: &mut String, header: &[String], rows: &[Vec<String>]) {
    out.push_str("<table>\n");
    for (tag, row) in std::iter::once(("th", header)).chain(rows.iter().map(|row| ("td", &row[..])))
    {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<{tag}>{}</{tag}>", escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
}

/// Text as HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::comparison::Measured;
    use crate::reproduce::figure::Sheet;

    #[test]
    fn everything_is_on_the_page_and_nothing_is_fetched() {
        let paper = Paper::named("smith96").unwrap();
        let mut measured = Measured::default();
        measured.figure("S96.1", Some(1.55));
        measured.shape("S96.4", Some((false, "a < b & c".into())));
        let made = Reproduction {
            lines: measured.compare(&paper),
            exhibits: vec![Exhibit::Sheet(Sheet {
                slug: "t",
                title: "T".into(),
                text: String::new(),
                header: vec!["a".into()],
                rows: vec![vec!["1 > 0".into()]],
            })],
            terminal: vec![],
        };
        let page = html(&paper, &made);
        for text in [
            "S96.10.orig.end",
            "1.55",
            "a &lt; b &amp; c",
            "1 &gt; 0",
            "class=\"differs\"",
            "1 of 32",
        ] {
            assert!(page.contains(text), "{text}");
        }
        assert!(
            !page.contains("http") && !page.contains("src="),
            "self-contained"
        );
    }
}
