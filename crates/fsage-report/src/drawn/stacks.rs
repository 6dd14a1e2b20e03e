//! Bars of parts that sum up to a whole.

use super::{BOTTOM, Drawing, Entry, Picture, RIGHT, Ruler, TOP, WIDTH, room, short, square};
use crate::charts::{Axis, Format, Stack, Stacks};

/// Height of a bar, with the gap below it and without.
const BAR: f64 = 30.0;
const BAR_ALONE: f64 = 21.0;

impl Stacks {
    pub(super) fn draw(&self) -> Option<Drawing> {
        let stacks: Vec<&Stack> = self.stacks.iter().filter(|s| s.whole() > 0.0).collect();
        if stacks.is_empty() {
            return None;
        }
        let height = BAR * stacks.len() as f64;
        let left = room(stacks.iter().map(|stack| stack.name.as_str()));
        let axis = Axis {
            label: self.share_label(),
            format: Format::Percent,
            ..Axis::default()
        };
        let shares = [0.0, 1.0].into_iter();
        let x = Ruler::new(&axis, shares, true, (left, WIDTH - RIGHT));
        let mut picture = Picture::new(TOP + height + BOTTOM);
        picture.x_axis(&x, TOP + height, true);
        let parts = self.parts();
        for (i, stack) in stacks.into_iter().enumerate() {
            let top = TOP + i as f64 * BAR + (BAR - BAR_ALONE) / 2.0;
            let at = (x.from - 8.0, top + BAR_ALONE / 2.0 + 4.0);
            picture.text(at, "end", &short(&stack.name));
            stack.draw(&mut picture, &x, &parts, top);
        }
        let names = parts.iter().enumerate();
        let legend = names
            .map(|(i, name)| Entry::new(12, square(&Stacks::color(i, parts.len()), 1.0), name));
        Some(Drawing::new(legend.collect(), picture))
    }
}

impl Stack {
    /// The sum of what is known of its parts.
    fn whole(&self) -> f64 {
        let parts = self.parts.iter().map(|(_, length)| *length);
        parts.filter(|length| *length > 0.0).sum()
    }

    fn draw(&self, picture: &mut Picture, x: &Ruler, names: &[&str], top: f64) {
        let mut before = 0.0;
        for (i, name) in names.iter().enumerate() {
            let of_name = self.parts.iter().filter(|(part, _)| part == name);
            let length: f64 = of_name.map(|(_, l)| *l).filter(|l| *l > 0.0).sum();
            if length > 0.0 {
                let share = length / self.whole();
                let (from, to) = (x.at(before), x.at(before + share));
                let (width, color) = (to - from, Stacks::color(i, names.len()));
                picture.add(format_args!(
                    "<rect class=\"part\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
                     height=\"{BAR_ALONE}\" style=\"fill: var({color})\"/>"
                ));
                before += share;
            }
        }
    }
}
