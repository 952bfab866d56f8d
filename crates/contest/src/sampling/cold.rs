//! A table whose blocks come from the device: far larger than the buffers, and the page cache keeps forgetting it.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sys::file::witness::evict;
use sys::file::{BlockDevice, Caching, Target};

use super::load::Load;
use crate::private_postgres::PrivatePostgres;

/// Shared buffers of a server that reads the table: its index fits, and the table does not.
pub(crate) const BUFFERS: u64 = 32 << 20;

/// Bytes of a block of the server, and of the text that makes a row fill one.
const BLOCK: u64 = 8192;
const TEXT: u64 = 5000;

/// Blocks that a transaction reads, each by a look-up of its own.
const LOOK_UPS: u64 = 64;

/// How often the page cache forgets the table: at the rate of the bar it holds 1.5 % of a GiB on average.
const FORGOTTEN_EVERY: Duration = Duration::from_millis(200);

/// The table, on a server.
pub(crate) struct ColdTable {
    rows: u64,
    script: tempfile::NamedTempFile,
}

/// What a load read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// Transactions a second.
    pub(crate) transactions: f64,
    /// Blocks a second that the devices under the table delivered, to this load and to all others.
    pub(crate) blocks: f64,
}

impl ColdTable {
    /// Makes the table with this many MiB, and the load's script.
    pub(crate) fn make(postgres: &PrivatePostgres, mebibytes: u64) -> Result<ColdTable, String> {
        let rows = ((mebibytes << 20) / BLOCK).max(1);
        let mut connection = postgres.connect()?;
        connection.run("CREATE TABLE cold (id integer NOT NULL, pad text NOT NULL)")?;
        // Servers before 16 know the storage of a column only once it is there.
        connection.run("ALTER TABLE cold ALTER COLUMN pad SET STORAGE PLAIN")?;
        connection
            .run(&format!("INSERT INTO cold SELECT n, repeat('x', {TEXT}) FROM generate_series(1, {rows}) AS n"))?;
        for statement in ["CREATE UNIQUE INDEX cold_ids ON cold (id)", "VACUUM (FREEZE, ANALYZE) cold", "CHECKPOINT"] {
            connection.run(statement)?;
        }
        let cannot = |error: std::io::Error| format!("the script of the load could not be written: {error}");
        let script = tempfile::Builder::new().prefix("readpath-cold-").suffix(".sql").tempfile().map_err(cannot)?;
        fs::write(script.path(), script_of(rows)).map_err(cannot)?;
        Ok(ColdTable { rows, script })
    }

    /// Reads blocks at random for some seconds, as fast as the devices and the processors allow.
    pub(crate) fn read(
        &self,
        postgres: &PrivatePostgres,
        load: &Load,
        (clients, seconds): (u64, u64),
    ) -> Result<Read, String> {
        let files = open(postgres.relation_files("cold")?)?;
        let devices = devices_of(&files)?;
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let forgetting = scope.spawn(|| forget(&files, &is_over));
            let (before, begun) = (bytes_read(&devices), Instant::now());
            let transactions = load.run_script(self.script.path(), clients, seconds);
            let (after, elapsed) = (bytes_read(&devices), begun.elapsed());
            is_over.store(true, Ordering::Relaxed);
            forgetting.join().unwrap_or_else(|_| Err("the page cache was not made to forget".into()))?;
            let bytes = after.zip(before).map(|(after, before)| after.saturating_sub(before));
            let bytes = bytes.ok_or("the kernel does not count what the devices under the server's files deliver")?;
            Ok(Read { transactions: transactions?, blocks: bytes as f64 / BLOCK as f64 / elapsed.as_secs_f64() })
        })
    }

    /// Blocks of the table.
    pub(crate) fn blocks(&self) -> u64 {
        self.rows
    }
}

/// A transaction: each row is looked up for itself, whatever the planner thinks of it.
fn script_of(rows: u64) -> String {
    format!(
        "SELECT sum((SELECT length(pad) FROM cold WHERE cold.id = wanted.id)) FROM (SELECT 1 + floor(random() * \
         {rows})::integer AS id FROM generate_series(1, {LOOK_UPS})) AS wanted;\n"
    )
}

fn open(paths: Vec<PathBuf>) -> Result<Vec<Target>, String> {
    let open = |path: &PathBuf| Target::open(path, Caching::Buffered).map_err(|error| error.to_string());
    paths.iter().map(open).collect()
}

/// The devices that hold the data of these files, each once.
fn devices_of(files: &[Target]) -> Result<Vec<BlockDevice>, String> {
    let mut devices: Vec<BlockDevice> = Vec::new();
    for file in files {
        let bottom = BlockDevice::under(file).and_then(|device| device.bottom()).map_err(|error| error.to_string())?;
        let fresh: Vec<BlockDevice> = bottom.into_iter().filter(|device| !devices.contains(device)).collect();
        devices.extend(fresh);
    }
    Ok(devices)
}

/// Bytes that the devices have delivered; `None` where the kernel does not count one of them.
fn bytes_read(devices: &[BlockDevice]) -> Option<u64> {
    devices.iter().map(|device| Some(device.counters()?.bytes_read)).sum()
}

/// Drops the files from the page cache again and again.
fn forget(files: &[Target], is_over: &AtomicBool) -> Result<(), String> {
    while !is_over.load(Ordering::Relaxed) {
        for file in files {
            evict(file, 0, file.size()).map_err(|error| format!("the page cache did not forget: {error}"))?;
        }
        thread::sleep(FORGOTTEN_EVERY);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_looked_up_for_itself_and_within_the_table() {
        let script = script_of(131_072);
        assert!(script.contains("floor(random() * 131072)") && script.contains("generate_series(1, 64)"), "{script}");
        assert!(script.ends_with(";\n") && script.lines().count() == 1, "pgbench takes one statement a line");
    }
}
