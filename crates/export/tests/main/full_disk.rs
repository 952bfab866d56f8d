//! A disk that fills up while events are written: a sentence that says so, and nothing left.

use export::ExportError;
use export::events::EventWriter;
use export::folder::{Existing, Folder};
use profile::event::{
    Context, Event, EventIndex, Observer, Scope, ScopeIndex, Session, SessionIndex, Statement, StatementIndex, Ticks,
    Wait,
};

#[test]
fn a_disk_that_fills_up_is_said_and_nothing_is_left() {
    let disk = match disks::SmallDisk::new(&std::env::temp_dir(), 4 << 20) {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: a small disk needs root: {reason}");
            return;
        }
    };
    let before = std::fs::read_dir(&disk.mount).unwrap().count();
    let place = disk.mount.join("events");
    let mut writer = EventWriter::new(Folder::begin(&place, Existing::Refuse).unwrap()).unwrap();
    let context = Context {
        sessions: vec![Session::default()],
        statements: vec![Statement::default()],
        events: vec![Event::new("", &[])],
        scopes: vec![Scope::default()],
        ..Context::default()
    };
    let mut random = 1_u64;
    for offset in 0..1_000_000 {
        // Numbers that no compression makes small.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let noise = (random >> 2).cast_signed();
        let wait = Wait {
            session: SessionIndex(0),
            statement: StatementIndex(0),
            scope: ScopeIndex(0),
            event: EventIndex(0),
            elapsed: Ticks(noise >> 20),
            parameters: [noise, noise / 3, noise / 7],
            offset,
            ..Wait::default()
        };
        writer.wait(&context, &wait);
        if writer.failed().load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
    }
    let error = writer.finish(&context).unwrap_err();
    assert!(matches!(error, ExportError::OutOfSpace(_)), "{error:?}");
    assert_eq!(std::fs::read_dir(&disk.mount).unwrap().count(), before);
}
