//! The contest from its arguments to its bars: the engine's logical reads and PostgreSQL's, on the same rows.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use clap::Args;
use measure::Nanos;
use measure::quantity::{format_size, parse_size};
use measure::schema::contest::{LIO, LIO_EXPLAINED, ROWS_PER_BLOCK, STREAM_BLOCK};
use measure::statistics::median;
use sys::memory::{Pages, Stream};
use sys::time::Clock;

use crate::conductor::Conductor;
use crate::installed;
use crate::options::{Options, ServerOptions};
use crate::postgres::bars::{self, MEMORY, POSTGRES, READPATH};
use crate::postgres::cell::{BLOCK_BYTES, Cell, TOUCHES};
use crate::postgres::engine::Engine;
use crate::postgres::peer;
use crate::postgres::pool;
use crate::postgres::tables::{self, Table};
use crate::private_postgres::{Connection, PrivatePostgres};
use crate::progress::progress;

/// What is streamed to learn the memory's bandwidth: far beyond any cache, where the payload is not that of a trial.
const STREAM_BYTES_MAX: u64 = 1 << 30;
/// How long it is streamed in each pair.
const STREAM_TIME: Nanos = Nanos(300_000_000);

/// Compares the engine's logical reads with PostgreSQL's, in turn, on the same rows.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    server: ServerOptions,
    /// Bytes of all columns of all rows of each table.
    #[arg(long, default_value = "256MiB", value_parser = parse_size)]
    payload: u64,
    /// Bytes of a row, one table for each.
    #[arg(long, value_delimiter = ',', default_value = "2500,250,25")]
    row_length: Vec<u32>,
    /// Columns of a row, one table for each.
    #[arg(long, value_delimiter = ',', default_value = "1,5,25")]
    columns: Vec<u32>,
    /// More arguments for `readpath lio`, separated by blanks.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    lio_arguments: String,
    /// Leave out the bars of the buffer pool alone.
    #[arg(long)]
    without_pool: bool,
}

/// Holds the contest and gives the exit code. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let Arguments { options, server, payload, .. } = arguments;
    let cells = arguments.cells()?;
    let installation = server.installation(&AtomicBool::new(false))?;
    let name = installed::name(&installation);
    let what = format!(
        "readpath's engine and {name} have turns on {} of payload a table; CPU time on both sides.",
        format_size(*payload)
    );
    let mut conductor = Conductor::begin("postgres", options.pairs, what)?;
    conductor.describe("readpath", options.build_readpath()?);
    progress(&format!("starting a private {name}"));
    let buffer_bytes = tables::buffer_bytes(&cells, *payload);
    let private = PrivatePostgres::start(&installation, &server.directory(), buffer_bytes, &conductor.interruption)?;
    let mut session = private.connect()?;
    let flags = session.value("SELECT setting FROM pg_config() WHERE name = 'CFLAGS'")?;
    conductor.describe("postgres", name);
    conductor.describe("postgres_compiler_flags", flags);
    conductor.describe("payload", *payload);
    conductor.describe("lio_arguments", arguments.lio_arguments.as_str());
    let tables = load(&mut session, &cells, *payload)?;
    take_turns(arguments, &mut conductor, &tables, &mut session)?;
    // Neither the server nor its buffers disturb the pool.
    drop(session);
    drop(private);
    conductor.judge_by(|ledger| bars::all(ledger, &cells));
    conductor.interruption.check()?;
    if !arguments.without_pool {
        progress("the pool alone");
        let bars = pool::measure_and_judge(&server.directory(), &mut conductor);
        conductor.judge(bars);
    }
    conductor.conclude(options, out)
}

impl Arguments {
    /// One cell for each row length and number of columns. Errors when a cell cannot be, or has no row.
    fn cells(&self) -> Result<Vec<Cell>, String> {
        let of_length = |row_length: &u32| {
            let row_length = *row_length;
            self.columns.iter().map(move |columns| Cell::new(row_length, *columns))
        };
        let cells: Vec<Cell> = self.row_length.iter().flat_map(of_length).collect();
        for cell in &cells {
            let spec = cell.spec(self.payload);
            spec.data.shape().check().map_err(|error| error.to_string())?;
            if spec.rows() == 0 {
                return Err(format!("a payload of {} bytes holds no row of {cell}", self.payload));
            }
        }
        Ok(cells)
    }

    fn engine(&self) -> Engine<'_> {
        Engine {
            program: self.options.readpath(),
            payload: self.payload,
            row_lengths: &self.row_length,
            columns: &self.columns,
            more: &self.lio_arguments,
        }
    }
}

fn load(session: &mut Connection, cells: &[Cell], payload: u64) -> Result<Vec<Table>, String> {
    tables::create_empty(session)?;
    let load_one = |cell: &Cell| {
        progress(&format!("loading {cell} into PostgreSQL"));
        tables::load(session, *cell, payload)
    };
    let tables = cells.iter().map(load_one).collect::<Result<Vec<Table>, String>>()?;
    // What loading left to be written is written now and not while a contender is measured.
    session.run("CHECKPOINT")?;
    Ok(tables)
}

/// In one pair every cell and touch, in order. PostgreSQL is contender 0, the engine is contender 1, and the memory
/// stands between them.
fn take_turns(
    arguments: &Arguments,
    conductor: &mut Conductor,
    tables: &[Table],
    session: &mut Connection,
) -> Result<(), String> {
    let payload = arguments.payload;
    let stream_bytes = (4 * payload).min(STREAM_BYTES_MAX) as usize;
    let stream = Stream::new(stream_bytes, Pages::Huge).map_err(|error| format!("no memory to stream: {error}"))?;
    let (clock, engine) = (Clock::calibrate(), arguments.engine());
    let interruption = conductor.interruption.clone();
    let questions = || tables.iter().flat_map(|table| TOUCHES.map(|touch| table.cell.question(touch)));
    for table in tables {
        for touch in TOUCHES {
            let (question, rows) = (table.cell.question(touch), table.rows as f64 / table.blocks as f64);
            let of_engine = f64::from(table.cell.spec(payload).rows_per_page());
            conductor.ledger.add(&question, POSTGRES, &ROWS_PER_BLOCK, rows);
            conductor.ledger.add(&question, READPATH, &ROWS_PER_BLOCK, of_engine);
        }
    }
    conductor.pairs("logical reads", 2, |turn, ledger| {
        if turn.contender == 0 {
            let readings = peer::take_turn(session, tables, &interruption)?;
            for (question, reading) in questions().zip(readings) {
                ledger.add(&question, POSTGRES, &LIO, reading.lio_us);
                ledger.add(&question, POSTGRES, &LIO_EXPLAINED, reading.explained_us);
            }
        } else {
            let cells = tables.iter().map(|table| table.cell);
            let readings = engine.take_turn(cells)?;
            questions().zip(readings).for_each(|(question, us)| ledger.add(&question, READPATH, &LIO, us));
        }
        if !turn.is_last {
            let streamed = stream.measure(&clock, 1, STREAM_TIME).map_err(|error| error.to_string())?;
            let us =
                median(&streamed.ns_per_block(BLOCK_BYTES as usize)).ok_or("the memory was not streamed")? / 1000.0;
            questions().for_each(|question| ledger.add(&question, MEMORY, &STREAM_BLOCK, us));
        }
        Ok(())
    })
}
