//! The engine's joins as the experiment asks for them: its ways to gather rows, and what they took.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dataset::DataSet;
use device::Device;
use measure::quantity::{size_in_words, three_digits};
use measure::schema::join::parameters;
use measure::schema::subjects::findings as row;
use measure::{Finding, Parameters};
use serde_json::json;
use storage::catalog::TableSpec;
use storage::exec::nested_loop::{Distance, JoinResult, Method};
use storage::page::id::PAGE_SIZE;
use sys::file::{Target, is_in_memory};
use sys::time::Clock;

use super::device_reads;
use super::passes::{JoinEngine, PassCost};
use crate::error::SubjectError;
use crate::nested_loops::{
    Asked, BlockCost, CachedCost, DeviceReads, Group, InnerFacts, InnerTable, Io, JoinCost, JoinMethod, JoinPass,
    JoinVariant, Keys, NestedLoops, ScanCost, Sources,
};
use crate::opening::Progress;
use crate::page_cache::LEFT_MAX;
use crate::progress::tenths;
use crate::subject::{Closing, ENGINE, Subject, TABLE_SEED};

/// Outer rows of a batch by default: four times what is in flight.
pub const BATCH_SIZE: usize = 256;

/// Rows of a batch that is sorted: larger, because its order is not that of the outer rows anyway.
pub const ROWID_BATCH_SIZE: usize = 4 * BATCH_SIZE;

/// Outer rows of the joins that find everything cached, at most: their blocks are half of the pool.
const CACHED_PART: u64 = 2;

/// The engine with the ways that were asked for.
pub struct EngineLoops {
    engine: JoinEngine,
    asked: Asked,
    /// The device that the tables are placed on, where they are placed on one.
    on: Option<Box<dyn Device>>,
    /// Whether its time is virtual: nothing of this machine has a part in it.
    is_virtual: bool,
    variants: Vec<(JoinVariant, Method)>,
    clock: Clock,
    stop: Arc<AtomicBool>,
    description: Parameters,
    findings: Vec<Finding>,
    /// The greatest share of the files that stayed in the page cache.
    left: f64,
}

impl EngineLoops {
    /// Errors when the pool or the device cannot be as asked for.
    pub fn new(asked: Asked, clock: Clock, stop: Arc<AtomicBool>) -> Result<EngineLoops, SubjectError> {
        let mut engine = JoinEngine::new(asked.clone(), clock)?;
        engine.stop = Arc::clone(&stop);
        let on = engine.open_device()?;
        let described = on.as_ref().map(|device| device.describe()).unwrap_or_default();
        let kind = described.subject.get("kind").cloned().unwrap_or_else(|| json!(ENGINE));
        let description = Parameters::from_iter([
            ("kind".to_string(), kind),
            ("path".into(), json!(asked.directory.display().to_string())),
            ("rows".into(), json!(asked.rows)),
            ("pool_bytes".into(), json!(asked.pool.0)),
            ("io_method".into(), json!(engine.method())),
        ]);
        let (variants, findings, left, is_virtual) = (variants(&asked), Vec::new(), 0.0, described.is_virtual);
        let mut loops =
            EngineLoops { engine, asked, on, is_virtual, variants, clock, stop, description, findings, left };
        loops.note();
        Ok(loops)
    }

    /// Notes what there is to know before the first join.
    fn note(&mut self) {
        let model = self.on.as_ref().filter(|_| self.is_virtual);
        if let Some(device) = model {
            self.description.insert("model".into(), json!(device.name()));
            let parameters = device.describe().subject["parameters"].clone();
            self.description.insert("model_parameters".into(), parameters);
        }
        let model = model.map(|device| device.name());
        self.findings.extend(virtual_time(model.as_deref()));
        self.findings.extend(model.is_none().then(|| io_uring_refused(self.asked.io, self.engine.method())).flatten());
        self.findings.extend(table_fits_pool(&self.asked));
    }

    fn group(&self) -> Group {
        let Asked { io, buffered, .. } = &self.asked;
        let mut labels = Parameters::from_iter([
            parameters::IO.of(io.name()),
            parameters::DIRECT.of(!buffered),
            parameters::DEPTH.of(self.asked.reads_in_flight()),
        ]);
        let on = self.on.as_ref().map(|device| (&self.description["kind"], device.name()));
        labels.extend(on.map(|(kind, name)| parameters::ON.of(format!("{}:{name}", kind.as_str().unwrap_or("")))));
        let variants = self.variants.iter().map(|(variant, _)| variant.clone()).collect();
        Group { name: String::new(), is_direct: !buffered, parameters: labels, variants, gathers_nothing: None }
    }

    fn sources(&self) -> Sources {
        let (elapsed, waiting) = match self.is_virtual {
            true => ("virtual clock", "virtual clock, around each wait"),
            false => ("clock", "clock, around each wait"),
        };
        Sources {
            elapsed,
            waiting,
            cpu: "process cpu clock",
            blocks: "reads below the buffer pool",
            requests: "the operator",
            gets: "buffer pool",
            in_flight: "reads in flight while waiting, by time",
            page_cache: "cachestat or mincore, after fadvise",
            explained: None,
        }
    }
}

/// The finding about joins in the time of a model.
pub(crate) fn virtual_time(model: Option<&str>) -> Option<Finding> {
    let message = format!(
        "Times are those of the model {}, which serves reads and does nothing else. It lacks the processor's part of a \
         join, the operating system with its page cache, and other programs on the device: a join here takes longer \
         than this by at least its processor time.",
        model?
    );
    Some(row::VIRTUAL_TIME.of(message))
}

/// The finding where threads read that io_uring was meant for.
pub(crate) fn io_uring_refused(io: Io, method: &str) -> Option<Finding> {
    let message = "The kernel or its administrator refuses io_uring: each read in flight has a thread of its own, \
                   which costs processor time and may limit what gathering gains. See \
                   /proc/sys/kernel/io_uring_disabled.";
    (io == Io::Async && method == "threads").then(|| row::IO_URING_REFUSED.of(message))
}

/// The finding about a table that the buffer pool holds for the most part.
pub(crate) fn table_fits_pool(asked: &Asked) -> Option<Finding> {
    let (rows, pool) = (asked.rows, asked.pool.0);
    let spec = TableSpec::new("", DataSet::keyed(asked.table(0).shape(), rows, TABLE_SEED));
    let table = rows.div_ceil(u64::from(spec.rows_per_page().max(1))) * PAGE_SIZE as u64;
    let message = || {
        format!(
            "The table takes about {} and the buffer pool {}: within a join most blocks are read once at most, \
             whatever the method is. Ask for more --rows or a smaller --pool.",
            size_in_words(table),
            size_in_words(pool)
        )
    };
    (table < 2 * pool).then(|| row::TABLE_FITS_POOL.of(message()))
}

/// The finding about files in this directory of which this share stayed in the page cache at most.
pub(crate) fn left_in_page_cache(left: f64, directory: &Path) -> Option<Finding> {
    let message = || {
        let advice = match is_in_memory(directory) {
            true => "Files on this file system are always in memory: name a directory on another one with --dir.",
            false => "Leave out --buffered, or look which program reads these files.",
        };
        format!(
            "Up to {} % of the table and its index stayed in the page cache when it was to be emptied of them: some \
             reads came from memory. {advice}",
            three_digits(left * 100.0)
        )
    };
    (left > LEFT_MAX).then(|| row::PAGE_CACHE_NOT_EMPTIED.of(message()))
}

/// Every method with every size.
fn variants(asked: &Asked) -> Vec<(JoinVariant, Method)> {
    let sizes = |usual: usize| if asked.batch_sizes.is_empty() { vec![usual] } else { asked.batch_sizes.clone() };
    let sized = |usual, of: fn(usize) -> Method| -> Vec<_> {
        sizes(usual).into_iter().map(|size| (of(size), Some(size))).collect()
    };
    let distance = match asked.fixed_look_ahead {
        true => Distance::Fixed(asked.look_ahead),
        false => Distance::UpTo(asked.look_ahead),
    };
    let of = |method: JoinMethod| {
        let methods = match method {
            JoinMethod::OneAtATime => vec![(Method::OneAtATime, None)],
            JoinMethod::Prefetch => vec![(Method::Prefetch(distance), Some(asked.look_ahead))],
            JoinMethod::AwaitedBatch => sized(BATCH_SIZE, Method::AwaitedBatch),
            JoinMethod::Batch => sized(BATCH_SIZE, Method::Batch),
            JoinMethod::BatchedRowid => sized(ROWID_BATCH_SIZE, Method::BatchedRowid),
        };
        let is_ahead = method == JoinMethod::Prefetch;
        let size_of = if is_ahead { &parameters::LOOK_AHEAD } else { &parameters::BATCH_SIZE };
        methods.into_iter().map(move |(kernel, size)| {
            let mut labels: Parameters = size.map(|size| size_of.of(size)).into_iter().collect();
            labels.extend((is_ahead && asked.fixed_look_ahead).then(|| parameters::LOOK_AHEAD_FIXED.of(true)));
            let (size, is_gathered) = (size.map(|size| size as u64), size.is_some());
            (JoinVariant { method: method.name(), parameters: labels, size, is_gathered }, kernel)
        })
    };
    let all = <JoinMethod as measure::words::Word>::ALL.iter().map(|(method, ..)| *method);
    all.filter(|method| asked.methods.is_empty() || asked.methods.contains(method)).flat_map(of).collect()
}

impl Subject for EngineLoops {
    fn name(&self) -> &str {
        ENGINE
    }

    fn description(&self) -> Parameters {
        self.description.clone()
    }

    fn findings(&mut self) -> Vec<Finding> {
        self.findings.extend(left_in_page_cache(std::mem::take(&mut self.left), &self.asked.directory));
        std::mem::take(&mut self.findings)
    }

    fn finish(mut self: Box<Self>) -> Closing {
        Closing { findings: self.findings(), ..Closing::quiet() }
    }
}

impl NestedLoops for EngineLoops {
    fn check_outer_rows(&self, count: u64) -> Result<(), SubjectError> {
        JoinEngine::check_outer_rows(count)
    }

    fn prepare(&mut self, table: InnerTable, progress: &mut Progress<'_>) -> Result<InnerFacts, SubjectError> {
        let name = format!("the table with {} % of its rows out of order", table.rand);
        let mut written = tenths(progress, |written, of| {
            let left = Duration::from_millis((of - written.min(of)) >> 19);
            (format!("loading {name}, {} of {} MiB", written >> 20, of >> 20), left)
        });
        let [table_blocks, index_blocks] = self.engine.prepare(table, &mut written, &self.stop)?;
        self.description.insert("table_blocks".into(), json!(table_blocks));
        self.description.insert("index_blocks".into(), json!(index_blocks));
        Ok(InnerFacts {
            groups: vec![self.group()],
            keys_may_repeat: true,
            is_virtual: self.is_virtual,
            join_time: Duration::from_millis(100),
            sources: self.sources(),
        })
    }

    fn join(&mut self, pass: &JoinPass) -> Result<JoinCost, SubjectError> {
        let (_, method) = self.variants.get(pass.variant).ok_or(SubjectError::NotPrepared)?;
        let PassCost { found, elapsed, cpu, table, index, left_in_page_cache } =
            self.engine.join(*method, pass.keys)?;
        self.left = self.left.max(left_in_page_cache.unwrap_or(0.0));
        let JoinResult { sum, requests, index_requests, table_gets, index_gets, .. } = found;
        let blocks = |read: u64, waiting, requests, gets| BlockCost {
            read,
            hits: None,
            waiting: Some(waiting),
            requests: Some(requests),
            gets: Some(gets),
        };
        Ok(JoinCost {
            sum: Some(sum),
            elapsed,
            cpu: Some(cpu).filter(|_| !self.is_virtual),
            table: blocks(table.blocks, table.time, requests - index_requests, table_gets),
            index: blocks(index.blocks, index.time, index_requests, index_gets),
            in_flight: table.in_flight,
            left_in_page_cache,
            explained: None,
        })
    }

    fn join_cached(&mut self, outer_rows: u64) -> Result<Option<CachedCost>, SubjectError> {
        if self.is_virtual {
            return Ok(None);
        }
        let lookups = outer_rows.min(self.asked.pool.0 / PAGE_SIZE as u64 / CACHED_PART);
        let cost = self.engine.join_again(Method::OneAtATime, Keys { first: 1, count: lookups })?;
        Ok(Some(CachedCost { elapsed: cost.elapsed, lookups, read: cost.found.blocks }))
    }

    fn scan(&mut self) -> Result<Option<ScanCost>, SubjectError> {
        let cost = self.engine.scan()?;
        Ok(Some(ScanCost {
            elapsed: cost.elapsed,
            waiting: Some(cost.table.time),
            blocks: cost.table.blocks,
            cpu: Some(cost.cpu).filter(|_| !self.is_virtual),
            rows: cost.found.rows,
        }))
    }

    fn read_alone(&mut self) -> Result<Option<DeviceReads>, SubjectError> {
        let [path, _] = self.engine.paths()?;
        let device: &dyn Device = match &self.on {
            Some(device) => device.as_ref(),
            None => &Target::open(&path, self.engine.caching())?,
        };
        device_reads::read(device, &path, self.asked.reads_in_flight(), (&self.clock, &self.stop)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_always_in_memory_gets_no_advice_to_leave_out_buffered() {
        let memory = Path::new("/dev/shm");
        if !is_in_memory(memory) {
            return println!("skipped: /dev/shm is no tmpfs");
        }
        let said = left_in_page_cache(1.0, memory).unwrap().message;
        assert!(said.contains("always in memory") && !said.contains("--buffered"), "{said}");
    }
}
