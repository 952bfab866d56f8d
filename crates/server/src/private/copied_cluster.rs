//! What a private server needs to run on a copy of a data directory.
//!
//! A server writes to the directory that it runs on. So none is started on what could be the directory of a server in
//! use, or lead to its files: not where a lock file lies, where a link leads out of the copy, where a file has a second
//! name, where something else is mounted, or where tablespaces are. Nor on what was not shut down: to recover it would
//! mean to repeat what the original did, such as making tablespaces where it has them.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use sys::file::plain;
use sys::process::Credentials;

use super::account::group_of;
use super::error::PrivateServerError;
use super::room::Room;
use super::settings::ServerSettings;
use crate::cluster::{ClusterCopy, FILE_MAX};
use crate::error::ServerError;

/// Files of a data directory that a server would not just go on with: what to do about each.
const SIGNS: [(&str, &str); 5] = [
    (
        "postmaster.pid",
        "a server runs on it, or ran when it was copied; start a server of yours on the copy once and stop it",
    ),
    ("standby.signal", "it would become a standby; promote it with a server of yours that has archive_mode = off"),
    ("recovery.signal", "it would be recovered; let a server of yours do that, with archive_mode = off"),
    ("backup_label", RECOVER),
    ("tablespace_map", RECOVER),
];

/// What to do with a copy that was not shut down.
const RECOVER: &str =
    "it has to be recovered; start a server of yours on it once, with archive_mode = off, and stop it";

/// Where `pg_control` has the state of the cluster, and the state of one that was shut down. Source: PostgreSQL,
/// `src/include/catalog/pg_control.h`, `ControlFileData` and `DBState`.
const STATE_AT: usize = 16;
const SHUT_DOWN: u32 = 1;

/// The first version with triggers at the begin of a session, and a setting that disables triggers for events.
const EVENT_TRIGGERS_SINCE: u32 = 17;

/// The first version that keeps statistics in memory, and has no setting for their files any more.
const STATISTICS_IN_MEMORY_SINCE: u32 = 15;

/// The first version that can summarize its log of changes meanwhile.
const SUMMARIES_SINCE: u32 = 17;

/// Where the kernel lists what is mounted.
const MOUNTS: &str = "/proc/self/mountinfo";

/// How a server refuses a session with options that only a superuser may have.
const DENIED: &str = "permission denied to set parameter";

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
        let is_there = |name: &str| fs::symlink_metadata(whole.join(name)).is_ok();
        if let Some((file, why)) = SIGNS.into_iter().find(|(file, _)| is_there(file)) {
            return Err(self.unfit(format!("there is a {file}: {why}")));
        }
        let control = plain::read(&whole.join("global/pg_control"), FILE_MAX);
        let control = control.map_err(|error| self.unfit(format!("global/pg_control: {error}")))?;
        let state = control.get(STATE_AT..STATE_AT + 4).and_then(|bytes| bytes.try_into().ok());
        if state.map(u32::from_ne_bytes) != Some(SHUT_DOWN) {
            return Err(self.unfit(format!("its server was not shut down: {RECOVER}")));
        }
        if !is_there("postgresql.conf") {
            let why = "there is no postgresql.conf in it, by which its queries are planned and run: copy it there, \
                       from below /etc/postgresql on Debian";
            return Err(self.unfit(why.into()));
        }
        match leads_out(&whole) {
            Ok(None) => Ok(whole),
            Ok(Some(why)) => Err(self.unfit(why)),
            Err(error) => Err(self.unfit(error.to_string())),
        }
    }

    /// The account that the server runs as: that of the directory's owner. `None` where that is this process.
    pub(super) fn account(&self) -> Result<Option<Credentials>, PrivateServerError> {
        let found = fs::metadata(&self.directory).map_err(|error| self.unfit(error.to_string()))?;
        let user = rustix::process::geteuid();
        match (found.uid(), user.is_root()) {
            (0, _) => Err(self.unfit("it belongs to root, as whom PostgreSQL refuses to run".into())),
            (owner, true) => match group_of(owner).unwrap_or(found.gid()) {
                0 => Err(self.unfit(format!("it belongs to user {owner}, who has no group but root's"))),
                group => Ok(Some(Credentials { user: owner, group })),
            },
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
        account: Option<Credentials>,
        major: u32,
    ) -> Result<ServerSettings, PrivateServerError> {
        let written = |name: &str, text: &str| {
            let path = room.path().join(name);
            let mut file = room.file(name)?;
            let owned = account.map_or(Ok(()), |account| fchown(&file, Some(account.user), Some(account.group)));
            owned.and_then(|()| file.write_all(text.as_bytes())).map_err(PrivateServerError::at(&path))?;
            Ok::<String, PrivateServerError>(path.display().to_string())
        };
        let mut settings = ServerSettings::of_copy()
            .with("data_directory", &whole.display().to_string())
            .with("hba_file", &written("pg_hba.conf", HBA)?)
            .with("ident_file", &written("pg_ident.conf", "")?);
        if major < STATISTICS_IN_MEMORY_SINCE {
            settings = settings.with("stats_temp_directory", "pg_stat_tmp");
        }
        if disables_event_triggers(major) {
            settings = settings.with("event_triggers", "off");
        }
        if major >= SUMMARIES_SINCE {
            settings = settings.with("summarize_wal", "off");
        }
        Ok(settings)
    }

    /// Options of a session there, which come before what the copy sets for a database or a role.
    pub(super) fn session_options(major: u32) -> String {
        let triggers = if disables_event_triggers(major) { " -c event_triggers=off" } else { "" };
        format!("-c session_preload_libraries= -c local_preload_libraries={triggers}")
    }

    /// The sentence about triggers that run when a schema or a table is made, where no setting disables them.
    pub(super) fn with_triggers(&self, names: &[String]) -> PrivateServerError {
        let names = names.join(", ");
        self.unfit(format!("statements of this run would start its event triggers ({names}): disable them in the copy"))
    }

    /// Why no session came about, with what to do where its user is no superuser.
    pub(super) fn refusal(&self, error: PrivateServerError) -> PrivateServerError {
        let PrivateServerError::Statement(refused) = &error else { return error };
        let is_denied = matches!(&**refused, ServerError::Refused { reason, .. } if reason.starts_with(DENIED));
        if is_denied {
            return self.unfit(format!("{} is no superuser in it: name one with user=NAME", self.user));
        }
        error
    }

    /// Why no server is started on it.
    pub(super) fn unfit(&self, reason: String) -> PrivateServerError {
        PrivateServerError::UnfitCopy { directory: self.directory.clone(), reason }
    }
}

/// Whether a version has a setting that disables triggers for events.
pub(super) fn disables_event_triggers(major: u32) -> bool {
    major >= EVENT_TRIGGERS_SINCE
}

/// Why a server on this directory could write to files that are not the copy's own; `None` where it could not.
fn leads_out(whole: &Path) -> io::Result<Option<String>> {
    if fs::read_dir(whole.join("pg_tblspc"))?.next().is_some() {
        return Ok(Some("it has tablespaces, which may be those of a server in use, and are not measured cold".into()));
    }
    let mounts = fs::read(MOUNTS).unwrap_or_default();
    if let Some(point) = mounted_within(whole, &String::from_utf8_lossy(&mounts)) {
        return Ok(Some(format!(
            "something else is mounted on {point}, possibly the files of a server in use: put the files themselves \
             there"
        )));
    }
    let mut folders = vec![whole.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let found = fs::symlink_metadata(&path)?;
            if let Some(why) = is_elsewhere(whole, &path, &found) {
                return Ok(Some(why));
            }
            if found.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(None)
}

/// The first place below a directory on which something is mounted, by the kernel's list: the fifth word of a line, in
/// which blanks and backslashes are numbers. A folder of the same disk that is bound there is no link, and has the same
/// device.
fn mounted_within(whole: &Path, mounts: &str) -> Option<String> {
    let written = |letter: char| match letter {
        ' ' | '\t' | '\n' | '\\' => format!("\\{:03o}", u32::from(letter)),
        _ => letter.to_string(),
    };
    let below = whole.to_string_lossy().chars().map(written).collect::<String>() + "/";
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    points.find(|point| point.starts_with(&below)).map(String::from)
}

/// Why what is written to this path may be written to another directory too.
fn is_elsewhere(whole: &Path, path: &Path, found: &Metadata) -> Option<String> {
    let shown = path.display();
    if found.is_symlink() && !path.canonicalize().is_ok_and(|target| target.starts_with(whole)) {
        return Some(format!(
            "the link {shown} leads out of it, possibly into the files of a server in use: put what it leads to into \
             its place"
        ));
    }
    (found.is_file() && found.nlink() > 1).then(|| {
        format!(
            "{shown} has another name elsewhere (a hard link), which a server would write to as well: copy the file"
        )
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    fn copy(directory: &Path) -> ClusterCopy {
        ClusterCopy::parse(directory.to_str().unwrap()).unwrap()
    }

    fn control(state: u32) -> Vec<u8> {
        [[0; STATE_AT].as_slice(), &state.to_ne_bytes(), &[0; 100]].concat()
    }

    #[test]
    fn no_server_is_started_on_what_may_be_in_use_or_lead_to_what_is() {
        let folder = tempfile::tempdir().unwrap();
        let (data, elsewhere) = (folder.path().join("data"), folder.path().join("elsewhere"));
        for inside in ["pg_tblspc", "inside", "base/5", "global"] {
            fs::create_dir_all(data.join(inside)).unwrap();
        }
        fs::write(&elsewhere, "").unwrap();
        let why = |major| copy(&data).checked(major).map(drop).map_err(|error| error.to_string());
        let refuses = |said: &str| {
            let error = why(15).unwrap_err();
            assert!(error.contains(said), "{said}: {error}");
        };
        refuses("PG_VERSION");
        fs::write(data.join("PG_VERSION"), "15\n").unwrap();
        refuses("pg_control");
        symlink("/dev/zero", data.join("global/pg_control")).unwrap();
        refuses("not a regular file");
        fs::remove_file(data.join("global/pg_control")).unwrap();
        fs::write(data.join("global/pg_control"), control(6)).unwrap();
        refuses("was not shut down");
        fs::write(data.join("global/pg_control"), control(SHUT_DOWN)).unwrap();
        refuses("no postgresql.conf");
        fs::write(data.join("postgresql.conf"), "").unwrap();
        assert_eq!(why(15), Ok(()));
        assert!(why(16).unwrap_err().contains("made by version 15"));
        symlink(data.join("inside"), data.join("base/within")).unwrap();
        assert_eq!(why(15), Ok(()), "a link within");
        for (link, target) in [("base/6", &elsewhere), ("pg_wal", &elsewhere), ("base/5/7", &data.join("none"))] {
            symlink(target, data.join(link)).unwrap();
            refuses("leads out of it");
            fs::remove_file(data.join(link)).unwrap();
        }
        fs::hard_link(&elsewhere, data.join("base/5/2619")).unwrap();
        refuses("another name");
        fs::remove_file(data.join("base/5/2619")).unwrap();
        fs::create_dir(data.join("pg_tblspc/16384")).unwrap();
        refuses("tablespaces");
        fs::remove_dir(data.join("pg_tblspc/16384")).unwrap();
        for (file, _) in SIGNS {
            fs::write(data.join(file), "").unwrap();
            refuses(&format!("there is a {file}"));
            fs::remove_file(data.join(file)).unwrap();
        }
        assert_eq!(why(15), Ok(()));
    }

    #[test]
    fn what_is_mounted_in_a_copy_is_not_taken_for_the_copys_own() {
        let mounts = "22 1 254:0 / / rw shared:1 - ext4 /dev/sda rw\n\
                      40 22 254:0 /live/pg_wal /srv/my\\040copy/pg_wal rw - ext4 /dev/sda rw\n\
                      41 22 254:0 /other /srv/my\\040copy2 rw - ext4 /dev/sda rw\n";
        let found = |whole: &str| mounted_within(Path::new(whole), mounts);
        assert_eq!(found("/srv/my copy").as_deref(), Some("/srv/my\\040copy/pg_wal"));
        for whole in ["/srv/my copy2", "/srv/my", "/srv/my copy/base"] {
            assert_eq!(found(whole), None, "{whole}");
        }
        // A directory that is mounted itself is a copy on a disk of its own.
        assert!(mounted_within(Path::new("/proc"), "5 1 0:4 / /proc rw - proc proc rw\n").is_none());
    }

    #[test]
    fn a_setting_is_given_to_the_versions_that_know_it_and_to_no_other() {
        let (data, parent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let room = Room::new(parent.path(), None).unwrap();
        let has = |major: u32, setting: &str| {
            let settings = copy(data.path()).settings((data.path(), &room), None, major).unwrap();
            settings.arguments().iter().any(|argument| argument == setting)
        };
        for (setting, versions) in [
            ("stats_temp_directory=pg_stat_tmp", 13..=14),
            ("event_triggers=off", 17..=18),
            ("summarize_wal=off", 17..=18),
            ("archive_mode=off", 13..=18),
        ] {
            for major in 13..=18 {
                assert_eq!(has(major, setting), versions.contains(&major), "{setting} on {major}");
            }
        }
    }

    #[test]
    fn no_server_runs_as_root_or_with_roots_group() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can give a directory to another user");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let account = || copy(folder.path()).account().map_err(|error| error.to_string());
        assert!(account().unwrap_err().contains("belongs to root"));
        // A user whom the list of accounts does not name: the directory's group stands for the user's.
        let user = 64_123;
        chown(folder.path(), Some(user), Some(0)).unwrap();
        assert!(account().unwrap_err().contains("no group but root's"));
        chown(folder.path(), Some(user), Some(64_124)).unwrap();
        assert_eq!(account(), Ok(Some(Credentials { user, group: 64_124 })));
    }
}
