//! A copy of a data directory, such as a restored backup, as `--on` names it.

use std::path::PathBuf;

use sys::file::plain;

use crate::parameters::{decoded, encoded, encoded_path};

/// How the word of a copy begins.
pub(crate) const COPY: &str = "postgres:copy:";

/// Most bytes that are read of a file in it before a server runs there. The directory may belong to another user, who
/// could have put anything in a file's place.
pub(crate) const FILE_MAX: u64 = 1 << 20;

/// The database that is there from the beginning, and the usual name of the first superuser.
const USUAL: &str = "postgres";

/// A copy of a data directory, and how to connect to a server on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterCopy {
    /// The directory.
    pub directory: PathBuf,
    /// The database.
    pub database: String,
    /// A superuser.
    pub user: String,
    /// The directory of an installed server's programs; those of the copy's version are fetched where none is named.
    pub programs: Option<PathBuf>,
}

impl ClusterCopy {
    /// Reads `DIRECTORY?dbname=NAME&user=NAME&programs=DIRECTORY`, in which all but the first may be missing. Errors
    /// are a clause.
    pub(crate) fn parse(written: &str) -> Result<ClusterCopy, String> {
        let (directory, query) = written.split_once('?').unwrap_or((written, ""));
        if !directory.starts_with(['/', '.']) {
            return Err("a directory begins with `/` or `.`".into());
        }
        let usual = || USUAL.to_string();
        let mut copy =
            ClusterCopy { directory: decoded(directory)?.into(), database: usual(), user: usual(), programs: None };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value)?;
            match name {
                _ if value.is_empty() => return Err(format!("`{name}` has no value")),
                "dbname" => copy.database = value,
                "user" => copy.user = value,
                "programs" => copy.programs = Some(value.into()),
                _ => return Err(format!("`{name}` is none of dbname, user and programs")),
            }
        }
        Ok(copy)
    }

    /// The copy as `--on` takes it.
    pub fn shown(&self) -> String {
        let user = (self.user != USUAL).then(|| format!("&user={}", encoded(self.user.as_bytes())));
        let programs = self.programs.as_ref().map(|programs| format!("&programs={}", encoded_path(programs)));
        let (directory, database) = (encoded_path(&self.directory), encoded(self.database.as_bytes()));
        format!("{COPY}{directory}?dbname={database}{}{}", user.unwrap_or_default(), programs.unwrap_or_default())
    }

    /// The major version of the server that made it. Errors, where it is no data directory, are a clause.
    pub fn major(&self) -> Result<u32, String> {
        let text = plain::read(&self.directory.join("PG_VERSION"), FILE_MAX);
        let text = text.map_err(|error| format!("PG_VERSION: {error}"))?;
        String::from_utf8_lossy(&text).trim().parse().map_err(|_| "PG_VERSION holds no version".into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_copy_is_written_with_its_database_user_and_programs() {
        let copy = ClusterCopy::parse("/srv/a%3Fb?dbname=my%20shop&user=me&programs=/usr/lib/postgresql/15").unwrap();
        assert_eq!(copy.directory, Path::new("/srv/a?b"));
        assert_eq!((copy.database.as_str(), copy.user.as_str()), ("my shop", "me"));
        assert_eq!(copy.programs.as_deref(), Some(Path::new("/usr/lib/postgresql/15")));
        let shown = "postgres:copy:/srv/a%3Fb?dbname=my%20shop&user=me&programs=/usr/lib/postgresql/15";
        assert_eq!(copy.shown(), shown);
        assert_eq!(ClusterCopy::parse("./data").unwrap().database, "postgres");
        for (written, why) in [("srv", "begins with"), ("/srv?dbname", "no value"), ("/srv?port=1", "none of dbname")] {
            let error = ClusterCopy::parse(written).unwrap_err();
            assert!(error.contains(why), "{written}: {error}");
        }
    }

    #[test]
    fn a_file_without_an_end_in_the_place_of_a_version_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let major = || ClusterCopy::parse(folder.path().to_str().unwrap()).unwrap().major();
        symlink("/dev/zero", folder.path().join("PG_VERSION")).unwrap();
        assert!(major().unwrap_err().contains("not a regular file"));
        fs::remove_file(folder.path().join("PG_VERSION")).unwrap();
        fs::write(folder.path().join("PG_VERSION"), "17\n").unwrap();
        assert_eq!(major(), Ok(17));
    }
}
