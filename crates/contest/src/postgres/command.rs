//! The benchmark from its arguments to its verdict.

use std::io::Write;

use measure::quantity::format_size;
use measure::statistics::median;
use measure::{Nanos, Unit};
use server::private::Installation;
use sys::memory::{Pages, Stream};
use sys::time::Clock;

use crate::bars::{Bar, lines};
use crate::document::{Document, samples};
use crate::installed;
use crate::interruption::Interruption;
use crate::postgres::arguments::Arguments;
use crate::postgres::cell::{BLOCK_BYTES, Cell, TOUCHES};
use crate::postgres::engine;
use crate::postgres::judgement::{Comparison, Pair, RowsPerBlock};
use crate::postgres::page;
use crate::postgres::peer::{self, Reading};
use crate::postgres::pool;
use crate::postgres::tables::{self, Table};
use crate::private_postgres::{Connection, PrivatePostgres};
use crate::report::{Report, progress};
use crate::turn_order::order;

/// What is streamed to learn the memory's bandwidth: far beyond any cache, where the payload is not that of a trial.
const STREAM_BYTES_MAX: u64 = 1 << 30;
/// How long it is streamed in each pair.
const STREAM_TIME: Nanos = Nanos(300_000_000);

/// Runs everything that was asked for, writes the page to `out`, and gives the exit code: 1 when a bar was missed or
/// could not be judged and `--fail-on-miss` was given. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let cells = arguments.cells()?;
    let installation = installed::find(arguments.postgres.as_deref())?;
    arguments.options.build_readpath()?;
    let interruption = Interruption::listen()?;
    let mut report = Report::new(out);
    let compared = compare(arguments, &cells, &installation, &interruption, &mut report)?;
    let mut bars: Vec<Bar> = compared.comparisons.iter().map(Comparison::bar).collect();
    report.write(&format!("{}\n{}\n", page::table(&compared.comparisons), lines(&bars)))?;
    interruption.check()?;
    if !arguments.without_pool {
        progress("the pool alone");
        let of_pool = pool::findings(&arguments.directory())?;
        report.write(&format!("{}{}\n", of_pool.page, lines(&of_pool.bars)))?;
        bars.extend(of_pool.bars);
    }
    let document = document(arguments, &installed::name(&installation), &compared);
    arguments.options.conclude(&mut report, "postgres", &bars, document)
}

/// Three cases for each cell and touch: both contenders, and the memory.
fn document(arguments: &Arguments, server: &str, compared: &Compared) -> Document {
    let mut document = Document::begin("postgres");
    document.describe("postgres", server);
    document.describe("postgres_compiler_flags", compared.compiler_flags.as_str());
    document.describe("payload", arguments.payload);
    document.describe("lio_arguments", arguments.lio_arguments.as_str());
    for comparison in &compared.comparisons {
        let Comparison { cell, touch, rows_per_block, pairs } = comparison;
        let us = |name, figure: fn(&Pair) -> f64| samples(name, Unit::Microseconds, pairs.iter().map(figure));
        let rows = |count| samples("rows_per_block", Unit::Count, [count]);
        let contenders = [
            (
                "PostgreSQL",
                vec![
                    us("lio", |pair| pair.postgres.lio_us),
                    us("lio_explained", |pair| pair.postgres.explained_us),
                    rows(rows_per_block.postgres),
                ],
            ),
            ("readpath", vec![us("lio", |pair| pair.engine_us), rows(rows_per_block.engine)]),
            ("memory", vec![us("stream_block", |pair| pair.stream_us)]),
        ];
        for (contender, metrics) in contenders {
            let parameters = [
                ("row_length", cell.row_length.into()),
                ("columns", cell.columns.into()),
                ("touch", touch.parameter(*cell).into()),
                ("contender", contender.into()),
            ];
            document.case(parameters, metrics);
        }
    }
    document
}

/// What the pairs gave, when the server is gone.
struct Compared {
    comparisons: Vec<Comparison>,
    compiler_flags: String,
}

fn compare(
    arguments: &Arguments,
    cells: &[Cell],
    installation: &Installation,
    interruption: &Interruption,
    report: &mut Report<'_>,
) -> Result<Compared, String> {
    progress(&format!("starting a private {}", installed::name(installation)));
    let buffer_bytes = tables::buffer_bytes(cells, arguments.payload);
    let server = PrivatePostgres::start(installation, &arguments.directory(), buffer_bytes, interruption)?;
    let mut session = server.connect()?;
    let compiler_flags = session.value("SELECT setting FROM pg_config() WHERE name = 'CFLAGS'")?;
    report.write(&heading(arguments, &server.name, &compiler_flags))?;
    let tables = load(&mut session, cells, arguments.payload)?;
    let stream_bytes = (4 * arguments.payload).min(STREAM_BYTES_MAX) as usize;
    let stream = Stream::new(stream_bytes, Pages::Huge).map_err(|error| format!("no memory to stream: {error}"))?;
    let mut turns =
        Turns { arguments, cells, tables: &tables, session, interruption, stream, clock: Clock::calibrate() };
    let mut comparisons: Vec<Comparison> = tables.iter().flat_map(|table| no_pairs(table, arguments.payload)).collect();
    for index in 0..arguments.options.pairs {
        progress(&format!("pair {} of {}", index + 1, arguments.options.pairs));
        let turn = turns.pair(index)?;
        comparisons.iter_mut().zip(turn).for_each(|(comparison, pair)| comparison.pairs.push(pair));
    }
    Ok(Compared { comparisons, compiler_flags })
}

fn load(session: &mut Connection, cells: &[Cell], payload: u64) -> Result<Vec<Table>, String> {
    tables::create_empty(session)?;
    let load_one = |cell: &Cell| {
        progress(&format!("loading {cell} into PostgreSQL"));
        tables::load(session, *cell, payload)
    };
    let tables = cells.iter().map(load_one).collect::<Result<Vec<Table>, String>>()?;
    // Whatever loading left to be written is written now and not while somebody is measured.
    session.run("CHECKPOINT")?;
    Ok(tables)
}

/// The contenders, and what both are held against.
struct Turns<'a> {
    arguments: &'a Arguments,
    cells: &'a [Cell],
    tables: &'a [Table],
    session: Connection,
    interruption: &'a Interruption,
    stream: Stream,
    clock: Clock,
}

impl Turns<'_> {
    /// One pair of every cell and touch, in order. PostgreSQL is contender 0, the engine is contender 1, and the memory
    /// stands between them.
    fn pair(&mut self, index: u64) -> Result<Vec<Pair>, String> {
        let (mut of_postgres, mut of_engine, mut stream_us) = (None, None, None);
        for contender in order(index, 2) {
            self.interruption.check()?;
            if contender == 0 {
                of_postgres = Some(peer::take_turn(&mut self.session, self.tables, self.interruption)?);
            } else {
                of_engine = Some(engine::take_turn(self.arguments, self.cells)?);
            }
            stream_us = stream_us.or_else(|| self.stream_us());
        }
        let readings: Vec<Reading> = of_postgres.ok_or("PostgreSQL had no turn")?;
        let lio_us: Vec<f64> = of_engine.ok_or("the engine had no turn")?;
        let stream_us = stream_us.ok_or("the memory was not streamed")?;
        let pair = |(postgres, engine_us)| Pair { postgres, engine_us, stream_us };
        Ok(readings.into_iter().zip(lio_us).map(pair).collect())
    }

    fn stream_us(&self) -> Option<f64> {
        let result = self.stream.measure(&self.clock, 1, STREAM_TIME);
        median(&result.ns_per_block(BLOCK_BYTES as usize)).map(|ns| ns / 1000.0)
    }
}

/// The comparisons of one table, before the first pair.
fn no_pairs(table: &Table, payload: u64) -> Vec<Comparison> {
    let rows_per_block = RowsPerBlock {
        postgres: table.rows as f64 / table.blocks as f64,
        engine: f64::from(table.cell.spec(payload).rows_per_page()),
    };
    TOUCHES.map(|touch| Comparison { cell: table.cell, touch, rows_per_block, pairs: Vec::new() }).to_vec()
}

fn heading(arguments: &Arguments, server: &str, compiler_flags: &str) -> String {
    let payload = format_size(arguments.payload);
    let mut heading = format!("readpath's engine beside {server}, in turn, {payload} of payload a table\n");
    let optimised = compiler_flags.split_whitespace().rfind(|flag| flag.starts_with("-O"));
    heading +=
        &format!("PostgreSQL was compiled with {}; processor time on both sides\n", optimised.unwrap_or("no -O"));
    if !arguments.lio_arguments.is_empty() {
        heading += &format!("readpath lio was given: {}\n", arguments.lio_arguments);
    }
    heading += &arguments.options.trial_notice();
    heading + "\n"
}
