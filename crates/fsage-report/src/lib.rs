//! The page of a run: one HTML file with charts, tables and block maps, which needs no network and no other file.
//!
//! What stands on it is a [`Report`]; this crate knows how a page looks and nothing of where its numbers come from.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod assets;
pub mod chart;
pub mod charts;
pub mod data;
mod drawn;
pub mod map;
pub mod model;
mod payload;
mod render;
mod standalone;
pub mod svg;
mod text;

pub use charts::{Axis, Bars, Format, Lines, Scale, Stacks};
pub use data::{Cell, Column, DataTable};
pub use drawn::PICTURE_MARK;
pub use map::BlockMap;
pub use model::{
    Chart, Command, Exhibit, Fact, Finding, Folded, Report, Section, Sheet, Target, Term, Tone,
};
pub use render::{RenderError, render, render_static};
