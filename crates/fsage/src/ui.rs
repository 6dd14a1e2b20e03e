//! What a person sees while fsage works: progress and warnings on stderr, results on stdout.

mod interrupt;
mod plain;

pub use fsage_lab::interrupt::{Interruptible, go_on};
pub use interrupt::catch_interrupts;
pub use plain::{Plain, plain};

use fsage_lab::{Progress, Unit, Watch};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How talkative to be.
#[derive(Clone, Copy, Debug)]
pub struct Ui {
    /// Neither progress nor warnings.
    pub quiet: bool,
}

impl Ui {
    /// A progress bar over bytes; hidden when stderr is no terminal.
    pub fn bar_bytes(self, total: Option<u64>, what: &str) -> ProgressBar {
        self.bar(total, what, BYTES, Rest::default())
    }

    /// A progress bar over things that are counted.
    pub fn bar_count(self, total: Option<u64>, what: &str) -> ProgressBar {
        self.bar(total, what, THINGS, Rest::default())
    }

    fn bar(self, total: Option<u64>, what: &str, template: &str, rest: Rest) -> ProgressBar {
        let target = if self.quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(total, target);
        let style = if total.is_some() {
            ProgressStyle::with_template(template)
        } else {
            ProgressStyle::with_template("{msg:16} {spinner} {human_pos}")
        };
        let style = style.expect("a template of ours");
        bar.set_style(style.with_key(
            "left",
            move |state: &ProgressState, out: &mut dyn fmt::Write| {
                if let Some(left) = rest.left(state) {
                    let _ = write!(out, "{:#} left", HumanDuration(left));
                }
            },
        ));
        bar.set_message(plain(what));
        bar
    }

    /// A warning on stderr.
    pub fn warn(self, text: &str) {
        if !self.quiet {
            say(&format!("fsage: warning: {text}"));
        }
    }

    /// A remark on stderr.
    pub fn note(self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }
}

impl Watch for Ui {
    fn begin(&self, what: &str, total: Option<u64>, unit: Unit) -> Box<dyn Progress> {
        let template = match unit {
            Unit::Bytes => BYTES,
            Unit::Things => THINGS,
        };
        let rest = Rest::default();
        Box::new(Bar {
            what: what.to_owned(),
            total,
            shown: self.bar(total, what, template, rest.clone()),
            rest,
            ui: *self,
            lines: (!self.quiet && !io::stderr().is_terminal()).then(Lines::default),
        })
    }

    fn warn(&self, text: &str) {
        Ui::warn(*self, text);
    }

    fn note(&self, text: &str) {
        Ui::note(*self, text);
    }
}

/// A bar over bytes.
const BYTES: &str = "{msg:16} {bar:32} {percent:>3} %  {bytes_per_sec}  {left}";
/// A bar over things.
const THINGS: &str = "{msg:16} {bar:32} {percent:>3} %  {human_pos} of {human_len}  {left}";

/// How long the rest takes, where whoever works said so: how long it was to take, and when that was said.
#[derive(Clone, Debug, Default)]
struct Rest(Arc<Mutex<Option<(Duration, Instant)>>>);

impl Rest {
    fn set(&self, left: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((left, Instant::now()));
    }

    /// As it was said; `None` where it was not.
    fn said(&self) -> Option<Duration> {
        let said = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.map(|(left, when)| left.saturating_sub(when.elapsed()))
    }

    /// As it was said, else by the pace so far; `None` before anything is done.
    fn left(&self, state: &ProgressState) -> Option<Duration> {
        self.said()
            .or_else(|| (state.pos() > 0).then(|| state.eta()))
    }
}

/// A bar of the laboratory's work; it goes when the work is over. Where stderr is no terminal, a line every minute.
struct Bar {
    what: String,
    total: Option<u64>,
    shown: ProgressBar,
    rest: Rest,
    ui: Ui,
    lines: Option<Lines>,
}

/// When lines of progress are due.
struct Lines {
    began: Instant,
    /// Minutes for which there was a line.
    minutes: AtomicU64,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines {
            began: Instant::now(),
            minutes: AtomicU64::new(0),
        }
    }
}

impl Bar {
    /// Emits a line if it is time for one.
    fn line(&self) {
        let Some(lines) = &self.lines else { return };
        let seconds = lines.began.elapsed().as_secs();
        let minutes = seconds / 60;
        if lines.minutes.fetch_max(minutes, Ordering::Relaxed) < minutes {
            say(&progress_line(
                &self.what,
                self.shown.position(),
                self.total,
                seconds,
                self.rest.said(),
            ));
        }
    }
}

/// How far work is after so many seconds, and how long the rest takes at this speed.
fn progress_line(
    what: &str,
    done: u64,
    total: Option<u64>,
    seconds: u64,
    said: Option<Duration>,
) -> String {
    let took = format!("{} min", seconds / 60);
    match total.filter(|&total| total > 0) {
        Some(total) if done > 0 => {
            let share = (done as f64 / total as f64).min(1.0);
            let by_pace = seconds as f64 * (1.0 - share) / share;
            let left = said.map_or(by_pace, |left| left.as_secs_f64());
            let percent = share * 100.0;
            format!(
                "{what}: {percent:.0} % after {took}, about {:.0} min left",
                (left / 60.0).ceil()
            )
        }
        Some(_) => format!("{what}: just begun after {took}"),
        None => format!("{what}: {done} after {took}"),
    }
}

impl Progress for Bar {
    fn set_position(&self, done: u64) {
        self.shown.set_position(done);
        self.line();
    }

    fn inc(&self, more: u64) {
        self.shown.inc(more);
        self.line();
    }

    fn expect(&self, left: Duration) {
        self.rest.set(left);
        self.shown.enable_steady_tick(Duration::from_secs(1));
    }

    fn note(&self, text: &str) {
        self.shown.suspend(|| self.ui.note(text));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.shown.finish_and_clear();
    }
}

/// A file as a browser takes it: `file://` and its whole path, with all but plain characters as `%XX` (RFC 3986).
pub fn file_url(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let hex = |digit: u8| char::from(b"0123456789ABCDEF"[usize::from(digit)]);
    let mut url = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.extend(['%', hex(byte >> 4), hex(byte & 15)]);
        }
    }
    url
}

/// Says lines on stderr, to a person. All that fsage says there goes through here. A terminal that went away, or a
/// disk that is full, is no reason to stop: nothing depends on whether somebody listens.
pub fn say(text: &str) {
    let mut line = plain(text);
    line.push('\n');
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(line.as_bytes());
}

/// Standard output for text, buffered. Control characters are written out, see [`plain()`]. Whoever writes to it has to
/// flush it, and gets an error where it cannot be written.
pub fn stdout() -> BufWriter<Plain<Stdout>> {
    BufWriter::with_capacity(1 << 16, Plain::new(Stdout(io::stdout().lock())))
}

/// Prints a text on standard output.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Standard output for data, which stay as they are; it has to be flushed, too.
pub fn data_stdout() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 16, Stdout(io::stdout().lock()))
}

/// Standard output, whose errors say so.
pub struct Stdout(StdoutLock<'static>);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

fn named(error: io::Error) -> io::Error {
    match error.kind() {
        // Whoever writes tries again.
        ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, format!("cannot write to standard output: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter in two minutes leaves six for the rest.
    #[test]
    fn a_line_of_progress_says_how_long_the_rest_takes() {
        let line = |done, total, seconds| progress_line("aging", done, total, seconds, None);
        assert_eq!(
            line(25, Some(100), 120),
            "aging: 25 % after 2 min, about 6 min left"
        );
        assert_eq!(line(0, Some(100), 60), "aging: just begun after 1 min");
        assert_eq!(line(7, None, 60), "aging: 7 after 1 min");
        assert_eq!(
            line(100, Some(100), 60),
            "aging: 100 % after 1 min, about 0 min left"
        );
        // Whoever works knows better.
        let said = Some(Duration::from_secs(90));
        assert_eq!(
            progress_line("cells", 1, Some(6), 60, said),
            "cells: 17 % after 1 min, about 2 min left"
        );
    }

    /// RFC 3986, section 2.3: letters, digits and `-._~` stand for themselves; the ü of UTF-8 is C3 BC.
    #[test]
    fn a_url_of_a_file_has_its_whole_path_and_only_plain_characters() {
        let table = [
            ("/a/b-c_d.html", "file:///a/b-c_d.html"),
            ("/a b/100%?#", "file:///a%20b/100%25%3F%23"),
            ("/\u{fc}<\n", "file:///%C3%BC%3C%0A"),
        ];
        for (path, url) in table {
            assert_eq!(file_url(Path::new(path)), url);
        }
        let whole = file_url(Path::new("report.html"));
        assert!(
            whole.starts_with("file:///") && whole.ends_with("/report.html"),
            "{whole}"
        );
    }
}
