//! The policy that `docs/guide/write-a-policy.md` adds, as it stands there: it compiles, its own tests pass, and it
//! ends the workload of the page where the page says.

#[path = "../../../../docs/guide/follow.rs"]
mod follow;

use follow::Follow;
use fsage_core::{Event, FileSystem};
use fsage_metrics::measure;
use fsage_models::ffs::policy::{IndirectSite, NoSwitchSeq, Policy, Realloc, SmartFrag, TailSite};
use fsage_models::ffs::{Ffs, Params};
use fsage_workload::home::Home;

/// Layout score after the twenty days of the page.
fn score(events: &[Event], policy: &'static dyn Policy) -> f64 {
    let params = Params {
        policy,
        ..Params::preset("g502").expect("a preset")
    };
    let mut fs = Ffs::new(params).expect("a preset is accepted");
    for event in events {
        fs.apply(&event.op).expect("the workload fits");
    }
    fs.check().expect("the file system is whole");
    measure(&fs).layout().value()
}

#[test]
fn the_policy_of_the_guide_ends_where_the_guide_says() {
    let mut events = Vec::new();
    let home = Home::smith96().with_days(20);
    home.generate(1, &mut events).expect("memory takes events");
    let [follow, realloc, smartfrag] =
        [&Follow as &'static dyn Policy, &Realloc, &SmartFrag].map(|policy| score(&events, policy));
    let said = format!(
        "ends these twenty days at {follow:.3}: above `realloc` ({realloc:.3}), and below `smartfrag` alone \
         ({smartfrag:.3})"
    );
    let page = include_str!("../../../../docs/guide/write-a-policy.md").replace('\n', " ");
    assert!(
        page.contains(&said),
        "docs/guide/write-a-policy.md does not say: {said}"
    );
}

#[test]
fn the_guide_shows_what_the_file_has() {
    let page = include_str!("../../../../docs/guide/write-a-policy.md");
    let file = include_str!("../../../../docs/guide/follow.rs");
    let shown = page
        .split("```rust\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let shown = shown.expect("the page shows code");
    assert!(
        shown.contains("impl Policy") && file.contains(shown),
        "{shown}"
    );
    let said = format!("[follow.rs](follow.rs), {} lines", file.lines().count());
    assert!(
        page.contains(&said),
        "docs/guide/write-a-policy.md does not say: {said}"
    );
}
