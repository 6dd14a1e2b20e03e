//! The laboratory as somebody else's program uses it.

#[path = "../examples/age.rs"]
#[allow(dead_code)]
mod age;

/// What the example leaves behind is a run that the library reads again: two targets, thirty days each, and a page.
#[test]
fn the_example_ages_two_file_systems_and_writes_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    age::age_both(folder.path()).expect("the example runs");
    let run = folder.path().join("run");
    let measured = fsage_lab::measure::run(&run).expect("a run");
    let days: Vec<_> = measured
        .targets
        .iter()
        .map(|(spec, days)| (spec.as_str(), days.len()))
        .collect();
    assert_eq!(days, [("ffs", 30), ("ffs:policy=realloc", 30)]);
    let page = std::fs::read_to_string(run.join("report.html")).expect("a page");
    assert!(page.contains("ffs:policy=realloc"));
}

/// Bad input and a machine that fails are told apart, and nothing is left behind.
#[test]
fn an_error_says_whose_matter_it_is_and_leaves_nothing() {
    use fsage_lab::error::Kind;
    use fsage_lab::{AgeRequest, TargetSpec, Unwatched, age};
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let targets = [TargetSpec::parse("ffs").expect("a target")];
    let workload = folder.path().join("no.ops");
    let missing = age(&AgeRequest::new(&workload, &targets, &run), &Unwatched);
    let error = missing.expect_err("no workload");
    assert_eq!(error.kind(), Kind::Input);
    assert!(format!("{error:#}").contains("no.ops"), "{error:#}");
    assert!(!run.exists());
}
