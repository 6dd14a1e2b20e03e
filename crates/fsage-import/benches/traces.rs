//! How fast the importers of traces read text: the budget is 100 MB/s each, on one core.
//!
//! With the real samples when they are there; else with made-up lines of the same kind. One pass
//! (`only_new`), which is what a megabyte costs; the default reads twice.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::{Event, EventSink, SinkError};
use fsage_import::trace::{Log, TraceOptions};
use fsage_import::{nfsdump, strace};
use std::hint::black_box;
use std::path::PathBuf;

struct Count(u64);

impl EventSink for Count {
    fn event(&mut self, _: Event) -> Result<(), SinkError> {
        self.0 += 1;
        Ok(())
    }
}

fn shared(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(name)
}

/// 41 MB: `make` of redis.
fn strace_log() -> Vec<u8> {
    let mut log = Vec::new();
    if let Ok(file) = std::fs::File::open(shared("strace/redismake.strace.zst"))
        && zstd::stream::copy_decode(file, &mut log).is_ok()
    {
        return log;
    }
    for i in 0..100_000 {
        let line = format!(
            "77 {i}.000001 openat(AT_FDCWD</a/b>, \"f{i}\", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</a/b/f{i}>\n\
             77 {i}.000002 write(3</a/b/f{i}>, \"\"..., 4096) = 4096\n\
             77 {i}.000003 close(3</a/b/f{i}>) = 0\n"
        );
        log.extend_from_slice(line.as_bytes());
    }
    log
}

/// The Harvard sample a thousand times over, five minutes apart.
fn nfs_trace() -> Vec<u8> {
    let sample = std::fs::read_to_string(shared("nfs/ellard-raw-data.txt")).unwrap_or_else(|_| {
        "1006231504.676007 32.03fd 30.0801 T C3 8b 8 create fh cf name \"x\" how X con = 130 len = 130\n\
         1006231504.677611 30.0801 32.03fd T R3 8b 8 create OK fh cb ftype 1 mode 0 nlink 1 size 0 \
         status=130 pl = 130 con = 130 len = 130\n"
            .to_owned()
    });
    let mut trace = String::new();
    for copy in 0..1000_u64 {
        for line in sample.lines() {
            match line
                .split_once('.')
                .map(|(s, rest)| (s.parse::<u64>(), rest))
            {
                Some((Ok(seconds), rest)) => {
                    trace += &(seconds + copy * 300).to_string();
                    trace += &[".", rest, "\n"].concat();
                }
                _ => trace.push_str(line),
            }
        }
    }
    trace.into_bytes()
}

fn parsers(c: &mut Criterion) {
    let options = TraceOptions {
        only_new: true,
        ..TraceOptions::default()
    };
    let mut group = c.benchmark_group("traces");
    group.sample_size(10);
    let log = strace_log();
    group.throughput(Throughput::Bytes(log.len() as u64));
    group.bench_function("strace", |b| {
        b.iter(|| {
            let mut sink = Count(0);
            let mut logs = [Log::from_bytes("bench", &log)];
            let done = strace::import(&mut logs, &options, &mut sink, &mut || Ok(()));
            black_box(done.expect("a sound log"));
        });
    });
    let trace = nfs_trace();
    group.throughput(Throughput::Bytes(trace.len() as u64));
    group.bench_function("nfsdump", |b| {
        b.iter(|| {
            let mut sink = Count(0);
            let mut logs = [Log::from_bytes("bench", &trace)];
            let done = nfsdump::import(&mut logs, &options, &mut sink, &mut || Ok(()));
            black_box(done.expect("a sound trace"));
        });
    });
    group.finish();
}

criterion_group!(benches, parsers);
criterion_main!(benches);
