//! The method of Smith and Seltzer on a truth of ours: how far a file system that is aged by a workload from nightly
//! snapshots ends from the one that the snapshots are of.

use super::comparison::Measured;
use super::experiments::Bench;
use fsage_core::identity::Identity;
use fsage_lab::interrupt;
use fsage_lab::verify::{compare, observe, remake, week_of_profiles};
use fsage_target::{Target, TargetSpec};
use fsage_workload::from_snapshots::{
    DeleteTimes, Draws, Growth, Modifications, Options, Placement, ShortLived,
};

/// The rules of a paper.
pub struct Rules {
    /// How times of deletion are found.
    pub delete_times: DeleteTimes,
    /// What tells a file from the one that had its inode before.
    pub identity: Identity,
    /// How short-lived files are drawn, of a pool of so many a day.
    pub draws: fn(u64) -> Draws,
}

/// 1996: whole days of short-lived files; inodes have no generation.
pub const OF_1996: Rules = Rules {
    delete_times: DeleteTimes::Smith96,
    identity: Identity::Ino,
    draws: |_| Draws::Days,
};

/// 1997: profiles of directories; a generation tells a replaced file. The paper's rate, one for 40 MB, is one of its
/// own pool: of ours as many are drawn a day as it has.
pub const OF_1997: Rules = Rules {
    delete_times: DeleteTimes::Smith97,
    identity: Identity::Generation,
    draws: |a_day| Draws::Profiles { a_day: Some(a_day) },
};

/// Layout score at the end of the remade file system, less that of the true one: the workload of the paper is the
/// truth, on a target of the paper, and short-lived files are drawn from a week in its middle. Rows `<id>.difference`
/// and `<id>.above`.
///
/// # Errors
/// The target is no model; an interrupt.
pub fn measure(
    bench: &Bench<'_>,
    id: &str,
    target: &str,
    rules: &Rules,
    measured: &mut Measured,
) -> anyhow::Result<()> {
    let spec = TargetSpec::parse(bench.spec(target)?)?;
    let Target::Model(fs) = Target::make(&spec)? else {
        anyhow::bail!("`{spec}`: expected a model");
    };
    let bar = bench.ui.bar_count(None, "aging with the truth, again");
    let mut source = fsage_data::open_workload(bench.workload)?;
    let mut truth = observe(&mut *source, fs, &mut || {
        bar.inc(1);
        Ok(interrupt::go_on()?)
    })?;
    drop(bar);
    let (pool, a_day) = week_of_profiles(&truth);
    let options = Options {
        seed: bench.paper.run.seed,
        delete_times: rules.delete_times,
        identity: rules.identity,
        modifications: Modifications::Rewrite,
        growth: Growth::Burst,
        placement: Some(Placement::Groups),
        ..Options::default()
    };
    let short_lived = (!pool.is_empty()).then(|| ShortLived {
        pool: &pool,
        draws: (rules.draws)(a_day),
    });
    let events = remake(&mut truth, &options, short_lived)?;
    let distance = compare(&truth, events, &spec, false)?;
    measured.figure(&format!("{id}.difference"), Some(distance.at_end));
    let text = format!(
        "{:+.3} at the end, {:.3} in the mean of days",
        distance.at_end, distance.mean
    );
    measured.shape(&format!("{id}.above"), Some((distance.at_end > 0.0, text)));
    Ok(())
}
