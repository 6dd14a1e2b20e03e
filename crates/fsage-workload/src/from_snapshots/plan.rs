//! What leads from one snapshot to the next: the skeleton, its times, and what no snapshot shows.

use super::actions::{Action, What};
use super::delete_times::Draw;
use super::emit::sparse_bytes;
use super::evidence::{self, Evidence, Interval, Sources};
use super::modify::{Modification, modification};
use super::nodes::{Differences, Name, NodeId, Nodes, is_touched};
use super::options::{DeleteTimes, Growth, Placement};
use super::short_lived::Activity;
use super::tree::{Place, Tree, is_replayed_as_directory};
use super::{FromSnapshots, first_bytes, replayed_bytes};
use fsage_core::short_lived::ProfileVerb;
use fsage_core::snapshot::{FurtherName, Inode, SnapshotRow};
use fsage_core::{DirId, FileId, Origin, TQuality};
use rustc_hash::FxHashMap;

/// A large file is written in at most so many pieces.
const MAX_PIECES: usize = 64;
/// And no piece is smaller.
const PIECE_BYTES: u64 = 32 << 10;
/// With a birth time, files from this size on are.
const BORN_BYTES: u64 = 4 << 10;

impl FromSnapshots<'_> {
    /// The actions of an interval in order, and the incarnations that end in it.
    pub(super) fn plan(
        &mut self,
        rows: Vec<SnapshotRow>,
        names: Option<&[FurtherName]>,
        interval: Interval,
    ) -> (Vec<Action>, Vec<NodeId>) {
        let found = self.nodes.apply(rows);
        self.summary.contradictions += found.contradictions;
        self.summary.guessed_same += found.guessed;
        let (came, gone) = came_and_gone(&found);
        for &id in &gone {
            self.count_kind(id, false);
        }
        self.place_directories(&found, &came, &gone);
        let further = by_inode(names.unwrap_or_default());
        for &id in &came {
            self.count_kind(id, true);
            self.give_names(id, &further);
        }

        let times = self.times(&found, &came, interval);
        let others = self.other_times(&found, &came, &times);
        let (evidence, freed_early) = self.evidence(&found, &came, &gone, &times, interval);
        let rng = self.rng.stream("delete times", self.summary.snapshots);
        let mut draw = Draw::new(self.options.delete_times, interval, &others, rng);

        let mut actions = Vec::new();
        self.plan_arrivals(&found, &times, &mut actions);
        self.plan_removals(&found, &times, &evidence, &mut draw, &mut actions);
        self.plan_changes(
            &found,
            names.is_some().then_some(&further),
            &times,
            &freed_early,
            &mut draw,
            &mut actions,
        );
        self.stretch(&others, &mut actions);
        self.plan_short_lived(interval, &mut actions);
        actions.sort_by_key(Action::key);
        (actions, gone)
    }

    /// Gives every new directory its place, and those that moved theirs.
    fn place_directories(&mut self, found: &Differences, came: &[NodeId], gone: &[NodeId]) {
        if self.tree.placement() != Placement::Tree {
            return;
        }
        let is_dir = |nodes: &Nodes, id: NodeId| {
            is_replayed_as_directory(Placement::Tree, &nodes.get(id).inode)
        };
        let mut old_paths: Vec<(DirId, Option<Box<str>>)> = Vec::new();
        let mut present: Vec<NodeId> = Vec::new();
        for &id in gone {
            let node = self.nodes.get(id);
            if let Some(dir) = node.dir.filter(|dir| *dir != DirId::ROOT) {
                old_paths.push((dir, node.inode.path.clone()));
                self.emitter.doom(dir);
                self.summary.rmdirs += 1;
            }
        }
        for (id, before) in &found.changed {
            let node = self.nodes.get(*id);
            if let Some(dir) = node.dir
                && before.path != node.inode.path
            {
                old_paths.push((dir, before.path.clone()));
                present.push(*id);
            }
        }
        present.extend(came.iter().copied().filter(|id| is_dir(&self.nodes, *id)));
        self.tree
            .update_directories(&mut self.nodes, &old_paths, &present);
    }

    /// Places of the first inodes.
    pub(super) fn place_new(&mut self, came: &[NodeId], names: &[FurtherName]) {
        let directories: Vec<NodeId> = came
            .iter()
            .copied()
            .filter(|id| {
                is_replayed_as_directory(self.tree.placement(), &self.nodes.get(*id).inode)
            })
            .collect();
        self.tree
            .update_directories(&mut self.nodes, &[], &directories);
        if self.tree.placement() == Placement::Groups {
            let groups = self.info.group_count.map_or(1, u64::from);
            self.tree.reserve_groups(groups);
        }
        let further = by_inode(names);
        for &id in came {
            self.give_names(id, &further);
        }
    }

    /// Names of a new inode.
    fn give_names(&mut self, id: NodeId, further: &FxHashMap<u64, Vec<&FurtherName>>) {
        let inode = self.nodes.get(id).inode.clone();
        let directory = is_replayed_as_directory(self.tree.placement(), &inode);
        if directory && self.nodes.get(id).dir == Some(DirId::ROOT) {
            return;
        }
        let places = self.places(&inode, directory, further);
        let names = places.into_iter().map(|(dir, bytes)| Name {
            dir,
            bytes,
            file: if directory {
                FileId(0)
            } else {
                self.emitter.new_file()
            },
        });
        let names = names.collect();
        self.summary.mkdirs += u64::from(directory);
        self.nodes.get_mut(id).names = names;
    }

    /// Where the names of an inode are: the first, then further ones.
    fn places(
        &mut self,
        inode: &Inode,
        directory: bool,
        further: &FxHashMap<u64, Vec<&FurtherName>>,
    ) -> Vec<Place> {
        let mut places = vec![self.tree.place(inode)];
        if self.tree.placement() == Placement::Tree && !directory {
            for name in further.get(&inode.ino).into_iter().flatten() {
                let place = Tree::place_of_further(&self.nodes, name);
                places.extend(place.filter(|place| !places.contains(place)));
            }
        }
        places
    }

    /// Time of the last change of every node of the interval, and how well it is known.
    fn times(
        &mut self,
        found: &Differences,
        came: &[NodeId],
        interval: Interval,
    ) -> FxHashMap<NodeId, (i64, TQuality)> {
        let mut times = FxHashMap::default();
        let changed = found.changed.iter().map(|(id, before)| (*id, Some(before)));
        for (id, before) in came.iter().map(|id| (*id, None)).chain(changed) {
            let inode = &self.nodes.get(id).inode;
            let touched = before.is_none_or(|before| before.ctime_ns != inode.ctime_ns);
            let time = match inode.ctime_ns {
                Some(t) if interval.contains(t) => (t, TQuality::Ctime),
                Some(t) if touched => {
                    self.summary.clamped_times += 1;
                    let first = interval.start.saturating_add(1).min(interval.end);
                    (t.clamp(first, interval.end), TQuality::Bounded)
                }
                _ => (interval.end, TQuality::Random),
            };
            times.insert(id, time);
        }
        times
    }

    /// Times of the visible creates and modifications of files, ascending.
    fn other_times(
        &self,
        found: &Differences,
        came: &[NodeId],
        times: &FxHashMap<NodeId, (i64, TQuality)>,
    ) -> Vec<i64> {
        let placement = self.tree.placement();
        let is_file = |id: NodeId| !is_replayed_as_directory(placement, &self.nodes.get(id).inode);
        let changed = found
            .changed
            .iter()
            .filter(|(id, before)| is_touched(before, &self.nodes.get(*id).inode))
            .map(|(id, _)| *id);
        let mut others: Vec<i64> = came
            .iter()
            .copied()
            .chain(changed)
            .filter(|id| is_file(*id))
            .map(|id| times[&id].0)
            .collect();
        others.sort_unstable();
        others
    }

    /// Evidence for every incarnation that ends, and the files that lost their blocks before they changed.
    #[allow(clippy::type_complexity)]
    fn evidence(
        &mut self,
        found: &Differences,
        came: &[NodeId],
        gone: &[NodeId],
        times: &FxHashMap<NodeId, (i64, TQuality)>,
        interval: Interval,
    ) -> (FxHashMap<NodeId, Evidence>, Vec<(NodeId, i64)>) {
        if self.options.delete_times != DeleteTimes::Reuse {
            return (FxHashMap::default(), Vec::new());
        }
        let placement = self.tree.placement();
        let nodes = &self.nodes;
        let reused: FxHashMap<NodeId, i64> = found
            .replaced
            .iter()
            .map(|(old, new)| {
                let made = nodes.get(*new).inode.btime_ns;
                let made = made.filter(|t| interval.contains(*t));
                (*old, made.unwrap_or(times[new].0))
            })
            .collect();
        // Names that came into a place, and when.
        let mut names: FxHashMap<Place, i64> = FxHashMap::default();
        if placement == Placement::Tree && !gone.is_empty() {
            let moved = found.changed.iter().map(|(id, _)| *id);
            for id in came.iter().copied().chain(moved) {
                let node = nodes.get(id);
                if !is_replayed_as_directory(placement, &node.inode) {
                    // Of a file that changed, the place it has in the later snapshot.
                    let place = self.tree.place_known(&node.inode);
                    names.extend(place.map(|place| (place, times[&id].0)));
                }
            }
        }
        let gone = gone.iter().map(|id| evidence::Event {
            node: *id,
            before: Some(&nodes.get(*id).inode),
            after: None,
            t: interval.end,
            reused: reused.get(id).copied(),
        });
        let came = came.iter().map(|id| evidence::Event {
            node: *id,
            before: None,
            after: Some(&nodes.get(*id).inode),
            t: times[id].0,
            reused: None,
        });
        let changed = found.changed.iter().map(|(id, before)| evidence::Event {
            node: *id,
            before: Some(before),
            after: Some(&nodes.get(*id).inode),
            t: times[id].0,
            reused: None,
        });
        let events: Vec<evidence::Event<'_>> = gone.chain(came).chain(changed).collect();
        let moves_blocks = matches!(
            self.info.fs_type.as_deref(),
            Some("btrfs" | "lfs" | "f2fs" | "zfs" | "nilfs2" | "bcachefs")
        );
        let blocks = self.options.block_reuse.unwrap_or(!moves_blocks);
        let sources = Sources {
            blocks: blocks.then_some(self.options.allocation_delay_ns),
            bursts: self.options.removals_in_bursts,
        };
        let (evidence, freed_early) = evidence::gather(&events, nodes, &names, interval, sources);
        self.summary.blocks_used |= blocks
            && events.iter().any(|event| {
                let inode = event.after.or(event.before);
                inode.is_some_and(|inode| inode.extents.is_some())
            });
        let evidence = events
            .iter()
            .zip(evidence)
            .filter(|(event, _)| event.after.is_none())
            .map(|(event, evidence)| (event.node, evidence))
            .collect();
        (evidence, freed_early)
    }

    fn plan_arrivals(
        &mut self,
        found: &Differences,
        times: &FxHashMap<NodeId, (i64, TQuality)>,
        actions: &mut Vec<Action>,
    ) {
        let created = found.created.iter().map(|id| (*id, Origin::SnapshotCreate));
        let replaced = found
            .replaced
            .iter()
            .map(|(_, new)| (*new, Origin::SnapshotReplace));
        for (id, origin) in created.chain(replaced) {
            let node = self.nodes.get(id);
            let (t, quality) = times[&id];
            let ino = node.inode.ino;
            if is_replayed_as_directory(self.tree.placement(), &node.inode) {
                if node.dir != Some(DirId::ROOT) {
                    actions.push(Action::new(t, ino, What::MakeDir(id), origin, quality));
                }
                continue;
            }
            let what = What::Create(id, first_bytes(node));
            self.summary.creates += 1;
            actions.push(Action::new(t, ino, what, origin, quality));
            self.stretch_sparse(id, t, origin, quality, actions);
        }
    }

    /// A sparse file gets its length when it has been written.
    pub(super) fn stretch_sparse(
        &mut self,
        id: NodeId,
        t: i64,
        origin: Origin,
        quality: TQuality,
        actions: &mut Vec<Action>,
    ) {
        let node = self.nodes.get(id);
        if sparse_bytes(node).is_some() {
            self.emitter.seen.sparse += 1;
            let how = Modification::Truncate(node.inode.size_bytes);
            let (ino, what) = (node.inode.ino, What::Modify(id, how));
            actions.push(Action::new(t, ino, what, origin, quality));
        }
    }

    fn plan_removals(
        &mut self,
        found: &Differences,
        times: &FxHashMap<NodeId, (i64, TQuality)>,
        evidence: &FxHashMap<NodeId, Evidence>,
        draw: &mut Draw<'_>,
        actions: &mut Vec<Action>,
    ) {
        let deleted = found.deleted.iter().map(|id| (*id, None));
        let replaced = found.replaced.iter().map(|(old, new)| (*old, Some(*new)));
        for (id, successor) in deleted.chain(replaced) {
            let node = self.nodes.get(id);
            if is_replayed_as_directory(self.tree.placement(), &node.inode) {
                // It goes when its last entry has gone.
                continue;
            }
            self.summary.deletes += 1;
            self.summary.replaced += u64::from(successor.is_some());
            let nothing = Evidence {
                not_after: i64::MAX,
                exact: None,
                kinds: 0,
            };
            let known = evidence.get(&id).copied().unwrap_or(nothing);
            let reused = successor.map(|new| times[&new].0);
            let (t, quality) = draw.time(&known, reused);
            self.count_evidence(&known);
            if let Some(new) = successor {
                self.count_hidden(id, new);
            }
            let origin = if successor.is_some() {
                Origin::SnapshotReplace
            } else {
                Origin::SnapshotDelete
            };
            let node = self.nodes.get(id);
            let mut action = Action::new(t, node.inode.ino, What::Delete(id), origin, quality);
            if reused == Some(t) {
                action = action.just_before_create_of(node.inode.ino);
            }
            actions.push(action);
        }
    }

    fn count_evidence(&mut self, evidence: &Evidence) {
        if self.options.delete_times != DeleteTimes::Reuse {
            return;
        }
        let has = |kinds: u8| evidence.kinds & kinds != 0;
        let s = &mut self.summary;
        s.block_evidence += u64::from(has(Evidence::BLOCKS));
        if has(Evidence::INODE | Evidence::NAME) {
            s.deletes_by_reuse += 1;
        } else if has(Evidence::LAST_REMOVAL) {
            s.deletes_by_last_removal += 1;
        } else if evidence.kinds != 0 {
            s.deletes_bounded += 1;
        } else {
            s.deletes_without_evidence += 1;
        }
    }

    /// XFS counts the generation up once for every reuse of an inode.
    fn count_hidden(&mut self, old: NodeId, new: NodeId) {
        if self.info.fs_type.as_deref() != Some("xfs") {
            return;
        }
        let generation = |id| self.nodes.get(id).inode.generation;
        if let (Some(a), Some(b)) = (generation(old), generation(new)) {
            let hidden = b.wrapping_sub(a).saturating_sub(1);
            // A number that went round or was drawn anew counts nothing.
            if hidden < 1 << 20 {
                self.summary.hidden_by_generation += u64::from(hidden);
            }
        }
    }

    fn plan_changes(
        &mut self,
        found: &Differences,
        further: Option<&FxHashMap<u64, Vec<&FurtherName>>>,
        times: &FxHashMap<NodeId, (i64, TQuality)>,
        freed_early: &[(NodeId, i64)],
        draw: &mut Draw<'_>,
        actions: &mut Vec<Action>,
    ) {
        let early: FxHashMap<NodeId, i64> = freed_early.iter().copied().collect();
        let mut touched_only = 0;
        for (id, before) in &found.changed {
            let (id, inode) = (*id, self.nodes.get(*id).inode.clone());
            let (t, quality) = times[&id];
            let directory = is_replayed_as_directory(self.tree.placement(), &inode);
            if !directory {
                let (old, new) = (replayed_bytes(before), replayed_bytes(&inode));
                self.want.bytes = self.want.bytes - u128::from(old) + u128::from(new);
                let mut how = modification(before, &inode, self.options.modifications);
                if super::is_directory(&inode) && before.size_bytes == inode.size_bytes {
                    how = Modification::None;
                }
                if replayed_bytes(&inode) == 0 && replayed_bytes(before) == 0 {
                    how = Modification::None;
                }
                self.count_modification(how);
                touched_only += u64::from(how == Modification::None);
                let origin = Origin::SnapshotModify;
                if let Some(freed) = early.get(&id).filter(|_| how == Modification::Rewrite) {
                    self.summary.emptied_early += 1;
                    let what = What::Empty(id);
                    let mut action =
                        Action::new(*freed, inode.ino, what, origin, TQuality::Bounded);
                    // Before the one that took its blocks.
                    action.order.0 = 0;
                    actions.push(action);
                }
                if how != Modification::None {
                    let what = What::Modify(id, how);
                    actions.push(Action::new(t, inode.ino, what, origin, quality));
                }
            }
            if self.nodes.get(id).dir != Some(DirId::ROOT) || !directory {
                let (t, quality) = if before.ctime_ns == inode.ctime_ns {
                    draw.time_of_another()
                } else {
                    (t, quality)
                };
                self.plan_names(id, before, &inode, further, t, quality, actions);
            }
        }
        let files = self.want.files;
        self.summary.touched_by_all += u64::from(files > 16 && touched_only > files / 2);
    }

    fn count_modification(&mut self, how: Modification) {
        let s = &mut self.summary;
        s.modifies += u64::from(how != Modification::None);
        *match how {
            Modification::None => &mut s.attribute_changes,
            Modification::Overwrite => &mut s.overwrites,
            Modification::Append(_) => &mut s.appends,
            Modification::Truncate(_) => &mut s.truncates,
            Modification::Rewrite => &mut s.rewrites,
        } += 1;
    }

    /// Names that a file got, lost or moved.
    #[allow(clippy::too_many_arguments)]
    fn plan_names(
        &mut self,
        id: NodeId,
        before: &Inode,
        inode: &Inode,
        further: Option<&FxHashMap<u64, Vec<&FurtherName>>>,
        t: i64,
        quality: TQuality,
        actions: &mut Vec<Action>,
    ) {
        if self.tree.placement() != Placement::Tree {
            return;
        }
        let directory = self.nodes.get(id).dir.is_some();
        let none = FxHashMap::default();
        let wanted = if before.path == inode.path && before.path.is_none() {
            return;
        } else {
            self.places(inode, directory, further.unwrap_or(&none))
        };
        // A directory may have been moved aside since its place was seen.
        let names = match self.nodes.get(id).dir {
            Some(dir) => self.emitter.place_of(dir).into_iter().collect(),
            None => self.nodes.get(id).names.clone(),
        };
        let has = |place: &Place| names.iter().any(|n| n.dir == place.0 && n.bytes == place.1);
        let mut added = wanted.iter().filter(|place| !has(place)).cloned();
        let mut lost = names.iter().filter(|name| {
            !wanted.contains(&(name.dir, name.bytes.clone()))
                // Without a table of further names only the first one is known.
                && (further.is_some() || **name == names[0])
        });
        let origin = Origin::SnapshotModify;
        loop {
            let what = match (lost.next(), added.next()) {
                (None, None) => break,
                (Some(_), Some(place)) if directory => What::MoveDir(id, place),
                (Some(name), Some(place)) => What::Move(id, name.file, place),
                (Some(name), None) if names.len() > 1 => What::Unlink(id, name.file),
                (None, Some(place)) if !directory => What::Link(id, place),
                _ => continue,
            };
            if matches!(what, What::MoveDir(..) | What::Move(..)) {
                self.summary.renames += 1;
            }
            actions.push(Action::new(t, inode.ino, what, origin, quality));
        }
    }

    /// Large new files in pieces. With a birth time, between all that was written from then to the last change;
    /// else between the files that were made in the same directory for a while before it.
    fn stretch(&mut self, others: &[i64], actions: &mut Vec<Action>) {
        let Growth::Stretched {
            threshold_bytes,
            window_ns,
        } = self.options.growth
        else {
            return;
        };
        let mut creates: Vec<(DirId, i64, usize)> = Vec::new();
        for (at, action) in actions.iter().enumerate() {
            if let What::Create(id, _) = action.what {
                creates.push((self.nodes.get(id).names[0].dir, action.t, at));
            }
        }
        creates.sort_unstable();
        let mut pieces = Vec::new();
        let mut moved = Vec::new();
        for (dir, end, at) in &creates {
            let What::Create(id, bytes) = actions[*at].what else {
                continue;
            };
            let inode = &self.nodes.get(id).inode;
            let born = inode.btime_ns.filter(|born| born < end);
            let threshold = match born {
                Some(_) => threshold_bytes.min(BORN_BYTES),
                None => threshold_bytes,
            };
            if bytes < threshold || sparse_bytes(self.nodes.get(id)).is_some() {
                continue;
            }
            let mut times: Vec<i64> = if let Some(born) = born {
                let from = others.partition_point(|t| *t <= born);
                let to = others.partition_point(|t| t < end);
                let between = others[from.min(to)..to].iter().copied();
                std::iter::once(born).chain(between).collect()
            } else {
                let start = end.saturating_sub(window_ns);
                let from = creates.partition_point(|c| (c.0, c.1) < (*dir, start));
                let to = creates.partition_point(|c| (c.0, c.1) < (*dir, *end));
                creates[from..to].iter().map(|c| c.1).collect()
            };
            times.dedup();
            if times.is_empty() {
                continue;
            }
            let most = (bytes / PIECE_BYTES).clamp(1, MAX_PIECES as u64);
            let step = times.len().div_ceil(most as usize);
            let mut times: Vec<i64> = times.into_iter().step_by(step).collect();
            times.push(*end);
            let piece = (bytes / times.len() as u64)
                .checked_next_multiple_of(1 << 13)
                .unwrap_or(bytes);
            let mut left = bytes;
            for (n, t) in times.iter().enumerate() {
                let now = if n + 1 == times.len() {
                    left
                } else {
                    piece.min(left)
                };
                left -= now;
                if n == 0 {
                    moved.push((*at, *t, now));
                } else if now > 0 {
                    let (origin, what) = (actions[*at].origin, What::Grow(id, now));
                    pieces.push(Action::new(*t, inode.ino, what, origin, TQuality::Inferred));
                }
            }
            self.summary.stretched += 1;
        }
        let mut earlier: FxHashMap<u64, (i64, i64)> = FxHashMap::default();
        for (at, t, bytes) in moved {
            let action = &mut actions[at];
            if let What::Create(id, _) = action.what {
                action.what = What::Create(id, bytes);
                earlier.insert(self.nodes.get(id).inode.ino, (action.t, t));
            }
            action.t = t;
            action.quality = TQuality::Inferred;
        }
        // What a stretched file replaced went before its first piece.
        for action in actions.iter_mut() {
            if let What::Delete(id) = action.what
                && let Some((old, new)) = earlier.get(&self.nodes.get(id).inode.ino)
                && action.t == *old
            {
                action.t = *new;
            }
        }
        actions.append(&mut pieces);
    }

    /// Short-lived files of profiles.
    fn plan_short_lived(&mut self, interval: Interval, actions: &mut Vec<Action>) {
        let Some(short_lived) = self.short_lived else {
            return;
        };
        let mut busy = Activity::new();
        for action in actions.iter() {
            let (What::Create(id, _) | What::Modify(id, _) | What::Delete(id)) = action.what else {
                continue;
            };
            if let Some(name) = self.nodes.get(id).names.first()
                && !self.emitter.is_doomed(name.dir)
            {
                busy.entry(name.dir).or_default().push(action.t);
            }
        }
        for times in busy.values_mut() {
            times.sort_unstable();
        }
        let idle = if busy.is_empty() {
            self.emitter.fullest(64)
        } else {
            Vec::new()
        };
        let size = self.info.size_bytes.or(self.info.data_bytes).unwrap_or(0);
        let mut rng = self.rng.stream("profiles", self.summary.snapshots);
        let placed = short_lived.place(interval, size, &busy, &idle, &mut self.history, &mut rng);
        for placed in placed {
            let profile = &short_lived.pool[placed.profile];
            self.summary.profiles += 1;
            let mut ids: FxHashMap<u64, FileId> = FxHashMap::default();
            let mut last = i64::MIN;
            for (n, op) in profile.ops.iter().enumerate() {
                let file = *ids
                    .entry(op.local_id)
                    .or_insert_with(|| self.emitter.new_file());
                let t = placed.start.saturating_add(op.t_rel_ns);
                last = t.min(interval.end).max(last);
                self.summary.short_lived_files += u64::from(op.verb == ProfileVerb::Create);
                let written = &mut self.summary.short_lived_bytes;
                *written = written.saturating_add(op.bytes);
                let what = What::ShortLived {
                    verb: op.verb,
                    file,
                    dir: placed.dir,
                    bytes: op.bytes,
                    profile: placed.profile as u32,
                };
                let mut action =
                    Action::new(last, u64::MAX, what, Origin::ShortLived, TQuality::Shifted);
                // In the order of the profile where times are equal.
                action.order = (5, placed.profile as u64, n as u32);
                actions.push(action);
            }
        }
    }
}

/// Incarnations that begin in the interval, and those that end.
fn came_and_gone(found: &Differences) -> (Vec<NodeId>, Vec<NodeId>) {
    let new = found.replaced.iter().map(|(_, new)| *new);
    let old = found.replaced.iter().map(|(old, _)| *old);
    (
        found.created.iter().copied().chain(new).collect(),
        found.deleted.iter().copied().chain(old).collect(),
    )
}

fn by_inode(names: &[FurtherName]) -> FxHashMap<u64, Vec<&FurtherName>> {
    let mut by_inode: FxHashMap<u64, Vec<&FurtherName>> = FxHashMap::default();
    for name in names {
        by_inode.entry(name.ino).or_default().push(name);
    }
    by_inode
}
