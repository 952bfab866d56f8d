//! What a private server needs to run on a copy of a data directory.
//!
//! A server writes to the directory that it runs on. So nothing is started that could be, or lead to, the directory of
//! a server in use: not where a lock file lies, not where a link leads out of the copy, and not where it would fetch
//! what it lacks from another server.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sys::process::Credentials;

use super::error::PrivateServerError;
use super::room::Room;
use super::settings::ServerSettings;
use crate::cluster::ClusterCopy;

/// Files of a data directory that is to become a standby, or to be recovered from an archive.
const RECOVERY: [&str; 2] = ["standby.signal", "recovery.signal"];

/// The lock file of a server that runs, or ran when the copy was made.
const LOCK_FILE: &str = "postmaster.pid";

/// The first version with triggers at the begin of a session, which a setting disables.
const LOGIN_TRIGGERS_SINCE: u32 = 17;

/// All may connect who can enter the folder of the socket: the server's user alone.
const HBA: &str = "local all all trust\n";

impl ClusterCopy {
    /// The whole path of the directory, where a server may run on it.
    pub(super) fn checked(&self, major: u32) -> Result<PathBuf, PrivateServerError> {
        let own = self.major().map_err(|reason| self.unfit(reason))?;
        if own != major {
            return Err(self.unfit(format!("it was made by version {own}, and the programs are of {major}")));
        }
        let whole = self.directory.canonicalize().map_err(|error| self.unfit(error.to_string()))?;
        let there = |name: &str| fs::symlink_metadata(whole.join(name)).is_ok();
        if there(LOCK_FILE) {
            return Err(self.unfit(format!(
                "there is a {LOCK_FILE}, so that a server runs on it, or ran when it was copied: a copy that no server \
                 runs on can do without this file"
            )));
        }
        if let Some(file) = RECOVERY.into_iter().find(|file| there(file)) {
            return Err(self.unfit(format!("there is a {file}: let a server of yours recover and promote it first")));
        }
        match link_out_of(&whole) {
            Ok(None) => Ok(whole),
            Ok(Some(link)) => Err(self.unfit(format!(
                "the link {} leads out of it, possibly into the files of a server in use: put what it leads to into \
                 its place",
                link.display()
            ))),
            Err(error) => Err(self.unfit(error.to_string())),
        }
    }

    /// The account that the server runs as: that of the directory's owner. `None` where that is this process.
    pub(super) fn account(&self) -> Result<Option<Credentials>, PrivateServerError> {
        let found = fs::metadata(&self.directory).map_err(|error| self.unfit(error.to_string()))?;
        let user = rustix::process::geteuid();
        match (found.uid(), user.is_root()) {
            (0, _) => Err(self.unfit("it belongs to root, as whom PostgreSQL refuses to run".into())),
            (owner, true) => Ok(Some(Credentials { user: owner, group: found.gid() })),
            (owner, false) if owner == user.as_raw() => Ok(None),
            (owner, false) => {
                Err(self.unfit(format!("it belongs to user {owner}, who alone can start a server on it")))
            }
        }
    }

    /// The settings of a server on it: the copy's own, but for those that lead out of it, let others in, or let the
    /// server work by itself while something is measured.
    pub(super) fn settings(
        &self,
        (whole, room): (&Path, &Room),
        major: u32,
    ) -> Result<ServerSettings, PrivateServerError> {
        let written = |name: &str, text: &str| {
            room.file(name)?;
            let path = room.path().join(name);
            fs::write(&path, text).map_err(PrivateServerError::at(&path))?;
            Ok::<String, PrivateServerError>(path.display().to_string())
        };
        let mut settings = ServerSettings::of_copy()
            .with("data_directory", &whole.display().to_string())
            .with("hba_file", &written("pg_hba.conf", HBA)?)
            .with("ident_file", &written("pg_ident.conf", "")?);
        if !whole.join("postgresql.conf").exists() {
            settings = settings.with("config_file", &written("postgresql.conf", "")?);
        }
        if major >= LOGIN_TRIGGERS_SINCE {
            settings = settings.with("event_triggers", "off");
        }
        Ok(settings)
    }

    fn unfit(&self, reason: String) -> PrivateServerError {
        PrivateServerError::UnfitCopy { directory: self.directory.clone(), reason }
    }
}

/// A link in a data directory, or to one of its tablespaces, that leads out of it.
fn link_out_of(whole: &Path) -> io::Result<Option<PathBuf>> {
    for folder in [whole.to_path_buf(), whole.join("pg_tblspc")] {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            let is_link = fs::symlink_metadata(&path)?.is_symlink();
            if is_link && !path.canonicalize().is_ok_and(|target| target.starts_with(whole)) {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn copy(directory: &Path) -> ClusterCopy {
        ClusterCopy::parse(directory.to_str().unwrap()).unwrap()
    }

    #[test]
    fn no_server_is_started_on_what_may_be_in_use_or_lead_to_what_is() {
        let folder = tempfile::tempdir().unwrap();
        let (data, elsewhere) = (folder.path().join("data"), folder.path().join("elsewhere"));
        fs::create_dir_all(data.join("pg_tblspc")).unwrap();
        fs::create_dir_all(data.join("inside")).unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
        let why = |major| copy(&data).checked(major).map(drop).map_err(|error| error.to_string());
        assert!(why(15).unwrap_err().contains("PG_VERSION"), "no data directory");
        fs::write(data.join("PG_VERSION"), "15\n").unwrap();
        assert_eq!(why(15), Ok(()));
        assert!(why(16).unwrap_err().contains("made by version 15"));
        symlink(data.join("inside"), data.join("pg_tblspc/1")).unwrap();
        assert_eq!(why(15), Ok(()), "a link within");
        for (link, target) in [("pg_tblspc/2", &elsewhere), ("pg_wal", &elsewhere), ("gone", &data.join("none"))] {
            symlink(target, data.join(link)).unwrap();
            assert!(why(15).unwrap_err().contains("leads out of it"), "{link}");
            fs::remove_file(data.join(link)).unwrap();
        }
        for (file, said) in [("postmaster.pid", "a server runs on it"), ("standby.signal", "promote it first")] {
            fs::write(data.join(file), "").unwrap();
            assert!(why(15).unwrap_err().contains(said), "{file}");
            fs::remove_file(data.join(file)).unwrap();
        }
        assert_eq!(why(15), Ok(()));
    }
}
