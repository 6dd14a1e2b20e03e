//! The bulletin board system of Cheng et al.: many small articles, of which those of a few boards are read most.
//!
//! **Parameters.** 400 cold and 10 hot boards, a directory each with 40 directories below. 204,800 operations: 5 %
//! remove an article, 20 or 30 % write a new one, the others read one; nine of ten go to the hot boards. An article has
//! 4 KB. The clock stops when all is on disk.
//!
//! **Source.** Cheng, Tsai and Chiang, *Improving Performance of Linux File System with Adaptive File Rearrangement*,
//! figures 5 and 6.
//!
//! **What the paper does not say.** Nine to one chooses the class for every operation. What is written goes to a random
//! directory of the class, what is read or removed is a random article of it; where there is none, one is written.
//! Before that, [`Bbs::filled`] articles are put into random directories of the cold boards, and are articles like
//! others: [`Bbs::reads_old`]. The hot boards are hinted ([`Subject::hint`]) before they are made.
//!
//! **Beyond the paper.** [`Bbs::popular`]: articles that are read again and again, on boards that nobody hints. In the
//! paper's benchmark no article is read more often than another one of its class.
//!
//! **Phases.** `operations` has the time. Where the subject knows places and [`Bbs::center`] is set, `center` counts
//! the operations on articles that lie there, and `hot-center` those of them on hot boards; neither takes time.

use crate::benchmark::{Benchmark, Case, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, DirKey, FileKey, Part, Subject};
use fsage_core::Rng;
use std::ops::Range;

/// Bytes of an article.
pub const ARTICLE_BYTES: u64 = 4096;

/// A benchmark of a bulletin board system.
#[derive(Clone, Debug)]
pub struct Bbs {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Boards that few read.
    pub cold_boards: u64,
    /// Boards that most read.
    pub hot_boards: u64,
    /// Directories below each board.
    pub directories: u64,
    /// Operations that are timed.
    pub operations: u64,
    /// Of these, how many in a hundred remove an article.
    pub delete_percent: u64,
    /// How many write one; the others read.
    pub write_percent: u64,
    /// How many in a hundred operations go to the hot boards.
    pub hot_percent: u64,
    /// Articles on the cold boards before the clock starts.
    pub filled: u64,
    /// Whether these are read and removed as well.
    pub reads_old: bool,
    /// Articles on the cold boards that are read more often than others.
    pub popular: Option<Popular>,
    /// The middle of the device in bytes, where accesses to it are to be counted.
    pub center: Option<Range<u64>>,
}

/// Articles that are read more often than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popular {
    /// How many they are: drawn among those that are there before the clock starts, and never removed.
    pub articles: u64,
    /// How many in a hundred reads of the cold boards are of one of them.
    pub read_percent: u64,
}

/// The benchmark of figure 5.
pub const BBS: Bbs = Bbs {
    name: "bbs",
    summary: "articles of a bulletin board: 75 % read, 20 % written, 5 % removed (Cheng et al., figure 5)",
    cold_boards: 400,
    hot_boards: 10,
    directories: 40,
    operations: 204_800,
    delete_percent: 5,
    write_percent: 20,
    hot_percent: 90,
    filled: 0,
    reads_old: true,
    popular: None,
    center: None,
};

/// The benchmark of figure 6.
pub const BBS_WRITES: Bbs = Bbs {
    name: "bbs-writes",
    summary: "the same with 65 % read, 30 % written, 5 % removed (Cheng et al., figure 6)",
    write_percent: 30,
    ..BBS
};

impl Benchmark for Bbs {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn default_cases(&self) -> Vec<Case> {
        vec![Case::default()]
    }

    fn draws(&self) -> bool {
        true
    }

    fn suits(&self, _case: Case, site: &Site) -> Result<(), Unsuited> {
        let directories = (self.cold_boards + self.hot_boards) * (self.directories + 1);
        let written = self.operations * self.write_percent / 100 + self.filled;
        Unsuited::unless_it_fits((directories + written) * ARTICLE_BYTES, site)
    }

    fn run(
        &self,
        _case: Case,
        repetition: u32,
        _site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let rng = Rng::new(u64::from(repetition));
        let mut phases = Phases::new(self.name, Some(ARTICLE_BYTES), repetition, subject);
        phases.subject.untimed(true)?;
        let made = self.make(&rng, phases.subject);
        phases.subject.untimed(false)?;
        let mut boards = made?;
        phases.subject.drop_caches()?;
        phases.run("operations", Until::Synced, |subject| {
            boards.work(self, rng.stream("bbs operations", 0), subject)
        })?;
        if let Some(seen) = boards.seen {
            phases.count("center", seen.center);
            phases.count("hot-center", seen.hot_center);
        }
        Ok(phases.finish())
    }
}

/// A class of boards: its directories, and the articles that are read and removed.
#[derive(Default)]
struct Class {
    directories: Vec<DirKey>,
    articles: Vec<FileKey>,
}

/// Operations on articles in the middle of the device.
#[derive(Clone, Copy, Default)]
struct Seen {
    center: Done,
    hot_center: Done,
}

struct Boards {
    /// Cold and hot.
    classes: [Class; 2],
    /// Those of the cold ones that are popular.
    popular: Vec<FileKey>,
    seen: Option<Seen>,
}

impl Bbs {
    /// Boards, and the articles that are there before the clock starts.
    fn make(&self, rng: &Rng, subject: &mut dyn Subject) -> Result<Boards, BenchError> {
        let mut classes = [Class::default(), Class::default()];
        for (class, (boards, hot)) in classes
            .iter_mut()
            .zip([(self.cold_boards, false), (self.hot_boards, true)])
        {
            for _ in 0..boards {
                let board = subject.mkdir()?;
                if hot {
                    subject.hint(board)?;
                }
                for _ in 0..self.directories {
                    class.directories.push(subject.mkdir_in(board)?);
                }
            }
        }
        let cold = &mut classes[0];
        let mut rng = rng.stream("bbs articles", 0);
        for _ in 0..self.filled {
            let article = cold.write(&mut rng, subject)?;
            if self.reads_old {
                cold.articles.push(article);
            }
        }
        let mut popular = Vec::new();
        for _ in 0..self
            .popular
            .map_or(0, |p| p.articles.min(cold.articles.len() as u64))
        {
            let which = rng.below(cold.articles.len() as u64) as usize;
            popular.push(cold.articles.swap_remove(which));
        }
        Ok(Boards {
            classes,
            popular,
            seen: self.center.as_ref().map(|_| Seen::default()),
        })
    }
}

impl Class {
    /// A new article in a random directory.
    fn write(&self, rng: &mut Rng, subject: &mut dyn Subject) -> Result<FileKey, BenchError> {
        let directory = rng.below(self.directories.len() as u64) as usize;
        subject.create(self.directories[directory], ARTICLE_BYTES, ARTICLE_BYTES)
    }
}

impl Boards {
    /// Does the operations.
    fn work(
        &mut self,
        bbs: &Bbs,
        mut rng: Rng,
        subject: &mut dyn Subject,
    ) -> Result<Done, BenchError> {
        let whole = Part {
            offset: 0,
            bytes: ARTICLE_BYTES,
            call_bytes: ARTICLE_BYTES,
        };
        let mut moved = 0;
        for _ in 0..bbs.operations {
            let hot = rng.below(100) < bbs.hot_percent;
            let what = rng.below(100);
            let deletes = what < bbs.delete_percent;
            let writes = !deletes && what < bbs.delete_percent + bbs.write_percent;
            let articles = self.classes[usize::from(hot)].articles.len() as u64;
            if writes || articles == 0 {
                let article = self.classes[usize::from(hot)].write(&mut rng, subject)?;
                self.classes[usize::from(hot)].articles.push(article);
                self.look(bbs, article, hot, subject)?;
            } else if !deletes && !hot && self.is_popular(bbs, &mut rng) {
                let article = self.popular[rng.below(self.popular.len() as u64) as usize];
                self.look(bbs, article, hot, subject)?;
                subject.read(article, whole)?;
            } else {
                let which = rng.below(articles) as usize;
                let article = self.classes[usize::from(hot)].articles[which];
                self.look(bbs, article, hot, subject)?;
                if deletes {
                    self.classes[usize::from(hot)].articles.swap_remove(which);
                    subject.delete(article)?;
                    continue;
                }
                subject.read(article, whole)?;
            }
            moved += ARTICLE_BYTES;
        }
        Ok(Done {
            files: bbs.operations,
            bytes: moved,
        })
    }

    /// Whether a read of the cold boards is of a popular article.
    fn is_popular(&self, bbs: &Bbs, rng: &mut Rng) -> bool {
        let percent = bbs.popular.map_or(0, |popular| popular.read_percent);
        !self.popular.is_empty() && rng.below(100) < percent
    }

    /// Counts an operation on an article that lies in the middle.
    fn look(
        &mut self,
        bbs: &Bbs,
        article: FileKey,
        hot: bool,
        subject: &mut dyn Subject,
    ) -> Result<(), BenchError> {
        let (Some(center), Some(seen)) = (&bbs.center, &mut self.seen) else {
            return Ok(());
        };
        let start_bytes = subject.start_bytes(article)?;
        if start_bytes.is_some_and(|start| center.contains(&start)) {
            seen.center.add(ARTICLE_BYTES);
            if hot {
                seen.hot_center.add(ARTICLE_BYTES);
            }
        }
        Ok(())
    }
}
