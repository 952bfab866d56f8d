//! The data sets and their queries: three written down before the method was tuned, the forum after it was fixed.

use clap::ValueEnum;
use subjects::postgres::calibration::own_queries::{OwnQuery, split};

use crate::private_postgres::Connection;
use crate::progress::progress;

/// A data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Data {
    /// Orders and their lines, after TPC-H.
    Orders,
    /// Skewed events in the order of their time.
    Events,
    /// A shop with wide rows, texts and columns that depend on each other.
    Shop,
    /// A forum of questions and answers with votes, tags and edits.
    Forum,
}

/// What a data set is made of.
struct Source {
    name: &'static str,
    tables: &'static str,
    queries: &'static str,
    /// Rows of its largest unit, orders, events, purchases or questions, a MiB, indexes included.
    rows: u64,
}

impl Data {
    pub(crate) const ALL: [Data; 4] = [Data::Orders, Data::Events, Data::Shop, Data::Forum];

    fn source(self) -> Source {
        let (name, tables, queries, rows) = match self {
            Data::Orders => ("orders", include_str!("orders-tables.sql"), include_str!("orders-queries.sql"), 1050),
            Data::Events => ("events", include_str!("events-tables.sql"), include_str!("events-queries.sql"), 3900),
            Data::Shop => ("shop", include_str!("shop-tables.sql"), include_str!("shop-queries.sql"), 1550),
            Data::Forum => ("forum", include_str!("forum-tables.sql"), include_str!("forum-queries.sql"), 178),
        };
        Source { name, tables, queries, rows }
    }

    pub(crate) fn name(self) -> &'static str {
        self.source().name
    }

    /// The file of its queries.
    pub(crate) fn queries_file(self) -> &'static str {
        self.source().queries
    }

    /// Makes and fills its tables in a schema that they are alone in; bytes that they then have.
    pub(crate) fn load(self, session: &mut Connection, mebibytes: u64) -> Result<u64, String> {
        let Source { name, tables, rows, .. } = self.source();
        progress(&format!("loading {mebibytes} MiB of {name}"));
        session.run("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public")?;
        let rows = (mebibytes * rows).to_string();
        for statement in split(tables, name) {
            session.run(&statement.text.replace("{n}", &rows))?;
        }
        session.run("VACUUM (FREEZE, ANALYZE)")?;
        session.number(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' \
                        AND relnamespace = 'public'::regnamespace",
        )
    }

    /// Its queries, as calibrate takes them from the file.
    pub(crate) fn queries(self) -> Vec<OwnQuery> {
        split(self.queries_file(), self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::installed;
    use crate::interruption::Interruption;
    use crate::private_postgres::PrivatePostgres;

    #[test]
    fn each_data_set_has_thirty_queries_and_each_a_name_of_its_own() {
        for data in Data::ALL {
            let mut names: Vec<String> = data.queries().into_iter().map(|query| query.name).collect();
            assert!(data.queries().iter().all(|query| query.text.starts_with("SELECT")), "{}", data.name());
            let count = names.len();
            names.sort();
            names.dedup();
            assert!(names.len() == count && count >= 30, "{}: {count}", data.name());
        }
    }

    #[test]
    fn a_real_server_refuses_no_statement_of_any_data_set() {
        let installation = match installed::newest_installed() {
            Ok(installation) => installation,
            Err(reason) => return println!("skipped: {reason}"),
        };
        let interruption = Interruption::default();
        let server = PrivatePostgres::start(&installation, &std::env::temp_dir(), 16 << 20, &interruption).unwrap();
        let mut session = server.connect().unwrap();
        for data in Data::ALL {
            let bytes = data.load(&mut session, 1).unwrap_or_else(|why| panic!("{}: {why}", data.name()));
            // Empty tables and their indexes take less.
            assert!(bytes > 512 << 10, "{}: {bytes} bytes", data.name());
            for OwnQuery { name, text } in data.queries() {
                let outcome = session.outline("", &text).and_then(|_| session.lines(&text));
                assert!(outcome.is_ok(), "{}, {name}: {outcome:?}", data.name());
            }
        }
    }
}
