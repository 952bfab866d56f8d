//! What a statement costs: the processor time of the backend that answers it.

use std::fs;

use measure::statistics::median;

use super::wire::Session;

/// The backend's processor time for a statement that has to count `count`, the median of `repeats`, in ns.
pub(crate) fn statement_ns(session: &mut Session, statement: &str, count: u64, repeats: usize) -> Result<f64, String> {
    let mut samples = Vec::new();
    for _ in 0..repeats {
        let before = processor_ns(session.process)?;
        let counted = number(session, statement)?;
        samples.push((processor_ns(session.process)? - before) as f64);
        if counted != count {
            return Err(format!("`{statement}` counted {counted} and not {count}"));
        }
    }
    Ok(median(&samples).unwrap_or(f64::NAN))
}

/// The whole number that a statement gives.
pub(crate) fn number(session: &mut Session, statement: &str) -> Result<u64, String> {
    let value = session.value(statement)?;
    value.parse().map_err(|_| format!("`{statement}` gave `{value}`, no whole number"))
}

/// Blocks of a table. Errors unless every one of them is all-visible: otherwise a scan looks at each row's own history.
pub(crate) fn visible_blocks(session: &mut Session, table: &str) -> Result<u64, String> {
    let size = format!("SELECT pg_relation_size('{table}') / current_setting('block_size')::integer");
    let blocks = number(session, &size)?;
    let visible = format!("SELECT relallvisible FROM pg_class WHERE oid = '{table}'::regclass");
    let visible = number(session, &visible)?;
    if visible == blocks { Ok(blocks) } else { Err(format!("{visible} of {blocks} blocks of {table} are all-visible")) }
}

/// The processor time of a process with one thread, in ns, from the scheduler.
///
/// `/proc/PID/stat` counts in ticks of 10 ms, as long as a whole scan. The count moves when the backend goes to sleep,
/// which it does right after its answer.
pub(crate) fn processor_ns(process: u32) -> Result<u64, String> {
    let path = format!("/proc/{process}/schedstat");
    let text = fs::read_to_string(&path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    processor_ns_of(&text).ok_or_else(|| format!("{path} says `{}`, no processor time", text.trim()))
}

/// The first of the three numbers; 0 stands there where the kernel does not count.
fn processor_ns_of(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok().filter(|ns| *ns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_the_first_number() {
        assert_eq!(processor_ns_of("81234567 1200 34\n"), Some(81_234_567));
        assert_eq!(processor_ns_of("0 0 0\n"), None);
        assert_eq!(processor_ns_of(""), None);
    }

    #[test]
    fn the_own_process_has_used_some() {
        assert!(processor_ns(std::process::id()).unwrap() > 0);
    }
}
