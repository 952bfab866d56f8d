//! The ways in which a server reads: one before PostgreSQL 18, since then one for each of its io_methods.

use crate::private_postgres::Connection;

/// The io_method whose reads are carried out by processes of the server.
const WORKER: &str = "worker";
/// The io_method that programs have only where they were built with liburing.
const IO_URING: &str = "io_uring";

/// The most processes that may read for an io_method of worker; usually there are 3, which read 3 blocks at once.
const MOST_WORKERS: [(&str, &str); 2] = [("io_method", WORKER), ("io_workers", "32")];

/// One way in which a server is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Startup {
    /// What it adds to the names of contenders: `15`, `18 worker`.
    pub(crate) name: String,
    /// Settings beside those of every private server.
    pub(crate) settings: Vec<(&'static str, &'static str)>,
}

/// The ways that a server offers, and the ones that its programs lack, each with why.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) startups: Vec<Startup>,
    pub(crate) absent: Vec<(String, String)>,
}

/// The ways that the programs of a server offer.
pub(crate) fn offered(session: &mut Connection, major: u32) -> Result<Offered, String> {
    let methods = session.lines("SELECT unnest(enumvals) FROM pg_settings WHERE name = 'io_method'")?;
    Ok(of(major, &methods))
}

/// The ways of a server whose setting io_method knows these; none before 18.
fn of(major: u32, methods: &[String]) -> Offered {
    if methods.is_empty() {
        return Offered {
            startups: vec![Startup { name: major.to_string(), settings: Vec::new() }],
            absent: Vec::new(),
        };
    }
    let has = |method: &str| methods.iter().any(|offered| offered == method);
    let mut offered = Offered::default();
    for method in ["sync", WORKER, IO_URING].into_iter().filter(|method| has(method)) {
        let name = format!("{major} {method}");
        offered.startups.push(Startup { name, settings: vec![("io_method", method)] });
    }
    if has(WORKER) {
        offered.startups.push(Startup { name: format!("{major} 32 workers"), settings: MOST_WORKERS.into() });
    }
    if !has(IO_URING) {
        let reason = "its programs were built without liburing; --postgres DIRECTORY names others";
        offered.absent.push((format!("{major} {IO_URING}"), reason.into()));
    }
    offered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(major: u32, methods: &[&str]) -> (Vec<String>, Vec<String>) {
        let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
        let Offered { startups, absent } = of(major, &methods);
        (startups.into_iter().map(|startup| startup.name).collect(), absent.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn every_io_method_is_a_contender_and_a_missing_one_is_named() {
        assert_eq!(names(15, &[]), (vec!["15".into()], vec![]));
        let (there, absent) = names(18, &["worker", "sync"]);
        assert_eq!(there, ["18 sync", "18 worker", "18 32 workers"]);
        assert_eq!(absent, ["18 io_uring"]);
        let (there, absent) = names(18, &["sync", "worker", "io_uring"]);
        assert_eq!((there.len(), there.contains(&"18 io_uring".into()), absent.len()), (4, true, 0));
    }
}
