//! The names of tables and indexes by the paths of their files, as the server gives them for its own database.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use measure::quantity::{counted, grouped};
use server::{ServerError, Session};

use crate::refusal::unless_refused;
use crate::row::{parsed, text};

/// Files that one question names.
const FILES_MAX: usize = 100;

/// How often a file is asked for again that has no name yet: after a second, and each time ten times as long after the
/// time before. A table that is being made has its name when its transaction ends, which may take hours.
const AGAIN_MAX: u32 = 5;
const AGAIN_AFTER: Duration = Duration::from_secs(1);
const AGAIN_FACTOR: u32 = 10;

/// Most files that are known.
const KNOWN_MAX: usize = 1 << 14;

/// The numbers of the tablespaces that have no link.
const DEFAULT_SPACE: u32 = 1663;
const GLOBAL_SPACE: u32 = 1664;

/// Which databases there are, ours marked.
const DATABASES: &str = "SELECT oid::int8, datname, datname = current_database() FROM pg_database";

/// A file of a relation: its tablespace, its database and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    space: u32,
    /// 0 for relations of all databases.
    database: u32,
    number: u32,
}

/// A file whose name is wanted.
#[derive(Clone, Debug)]
struct Wanted {
    file: Arc<str>,
    /// How often it was asked for in vain, and from when on it is asked for.
    tries: u32,
    due: Instant,
}

/// Names by path.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    names: BTreeMap<String, String>,
    wanted: VecDeque<Wanted>,
    /// Files whose names were asked for and have not come. Where the answer never comes, they are asked for again.
    under_way: Vec<Wanted>,
    seen: BTreeSet<Arc<str>>,
    /// Files of relations that were met when no more could be known.
    beyond: u64,
    has_warned: bool,
    /// `None` before they are known.
    databases: Option<Arc<Databases>>,
}

impl Relations {
    /// Notes files that were read.
    pub(crate) fn want(&mut self, files: Vec<Arc<str>>) {
        for file in files {
            // Files of other kinds, such as those of temporary tables, take no room.
            if node(&file).is_none() || self.seen.contains(&file) {
                continue;
            }
            if self.seen.len() >= KNOWN_MAX {
                self.beyond += 1;
                continue;
            }
            self.seen.insert(Arc::clone(&file));
            self.wanted.push_back(Wanted { file, tries: 0, due: Instant::now() });
        }
    }

    /// How many files found no room, as a sentence, where some did.
    pub(crate) fn limit(&self) -> Option<String> {
        (self.beyond > 0).then(|| {
            let met = counted(self.beyond, "file that was met later is", "files that were met later are");
            let known = grouped(KNOWN_MAX as u64);
            format!("Relations are named for the first {known} of their files; {met} shown by path.")
        })
    }

    /// That files begin to find no room, as a sentence, once.
    pub(crate) fn take_warning(&mut self) -> Option<String> {
        if self.beyond == 0 || std::mem::replace(&mut self.has_warned, true) {
            return None;
        }
        let known = grouped(KNOWN_MAX as u64);
        Some(format!("relations are named for the first {known} of their files; further ones are recorded by path."))
    }

    /// The names that are known.
    pub(crate) fn names(&self) -> &BTreeMap<String, String> {
        &self.names
    }

    /// What is to be asked for names that are lacking, where there are some.
    pub(crate) fn question(&mut self) -> Option<RelationsQuestion> {
        self.wanted.extend(self.under_way.drain(..));
        let (now, mut files) = (Instant::now(), Vec::new());
        self.wanted.retain(|one| {
            let is_asked = one.due <= now && files.len() < FILES_MAX;
            files.extend(is_asked.then(|| one.clone()));
            !is_asked
        });
        self.under_way.clone_from(&files);
        (!files.is_empty()).then(|| RelationsQuestion { databases: self.databases.clone(), files })
    }

    /// Has what is lacking asked for with the next question, as there is none after it: first what was never asked for.
    pub(crate) fn hasten(&mut self) {
        self.wanted.extend(self.under_way.drain(..));
        let now = Instant::now();
        self.wanted.iter_mut().for_each(|one| one.due = now);
        self.wanted.make_contiguous().sort_by_key(|one| one.tries);
    }

    /// Takes the answer.
    pub(crate) fn learn(&mut self, answer: RelationsAnswer) {
        if answer.databases.is_some() {
            self.databases = answer.databases;
        }
        self.under_way.clear();
        self.names.extend(answer.names);
        self.wanted.extend(answer.again);
    }

    /// What it asks, for a dry run.
    pub(crate) fn rehearse(session: &mut Session) -> Result<(), ServerError> {
        session.rows(DATABASES)?;
        session.rows(&question(&[Node { space: DEFAULT_SPACE, database: 5, number: 16_384 }]))?;
        Ok(())
    }
}

/// The databases of the server.
#[derive(Debug, Default)]
struct Databases {
    names: BTreeMap<u32, String>,
    /// That of our session, whose relations alone have names.
    own: Option<u32>,
}

impl Databases {
    fn ask(session: &mut Session) -> Result<Databases, ServerError> {
        let mut databases = Databases::default();
        for row in session.rows_of_all_databases(DATABASES)? {
            let Some(number) = parsed(&row, 0) else { continue };
            if text(&row, 2) == Some("t") {
                databases.own = Some(number);
            }
            databases.names.insert(number, text(&row, 1).unwrap_or_default().to_string());
        }
        Ok(databases)
    }

    /// Whether the database of a file is known; it may have been created since they were asked for.
    fn has(&self, node: Node) -> bool {
        node.database == 0 || self.names.contains_key(&node.database)
    }
}

/// Files whose names are asked for at one time.
pub(crate) struct RelationsQuestion {
    /// `None` where they are to be asked for first.
    databases: Option<Arc<Databases>>,
    files: Vec<Wanted>,
}

/// The answer.
#[derive(Default)]
pub(crate) struct RelationsAnswer {
    databases: Option<Arc<Databases>>,
    /// Paths of files with the names of their relations.
    names: Vec<(String, String)>,
    /// Files that are to be asked for once more.
    again: Vec<Wanted>,
}

impl RelationsQuestion {
    /// Asks.
    pub(crate) fn ask(self, session: &mut Session) -> Result<RelationsAnswer, ServerError> {
        let mut nodes = self.files.iter().filter_map(|one| node(&one.file));
        let databases = match self.databases.filter(|known| nodes.all(|node| known.has(node))) {
            Some(known) => known,
            None => match unless_refused(Databases::ask(session))? {
                Ok(found) => Arc::new(found),
                Err(_) => return Ok(RelationsAnswer { again: again(self.files), ..RelationsAnswer::default() }),
            },
        };
        let mut answer = RelationsAnswer { databases: Some(Arc::clone(&databases)), ..RelationsAnswer::default() };
        let mut ours: Vec<(Wanted, Node)> = Vec::new();
        for one in self.files {
            let file = &one.file;
            match node(file) {
                Some(node) if node.database == 0 || Some(node.database) == databases.own => ours.push((one, node)),
                // A relation of another database can only be asked for there.
                Some(node) => {
                    let database = databases.names.get(&node.database);
                    let named = database.map(|database| (file.to_string(), format!("{file} (database {database})")));
                    answer.names.extend(named);
                }
                None => {}
            }
        }
        if ours.is_empty() {
            return Ok(answer);
        }
        let nodes: Vec<Node> = ours.iter().map(|(_, node)| *node).collect();
        let Ok(rows) = unless_refused(session.rows(&question(&nodes)))? else {
            // Without names paths are shown.
            answer.again = again(ours.into_iter().map(|(asked, _)| asked).collect());
            return Ok(answer);
        };
        let mut nameless = Vec::new();
        for (place, (asked, _)) in ours.into_iter().enumerate() {
            let row = rows.iter().find(|row| text(row, 0) == Some(place.to_string().as_str()));
            match row.and_then(|row| text(row, 1)) {
                Some(name) => answer.names.push((asked.file.to_string(), format!("{name}{}", fork(&asked.file)))),
                // A table that is being made is not seen before its transaction ends.
                None => nameless.push(asked),
            }
        }
        answer.again = again(nameless);
        Ok(answer)
    }
}

/// Those of these files that are asked for once more.
fn again(files: Vec<Wanted>) -> Vec<Wanted> {
    let later = |one: Wanted| {
        let due = Instant::now() + AGAIN_AFTER * AGAIN_FACTOR.pow(one.tries);
        Wanted { tries: one.tries + 1, due, ..one }
    };
    files.into_iter().filter(|one| one.tries < AGAIN_MAX).map(later).collect()
}

/// Asks for the names of relations; a row has the place in the list, and the name where there is one.
fn question(nodes: &[Node]) -> String {
    let values: Vec<String> =
        (0..).zip(nodes).map(|(place, node)| format!("({place}, {}::oid, {}::oid)", node.space, node.number)).collect();
    format!(
        "SELECT place, pg_filenode_relation(space, node)::regclass FROM (VALUES {}) AS files (place, space, node)",
        values.join(", ")
    )
}

/// The file of a path such as `base/5/16384_fsm`; `None` where it is no relation's.
fn node(file: &str) -> Option<Node> {
    let mut parts = file.split('/');
    let folder = parts.next()?;
    let rest: Vec<&str> = parts.collect();
    let number = |text: &str| text.split('_').next()?.parse::<u32>().ok();
    match (folder, rest.as_slice()) {
        ("global", [node]) => Some(Node { space: GLOBAL_SPACE, database: 0, number: number(node)? }),
        ("base", [database, node]) => {
            Some(Node { space: DEFAULT_SPACE, database: number(database)?, number: number(node)? })
        }
        ("pg_tblspc", [space, _version, database, node]) => {
            Some(Node { space: number(space)?, database: number(database)?, number: number(node)? })
        }
        _ => None,
    }
}

/// What a file holds that is not the relation's rows.
fn fork(file: &str) -> &'static str {
    match file.rsplit_once('_').map(|(_, fork)| fork) {
        Some("fsm") => " (free space map)",
        Some("vm") => " (visibility map)",
        Some("init") => " (init fork)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use server::{Address, Limits, Statements};
    use trial::Trial;

    use super::*;
    use crate::statements::is_own;

    #[test]
    fn paths_of_relations_have_their_numbers_and_others_have_none() {
        let of = |space, database, number| Some(Node { space, database, number });
        assert_eq!(node("base/5/16384"), of(1663, 5, 16_384));
        assert_eq!(node("base/5/16384_vm"), of(1663, 5, 16_384));
        assert_eq!(node("global/1262"), of(1664, 0, 1262));
        assert_eq!(node("pg_tblspc/77/PG_15_202209061/5/9"), of(77, 5, 9));
        for other in ["pg_wal", "temporary files", "base/5/t3_16400", "base/5/PG_VERSION", "base/5", "", "base/x/1"] {
            assert_eq!(node(other), None, "{other}");
        }
        assert_eq!((fork("base/5/1_fsm"), fork("base/5/1")), (" (free space map)", ""));
    }

    #[test]
    fn what_is_asked_of_relations_is_known_as_ours_where_the_server_counts_it() {
        let of_files = question(&[Node { space: DEFAULT_SPACE, database: 5, number: 16_384 }]);
        assert!(is_own(DATABASES) && is_own(&of_files), "{of_files}");
    }

    #[test]
    fn a_file_is_asked_for_once_and_files_that_are_no_relations_never() {
        let mut relations = Relations::default();
        relations.want(vec!["base/5/1".into(), "pg_wal".into(), "base/5/1".into()]);
        relations.want(vec!["base/5/1".into()]);
        assert_eq!(relations.wanted.len(), 1);
    }

    #[test]
    fn files_whose_answer_never_comes_are_asked_for_again() {
        let mut relations = Relations::default();
        relations.want(vec!["base/5/1".into(), "base/5/2".into()]);
        let asked = |relations: &mut Relations| relations.question().map_or(0, |question| question.files.len());
        assert_eq!((asked(&mut relations), asked(&mut relations)), (2, 2), "the first question was lost");
        relations.learn(RelationsAnswer::default());
        assert_eq!(asked(&mut relations), 0);
    }

    #[test]
    fn a_table_that_a_long_transaction_makes_is_asked_for_again_and_less_and_less_often() {
        let mut relations = Relations::default();
        relations.want(vec!["base/5/1".into()]);
        let mut after = Vec::new();
        while let Some(question) = relations.question() {
            relations.learn(RelationsAnswer { again: again(question.files), ..RelationsAnswer::default() });
            assert!(relations.question().is_none(), "at once");
            for one in &mut relations.wanted {
                after.push(one.due.saturating_duration_since(Instant::now()).as_secs_f64().ceil() as u64);
                one.due = Instant::now();
            }
        }
        assert_eq!(after, [1, 10, 100, 1_000, 10_000]);
    }

    #[test]
    fn the_last_question_is_first_for_files_that_were_never_asked_for() {
        let mut relations = Relations::default();
        relations.want((0..FILES_MAX).map(|number| format!("base/5/{number}").into()).collect());
        let question = relations.question().unwrap();
        relations.learn(RelationsAnswer { again: again(question.files), ..RelationsAnswer::default() });
        relations.want(vec!["base/5/777".into()]);
        relations.hasten();
        let asked = relations.question().unwrap().files;
        assert_eq!((asked.len(), &*asked[0].file), (FILES_MAX, "base/5/777"));
    }

    #[test]
    fn databases_are_asked_for_again_where_one_was_created_since() {
        let sent = |file: &str| {
            let statements = Statements::default();
            let address = Address::parse("postgres://me@localhost/shop").unwrap();
            let recorder = (statements.clone(), 18);
            let mut session = Session::rehearsal(&address, Limits::default(), Arc::default(), recorder).unwrap();
            let known = Databases { names: [(5, "shop".to_string()), (6, "till".to_string())].into(), own: Some(5) };
            let files = vec![Wanted { file: file.into(), tries: 0, due: Instant::now() }];
            let before = statements.size().0;
            RelationsQuestion { databases: Some(Arc::new(known)), files }.ask(&mut session).unwrap();
            statements.size().0 - before
        };
        assert_eq!((sent("base/6/1"), sent("global/1"), sent("base/7/1")), (0, 1, 1));
    }

    #[test]
    fn files_whose_names_a_server_refuses_for_a_moment_are_asked_for_again() {
        let Some(trial) = Trial::start(&[]) else { return };
        let address = Address::parse(&trial.url()).unwrap();
        let mut session = Session::open(&address, Limits::default(), Arc::default()).unwrap();
        session.begin_transaction().unwrap();
        assert!(session.run("SELECT 1 / 0").is_err(), "the transaction refuses what comes next");
        let known = Databases { names: [(5, "shop".to_string())].into(), own: Some(5) };
        let files = vec![Wanted { file: "base/5/1".into(), tries: 0, due: Instant::now() }];
        let answer = RelationsQuestion { databases: Some(Arc::new(known)), files }.ask(&mut session).unwrap();
        let asked: Vec<(&str, u32)> = answer.again.iter().map(|one| (&*one.file, one.tries)).collect();
        assert_eq!((asked, answer.names.len()), (vec![("base/5/1", 1)], 0));
    }

    #[test]
    fn relations_that_find_no_room_are_counted_and_files_of_temporary_tables_take_none() {
        let mut relations = Relations::default();
        relations.want((0..KNOWN_MAX).map(|number| format!("base/5/t3_{number}").into()).collect());
        let mut want = |count: usize| {
            relations.want((0..count).map(|number| format!("base/5/{number}").into()).collect());
            (relations.wanted.len(), relations.limit())
        };
        assert_eq!(want(KNOWN_MAX), (KNOWN_MAX, None));
        let (wanted, limit) = want(KNOWN_MAX + 7);
        let limit = limit.unwrap();
        assert_eq!(wanted, KNOWN_MAX);
        assert!(limit.contains("; 7 files that were met later are shown by path"), "{limit}");
        assert!(relations.take_warning().is_some() && relations.take_warning().is_none(), "it is said once");
    }
}
