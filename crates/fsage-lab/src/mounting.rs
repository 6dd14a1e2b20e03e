//! Images of runs, mounted where everybody sees them: for a look, and for programs of others.

use crate::aging::control::control_image;
use crate::error::{Context, bail, ensure};
use crate::run_folder::{Manifest, OneTarget};
use fsage_durable::FolderLock;
use fsage_linux::loop_device::{image_of, wait_unattached};
use fsage_linux::mounts::mounts;
use fsage_real::loop_image::{self, Kind, LoopOptions};
use fsage_real::{Place, programs};
use fsage_target::TargetSpec;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What is mounted, and how.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `RUN/TARGET`, or `RUN` of which one target alone is an image.
    pub target: &'a Path,
    /// The unaged control instead of the aged file system.
    pub control: bool,
    /// So that it can be written to, and the image with it.
    pub write: bool,
    /// An empty directory.
    pub at: &'a Path,
}

/// Mounts an image of a run by `mount`, and says which.
///
/// # Errors
/// The run is not complete, or at work; the target is no image, or its image is gone or in use; the directory is not
/// there, or not empty; this user may not mount.
pub fn mount(request: &Request<'_>) -> crate::Result<PathBuf> {
    let is_model = |spec: &TargetSpec| matches!(spec.real(), Ok(None));
    let image = OneTarget::find(request.target, |spec| image_options(spec).is_some());
    let target = image.or_else(|why| OneTarget::find(request.target, is_model).map_err(|_| why))?;
    let folder = target.run.join(&target.facts.folder);
    let of_model = model_image(&target.spec, &folder);
    let Some((options, control)) = image_options(&target.spec).or(of_model) else {
        ensure!(
            is_model(&target.spec),
            "`{}` is no image, and only images are mounted; look at the directory where it is",
            target.spec
        );
        bail!(
            "`{}` is a model, and only images are mounted. Make its image (`fsage age --image` writes one into the \
             run), and mount that:\n  \
             fsage export {}{} FILE.img\n  sudo mount -o loop,{} FILE.img {}",
            target.spec,
            if request.control { "--control " } else { "" },
            folder.display(),
            if request.write { "rw" } else { "ro" },
            request.at.display()
        );
    };
    let image = if request.control {
        control.unwrap_or_else(|| control_image(&folder))
    } else {
        options.image_in(&folder)
    };
    ensure!(
        image.is_file(),
        "{}: there is no such image: it was removed, or the run was made with --no-control",
        image.display()
    );
    let at = request.at;
    let is_empty = fs::read_dir(at)
        .with_context(|| format!("{}: expected an empty directory", at.display()))?
        .next()
        .is_none();
    ensure!(
        is_empty,
        "{}: not empty; expected an empty directory",
        at.display()
    );
    let _alone = FolderLock::alone(&target.run)?;
    let words = options.mount_call(&image, at, !request.write);
    let by_hand = format!("by hand: sudo mount {}", words.join(" "));
    let possible = loop_image::is_possible(options.kind).map_err(io::Error::from);
    possible.context(by_hand)?;
    wait_unattached(&image, Duration::ZERO).with_context(|| {
        format!(
            "{}: in use; `fsage umount DIR` unmounts it",
            image.display()
        )
    })?;
    system("mount", &words)?;
    Ok(image)
}

/// Unmounts what [`mount`] mounted on a directory, and says which image it was.
///
/// # Errors
/// Nothing is mounted there, or something else; it is in use.
pub fn unmount(at: &Path) -> crate::Result<PathBuf> {
    let place = at
        .canonicalize()
        .with_context(|| format!("{}: expected a directory that is mounted on", at.display()))?;
    let mounts = mounts().context("/proc/self/mountinfo: cannot be read")?;
    let mut mounted = mounts.iter().rev();
    let mounted = mounted.find(|mount| mount.at == place.as_os_str().as_bytes());
    let Some(mounted) = mounted else {
        bail!("{}: nothing is mounted there", at.display());
    };
    let image = image_of(&mounted.source);
    let is_of_run = |image: &PathBuf| {
        let run = image.parent().and_then(Path::parent);
        run.is_some_and(Manifest::is_run)
    };
    let Some(image) = image.filter(is_of_run) else {
        bail!(
            "{}: {} is mounted there, which is no image of a run; `umount` unmounts it",
            at.display(),
            mounted.source
        );
    };
    system("umount", &[place.to_string_lossy().into_owned()])?;
    Ok(image)
}

/// The image of a target, and where that of its control lies if that was said.
pub(crate) fn image_options(spec: &TargetSpec) -> Option<(LoopOptions, Option<PathBuf>)> {
    let real = spec.real().ok()??;
    match real.place {
        Place::Loop(options) => Some((options, real.control)),
        Place::Dir(_) => None,
    }
}

/// The same of a model whose image was written into the folder of its target (`--image`).
fn model_image(spec: &TargetSpec, folder: &Path) -> Option<(LoopOptions, Option<PathBuf>)> {
    let kind = Kind::parse(spec.entry()?.name)?;
    let image = folder.join(format!("{}.img", kind.name()));
    let mut options = LoopOptions::new(kind);
    options.image = Some(image.clone());
    image.is_file().then_some((options, None))
}

/// Runs a program of util-linux.
fn system(name: &str, words: &[String]) -> crate::Result<()> {
    let program = programs::find(name)
        .with_context(|| format!("there is no `{name}`; install util-linux"))?;
    let line = || format!("{name} {}", words.join(" "));
    let output = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        .output()
        .with_context(line)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{}: {}",
        line(),
        said.trim().replace('\n', "; ")
    );
    Ok(())
}
