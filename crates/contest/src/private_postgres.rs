//! A private PostgreSQL server as a contender, and what its statements cost: processor time of the backend.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::Nanos;
use measure::statistics::median;
use server::private::{Installation, PrivateServer, ServerSettings};
use server::{Address, BackendAccount, Buffers, Limits, Session};

use crate::installed;
use crate::interruption::Interruption;

/// Longer than any statement of a contest takes.
const LIMITS: Limits = Limits { statement: Duration::from_secs(6 * 3600), lock: Duration::from_secs(60) };

/// A running server. Dropping it stops it and removes all it had.
#[derive(Debug)]
pub(crate) struct PrivatePostgres {
    server: PrivateServer,
    interruption: Interruption,
    /// `PostgreSQL 15.18`.
    pub(crate) name: String,
}

impl PrivatePostgres {
    /// Makes a server below `directory` and starts it with this many bytes of shared buffers.
    pub(crate) fn start(
        installation: &Installation,
        directory: &Path,
        buffer_bytes: u64,
        interruption: &Interruption,
    ) -> Result<PrivatePostgres, String> {
        let settings = ServerSettings::new(buffer_bytes);
        let server = PrivateServer::start(installation, directory, settings, &interruption.flag());
        let server = server.map_err(|error| error.to_string())?;
        Ok(PrivatePostgres { server, interruption: interruption.clone(), name: installed::name(installation) })
    }

    /// The same with what other users' statements find: parallel plans and compilation.
    pub(crate) fn start_as_users_do(
        installation: &Installation,
        directory: &Path,
        buffer_bytes: u64,
        interruption: &Interruption,
    ) -> Result<PrivatePostgres, String> {
        let mut server = PrivatePostgres::start(installation, directory, buffer_bytes, interruption)?;
        server.restart(buffer_bytes, &[("max_parallel_workers_per_gather", "2"), ("jit", "on")])?;
        Ok(server)
    }

    /// Its address for other programs of this user.
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Stops the server, drops its files from the page cache, and starts it again. Sessions end.
    pub(crate) fn empty_caches(&mut self) -> Result<(), String> {
        let (stop, settings) = (self.interruption.flag(), self.server.settings().clone());
        let emptied = self.server.stop(&stop).and_then(|()| self.server.drop_page_cache(&stop));
        emptied.and_then(|_| self.server.restart(settings, &stop)).map_err(|error| error.to_string())
    }

    /// Stops the server, works with the word by which readpath starts one with these programs and bytes of shared
    /// buffers on its files, and starts it again. Sessions end.
    pub(crate) fn as_copy<T>(
        &mut self,
        programs: &Path,
        buffer_bytes: u64,
        work: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        self.connect()?.run(&format!("ALTER SYSTEM SET shared_buffers = {}", buffer_bytes >> 13))?;
        let (stop, settings) = (self.interruption.flag(), self.server.settings().clone());
        let word = format!("postgres:copy:{}?programs={}", self.server.data_directory().display(), programs.display());
        let outcome = self.server.stop(&stop).map_err(|error| error.to_string()).and_then(|()| work(&word));
        self.server.restart(settings, &stop).map_err(|error| error.to_string())?;
        outcome
    }

    /// A new session; its backend is a new process. Names without a schema are those of `public`.
    pub(crate) fn connect(&self) -> Result<Connection, String> {
        let address = Address::of(self.server.config());
        let session = Session::open(&address, LIMITS, self.interruption.flag()).map_err(|error| error.to_string())?;
        let mut connection = Connection { session };
        connection.run("SET search_path = public")?;
        Ok(connection)
    }

    /// Stops the server, and starts it again with this many bytes of shared buffers, which are empty, and with these
    /// settings. Sessions end.
    pub(crate) fn restart(&mut self, buffer_bytes: u64, settings: &[(&str, &str)]) -> Result<(), String> {
        let usual = ServerSettings::new(buffer_bytes);
        let settings = settings.iter().fold(usual, |settings, (name, value)| settings.with(name, value));
        self.server.restart(settings, &self.interruption.flag()).map_err(|error| error.to_string())
    }

    /// The number of the server's first process, whose children the others are.
    pub(crate) fn first_process(&self, connection: &mut Connection) -> Result<u32, String> {
        let file = Path::new(&connection.value("SHOW data_directory")?).join("postmaster.pid");
        let text = fs::read_to_string(&file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        let first = text.lines().next().and_then(|line| line.trim().parse().ok());
        first.ok_or_else(|| format!("{} holds no number of a process", file.display()))
    }

    /// The major version.
    pub(crate) fn major(&self) -> u32 {
        self.server.version().major
    }

    /// The files of a relation.
    pub(crate) fn relation_files(&self, relation: &str) -> Result<Vec<PathBuf>, String> {
        self.server.relation_files(relation, &self.interruption.flag()).map_err(|error| error.to_string())
    }
}

/// A session whose errors are sentences.
pub(crate) struct Connection {
    session: Session,
}

impl Connection {
    /// Runs one statement, or several with semicolons between.
    pub(crate) fn run(&mut self, statement: &str) -> Result<(), String> {
        self.session.run(statement).map_err(|error| error.to_string())
    }

    /// Gives all settings their usual values, and then these.
    pub(crate) fn reset(&mut self, settings: &str) -> Result<(), String> {
        self.run(&format!("RESET ALL; SET search_path = public; {settings}"))
    }

    /// The plan of a statement with these settings, in one line.
    pub(crate) fn outline(&mut self, settings: &str, statement: &str) -> Result<String, String> {
        self.reset(settings)?;
        let plan = self.session.explain_with("", statement, server::Plan::default());
        let plan = plan.map_err(|error| error.to_string())?;
        Ok(format!("{} {}", plan.top.outline(), if plan.is_compiled { "compiled" } else { "" }))
    }

    /// What a statement gives, a line for each value that is not null.
    pub(crate) fn lines(&mut self, statement: &str) -> Result<Vec<String>, String> {
        let rows = self.session.rows(statement).map_err(|error| error.to_string())?;
        Ok(rows.into_iter().flatten().flatten().collect())
    }

    /// The single value that a statement gives.
    pub(crate) fn value(&mut self, statement: &str) -> Result<String, String> {
        self.lines(statement)?.into_iter().next().ok_or_else(|| format!("`{statement}` gave no value"))
    }

    /// The whole number that a statement gives.
    pub(crate) fn number(&mut self, statement: &str) -> Result<u64, String> {
        self.session.number(statement, 0).map_err(|error| error.to_string())
    }

    /// Makes a table of these columns, and fills it with chunks until there are none. Rows copied in the transaction
    /// that makes their table are frozen at once.
    pub(crate) fn fill(
        &mut self,
        table: &str,
        columns: &str,
        mut chunks: impl Iterator<Item = Vec<u8>>,
    ) -> Result<(), String> {
        self.run(&format!("BEGIN; CREATE TABLE {table} {columns}"))?;
        let statement = format!("COPY {table} FROM STDIN WITH (FREEZE)");
        self.session.copy(&statement, &mut chunks).map_err(|error| error.to_string())?;
        self.run("COMMIT")
    }

    /// Blocks that a statement asked for, in a run of its own: counting them makes a scan of narrow rows dearer.
    pub(crate) fn buffers(&mut self, statement: &str) -> Result<Buffers, String> {
        let plan = self.session.explain(statement, server::Plan::default()).map_err(|error| error.to_string())?;
        plan.buffers().map_err(|error| error.to_string())
    }

    /// Errors unless the statement finds exactly these blocks, all of them in shared buffers.
    pub(crate) fn expect_cached(&mut self, statement: &str, blocks: u64) -> Result<(), String> {
        let Buffers { hits, reads } = self.buffers(statement)?;
        if (hits, reads) == (blocks, 0) {
            return Ok(());
        }
        Err(format!("PostgreSQL hit {hits} and read {reads} blocks of a table of {blocks}"))
    }

    /// Blocks of a table. Errors unless all are all-visible: otherwise a scan looks at each row's own history.
    pub(crate) fn visible_blocks(&mut self, table: &str) -> Result<u64, String> {
        let size = format!("SELECT pg_relation_size('{table}') / current_setting('block_size')::integer");
        let blocks = self.number(&size)?;
        let visible = format!("SELECT relallvisible FROM pg_class WHERE oid = '{table}'::regclass");
        let visible = self.number(&visible)?;
        if visible == blocks {
            Ok(blocks)
        } else {
            Err(format!("{visible} of {blocks} blocks of {table} are all-visible"))
        }
    }

    /// The account of the backend's processor time.
    pub(crate) fn backend(&mut self) -> Result<BackendAccount, String> {
        BackendAccount::open(&mut self.session).map_err(|error| error.to_string())?
    }

    /// The backend's processor time for one run of `work`.
    pub(crate) fn processor_time<T>(
        &mut self,
        backend: BackendAccount,
        work: impl FnOnce(&mut Connection) -> Result<T, String>,
    ) -> Result<(T, Nanos), String> {
        let before = backend.processor_time()?;
        let outcome = work(self)?;
        Ok((outcome, backend.processor_time()?.since(before)))
    }

    /// The backend's processor time for a statement that has to count `count`, the median of `repeats`, in ns.
    pub(crate) fn statement_ns(
        &mut self,
        backend: BackendAccount,
        statement: &str,
        count: u64,
        repeats: usize,
    ) -> Result<f64, String> {
        let mut samples = Vec::new();
        for _ in 0..repeats {
            let (counted, time) = self.processor_time(backend, |session| session.number(statement))?;
            samples.push(time.0 as f64);
            if counted != count {
                return Err(format!("`{statement}` counted {counted} and not {count}"));
            }
        }
        Ok(median(&samples).unwrap_or(f64::NAN))
    }
}

/// The statement with its plan in place of its rows. Without the clock: one or two readings a row would be charged.
pub(crate) fn explained(statement: &str) -> String {
    format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}")
}
