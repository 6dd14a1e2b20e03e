//! Why aged is slower than its control, beside the speeds of a suite.

use super::report::{Line, MB, digits};
use super::results::{Row, State};
use crate::days::DayRow;
use crate::report::Over;
use crate::report::verdict::{ALIKE, aged_worse};
use crate::report::words::list;
use fsage_bench::Benchmark;
use fsage_metrics::free_space::PLACEABLE_1M;

/// So many times as many requests are more.
const MORE_REQUESTS: f64 = 1.05;

/// What age did to the layout that phases go over, and to what the device was asked for; that it is not the layout,
/// where that is as good as fresh. The day is the last one of the run.
pub fn sentence(
    suite: &dyn Benchmark,
    (rows, lines): (&[Row], &[Line]),
    slower: &[&str],
    day: &DayRow,
) -> String {
    // How older files lie slows no new ones down: how these lie does, and what room there was for them. What free space
    // there is slows no reads down.
    let makes = suite.makes_files();
    let writes_over = !suite.runs_programs() && slower.iter().any(|phase| !phase.contains("read"));
    let mut worse = Vec::new();
    if suite.finds_files() {
        worse.extend(aged_worse(day, makes || writes_over));
    }
    if makes {
        worse.extend(worse_of_own(lines, slower, day));
    }
    if worse.is_empty() {
        let is_simulated = rows.iter().any(|row| row.device.is_some());
        let check = if is_simulated {
            "nothing else disturbs a simulated target: on flash its state does (`--causes`)"
        } else {
            "check for noise: repeat it on an idle machine, with more `--repetitions`"
        };
        return format!(
            "Why: the layout does not explain it, which is as good as that of a fresh copy; {check}."
        );
    }
    let requests = |state| requests_for_mb(rows, slower, state);
    if let (Some(aged), Some(fresh)) = (requests(State::Aged), requests(State::Control))
        && aged > fresh * MORE_REQUESTS
    {
        let (aged, fresh) = (digits(aged), digits(fresh));
        worse.push(format!(
            "requests of the device for a MB {aged} against {fresh}"
        ));
    }
    format!(
        "Why, aged against a fresh copy, for {}: {}.",
        list(slower),
        list(&worse)
    )
}

/// What is worse where a suite makes the files that it goes over.
fn worse_of_own(lines: &[Line], slower: &[&str], day: &DayRow) -> Vec<String> {
    let mut worse = Vec::new();
    let score = |state| {
        let lines = lines.iter().filter(|line| slower.contains(&&*line.phase));
        Over::of(lines.filter_map(|line| line.layout_score(state))).map(|over| over.mean)
    };
    if let (Some(aged), Some(fresh)) = (score(State::Aged), score(State::Control))
        && aged < fresh - ALIKE
    {
        worse.push(format!("layout score {aged:.3} against {fresh:.3}"));
    }
    let room = (day.value(&PLACEABLE_1M), day.of_control(&PLACEABLE_1M));
    if let (Some(aged), Some(fresh)) = room
        && aged < fresh
    {
        worse.push(format!(
            "room for extents of 1 MiB {aged:.0} against {fresh:.0}"
        ));
    }
    worse
}

/// Requests of the device for 10^6 bytes of files, over all repetitions of these phases; none where nobody counted.
fn requests_for_mb(rows: &[Row], phases: &[&str], state: State) -> Option<f64> {
    let measured = rows
        .iter()
        .filter(|row| row.state == state)
        .map(|row| &row.measurement)
        .filter(|measured| phases.contains(&&*measured.phase));
    let counted = measured.filter_map(|measured| {
        let requests = measured.requests?;
        Some((requests.reads + requests.writes, measured.bytes))
    });
    let (requests, bytes) = counted.fold((0, 0), |(all, bytes), of| (all + of.0, bytes + of.1));
    (bytes > 0).then(|| requests as f64 / (bytes as f64 / MB))
}

#[cfg(test)]
mod tests {
    use super::super::report::lines;
    use super::*;
    use fsage_bench::benchmarks;
    use fsage_bench::{Command, Measurement, Requests};
    use fsage_metrics::{free_space, layout_score, pieces};

    /// A read of two megabytes that asks the device so often.
    fn row(state: State, device: Option<&str>, reads: u64) -> Row {
        Row {
            target: "ext4".to_owned(),
            state,
            device: device.map(str::to_owned),
            host: None,
            measurement: Measurement {
                benchmark: "hot-files".to_owned(),
                phase: "read".to_owned(),
                repetition: 0,
                files: 1,
                bytes: 2_000_000,
                elapsed_ns: 1,
                requests: Some(Requests {
                    reads,
                    writes: 0,
                    sync_writes: 0,
                    read_bytes: 0,
                    written_bytes: 0,
                }),
                ..Measurement::default()
            },
        }
    }

    fn said(device: Option<&str>, day: &DayRow) -> String {
        let rows = [row(State::Aged, device, 20), row(State::Control, device, 6)];
        let suite = benchmarks::by_name("hot-files").expect("a suite");
        sentence(suite, (&rows, &lines(&rows)), &["read"], day)
    }

    #[test]
    fn what_is_slower_has_a_cause_in_the_layout_or_is_said_to_have_none() {
        let day = |score: f64| {
            DayRow::default()
                .with(&layout_score::SCORE, score)
                .with(&layout_score::SCORED, 1000)
                .with(&pieces::PER_FILE, 1.0)
                .with_control(&layout_score::SCORE, 0.95)
                .with_control(&pieces::PER_FILE, 1.0)
        };
        assert_eq!(
            said(Some("disk"), &day(0.78)),
            "Why, aged against a fresh copy, for read: layout score 0.780 against 0.950 and requests of the device for \
             a MB 10.0 against 3.00."
        );
        let unexplained = said(None, &day(0.95));
        assert!(
            unexplained.contains("the layout does not explain it"),
            "{unexplained}"
        );
        assert!(
            unexplained.contains("repeat it on an idle machine"),
            "{unexplained}"
        );
    }

    /// A command on files that are there is not slow for lack of room, nor one in its own directory for their order.
    #[test]
    fn the_cause_of_a_command_is_sought_where_it_works() {
        let day = DayRow::default()
            .with(&layout_score::SCORE, 0.78)
            .with(&layout_score::SCORED, 1000)
            .with(&PLACEABLE_1M, 11)
            .with(&free_space::BYTES, 1000)
            .with(&free_space::BYTES_IN_1M_RUNS, 100)
            .with_control(&free_space::BYTES, 1000)
            .with_control(&free_space::BYTES_IN_1M_RUNS, 900)
            .with_control(&layout_score::SCORE, 0.95)
            .with_control(&PLACEABLE_1M, 79);
        let said = |line: &str| {
            let command = Command::new("mine", line, Vec::new()).expect("a command");
            sentence(&command, (&[], &[]), &["run"], &day)
        };
        let begins = "Why, aged against a fresh copy, for run: ";
        let (layout, room) = (
            "layout score 0.780 against 0.950",
            "room for extents of 1 MiB 11 against 79",
        );
        let runs = "free space in runs of 1 MiB or more 10 % against 90 %";
        assert_eq!(said("tar -C {mnt} -c ."), format!("{begins}{layout}."));
        assert_eq!(said("tar -x -C {dir}"), format!("{begins}{room}."));
        assert_eq!(
            said("cp -r {mnt}/a {dir}"),
            format!("{begins}{layout}, {runs} and {room}.")
        );
    }
}
