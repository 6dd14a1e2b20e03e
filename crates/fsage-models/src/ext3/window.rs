//! Reservation windows: blocks that other files with windows keep away from.

/// A window, with both ends; empty if `end` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Window {
    pub start: u32,
    pub end: u32,
}

impl Window {
    pub fn is_empty(self) -> bool {
        self.end == 0
    }

    /// Its number of blocks.
    pub fn blocks(self) -> u32 {
        self.end - self.start + 1
    }

    pub fn contains(self, block: u32) -> bool {
        self.start <= block && block <= self.end
    }

    /// Whether it has blocks in `first..=last`.
    pub fn touches(self, first: u32, last: u32) -> bool {
        !self.is_empty() && self.start <= last && first <= self.end
    }
}

/// All windows, ascending, after a dummy [0, 0] that is always there.
#[derive(Clone, Debug)]
pub(super) struct Windows(Vec<Window>);

impl Default for Windows {
    fn default() -> Windows {
        Windows(vec![Window::default()])
    }
}

impl Windows {
    /// Number of the last window that starts at or before a block.
    pub fn last_from(&self, block: u32) -> usize {
        self.0.partition_point(|w| w.start <= block) - 1
    }

    pub fn get(&self, i: usize) -> Option<Window> {
        self.0.get(i).copied()
    }

    fn find(&self, window: Window) -> usize {
        self.0
            .binary_search_by_key(&window.start, |w| w.start)
            .expect("the window of an open file is in the set")
    }

    /// Takes a window out; an empty one is not there.
    pub fn remove(&mut self, window: Window) {
        if !window.is_empty() {
            let i = self.find(window);
            self.0.remove(i);
        }
    }

    /// Puts a window in, and gives its number.
    pub fn insert(&mut self, window: Window) -> usize {
        let i = self.last_from(window.start) + 1;
        self.0.insert(i, window);
        i
    }

    /// Makes a window `blocks` longer at its end, or as far as the next window lets it.
    pub fn extend(&mut self, window: Window, blocks: u32) -> Window {
        let i = self.find(window);
        let wanted = window.end.saturating_add(blocks);
        let end = match self.get(i + 1) {
            Some(next) => wanted.min(next.start - 1),
            None => wanted,
        };
        self.0[i].end = end;
        Window { end, ..window }
    }

    /// All windows but the dummy, ascending.
    pub fn all(&self) -> &[Window] {
        &self.0[1..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: u32, end: u32) -> Window {
        Window { start, end }
    }

    #[test]
    fn the_dummy_is_before_every_window() {
        let mut windows = Windows::default();
        assert_eq!(windows.last_from(5), 0);
        assert_eq!(windows.insert(window(10, 17)), 1);
        assert_eq!(windows.insert(window(3, 4)), 1);
        assert_eq!(windows.last_from(9), 1);
        assert_eq!(windows.last_from(10), 2);
        windows.remove(window(3, 4));
        windows.remove(Window::default());
        assert_eq!(windows.all(), [window(10, 17)]);
    }

    #[test]
    fn a_window_grows_to_the_next_one() {
        let mut windows = Windows::default();
        windows.insert(window(10, 17));
        windows.insert(window(20, 27));
        assert_eq!(windows.extend(window(10, 17), 2), window(10, 19));
        assert_eq!(windows.extend(window(10, 19), 2), window(10, 19));
        assert_eq!(windows.extend(window(20, 27), 3), window(20, 30));
        assert_eq!(windows.all(), [window(10, 19), window(20, 30)]);
    }
}
