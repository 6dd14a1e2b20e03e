//! Synthetic workloads on the FFS model: every preset fits its state, and the model is as full as the curve says.

use fsage_core::{Event, EventSink, EventsInMemory};
use fsage_target::{Aging, Target, TargetSpec, replay};
use fsage_workload::preset::{Generator, PRESETS, Preset};
use std::io::Write;

fn aging(spec: &str) -> Aging {
    let spec = TargetSpec::parse(spec).expect("a target");
    let mut aging = Aging::new(Target::make(&spec).expect("a file system"), false);
    // What is kept from day to day is compared with the whole as well.
    aging.check_every_day();
    aging
}

fn age(events: Vec<Event>, spec: &str) -> Aging {
    let mut agings = [aging(spec)];
    let mut script = EventsInMemory::new(events);
    replay(&mut script, &mut agings, 1, |_| true).expect("every operation fits the state");
    let [aging] = agings;
    aging
}

fn data_bytes(aging: &Aging) -> u64 {
    let geometry = aging.target().layout().geometry();
    geometry.data_bytes.expect("the model knows its data space")
}

/// A short form of a preset on a file system whose data space has that size.
pub fn events(name: &str, data_bytes: u64) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let sink: &mut dyn EventSink = &mut events;
    match Preset::named(name).expect(name).generator {
        Generator::Home(home) => home.with_days(5).generate(1, sink).map(|_| ()),
        Generator::Profile(profile) => {
            let profile = profile.with_days(5).with_capacity(data_bytes);
            profile.generate(1, sink).map(|_| ())
        }
        Generator::Herrin(mut herrin) => {
            herrin.generations = 3;
            let herrin = herrin.with_capacity(data_bytes);
            herrin.generate(1, sink).map(|_| ())
        }
        Generator::Server(mut server) => {
            (server.days, server.operations_per_day) = (5, 2000);
            let server = server.with_capacity(data_bytes);
            server.generate(1, sink).map(|_| ())
        }
    }
    .expect("memory");
    events
}

#[test]
fn every_preset_fits_the_state_of_an_ffs() {
    for (name, _) in PRESETS {
        // Home directories keep their size. The others get the data space that the file system has.
        let spec = match name {
            "home-1996" => "ffs",
            "home-1997" => "ffs:preset=g1024",
            "staff" => "ffs:preset=staff",
            "usr4" | "usr6" => "ffs:preset=usr4",
            "white" => "ffs:preset=white",
            _ => "ffs:size=160M,root,bytes_per_inode=2K",
        };
        let data = data_bytes(&aging(spec));
        let aged = age(events(name, data), spec);
        let total = aged.total();
        assert!(total.done > 300, "{name}: {total:?}");
        assert_eq!(total.skipped() - total.no_space, 0, "{name}: {total:?}");
        aged.target().check().expect(name);
    }
}

/// The generator estimates space; the model knows it. Both are compared with the curve.
#[test]
fn the_model_is_as_full_as_the_curve() {
    for name in [
        "news-spool",
        "mail-spool",
        "database-files",
        "build-cache",
        "container-images",
    ] {
        let Generator::Profile(profile) = Preset::named(name).expect(name).generator else {
            panic!("{name} is a profile");
        };
        // The presets with 4 KB blocks are counted as they are written here: in 8 KB blocks and 1 KB fragments.
        let spec = "ffs:size=160M,root,minfree=0,bytes_per_inode=2K";
        let mut profile = profile
            .with_days(10)
            .with_capacity(data_bytes(&aging(spec)));
        (profile.block_bytes, profile.fragment_bytes) = (8192, 1024);
        let mut events: Vec<Event> = Vec::new();
        let made = profile.generate(1, &mut events).expect("memory");
        let aged = age(events, spec);
        let total = aged.total();
        let mut farthest = 0.0_f64;
        for (i, day) in aged.days().iter().enumerate() {
            let curve = profile.utilization_at((i + 1) as f64 / 10.0);
            let used = day
                .measures
                .utilization()
                .expect("the model knows its free space");
            farthest = farthest.max((used - curve).abs());
        }
        let _ = writeln!(
            std::io::stderr(),
            "{name}: farthest from the curve {:.3} % of capacity in the model, {:.3} % by the estimate, \
             {} of {} operations without space",
            farthest * 100.0,
            made.utilization_deviation * 100.0,
            total.no_space,
            total.operations()
        );
        assert!(farthest <= 0.005, "{name}: {farthest}");
        assert_eq!(total.no_space, 0, "{name}");
    }
}
