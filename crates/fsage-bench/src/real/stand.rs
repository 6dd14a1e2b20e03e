//! A real file system, made ready for one run of a benchmark after the other.

use super::{Real, RealOptions, RealPlace};
use crate::benchmark::Case;
use crate::run::Stand;
use crate::subject::{BenchError, Subject};

/// What makes a real file system ready for each repetition of a benchmark.
#[derive(Debug)]
pub struct RealStand {
    place: RealPlace,
    options: RealOptions,
    copies_each_time: bool,
    real: Option<Real>,
}

impl RealStand {
    /// A stand at a place. An image is copied, or made, when it is first needed, and serves all repetitions: each finds
    /// it as the one before left it, with its files removed and empty caches. With `copies_each_time` each gets one.
    pub fn new(place: RealPlace, options: RealOptions, copies_each_time: bool) -> RealStand {
        RealStand {
            place,
            options,
            copies_each_time,
            real: None,
        }
    }

    /// The file system for one repetition: without files of a benchmark, and with empty caches.
    ///
    /// # Errors
    /// It cannot be made or cleaned.
    pub fn ready(&mut self) -> Result<&mut Real, BenchError> {
        let real = match self.real.take() {
            Some(mut real) if !self.copies_each_time => {
                real.clean_up()?;
                real
            }
            used => {
                if let Some(used) = used {
                    used.close()?;
                }
                Real::new(&self.place, self.options.clone())?
            }
        };
        let real = self.real.insert(real);
        real.drop_caches()?;
        Ok(real)
    }

    /// Lets go of the file system: an image is unmounted and removed.
    ///
    /// # Errors
    /// A system call failed.
    pub fn close(mut self) -> Result<(), BenchError> {
        self.real.take().map_or(Ok(()), Real::close)
    }
}

impl Stand for RealStand {
    fn fresh(&mut self, _: u32, _: Case) -> Result<Box<dyn Subject + '_>, BenchError> {
        Ok(Box::new(self.ready()?))
    }
}
