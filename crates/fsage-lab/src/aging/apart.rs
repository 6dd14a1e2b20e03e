//! Targets and controls of a run are places of their own: nothing is touched before that is known.

use crate::error::bail;
use fsage_real::Place;
use fsage_target::TargetSpec;
use std::path::{Path, PathBuf};

/// Somewhere that a run writes to.
struct Claim<'a> {
    spec: &'a TargetSpec,
    what: &'static str,
    given: PathBuf,
    /// Whatever it is called.
    place: PathBuf,
}

/// Refuses a control that is the target, lies in it or holds it, and two targets or controls that do so.
pub fn check(specs: &[TargetSpec]) -> crate::Result<()> {
    let mut claims: Vec<Claim<'_>> = Vec::new();
    for spec in specs {
        let Some(real) = spec.real()? else { continue };
        let target = match &real.place {
            Place::Dir(path) => Some((path.clone(), "the target")),
            Place::Loop(options) => options.image.clone().map(|path| (path, "the image")),
        };
        let control = real.control.map(|path| (path, "the control"));
        for (given, what) in target.into_iter().chain(control) {
            let place = whatever_it_is_called(&given);
            let claim = Claim {
                spec,
                what,
                given,
                place,
            };
            let other = claims.iter().find(|other| {
                other.place.starts_with(&claim.place) || claim.place.starts_with(&other.place)
            });
            if let Some(other) = other {
                let whose = if std::ptr::eq(other.spec, spec) {
                    other.what.to_owned()
                } else {
                    format!("{} of `{}`", other.what, other.spec)
                };
                let how = match () {
                    () if other.place == claim.place => "is also",
                    () if claim.place.starts_with(&other.place) => "lies in",
                    () => "holds",
                };
                bail!(
                    "`{spec}`: {what}, {}, {how} {whose}; each needs a place of its own",
                    claim.given.display()
                );
            }
            claims.push(claim);
        }
    }
    Ok(())
}

/// A path without links. What is not there yet lies in a folder that is.
fn whatever_it_is_called(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = path.ancestors().find_map(|above| {
        let whole = above.canonicalize().ok()?;
        Some(whole.join(path.strip_prefix(above).ok()?))
    });
    known.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn places_are_told_apart_by_what_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::create_dir_all(at("tree/below")).expect("a folder");
        fs::create_dir(at("other")).expect("a folder");
        std::os::unix::fs::symlink(at("tree"), at("link")).expect("a link");
        let check = |specs: &[String]| {
            let specs = specs.iter().map(|spec| TargetSpec::parse(spec));
            let specs: Vec<_> = specs.collect::<Result<_, _>>().expect("specifications");
            check(&specs).map_err(|error| error.to_string())
        };
        let dir = |target: &str, control: &str| {
            vec![format!("dir:{},control={}", at(target), at(control))]
        };
        assert_eq!(check(&dir("tree", "other")), Ok(()));
        for (target, control, how) in [
            ("tree", "tree", "is also the target"),
            ("tree", "link", "is also the target"),
            ("tree", "other/../tree/", "is also the target"),
            ("tree", "tree/below", "lies in the target"),
            ("tree/below", "tree", "holds the target"),
        ] {
            let error = check(&dir(target, control)).expect_err("one place");
            assert!(error.contains(how), "{error}");
        }
        let image = format!("loop:ext4,image={},control={}", at("i"), at("other/../i"));
        let error = check(&[image]).expect_err("one place");
        assert!(
            error.contains("the control") && error.contains("is also the image"),
            "{error}"
        );
        let two = [format!("dir:{}", at("tree")), format!("dir:{}", at("link"))];
        let error = check(&two).expect_err("one place");
        assert!(error.contains("is also the target of `dir:"), "{error}");
    }
}
