//! Walks of real file systems.

mod hostile;
mod images;
mod stored;
mod trees;
