//! The tracepoints that are wanted, and their places in the list of them.

use sys::tracepoint::{FirstByte, Wanted};

/// Places in the list.
pub(super) const ENTER_PREAD: u16 = 0;
pub(super) const EXIT_PREAD: u16 = 1;
pub(super) const ENTER_PREADV: u16 = 2;
pub(super) const EXIT_PREADV: u16 = 3;
pub(super) const GET_PAGES: u16 = 4;
pub(super) const START: u16 = 5;
pub(super) const ISSUE: u16 = 6;
pub(super) const COMPLETE: u16 = 7;
pub(super) const SLEEP: u16 = 8;
pub(super) const FORK: u16 = 9;

/// What tells that a process of its own sends a request: the first is newer than the second.
const STARTS: [&str; 2] = ["block/block_io_start", "block/block_bio_queue"];

/// The tracepoints of a server whose programs have this name and whose first process has this number. `is_old` is for
/// kernels that do not tell when a request is started.
///
/// Filters are the kernel's work: it records nothing of other programs, but for requests to devices, which it may send
/// and finish on behalf of any.
pub(super) fn wanted(program: &str, postmaster: u32, is_old: bool) -> Vec<Wanted> {
    let own = format!("COMM == \"{program}\"");
    let want =
        |name, filter: &str, fields| Wanted { name, filter: filter.into(), fields, is_optional: false, in_idle: None };
    let read = "rwbs ~ \"R*\"";
    let (start, size) = if is_old { (STARTS[1], "nr_sector") } else { (STARTS[0], "bytes") };
    let fields: &'static [&'static str] =
        if size == "bytes" { &["dev", "sector", "bytes"] } else { &["dev", "sector"] };
    let sleeps = format!("prev_state & 2 && prev_comm == \"{program}\"");
    vec![
        want("syscalls/sys_enter_pread64", &own, &["fd", "pos"]),
        want("syscalls/sys_exit_pread64", &own, &["ret"]),
        want("syscalls/sys_enter_preadv", &own, &["fd", "pos_l"]),
        want("syscalls/sys_exit_preadv", &own, &["ret"]),
        Wanted { is_optional: true, ..want("filemap/mm_filemap_get_pages", &own, &["i_ino", "s_dev"]) },
        want(start, &format!("{own} && {read}"), fields),
        want("block/block_rq_issue", read, &["dev", "sector", "bytes"]),
        // Most requests end while a processor is idle.
        Wanted {
            in_idle: Some(FirstByte { field: "rwbs", byte: b'R' }),
            ..want("block/block_rq_complete", read, &["dev", "sector"])
        },
        want("sched/sched_switch", &sleeps, &[]),
        want("sched/sched_process_fork", &format!("parent_pid == {postmaster}"), &["child_pid"]),
    ]
}

/// Whether a kernel that lacks this tracepoint may have the older one.
pub(super) fn is_newer_start(name: &str) -> bool {
    name == STARTS[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tracepoint_stands_in_its_place() {
        for is_old in [false, true] {
            let wanted = wanted("postgres", 7, is_old);
            let name = |place: u16| wanted[usize::from(place)].name;
            assert_eq!(
                (name(ENTER_PREAD), name(EXIT_PREADV)),
                ("syscalls/sys_enter_pread64", "syscalls/sys_exit_preadv")
            );
            assert_eq!((name(GET_PAGES), name(START)), ("filemap/mm_filemap_get_pages", STARTS[usize::from(is_old)]));
            assert_eq!((name(ISSUE), name(COMPLETE)), ("block/block_rq_issue", "block/block_rq_complete"));
            assert_eq!((name(SLEEP), name(FORK)), ("sched/sched_switch", "sched/sched_process_fork"));
            assert_eq!(
                (name(EXIT_PREAD), name(ENTER_PREADV)),
                ("syscalls/sys_exit_pread64", "syscalls/sys_enter_preadv")
            );
        }
    }
}
