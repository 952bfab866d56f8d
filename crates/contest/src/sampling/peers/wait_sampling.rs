//! pg_wait_sampling: an extension, whose collector samples all processes of its server.

use std::time::Instant;

use server::private::Installation;

use crate::installed;
use crate::private_postgres::{Connection, PrivatePostgres};
use crate::sampling::profiler::{Profiler, Seen, UnderWay};

/// The contender.
pub(crate) const NAME: &str = "pg_wait_sampling, 100 a second";

/// Its library. It looks every 10 ms unless it is set otherwise.
const LIBRARY: &str = "pg_wait_sampling";

/// The server's process that samples.
const COLLECTOR: &str = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_wait_sampling collector'";

/// How often the process that was met most often was met: one that always waits is met at each sample.
const LOOKS: &str = "SELECT coalesce(max(met), 0)::bigint FROM \
                     (SELECT sum(count) AS met FROM pg_wait_sampling_profile GROUP BY pid) AS of_process";

/// The wait that was met most often, without those of background processes, and its part.
const TOP: &str = "SELECT event_type || ':' || event || ', ' || \
                   round(100 * sum(count) / sum(sum(count)) OVER ()) || ' % of the waits that it met' \
                   FROM pg_wait_sampling_profile WHERE event_type NOT IN ('Activity', 'Extension') \
                   GROUP BY event_type, event ORDER BY sum(count) DESC LIMIT 1";

/// The extension, or why it cannot be one of the server.
pub(super) struct WaitSampling {
    library: Result<(), String>,
}

struct Collecting {
    collector: u32,
    begun: Instant,
}

impl WaitSampling {
    /// The extension of these programs of a server.
    pub(super) fn of(installation: &Installation) -> WaitSampling {
        let file = format!("{LIBRARY}.so");
        let places = ["../lib", "../lib/postgresql"].map(|folder| installation.programs().join(folder).join(&file));
        let library = match places.iter().any(|place| place.is_file()) {
            true => Ok(()),
            false => Err(format!("{} has no library {LIBRARY}", installed::name(installation))),
        };
        WaitSampling { library }
    }
}

impl Profiler for WaitSampling {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self, server: &PrivatePostgres) -> Result<Option<String>, String> {
        let version = "SELECT extversion FROM pg_extension WHERE extname = 'pg_wait_sampling'";
        server.connect()?.value(version).map(Some)
    }

    fn settings(&self) -> &'static [(&'static str, &'static str)] {
        &[("shared_preload_libraries", LIBRARY)]
    }

    fn is_there(&self) -> Result<(), String> {
        self.library.clone()
    }

    fn begin(&self, server: &PrivatePostgres, _: u64) -> Result<Box<dyn UnderWay>, String> {
        let mut connection = server.connect()?;
        connection.run("CREATE EXTENSION IF NOT EXISTS pg_wait_sampling")?;
        let collector = u32::try_from(connection.number(COLLECTOR)?).map_err(|error| error.to_string())?;
        connection.value("SELECT pg_wait_sampling_reset_profile()::text")?;
        Ok(Box::new(Collecting { collector, begun: Instant::now() }))
    }
}

impl UnderWay for Collecting {
    fn processes(&self) -> Vec<u32> {
        vec![self.collector]
    }

    fn end(self: Box<Self>, server: &PrivatePostgres) -> Result<Seen, String> {
        let elapsed = self.begun.elapsed().as_secs_f64();
        let mut connection = server.connect()?;
        let looks = connection.number(LOOKS)? as f64;
        Ok(Seen { rate: Some(looks / elapsed), shown: top(&mut connection)? })
    }
}

fn top(connection: &mut Connection) -> Result<String, String> {
    Ok(connection.lines(TOP)?.into_iter().next().unwrap_or_else(|| "no wait of a session".into()))
}
