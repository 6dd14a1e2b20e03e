//! Pools of profiles of short-lived files on disk (workload format, section 2.2; traces, section 7).
//!
//! ```text
//! STEM.profiles.parquet      one row a profile
//! STEM.profile_ops.parquet   one row an operation
//! pool.csv                   one row a file: source,dir,start_s,life_s,bytes,name
//! ```
//!
//! Beyond the format's columns the tables keep what the CSV needs: `start_ns` of a profile, and `name` of the file
//! that an operation makes. The CSV has neither windows nor appends: profiles of one directory become one, and
//! appended bytes count as written at once.

mod csv_form;
mod tables;

pub use csv_form::{is_profiles_csv, read_profiles_csv, write_profiles_csv};
pub use tables::{PROFILE_OPS, PROFILES, profile_tables, write_profiles};

use crate::error::DataError;
use crate::open::is_parquet;
use fsage_core::short_lived::{Profile, ProfileVerb};
use std::path::Path;

/// Reads a pool: `STEM.profiles.parquet` with its operations beside it (`path` may also be `STEM`), or its CSV form,
/// which may be compressed.
///
/// # Errors
/// A file cannot be read or is no pool; a row cannot be right; a file is not made once and deleted once, later.
pub fn read_profiles(path: impl AsRef<Path>) -> Result<Vec<Profile>, DataError> {
    let path = path.as_ref();
    let table = profile_tables(path).0;
    if table == path || (!path.exists() && table.exists()) || is_parquet(path)? {
        tables::read(path)
    } else {
        read_profiles_csv(path)
    }
}

/// What is wrong with a profile; nothing if its times ascend from 0 and every file is made once and deleted once,
/// later, local ids counting from 0.
fn check(profile: &Profile) -> Result<(), (usize, String)> {
    #[derive(Clone, Copy, PartialEq)]
    enum File {
        Unmade,
        Alive,
        Gone,
    }
    let files = profile.files() as usize;
    let mut states = vec![File::Unmade; files];
    let mut last = 0;
    for (at, op) in profile.ops.iter().enumerate() {
        let id = op.local_id;
        let wrong = |what: &str| Err((at, what.to_owned()));
        if at == 0 && op.t_rel_ns != 0 {
            return wrong("the first operation of a profile is not at time 0");
        }
        if op.t_rel_ns < last {
            return wrong("the operation is earlier than the one before it");
        }
        last = op.t_rel_ns;
        let state = usize::try_from(id).ok().and_then(|id| states.get_mut(id));
        let Some(state) = state else {
            return Err((
                at,
                format!("`local_id` {id}, but the profile makes {files} files, from 0"),
            ));
        };
        *state = match (op.verb, *state) {
            (ProfileVerb::Create, File::Unmade) | (ProfileVerb::Append, File::Alive) => File::Alive,
            (ProfileVerb::Delete, File::Alive) => File::Gone,
            (verb, state) => {
                let state = match state {
                    File::Unmade => "was not made yet",
                    File::Alive => "is there already",
                    File::Gone => "was deleted before",
                };
                return Err((at, format!("{} of file {id}, which {state}", verb.as_str())));
            }
        };
    }
    match states.iter().position(|state| *state != File::Gone) {
        Some(id) => Err((profile.ops.len() - 1, format!("file {id} is never deleted"))),
        None => Ok(()),
    }
}
