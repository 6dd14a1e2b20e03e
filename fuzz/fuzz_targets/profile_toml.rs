//! Any text as the TOML of a workload: no panic, every message one line with its line number; and what is accepted
//! makes a workload, or says why not.

#![no_main]

use fsage_core::{Event, EventSink, SinkError};
use fsage_workload::preset::{Generator, Preset};
use libfuzzer_sys::fuzz_target;

/// Has enough after some events.
struct Limited(u32);

impl EventSink for Limited {
    fn event(&mut self, _: Event) -> Result<(), SinkError> {
        self.0 += 1;
        if self.0 > 20_000 {
            return Err("enough".into());
        }
        Ok(())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let preset = match Preset::parse("fuzz.toml", text) {
        Ok(preset) => preset,
        Err(e) => {
            assert!(!e.to_string().contains('\n'), "{e}");
            assert!(e.line > 0);
            return;
        }
    };
    let mut sink = Limited(0);
    // Operations that find nothing to do make no event, and would end only with the days.
    let short = |operations: u64, days: u64| operations.saturating_mul(days) < 2_000_000;
    // What it fails with is the sink's own error, or says what does not fit together.
    let _ = match &preset.generator {
        Generator::Home(_) => return,
        Generator::Profile(g) if short(g.expected_operations().expect("a checked profile"), 1) => {
            g.generate(1, &mut sink).map(|_| ())
        }
        Generator::Herrin(g) if g.directories < 1000 => g.generate(1, &mut sink).map(|_| ()),
        Generator::Server(g) if g.files < 100_000 && short(g.operations_per_day, g.days) => {
            g.generate(1, &mut sink).map(|_| ())
        }
        Generator::Profile(_) | Generator::Herrin(_) | Generator::Server(_) => return,
    };
});
