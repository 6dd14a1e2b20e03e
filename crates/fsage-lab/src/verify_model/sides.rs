//! The two that are compared: a model, and a real file system in the same regime.

use super::seen::Seen;
use super::{Found, Verdict};
use crate::aging::real::know_sizes;
use crate::error::bail;
use crate::interrupt;
use crate::watch::Progress;
use fsage_core::{Event, Op, OpCounts};
use fsage_models::AnyModel;
use fsage_real::directory::Directory;
use fsage_real::loop_image::{Kind, LoopImage};
use fsage_real::{Place, RealSpec};
use fsage_target::{Target, TargetSpec, apply_to_model};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Operations between two looks whether to stop.
const PIECE: usize = 4096;

/// A model and a mounted image, both fresh.
pub struct Sides {
    spec: TargetSpec,
    real: String,
    model: Box<dyn AnyModel>,
    model_counts: OpCounts,
    kernel: Option<Directory>,
    kernel_counts: OpCounts,
    /// The kernel gives back blocks of files that nobody changes, so that all of them are asked for each day.
    is_alive: bool,
    image: PathBuf,
}

impl Drop for Sides {
    fn drop(&mut self) {
        if let Some(directory) = self.kernel.take()
            && let Ok(volume) = directory.finish()
        {
            let _ = volume.close();
        }
        let _ = fs::remove_file(&self.image);
    }
}

impl Sides {
    pub fn new(spec: &TargetSpec, kernel: &TargetSpec, folder: &Path) -> crate::Result<Sides> {
        let Some(RealSpec {
            place: Place::Loop(options),
            options: replay,
            ..
        }) = kernel.real()?
        else {
            bail!("`{kernel}` is no image");
        };
        let image = folder.join("image");
        let mounted = LoopImage::create(&options, &image).map_err(io::Error::from)?;
        let mut directory = Directory::new(Box::new(mounted), replay)?;
        know_sizes(&mut directory, &real_of(kernel)?, Some(&image));
        let spec = with_facts(spec, &directory)?;
        let Target::Model(model) = Target::make(&spec)? else {
            bail!("`{spec}` is no model");
        };
        Ok(Sides {
            spec,
            real: kernel.to_string(),
            model,
            model_counts: OpCounts::default(),
            kernel: Some(directory),
            kernel_counts: OpCounts::default(),
            is_alive: options.kind == Kind::Xfs,
            image,
        })
    }

    fn directory(&mut self) -> &mut Directory {
        self.kernel
            .as_mut()
            .expect("it is there until it is dropped")
    }

    /// A day: its operations, and its end on both sides. Says whether a mark ended it.
    pub fn live(
        &mut self,
        day: &[Event],
        lenient: bool,
        progress: &dyn Progress,
    ) -> crate::Result<bool> {
        let (operations, is_marked) = match day.split_last() {
            Some((last, operations)) if last.op == Op::Day => (operations, true),
            _ => (day, false),
        };
        for piece in operations.chunks(PIECE) {
            interrupt::go_on()?;
            self.apply(piece, lenient)?;
            progress.inc(piece.len() as u64);
        }
        progress.inc(u64::from(is_marked));
        self.model.end_day();
        self.model.begin_day();
        if self.is_alive {
            self.directory().forget_cache();
        }
        self.directory().end_day()?;
        Ok(is_marked)
    }

    /// Operations other than days.
    fn apply(&mut self, events: &[Event], lenient: bool) -> crate::Result<()> {
        apply_to_model(
            &mut *self.model,
            events,
            &mut self.model_counts,
            lenient,
            None,
            None,
        )?;
        let mut counts = self.kernel_counts;
        let applied = self.directory().apply(events, &mut counts, lenient);
        self.kernel_counts = counts;
        Ok(applied?)
    }

    /// Both are unmounted and mounted, which drops what memory holds.
    pub fn mount_again(&mut self) -> crate::Result<()> {
        self.apply(&[Event::new(Op::Remount)], false)?;
        self.directory().forget_cache();
        Ok(self.directory().end_day()?)
    }

    /// Inodes and counts.
    pub fn compare(&mut self) -> Found {
        self.compare_with(false)
    }

    /// Free space as well.
    pub fn compare_all(&mut self) -> Found {
        self.compare_with(true)
    }

    fn compare_with(&mut self, is_free_compared: bool) -> Found {
        let kernel = Seen::of(self.directory());
        let mut found = Seen::of(&*self.model).compare(&kernel, is_free_compared);
        let (model, kernel) = (self.model_counts, self.kernel_counts);
        if model != kernel {
            found.note(|| format!("operations: model {model:?}; kernel {kernel:?}"));
        }
        found
    }

    pub fn counts(&self) -> OpCounts {
        self.model_counts
    }

    /// Nothing is found yet.
    pub fn verdict(&mut self) -> Verdict {
        let facts = self.directory().volume().facts();
        let is_of_the_machine = |name: &str| name != "image";
        Verdict {
            model: self.spec.to_string(),
            real: self.real.clone(),
            facts: facts
                .into_iter()
                .filter(|(name, _)| is_of_the_machine(name))
                .collect(),
            operations: 0,
            skipped: 0,
            days: 0,
            inodes: 0,
            directories: 0,
            extents: 0,
            free_runs: 0,
            memory_ran_short: false,
            difference: None,
            varied: None,
        }
    }

    /// What was compared.
    pub fn add_up(&mut self, verdict: &mut Verdict) {
        let seen = Seen::of(self.directory());
        verdict.inodes = seen.inodes.len() as u64;
        verdict.directories = seen.directories();
        verdict.extents = seen.extents();
        verdict.free_runs = seen.free.len() as u64;
    }
}

fn real_of(kernel: &TargetSpec) -> crate::Result<RealSpec> {
    let Some(real) = kernel.real()? else {
        bail!("`{kernel}` is no real file system");
    };
    Ok(real)
}

/// The model with the keys that the machine decides. What was given must be so.
fn with_facts(spec: &TargetSpec, directory: &Directory) -> crate::Result<TargetSpec> {
    let mut spec = spec.clone();
    let keys = spec.entry().map(|entry| entry.keys).unwrap_or_default();
    for (name, value) in directory.volume().facts() {
        if !keys.iter().any(|key| key.name == name) || name == "regime" {
            continue;
        }
        let given = spec.options.iter().find(|(key, _)| key == name);
        match given {
            None => spec.options.push((name.to_owned(), Some(value))),
            Some((_, given)) => {
                let given = given.as_deref().unwrap_or("on");
                if given != value {
                    let hint = match name {
                        "rotational" => {
                            ", or let the image lie elsewhere: --folder /dev/shm is memory, which does not rotate"
                        }
                        _ => "",
                    };
                    bail!(
                        "`{spec}`: on this machine it is {name}={value}; leave the key out{hint}"
                    );
                }
            }
        }
    }
    Ok(spec)
}
