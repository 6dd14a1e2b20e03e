//! How the pages of a file are spread over dies and flash pages, from the map alone: what reading it costs, without
//! any time. docs/spec/flash.md, section 15.

use super::FlashDevice;
use serde::Serialize;

/// Sums over windows of pages of files. Each window counts as much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Windows with at least one page on flash.
    pub windows: u64,
    balance_sum: f64,
    page_use_sum: f64,
}

impl Spread {
    /// Die balance: 1 where each window has as many flash pages on every die, 1 / dies where all are on one. `None`
    /// without windows.
    pub fn die_balance(&self) -> Option<f64> {
        (self.windows > 0).then(|| self.balance_sum / self.windows as f64)
    }

    /// Page use: 1 where flash pages hold nothing but pages of their window; less where they are shared with other
    /// data. `None` without windows.
    pub fn page_use(&self) -> Option<f64> {
        (self.windows > 0).then(|| self.page_use_sum / self.windows as f64)
    }
}

impl FlashDevice {
    /// Adds the windows of a file, whose pages are given in file order; what is not mapped is left out.
    pub fn add_spread(
        &self,
        spread: &mut Spread,
        pages: impl IntoIterator<Item = u64>,
        window_pages: usize,
    ) {
        let geometry = &self.map.geometry;
        let mut pages = pages.into_iter();
        let mut flash_pages: Vec<(u32, u32)> = Vec::new();
        loop {
            flash_pages.clear();
            let mut seen = 0;
            for page in pages.by_ref().take(window_pages) {
                seen += 1;
                let page = u32::try_from(page).ok();
                let page = page.filter(|&page| page < geometry.logical_pages);
                if let Some(physical) = page.and_then(|page| self.map.find(page)) {
                    let flash_page = physical / geometry.flash_page;
                    flash_pages.push((geometry.die_of(physical), flash_page));
                }
            }
            if seen == 0 {
                return;
            }
            let mapped = flash_pages.len();
            if mapped == 0 {
                continue;
            }
            flash_pages.sort_unstable();
            flash_pages.dedup();
            let on_one_die = flash_pages.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len);
            let most = on_one_die.max().unwrap_or(1) as f64;
            let distinct = flash_pages.len();
            let best = distinct.div_ceil(geometry.all_dies() as usize) as f64;
            let needed = mapped.div_ceil(geometry.flash_page as usize) as f64;
            spread.windows += 1;
            spread.balance_sum += best / most;
            spread.page_use_sum += needed / distinct as f64;
        }
    }
}
