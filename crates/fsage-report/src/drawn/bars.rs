//! Groups of bars beside each other.

use super::{BOTTOM, Drawing, Entry, Picture, RIGHT, Ruler, TOP, WIDTH, room, short, square};
use crate::charts::{Axis, Bar, Bars, color_of_target};

/// Height of a bar, and of the gap between two groups.
const LANE: f64 = 14.0;
const GAP: f64 = 16.0;
/// Between two bars.
const BREAK: f64 = 1.6;

impl Bars {
    pub(super) fn draw(&self) -> Option<Drawing> {
        let known = |bar: &&Bar| bar.value.is_finite();
        let bars: Vec<&Bar> = self.bars.iter().filter(known).collect();
        if bars.is_empty() {
            return None;
        }
        let groups = self.distinct(|bar| &bar.group);
        let lanes = self.lanes();
        let height = groups.len() as f64 * (lanes.len() as f64 * LANE + GAP);
        let x = self.ruler(room(groups.iter().copied()));
        let mut picture = Picture::new(TOP + height + BOTTOM);
        picture.x_axis(&x, TOP + height, true);
        for (i, group) in groups.iter().enumerate() {
            let top = TOP + GAP / 2.0 + i as f64 * (lanes.len() as f64 * LANE + GAP);
            let middle = top + lanes.len() as f64 * LANE / 2.0 + 4.0;
            picture.text((x.from - 8.0, middle), "end", &short(group));
            for bar in bars.iter().filter(|bar| bar.group == *group) {
                let lane = lanes.iter().position(|lane| *lane == self.lane_of(bar));
                let top = top + lane.unwrap_or(0) as f64 * LANE;
                self.draw_bar(&mut picture, &x, bar, top);
            }
        }
        Some(Drawing::new(self.drawn_legend(), picture))
    }

    /// A bar begins at 0, or its length says nothing.
    fn ruler(&self, left: f64) -> Ruler {
        let values = self.bars.iter().flat_map(|bar| {
            let (low, high) = bar.interval.unzip();
            [Some(bar.value), low, high].into_iter().flatten()
        });
        let axis = Axis {
            from_zero: true,
            ..self.value.clone()
        };
        Ruler::new(&axis, values, true, (left, WIDTH - RIGHT))
    }

    fn lane_of<'a>(&'a self, bar: &'a Bar) -> (&'a str, &'a str) {
        (self.target(bar), &bar.state)
    }

    fn lanes(&self) -> Vec<(&str, &str)> {
        let states = self.distinct(|bar| &bar.state);
        let targets = self.distinct(|bar| self.target(bar));
        let lanes = targets
            .iter()
            .flat_map(|target| states.iter().map(move |state| (*target, *state)));
        lanes.collect()
    }

    fn draw_bar(&self, picture: &mut Picture, x: &Ruler, bar: &Bar, top: f64) {
        let color = color_of_target(bar.target);
        let states = self.distinct(|bar| &bar.state);
        let state = states.iter().position(|state| *state == bar.state);
        let shade = Bars::shade(state.unwrap_or(0));
        let (zero, end) = (x.at(0.0), x.at(bar.value));
        let (from, width) = (zero.min(end), (end - zero).abs());
        let height = LANE - BREAK;
        picture.add(format_args!(
            "<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             style=\"fill: var({color}); fill-opacity: {shade}; stroke: var({color})\"/>"
        ));
        if let Some((low, high)) = bar.interval {
            let y = top + height / 2.0;
            picture.line("spread", (x.at(low), y), (x.at(high), y));
        }
    }

    fn drawn_legend(&self) -> Vec<Entry> {
        let mut legend = Vec::new();
        for name in self.distinct(|bar| self.target(bar)) {
            let place = self.targets.iter().position(|target| target == name);
            let color = color_of_target(place.unwrap_or_default());
            legend.push(Entry::new(12, square(&color, 1.0), name));
        }
        let states = self.distinct(|bar| &bar.state);
        if states.len() > 1 {
            for (i, state) in states.into_iter().enumerate() {
                legend.push(Entry::new(12, square("--ink", Bars::shade(i)), state));
            }
        }
        legend
    }
}
