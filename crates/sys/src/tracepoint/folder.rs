//! The kernel's folder of tracepoints: where it is mounted, or in a mount of our own that no other process sees.

use std::ffi::CStr;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use super::absence::NoTracing;
use super::format::{BYTES_MAX, Format};

/// Where systems mount it.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Commands and flags of include/uapi/linux/mount.h.
const CREATE: libc::c_uint = 6;
const CLOSE_ON_EXEC: libc::c_uint = 1;
const READ_ONLY: libc::c_uint = 1;

/// The folder.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    /// A mount of our own lasts as long as its descriptor.
    _mount: Option<OwnedFd>,
}

impl Folder {
    /// Finds it where it is mounted, or mounts it where no other process sees it.
    pub(super) fn find() -> Result<Folder, NoTracing> {
        Folder::among(&PLACES, mount)
    }

    /// Finds it in one of these places, or in what `mount` gives.
    fn among(places: &[&str], mount: impl FnOnce() -> io::Result<OwnedFd>) -> Result<Folder, NoTracing> {
        let mut forbidden = None;
        for place in places {
            match fs::metadata(Path::new(place).join("events")) {
                Ok(_) => return Ok(Folder { root: PathBuf::from(place), _mount: None }),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => forbidden = Some(place),
                Err(_) => {}
            }
        }
        match mount() {
            Ok(mount) => {
                let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
                Ok(Folder { root, _mount: Some(mount) })
            }
            Err(_) => {
                Err(forbidden.map_or(NoTracing::NotMounted, |place| NoTracing::FolderForbidden(place.to_string())))
            }
        }
    }

    /// What the kernel says of a tracepoint, such as `block/block_rq_issue`.
    pub(super) fn format(&self, name: &str) -> Result<Format, NoTracing> {
        let mut text = String::new();
        let read = fs::File::open(self.root.join("events").join(name).join("format"))
            .and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text));
        match read {
            Ok(_) => Format::parse(&text).map_err(|why| NoTracing::Format { name: name.into(), why }),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                Err(NoTracing::FolderForbidden(self.root.display().to_string()))
            }
            Err(_) => Err(NoTracing::Missing(name.into())),
        }
    }
}

/// A mount of tracefs that stands in no folder: it ends when it is closed.
fn mount() -> io::Result<OwnedFd> {
    let kind: &CStr = c"tracefs";
    // SAFETY: fsopen reads the text, which ends with a zero and lives across the call.
    let opened = unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), CLOSE_ON_EXEC) };
    let context = descriptor(opened)?;
    let nothing = std::ptr::null::<libc::c_char>();
    // SAFETY: this command of fsconfig takes no key and no value: both are null as it demands.
    let made = unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), CREATE, nothing, nothing, 0) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fsmount takes a descriptor and numbers, and touches no memory of ours.
    let mounted = unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOSE_ON_EXEC, READ_ONLY) };
    descriptor(mounted)
}

fn descriptor(result: libc::c_long) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just opened this descriptor for us, and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(result as RawFd) })
}

/// Makes this thread one of a user without rights, where it is root's.
#[cfg(test)]
pub(super) fn as_no_one() {
    const NO_ONE: libc::uid_t = 65_534;
    // SAFETY: the call takes numbers. Made past the C library it is of this thread alone.
    let _ = unsafe { libc::syscall(libc::SYS_setresuid, NO_ONE, NO_ONE, NO_ONE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_read_wherever_it_is_or_the_reason_is_one_sentence() {
        match Folder::find().and_then(|folder| folder.format("sched/sched_switch")) {
            Ok(format) => {
                assert!(format.number > 0 && format.field("prev_state").is_ok(), "{format:?}");
                let folder = Folder::find().unwrap();
                let missing = folder.format("sched/no_such_tracepoint").unwrap_err();
                assert_eq!(missing, NoTracing::Missing("sched/no_such_tracepoint".into()));
            }
            Err(reason) => assert!(reason.to_string().len() > 20, "{reason}"),
        }
        // A mount of our own is in no list of mounts, not even this process's.
        assert!(!fs::read_to_string("/proc/self/mounts").unwrap().contains("/proc/self/fd"));
    }

    #[test]
    fn a_folder_that_is_mounted_nowhere_is_mounted_for_us_alone_or_said_to_be_missing() {
        let refused = || Err(io::Error::from(ErrorKind::PermissionDenied));
        let reason = Folder::among(&["/no/such/place"], refused).unwrap_err();
        assert_eq!(reason, NoTracing::NotMounted);
        assert!(reason.to_string().contains("mount -t tracefs"), "{reason}");
        match Folder::among(&["/no/such/place"], mount) {
            Ok(folder) => assert!(folder.format("sched/sched_switch").unwrap().number > 0),
            Err(reason) => assert_eq!(reason, NoTracing::NotMounted),
        }
    }

    #[test]
    fn a_folder_that_only_root_may_read_is_named_and_not_said_to_be_missing() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("events")).unwrap();
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o0)).unwrap();
        let place = folder.path().to_str().unwrap().to_string();
        let found = std::thread::spawn(move || {
            as_no_one();
            let refused = || Err(io::Error::from(ErrorKind::PermissionDenied));
            Folder::among(&["/no/such/place", &place], refused).map(|_| ()).map_err(|reason| (reason, place))
        });
        let (reason, place) = found.join().unwrap().unwrap_err();
        assert_eq!(reason, NoTracing::FolderForbidden(place));
    }
}
