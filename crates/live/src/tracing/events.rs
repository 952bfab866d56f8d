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
/// Those of an io_uring: they are in the list where the server reads by one.
pub(super) const RING_SUBMIT: u16 = 10;
pub(super) const RING_FILE: u16 = 11;
pub(super) const RING_QUEUE: u16 = 12;
pub(super) const RING_COMPLETE: u16 = 13;
pub(super) const EXIT_RING: u16 = 14;

/// The name of the kernel's threads that read for a process by its io_uring: they are threads of that process.
const RING_WORKER: &str = "iou-wrk*";

/// The operations of an io_uring that read: with a list of buffers, one that is registered, and one.
const RING_READS: &str = "opcode == 1 || opcode == 4 || opcode == 22";

/// By what a server's processes read files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// By calls that read.
    Calls,
    /// By an io_uring, and by calls.
    Ring,
}

/// Which of the tracepoints of requests a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starts {
    Newer,
    Older,
}

/// What tells that a process of its own sends a request: the first is newer than the second.
const STARTS: [&str; 2] = ["block/block_io_start", "block/block_bio_queue"];

/// The tracepoints of a server whose programs have this name and whose first process has this number.
///
/// Filters are the kernel's work: it records nothing of other programs, but for requests to devices, which it may send
/// and finish on behalf of any.
pub(super) fn wanted(program: &str, postmaster: u32, starts: Starts, by: By) -> Vec<Wanted> {
    let own = format!("COMM == \"{program}\"");
    let or_worker = |field: &str| match by {
        By::Calls => String::new(),
        By::Ring => format!(" || {field} ~ \"{RING_WORKER}\""),
    };
    let (of_threads, sleepers) = (or_worker("COMM"), or_worker("prev_comm"));
    let own_or_ring = format!("({own}{of_threads})");
    let want =
        |name, filter: &str, fields| Wanted { name, filter: filter.into(), fields, is_optional: false, in_idle: None };
    let read = "rwbs ~ \"R*\"";
    let (start, size) = if starts == Starts::Older { (STARTS[1], "nr_sector") } else { (STARTS[0], "bytes") };
    let fields: &'static [&'static str] =
        if size == "bytes" { &["dev", "sector", "bytes"] } else { &["dev", "sector"] };
    let sleeps = format!("prev_state & 2 && (prev_comm == \"{program}\"{sleepers})");
    let mut wanted = vec![
        want("syscalls/sys_enter_pread64", &own, &["fd", "pos"]),
        want("syscalls/sys_exit_pread64", &own, &["ret"]),
        want("syscalls/sys_enter_preadv", &own, &["fd", "pos_l"]),
        want("syscalls/sys_exit_preadv", &own, &["ret"]),
        Wanted {
            is_optional: true,
            ..want("filemap/mm_filemap_get_pages", &own_or_ring, &["i_ino", "s_dev", "index"])
        },
        want(start, &format!("{own_or_ring} && {read}"), fields),
        want("block/block_rq_issue", read, &["dev", "sector", "bytes"]),
        // Most requests end while a processor is idle.
        Wanted {
            in_idle: Some(FirstByte { field: "rwbs", byte: b'R' }),
            ..want("block/block_rq_complete", read, &["dev", "sector"])
        },
        want("sched/sched_switch", &sleeps, &[]),
        want("sched/sched_process_fork", &format!("parent_pid == {postmaster}"), &["child_pid"]),
    ];
    if by == By::Ring {
        wanted.extend([
            want("io_uring/io_uring_submit_req", &format!("{own} && ({RING_READS})"), &["req"]),
            want("io_uring/io_uring_file_get", &own_or_ring, &["req", "fd"]),
            want("io_uring/io_uring_queue_async_work", &own, &["req"]),
            want("io_uring/io_uring_complete", &own_or_ring, &["req", "res"]),
            want("syscalls/sys_exit_io_uring_enter", &own, &[]),
        ]);
    }
    wanted
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
        for (place, starts) in [Starts::Newer, Starts::Older].into_iter().enumerate() {
            let wanted = wanted("postgres", 7, starts, By::Ring);
            let name = |place: u16| wanted[usize::from(place)].name;
            assert_eq!(
                (name(ENTER_PREAD), name(EXIT_PREADV)),
                ("syscalls/sys_enter_pread64", "syscalls/sys_exit_preadv")
            );
            assert_eq!((name(GET_PAGES), name(START)), ("filemap/mm_filemap_get_pages", STARTS[place]));
            assert_eq!((name(ISSUE), name(COMPLETE)), ("block/block_rq_issue", "block/block_rq_complete"));
            assert_eq!((name(SLEEP), name(FORK)), ("sched/sched_switch", "sched/sched_process_fork"));
            assert_eq!(
                (name(RING_SUBMIT), name(RING_FILE)),
                ("io_uring/io_uring_submit_req", "io_uring/io_uring_file_get")
            );
            assert_eq!(
                (name(RING_QUEUE), name(RING_COMPLETE)),
                ("io_uring/io_uring_queue_async_work", "io_uring/io_uring_complete")
            );
            assert_eq!(name(EXIT_RING), "syscalls/sys_exit_io_uring_enter");
            assert_eq!(
                (name(EXIT_PREAD), name(ENTER_PREADV)),
                ("syscalls/sys_exit_pread64", "syscalls/sys_enter_preadv")
            );
        }
    }
}
