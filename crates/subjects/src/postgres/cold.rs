//! How nothing of a table is cached when a statement begins: on a private server by force, on a given one as far as the
//! server's own functions reach into its buffers, and never beyond our own tables.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use measure::Finding;
use measure::schema::subjects::findings as row;
use measure::sorting;
use server::private::{PrivateServer, PrivateServerError, ServerSettings};
use server::session::identifier;
use server::{Schema, ServerError, Session};
use sys::file::witness::Cached;

use crate::error::SubjectError;

/// The extension that reaches into shared buffers, and the first versions of its script with what is used of it.
const EXTENSION: &str = "pg_buffercache";
const EVICTS_RELATIONS_SINCE: (u32, u32) = (1, 6);
const EVICTS_BUFFERS_SINCE: (u32, u32) = (1, 5);

/// The first server whose library gives the eviction of a buffer as a row, where scripts before 1.6 declare a truth.
const NEW_EVICTION_SINCE: u32 = 18;

/// The first version that can read its data files past the page cache.
const DIRECT_SINCE: u32 = 16;

/// Settings that a server takes only when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Startup {
    /// `io_method`; `None` before 18, which has one way only.
    pub(super) io_method: Option<String>,
    /// Whether it reads past the page cache.
    pub(super) direct: bool,
}

impl Startup {
    /// The finding about a server that does not start like this, for the reason in `outcome`.
    pub(super) fn absence(&self, outcome: Result<(), String>) -> Result<(), Finding> {
        let method = self.io_method.as_ref().map_or(String::new(), |method| method.replace('_', "-"));
        let (with, stem) = match (&self.io_method, self.direct) {
            (Some(name), false) => (format!("io_method {name}"), method),
            (Some(name), true) => (format!("io_method {name} past the page cache"), format!("{method}-direct")),
            (None, _) => ("debug_io_direct".into(), "direct".into()),
        };
        outcome.map_err(|reason| {
            let message = format!("The server does not start with {with}: {reason}. Its cases are absent.");
            row::ABSENT_IO_METHOD.named(&stem, message)
        })
    }

    /// The finding that nothing is gathered in joins that start like this on the server `name`: settings of reading
    /// together came with the `io_method`.
    pub(super) fn gathers_nothing(&self, name: &str) -> Option<Finding> {
        let message = format!(
            "Past the page cache {name} gathers nothing: before version 18 a bitmap scan only advises the kernel of \
             blocks to come (posix_fadvise), which then reads them into the page cache. Differences between its direct \
             joins are chance."
        );
        (self.direct && self.io_method.is_none()).then(|| row::SERVER_ADVICE.of(message))
    }
}

/// How blocks leave the shared buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Emptying {
    /// A private server: all buffers at once where it can, by a restart otherwise.
    Private,
    /// Our tables by name, with the extension in this schema.
    Relation(String),
    /// Our tables' buffers one by one, with the extension in this schema.
    Buffers(String),
    /// Not at all, for this reason.
    Never(String),
}

/// What becomes of caches before a statement.
#[derive(Debug)]
pub(super) struct Cold {
    private: Option<PrivateServer>,
    usual: Option<ServerSettings>,
    running: Startup,
    emptying: Emptying,
    stop: Arc<AtomicBool>,
    kept: Option<Cached>,
}

impl Cold {
    /// Finds out how caches can be emptied. `private` is the server of the session where it is one of this program's
    /// own.
    pub(super) fn of(
        session: &mut Session,
        private: Option<PrivateServer>,
        stop: Arc<AtomicBool>,
    ) -> Result<Cold, SubjectError> {
        let emptying = match private {
            Some(_) => Emptying::Private,
            None => of_given(session)?,
        };
        let running = running(session)?;
        let usual = private.as_ref().map(|private| private.settings().clone());
        Ok(Cold { private, usual, running, emptying, stop, kept: None })
    }

    /// How blocks leave the shared buffers.
    pub(super) fn emptying(&self) -> &Emptying {
        &self.emptying
    }

    /// How the server was started.
    pub(super) fn running(&self) -> &Startup {
        &self.running
    }

    /// The most that the page cache still held of a private server's files when it had been emptied; `None` where it
    /// was not.
    pub(super) fn kept(&self) -> Option<Cached> {
        self.kept
    }

    /// What the page cache holds of a relation; `None` where the server is not one of this program's own.
    pub(super) fn cached(&self, relation: &str) -> Result<Option<Cached>, SubjectError> {
        Ok(self.private.as_ref().map(|private| private.cached(relation, &self.stop)).transpose()?)
    }

    /// Whether the server is one of this program's own, and does not run.
    pub(super) fn is_lost(&self) -> bool {
        self.private.as_ref().is_some_and(|private| !private.is_running())
    }

    /// The ways in which the server can be started: those of a private server; a given one stays as it is.
    pub(super) fn startups(&self, session: &mut Session) -> Result<Vec<Startup>, SubjectError> {
        let Some(private) = &self.private else { return Ok(vec![self.running.clone()]) };
        let offered = session.rows("SELECT unnest(enumvals) FROM pg_settings WHERE name = 'io_method'")?;
        let mut methods: Vec<Option<String>> = offered.into_iter().flatten().filter(Option::is_some).collect();
        if methods.is_empty() {
            methods.push(None);
        }
        // The usual one first.
        sorting::by_key(&mut methods, |method| *method != self.running.io_method);
        let directs: &[bool] = if private.version().major >= DIRECT_SINCE { &[false, true] } else { &[false] };
        let of = |direct: &bool| methods.iter().map(|method| (method.clone(), *direct)).collect::<Vec<_>>();
        let all = directs.iter().flat_map(of);
        Ok(all.map(|(io_method, direct)| Startup { io_method, direct }).collect())
    }

    /// Starts a private server in this way; the reason where it cannot be, and it then runs as before.
    ///
    /// Sessions end: [`Schema::reopen`] is called here.
    pub(super) fn start(&mut self, wanted: &Startup, schema: &mut Schema) -> Result<Result<(), String>, SubjectError> {
        if *wanted == self.running {
            return Ok(Ok(()));
        }
        if wanted.direct
            && let Some(reason) = self.without_direct()
        {
            return Ok(Err(reason));
        }
        let refused = match self.restart(wanted) {
            Err(PrivateServerError::NotStarted { log, .. }) => {
                self.restart(&self.running.clone()).map_err(SubjectError::from)?;
                Some(log)
            }
            outcome => {
                outcome.map_err(SubjectError::from)?;
                self.running = wanted.clone();
                None
            }
        };
        schema.reopen()?;
        Ok(refused.map_or(Ok(()), Err))
    }

    /// Why a private server reads nothing past the page cache; `None` where it can. Where its files are in memory, the
    /// kernel may let it open them so and copies all the same, which would look like a very fast storage.
    fn without_direct(&self) -> Option<String> {
        let private = self.private.as_ref().filter(|private| !private.takes_direct())?;
        let files = private.filesystem().unwrap_or_else(|| "a file system".into());
        Some(format!("its files lie on {files} without direct I/O; name a folder on a disk in TMPDIR"))
    }

    /// Empties what can be emptied of these relations, the page cache of a private server's files included; whether
    /// the schema has a new session now.
    pub(super) fn empty(&mut self, schema: &mut Schema, relations: &[String]) -> Result<bool, SubjectError> {
        let renewed = self.empty_buffers(schema, relations)?;
        if let Some(private) = &self.private {
            let left = private.drop_page_cache(&self.stop).map_err(SubjectError::from)?;
            if self.kept.is_none_or(|kept| kept.pages <= left.pages) {
                self.kept = Some(left);
            }
        }
        Ok(renewed)
    }

    /// Empties shared buffers of these relations where that can be, and leaves the page cache as it is; whether the
    /// schema has a new session now.
    pub(super) fn empty_buffers(&mut self, schema: &mut Schema, relations: &[String]) -> Result<bool, SubjectError> {
        match &self.emptying {
            Emptying::Private => self.empty_private(schema),
            Emptying::Relation(extension) => {
                for relation in relations {
                    let evict = format!("SELECT {extension}.pg_buffercache_evict_relation('{relation}'::regclass)");
                    schema.session().rows(&evict)?;
                }
                Ok(false)
            }
            Emptying::Buffers(extension) => {
                let wanted: Vec<String> = relations.iter().map(|relation| format!("'{relation}'::regclass")).collect();
                // The number of a file is unique within its tablespace alone.
                schema.session().rows(&format!(
                    "SELECT count({extension}.pg_buffercache_evict(bufferid)) FROM {extension}.pg_buffercache WHERE \
                     (reldatabase, reltablespace, relfilenode) IN (SELECT d.oid, \
                     coalesce(nullif(c.reltablespace, 0), d.dattablespace), pg_relation_filenode(c.oid) FROM pg_class \
                     c, pg_database d WHERE d.datname = current_database() AND c.oid IN ({}))",
                    wanted.join(", ")
                ))?;
                Ok(false)
            }
            Emptying::Never(_) => Ok(false),
        }
    }

    fn empty_private(&mut self, schema: &mut Schema) -> Result<bool, SubjectError> {
        let Some(private) = &self.private else { return Ok(false) };
        let renewed = !private.empty_buffers(&self.stop).map_err(SubjectError::from)?;
        if renewed {
            self.restart(&self.running.clone()).map_err(SubjectError::from)?;
            schema.reopen()?;
        }
        Ok(renewed)
    }

    fn restart(&mut self, wanted: &Startup) -> Result<(), PrivateServerError> {
        let (Some(private), Some(usual)) = (&mut self.private, &self.usual) else { return Ok(()) };
        let mut settings = usual.clone();
        if let Some(method) = &wanted.io_method {
            settings = settings.with("io_method", method);
        }
        if wanted.direct {
            settings = settings.with("debug_io_direct", "data");
        }
        private.restart(settings, &self.stop)
    }
}

/// What a given server allows us.
fn of_given(session: &mut Session) -> Result<Emptying, ServerError> {
    let facts = session.facts().clone();
    if session.is_rehearsal() {
        return Ok(Emptying::Never("nothing was asked of the server".into()));
    }
    let Some(script) = facts.extension(EXTENSION).and_then(script_version) else {
        return Ok(Emptying::Never(format!("the database has no extension {EXTENSION}")));
    };
    if script < EVICTS_BUFFERS_SINCE {
        let (major, minor) = script;
        let sentence = format!("the extension {EXTENSION} is of version {major}.{minor}, and empties buffers from 1.5");
        return Ok(Emptying::Never(sentence));
    }
    if script < EVICTS_RELATIONS_SINCE && facts.major() >= NEW_EVICTION_SINCE {
        let (major, minor) = script;
        return Ok(Emptying::Never(format!(
            "the extension {EXTENSION} is of version {major}.{minor}, older than the server, which does not carry out \
             its way to empty buffers any more: a superuser may run ALTER EXTENSION {EXTENSION} UPDATE"
        )));
    }
    if !facts.is_superuser {
        return Ok(Emptying::Never(format!("{} is not a superuser, and only those may empty buffers", facts.user)));
    }
    let place = format!(
        "SELECT nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE \
                         extname = '{EXTENSION}'"
    );
    let schema = identifier(&session.text(&place, Some("public"))?.unwrap_or_default());
    Ok(match script >= EVICTS_RELATIONS_SINCE {
        true => Emptying::Relation(schema),
        false => Emptying::Buffers(schema),
    })
}

/// `1.6` as numbers.
fn script_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// How the server runs now. What a version does not know is null.
fn running(session: &mut Session) -> Result<Startup, ServerError> {
    let io_method = session.text("SELECT current_setting('io_method', true)", None)?;
    let direct = session.text("SELECT current_setting('debug_io_direct', true)", None)?;
    Ok(Startup { io_method, direct: direct.is_some_and(|kinds| kinds.contains("data")) })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use server::private::Installation;
    use server::{Address, Limits};

    use super::*;

    #[test]
    fn a_server_whose_files_are_in_memory_is_not_measured_as_if_it_read_from_storage() {
        let (debian, memory) = (Path::new("/usr/lib/postgresql/15"), Path::new("/dev/shm"));
        let stop: Arc<AtomicBool> = Arc::default();
        let settings = ServerSettings::new(16 << 20);
        let start = |programs: Installation| PrivateServer::start(&programs, memory, settings, &stop).ok();
        let Some(private) = Installation::at(debian).ok().and_then(start).filter(|private| !private.takes_direct())
        else {
            return println!("skipped: Debian's PostgreSQL 15 is not installed, or /dev/shm has no room in memory");
        };
        let process = private.process();
        let mut session = Session::open(&Address::of(private.config()), Limits::default(), Arc::clone(&stop)).unwrap();
        let mut cold = Cold::of(&mut session, Some(private), Arc::clone(&stop)).unwrap();
        let mut schema = Schema::create(session).unwrap();
        let direct = Startup { direct: true, ..cold.running().clone() };
        let reason = cold.start(&direct, &mut schema).unwrap().unwrap_err();
        assert!(reason.starts_with("its files lie on ") && reason.contains("TMPDIR"), "{reason}");
        assert_eq!(cold.private.as_ref().and_then(PrivateServer::process), process, "it was started anew");
        assert!(schema.finish().is_ok());
    }

    #[test]
    fn versions_of_a_script_are_compared_as_numbers() {
        assert!(script_version("1.10") > script_version("1.6") && script_version("1.6").is_some());
        assert_eq!(script_version("unpackaged"), None);
    }
}
