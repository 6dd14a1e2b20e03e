//! Request files: text, one request a line. [`read_vector`] reads the form with a header and named columns, and
//! [`read_measured`] the traces of real drives.
//!
//! ```text
//! # disk=st32430n set=queue16 mode=open policy=sptf
//! # idx issue_ms op lba nsect done_ms service_ms
//! 0 0.000000 R 3026624 16 20.905597 20.905597
//! ```

use crate::device::{Access, Hint, Request};
use crate::flash::Precondition;
use std::fmt;
use std::io::{self, BufRead};
use thiserror::Error;

/// Latest time in a request file: 31 years. What a disk adds to it stays far below the end of 64 bits.
pub const MAX_TIME_NS: u64 = 1_000_000_000_000_000_000;

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One at a time: each a think time after the one before was complete.
    Closed,
    /// At the times of the file; they wait in a queue.
    Open,
}

impl Mode {
    /// The word of the header.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Closed => "closed",
            Mode::Open => "open",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One request of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its number in the file.
    pub idx: u64,
    /// In closed mode the think time before it, in open mode its issue, in nanoseconds.
    pub time_ns: u64,
    /// The request.
    pub request: Request,
    /// How long it took where the file comes from, in nanoseconds.
    pub service_ns: Option<u64>,
}

/// A request file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestFile {
    /// `disk=` or `device=` of the header.
    pub disk: String,
    /// `set=` of the header.
    pub set: String,
    /// How its times are meant.
    pub mode: Mode,
    /// `policy=` of the header.
    pub policy: String,
    /// What is done to a flash device before the first request, without time.
    pub preconditioning: Vec<Precondition>,
    /// Its requests.
    pub requests: Vec<Recorded>,
}

/// What is wrong with a request file.
#[derive(Debug, Error)]
pub enum RequestError {
    /// A line cannot be understood.
    #[error("{file}:{line}: {message}")]
    Line {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What was expected, and what was found.
        message: String,
    },
    /// The file cannot be read.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
}

/// Lines of a file, with its name for messages.
struct Lines<'a> {
    file: &'a str,
    input: &'a mut dyn BufRead,
    number: usize,
    text: String,
}

impl<'a> Lines<'a> {
    fn new(file: &'a str, input: &'a mut dyn BufRead) -> Lines<'a> {
        Lines {
            file,
            input,
            number: 0,
            text: String::new(),
        }
    }

    fn next(&mut self) -> Result<Option<&str>, RequestError> {
        /// No line of such a file is longer.
        const LONGEST: u64 = 1 << 16;
        self.text.clear();
        self.number += 1;
        let mut limited = io::Read::take(&mut *self.input, LONGEST);
        let read = limited.read_line(&mut self.text);
        match read {
            Ok(0) => Ok(None),
            Ok(bytes) if bytes as u64 == LONGEST => Err(self.wrong("the line is too long".into())),
            Ok(_) => Ok(Some(self.text.trim())),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                Err(self.wrong("expected text".into()))
            }
            Err(source) => Err(RequestError::Io {
                file: self.file.to_owned(),
                source,
            }),
        }
    }

    fn wrong(&self, message: String) -> RequestError {
        RequestError::Line {
            file: self.file.to_owned(),
            line: self.number,
            message,
        }
    }
}

/// The header's words `key=value`.
fn word<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let mut words = header.split_ascii_whitespace();
    words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// How a vector file counts time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// Column `issue_ms`, and `done_ms` where think times must be found.
    Issue,
    /// Column `think_ms`.
    Think,
}

/// Where the columns of a vector file stand.
struct Columns {
    idx: Option<usize>,
    issue: Option<usize>,
    think: Option<usize>,
    op: usize,
    lba: usize,
    sectors: usize,
    done: Option<usize>,
    service: Option<usize>,
    hint: Option<usize>,
}

impl Columns {
    fn parse(line: &str) -> Result<Columns, String> {
        let names: Vec<&str> = line
            .trim_start_matches('#')
            .split_ascii_whitespace()
            .collect();
        let place = |name: &str| names.iter().position(|n| *n == name);
        let needed = |name: &str| {
            let found = names.join(" ");
            place(name).ok_or_else(|| format!("expected a column {name}, found: {found}"))
        };
        Ok(Columns {
            idx: place("idx"),
            issue: place("issue_ms"),
            think: place("think_ms"),
            op: needed("op")?,
            lba: needed("lba")?,
            sectors: needed("nsect")?,
            done: place("done_ms"),
            service: place("service_ms"),
            hint: place("hint_lba"),
        })
    }
}

/// Reads a file of requests with a header. `mode` overrides that of the header: `closed`, `open` or `think`.
///
/// # Errors
/// The file cannot be read, or a line cannot be understood; names the line and what was expected.
pub fn read_vector(
    file: &str,
    input: &mut dyn BufRead,
    mode: Option<&str>,
) -> Result<RequestFile, RequestError> {
    let mut lines = Lines::new(file, input);
    let header = lines.next()?.unwrap_or_default().to_owned();
    if !header.starts_with('#') {
        return Err(lines.wrong("expected a header: # disk=... set=... mode=... policy=...".into()));
    }
    let (clock, mode) = match mode.or_else(|| word(&header, "mode")) {
        Some("closed") => (Clock::Issue, Mode::Closed),
        Some("open") => (Clock::Issue, Mode::Open),
        Some("think") => (Clock::Think, Mode::Closed),
        other => {
            let found = other.unwrap_or("none");
            let message = format!("expected mode=closed, open or think, found {found}");
            return Err(lines.wrong(message));
        }
    };
    let mut preconditioning = Vec::new();
    let names = loop {
        let line = lines.next()?.unwrap_or_default().to_owned();
        match line.strip_prefix("#pre ") {
            Some(step) => {
                let step = precondition(step).map_err(|message| lines.wrong(message))?;
                preconditioning.push(step);
            }
            None => break line,
        }
    };
    let columns = Columns::parse(&names).map_err(|message| lines.wrong(message))?;
    let missing = match (clock, mode) {
        (Clock::Think, _) => columns.think.is_none().then_some("think_ms"),
        (Clock::Issue, _) if columns.issue.is_none() => Some("issue_ms"),
        (Clock::Issue, Mode::Closed) => columns.done.is_none().then_some("done_ms"),
        (Clock::Issue, Mode::Open) => None,
    };
    if let Some(name) = missing {
        let message = format!("this mode needs a column {name}, found: {names}");
        return Err(lines.wrong(message));
    }
    let text = |key| word(&header, key).unwrap_or_default().to_owned();
    let device = if word(&header, "device").is_some() {
        "device"
    } else {
        "disk"
    };
    let mut found = RequestFile {
        disk: text(device),
        preconditioning,
        set: text("set"),
        mode,
        policy: text("policy"),
        requests: Vec::new(),
    };
    let mut done_before = 0;
    let mut last_issue = 0;
    while let Some(line) = lines.next()? {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let row = Row::parse(line, &columns, found.requests.len() as u64);
        let row = row.map_err(|message| lines.wrong(message))?;
        let time_ns = match (clock, mode) {
            (Clock::Think, _) => row.think,
            (Clock::Issue, Mode::Open) => row.issue,
            (Clock::Issue, Mode::Closed) => row.issue.and_then(|i| i.checked_sub(done_before)),
        };
        let Some(time_ns) = time_ns else {
            let message = "issued before the request before it was complete; is it mode=open?";
            return Err(lines.wrong(message.into()));
        };
        if mode == Mode::Open && time_ns < last_issue {
            return Err(lines.wrong("issued before the request of the line before".into()));
        }
        last_issue = time_ns;
        done_before = row.done.unwrap_or(0);
        found.requests.push(Recorded {
            idx: row.idx,
            time_ns,
            request: row.request,
            service_ns: row.service,
        });
    }
    Ok(found)
}

/// The fields of one line, as far as they are there.
struct Row {
    idx: u64,
    issue: Option<u64>,
    think: Option<u64>,
    request: Request,
    done: Option<u64>,
    service: Option<u64>,
}

impl Row {
    fn parse(line: &str, columns: &Columns, number: u64) -> Result<Row, String> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let field = |place: usize| {
            let found = fields.len();
            fields
                .get(place)
                .copied()
                .ok_or_else(|| format!("expected at least {} fields, found {found}", place + 1))
        };
        let time = |place: Option<usize>| match place {
            Some(place) => decimal_ns(field(place)?, MILLISECOND).map(Some),
            None => Ok(None),
        };
        Ok(Row {
            idx: match columns.idx {
                Some(place) => whole(field(place)?)?,
                None => number,
            },
            issue: time(columns.issue)?,
            think: time(columns.think)?,
            request: request(
                field(columns.op)?,
                whole(field(columns.lba)?)?,
                field(columns.sectors)?,
                columns.hint.map(field).transpose()?,
            )?,
            done: time(columns.done)?,
            service: time(columns.service)?,
        })
    }
}

/// Reads the trace of a real drive: lines `op class lba sectors service_us think_us`, where the think time goes from
/// this request's completion to the issue of the next. `end` is the capacity of the drive in sectors: requests beyond
/// it are moved back to end there.
///
/// # Errors
/// The file cannot be read, or a line cannot be understood; names the line and what was expected.
pub fn read_measured(
    file: &str,
    input: &mut dyn BufRead,
    end: u64,
) -> Result<RequestFile, RequestError> {
    let mut lines = Lines::new(file, input);
    let mut requests = Vec::new();
    let mut time_ns = 0;
    while let Some(line) = lines.next()? {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let parsed = match fields.as_slice() {
            [] => continue,
            [op, _class, lba, count, service, think] => (|| {
                let request = transfer(op, lba, count)?;
                let service = decimal_ns(service, MICROSECOND)?;
                Ok((request, service, decimal_ns(think, MICROSECOND)?))
            })(),
            _ => Err("expected six fields: op class lba sectors service_us think_us".to_owned()),
        };
        let (mut request, service, think) = parsed.map_err(|message| lines.wrong(message))?;
        let last = end.saturating_sub(u64::from(request.sectors));
        request.lba = request.lba.min(last);
        requests.push(Recorded {
            idx: requests.len() as u64,
            time_ns,
            request,
            service_ns: Some(service),
        });
        time_ns = think;
    }
    Ok(RequestFile {
        disk: String::new(),
        set: "measured".into(),
        mode: Mode::Closed,
        policy: "fcfs".into(),
        preconditioning: Vec::new(),
        requests,
    })
}

/// What a letter of the column `op` stands for.
fn request(op: &str, lba: u64, count: &str, hint_lba: Option<&str>) -> Result<Request, String> {
    let (access, fua, hint) = match op {
        "R" => (Access::Read, false, Hint::None),
        "W" => (Access::Write, false, Hint::None),
        "U" => (Access::Write, true, Hint::None),
        "A" => {
            let last = hint_lba.ok_or("a write with append hint needs a column hint_lba")?;
            (Access::Write, false, Hint::Append(whole(last)?))
        }
        "O" => (Access::Write, false, Hint::Overwrite),
        "T" => (Access::Trim, false, Hint::None),
        "F" => return Ok(Request::new(Access::Flush, 0, 0)),
        other => return Err(format!("expected R, W, U, F, T, A or O, found {other}")),
    };
    Ok(Request {
        access,
        lba,
        sectors: sectors(count)?,
        fua,
        hint,
    })
}

/// The request of a trace, which only reads and writes.
fn transfer(op: &str, lba: &str, count: &str) -> Result<Request, String> {
    match op {
        "R" | "W" => request(op, whole(lba)?, count, None),
        other => Err(format!("expected R or W, found {other}")),
    }
}

/// A line of preconditioning, behind its `#pre`.
fn precondition(text: &str) -> Result<Precondition, String> {
    let wrong = || {
        format!(
            "expected `seq FIRST SECTORS EACH`, `rnd FIRST SECTORS EACH WRITES SEED` or `trim FIRST SECTORS`, \
             found {text}"
        )
    };
    let mut words = text.split_ascii_whitespace();
    let kind = words.next();
    let numbers: Result<Vec<u64>, String> = words.map(whole).collect();
    match (kind, numbers?.as_slice()) {
        (Some("seq"), &[first, sectors, each]) if each > 0 => Ok(Precondition::Sequential {
            first,
            sectors,
            each,
        }),
        (Some("rnd"), &[first, sectors, each, writes, seed]) if each > 0 => {
            Ok(Precondition::Random {
                first,
                sectors,
                each,
                writes,
                seed,
            })
        }
        (Some("trim"), &[first, sectors]) => Ok(Precondition::Trim { first, sectors }),
        _ => Err(wrong()),
    }
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("expected a whole number, found {text}"))
}

fn sectors(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|&sectors| sectors > 0)
        .ok_or_else(|| format!("expected a number of sectors, found {text}"))
}

/// Digits behind the point of a time that is whole nanoseconds.
const MILLISECOND: usize = 6;
const MICROSECOND: usize = 3;

/// A decimal number in nanoseconds; what is below them is cut off.
fn decimal_ns(text: &str, digits: usize) -> Result<u64, String> {
    let wrong = || format!("expected a time, at most 31 years, found {text}");
    let (before, behind) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if before.len() + behind.len() == 0 || !is_number(before) || !is_number(behind) {
        return Err(wrong());
    }
    let behind: String = behind
        .chars()
        .chain("000000".chars())
        .take(digits)
        .collect();
    let time = format!("0{before}{behind}").parse::<u64>().ok();
    time.filter(|&time| time <= MAX_TIME_NS).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(text: &str) -> Result<RequestFile, String> {
        read_vector("file", &mut text.as_bytes(), None).map_err(|e| e.to_string())
    }

    #[test]
    fn closed_vectors_are_think_times() {
        let text = "# disk=d set=s mode=closed policy=fcfs\n# idx issue_ms op lba nsect done_ms service_ms\n\
                    0 6.012 R 100 2 32.355354 26.343354\n1 56.878354 W 637930 2 81.718850 24.840496\n";
        let file = vector(text).expect("a vector");
        assert_eq!((file.disk.as_str(), file.set.as_str()), ("d", "s"));
        let times: Vec<u64> = file.requests.iter().map(|r| r.time_ns).collect();
        assert_eq!(times, [6_012_000, 24_523_000]);
        assert_eq!(file.requests[1].service_ns, Some(24_840_496));
        assert_eq!(file.requests[1].request.access, Access::Write);
    }

    #[test]
    fn a_list_without_answers_has_think_times_of_its_own() {
        let text = "# mode=think extra=1\nidx think_ms op lba nsect color\n5 0.3 R 0 16 red\n";
        let file = vector(text).expect("a vector");
        assert_eq!(file.mode, Mode::Closed);
        assert_eq!(file.requests[0].idx, 5);
        assert_eq!(file.requests[0].time_ns, 300_000);
        assert_eq!(file.requests[0].service_ns, None);
    }

    #[test]
    fn errors_name_the_line_and_what_was_expected() {
        let table = [
            ("", "file:1: expected a header"),
            (
                "# mode=half\n",
                "file:1: expected mode=closed, open or think, found half",
            ),
            (
                "# mode=open\nidx issue_ms op lba\n",
                "file:2: expected a column nsect",
            ),
            (
                "# mode=closed\nissue_ms op lba nsect\n",
                "file:2: this mode needs a column done_ms",
            ),
            (
                "# mode=open\nissue_ms op lba nsect\n0 R 5 0\n",
                "file:3: expected a number of sectors",
            ),
            (
                "# mode=open\nissue_ms op lba nsect\n0 X 5 1\n",
                "file:3: expected R, W, U, F, T, A or O, found X",
            ),
            (
                "# mode=open\nissue_ms op lba nsect\n1e3 R 5 1\n",
                "file:3: expected a time",
            ),
            (
                "# mode=open\nissue_ms op lba nsect\n0 R 5\n",
                "file:3: expected at least 4 fields",
            ),
            (
                "# mode=open\nissue_ms op lba nsect\n2 R 5 1\n1 R 5 1\n",
                "file:4: issued before",
            ),
        ];
        for (text, expected) in table {
            let error = vector(text).expect_err(text);
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn measured_traces_are_moved_back_onto_the_disk() {
        let text = "R Miss 90 20 14095.370 13876.2704\nW Hit 5 1 1.0 2.0\n";
        let file = read_measured("t", &mut text.as_bytes(), 100).expect("a trace");
        assert_eq!(file.requests[0].request.lba, 80);
        assert_eq!(file.requests[0].time_ns, 0);
        assert_eq!(file.requests[0].service_ns, Some(14_095_370));
        assert_eq!(file.requests[1].time_ns, 13_876_270);
    }

    #[test]
    fn times_are_read_to_the_nanosecond() {
        assert_eq!(decimal_ns("0.000001", MILLISECOND), Ok(1));
        assert_eq!(decimal_ns("12", MILLISECOND), Ok(12_000_000));
        assert_eq!(decimal_ns("20935.440364", MICROSECOND), Ok(20_935_440));
        for bad in ["", ".", "-1", "1e3", "99999999999999999999", "1.2.3"] {
            assert!(decimal_ns(bad, MILLISECOND).is_err(), "{bad}");
        }
    }
}
