//! Models: each stage is a life of its own, from the first day on, so that it is the same whatever else is asked for.

use super::defrag::{Known, defragment};
use super::later::Ids;
use super::{Cost, Life, Stage, Treatment, set_speeds, stage_folder};
use crate::aging::again::{AGAIN, Asked, WorkloadFiles, with_control};
use crate::aging::life::{Life as FlashLife, Lived};
use crate::aging::replay_all;
use crate::aging::watched::Watched;
use crate::benching::{self, Lane, Machine, State};
use crate::days::{self, DayRow};
use crate::error::Context;
use crate::run_folder::TargetFacts;
use fsage_core::{Event, EventsInMemory, FileId};
use fsage_target::{Aging, Target, TargetSpec};

/// The stages of a model.
pub fn stages(
    life: &Life<'_>,
    facts: &TargetFacts,
    spec: &TargetSpec,
    treatments: &[&Treatment],
) -> crate::Result<Vec<Stage>> {
    let mut stages = Vec::new();
    let mut lanes = Vec::new();
    let mut folders = Vec::new();
    let all = std::iter::once(None).chain(treatments.iter().copied().map(Some));
    for treatment in all {
        for lived_on in [false, true] {
            if lived_on && life.more.is_none() {
                continue;
            }
            let made = Made::new(life, spec, treatment, lived_on)?;
            let folder = stage_folder(life, facts, stages.len())?;
            if let Some(plan) = life.plan {
                let files = made.files_of(plan.asked());
                let highest = made.highest_id();
                let mut model = with_control(spec, made.target, &files, highest, life.ui)?;
                model.lived = made.lived.map(Box::new);
                lanes.push(Lane::model(spec, &folder, &[State::Aged], Some(model))?);
            }
            stages.push(made.stage);
            folders.push(folder);
        }
    }
    if let Some(plan) = life.plan {
        benching::measure(&lanes, plan, life.ui, &mut |_| Ok(()))?;
        set_speeds(&mut stages, &folders, plan)?;
    }
    Ok(stages)
}

/// A model in one of its stages.
struct Made {
    target: Target,
    known: Known,
    ids: Ids,
    stage: Stage,
    /// The flash device that it lies on, if the disk is one.
    lived: Option<Lived>,
}

impl Made {
    fn new(
        life: &Life<'_>,
        spec: &TargetSpec,
        treatment: Option<&Treatment>,
        lived_on: bool,
    ) -> crate::Result<Made> {
        let machine = life.plan.map(|plan| &plan.machine);
        let flash = machine.and_then(Machine::flash);
        let mut agings = vec![Aging::new(Target::make(spec)?, life.manifest.lenient)];
        let on_flash =
            flash.and_then(|(drive, params)| FlashLife::begin(drive, params, &mut agings[0]));
        let mut source = fsage_data::open_workload(life.workload)?;
        let mut known = Known::default();
        let mut watched = Watched {
            source: &mut *source,
            observe: |event: &Event| known.observe(event),
            days: None,
        };
        replay_all(
            (life.workload, AGAIN),
            &mut watched,
            &mut agings,
            Some(1),
            life.ui,
        )?;
        let aging = agings.pop().context("one target was aged")?;
        let mut lived = on_flash.and_then(FlashLife::end);
        let mut ids = Ids {
            highest: known.highest,
            ..Ids::default()
        };
        let mut cost: Option<Cost> = None;
        let mut target = aging.into_target();
        if let Some(Treatment::Defrag(way)) = treatment {
            let device = lived.map(|lived| lived.device);
            let treated = defragment(spec, target, &known, *way, machine, device)?;
            (target, ids, cost) = (treated.target, treated.ids, Some(treated.cost));
            lived = treated.device.map(Lived::now);
        }
        let mut stage = Stage::new(
            treatment,
            &DayRow::of_layout(&fsage_metrics::measure(target.layout())),
        );
        if let (true, Some(more)) = (lived_on, life.more) {
            let events: Vec<Event> = more.iter().map(|event| ids.event(event)).collect();
            let mut agings = vec![Aging::new(target, true)];
            let on_flash = flash.zip(lived).and_then(|((_, params), lived)| {
                FlashLife::go_on(lived.device, params, &mut agings[0])
            });
            let mut source = EventsInMemory::new(events);
            replay_all(
                (life.workload, "living on"),
                &mut source,
                &mut agings,
                Some(1),
                life.ui,
            )?;
            let aging = agings.pop().context("one target lived on")?;
            stage = Stage::lived_on(treatment, &days::rows(aging.days()));
            target = aging.into_target();
            lived = on_flash.and_then(FlashLife::end);
            for event in more {
                known.observe(event);
            }
        }
        stage.cost = cost.filter(|_| !lived_on);
        Ok(Made {
            target,
            known,
            ids,
            stage,
            lived,
        })
    }

    /// The files that benchmarks go over, by the ids that they have here.
    fn files_of(&self, asked: Asked) -> WorkloadFiles {
        let mut files = self.known.files_of(asked);
        for known in files.hot.iter_mut().chain(&mut files.tree) {
            known.file = self.ids.file(known.file);
        }
        files
    }

    /// The highest id that was in use here.
    fn highest_id(&self) -> u64 {
        let FileId(shifted) = self.ids.file(FileId(self.known.highest + 1));
        shifted
    }
}
