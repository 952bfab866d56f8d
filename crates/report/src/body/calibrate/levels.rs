//! What settings are advised for, a database or the whole server: what undoes them there, what overrides them, and who
//! can set them.

use measure::Run;
use measure::schema::subjects::findings::STANDBY;
use serde_json::Value;

use super::sql::{Setting, database, has_users_data, now_written, quoted, remark};

/// Most settings that are listed as overriding others.
const LISTED_MAX: usize = 12;

/// What settings are advised for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Database,
    Server,
}

impl Level {
    /// The beginning of a statement that sets something.
    pub(super) fn statement(self, run: &Run) -> String {
        match self {
            Level::Database => format!("{} {}", self.name(), database(run)),
            Level::Server => self.name().into(),
        }
    }

    /// The statement in a sentence.
    fn name(self) -> &'static str {
        match self {
            Level::Database => "ALTER DATABASE",
            Level::Server => "ALTER SYSTEM",
        }
    }

    /// What was set there before: an object, or null where it could not be read.
    fn former(self, run: &Run) -> Option<&Value> {
        run.subject.get(match self {
            Level::Database => "database_settings",
            Level::Server => "server_settings",
        })
    }
}

/// A setting that overrides those of a level.
struct Overriding {
    /// The beginning of the statement that set it.
    statement: String,
    name: String,
    value: String,
    /// Whether it held in the run's own session.
    is_ours: bool,
}

/// What stands before the statements of a level.
pub(super) fn remarks(run: &Run, level: Level, settings: &[Setting]) -> String {
    let statement = level.statement(run);
    let overriding = overriding(run, level);
    let undo = |(name, _): &Setting| remark(&format!("{statement} {}", undone(run, name, level, &overriding)));
    let mut text = unread(run, level);
    text.extend(settings.iter().map(undo));
    if level == Level::Server {
        text += &remark("SELECT pg_reload_conf();");
    }
    text + &overridden(run, settings, &overriding) + &place(run, level)
}

/// That it is not known what was set before.
fn unread(run: &Run, level: Level) -> String {
    match level.former(run) {
        _ if !has_users_data(run) && level == Level::Database => {
            "-- (DATABASE stands for the name of yours; note first what it has set)\n".into()
        }
        _ if !has_users_data(run) => format!("-- (note first what {} has set on yours)\n", level.name()),
        Some(former) if former.is_object() => String::new(),
        _ => format!("-- (what {} had set before could not be read: note it first)\n", level.name()),
    }
}

/// What undoes a setting: its former value comes back where it was set the same way, and else RESET removes it. Which
/// value that brings back is not known from the session where something else gave it its value.
fn undone(run: &Run, name: &str, level: Level, overriding: &[Overriding]) -> String {
    let former = level.former(run).and_then(|former| former.get(name)).and_then(Value::as_str);
    if let Some(value) = former {
        return format!("SET {name} = {};", if is_number(value) { value.into() } else { quoted(value, '\'') });
    }
    let is_hidden = overriding.iter().any(|one| one.is_ours && one.name == name);
    let was = now_written(run, name).filter(|_| has_users_data(run) && !is_hidden);
    format!("RESET {name};{}", was.map_or(String::new(), |was| format!(" -- it was {was}")))
}

/// What undoes a setting of the database whose former value a run need not have, and where it can be run.
pub(super) fn undoing(run: &Run, name: &str) -> String {
    let level = Level::Database;
    let undo = undone(run, name, level, &overriding(run, level));
    let text = remark(&format!("{} {undo}", level.statement(run)));
    let is_known = level.former(run).is_some_and(|former| former.get(name).is_some());
    let or = match is_known {
        true => String::new(),
        false => remark("or SET it to what was set there before, which \\drds of psql lists"),
    };
    text + &or + &place(run, level)
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// What overrides the settings of a level: what is set for a role, and of the server's also what is set for all roles
/// and for the database.
fn overriding(run: &Run, level: Level) -> Vec<Overriding> {
    let text = |one: &Value, name: &str| one.get(name).and_then(Value::as_str).map(String::from);
    let is = |one: &Value, name: &str| one.get(name) == Some(&Value::Bool(true));
    let of_role = |one: &Value| {
        let role = text(one, "role");
        if role.is_none() && level == Level::Database {
            return None;
        }
        let scope = if is(one, "in_database") { format!(" IN DATABASE {}", database(run)) } else { String::new() };
        let quoted = role.as_deref().map_or("ALL".into(), |role| quoted(role, '"'));
        Some(Overriding {
            statement: format!("ALTER ROLE {quoted}{scope}"),
            name: text(one, "setting")?,
            value: text(one, "value")?,
            is_ours: role.is_none() || is(one, "is_own"),
        })
    };
    let of_roles = run.subject.get("role_settings").and_then(Value::as_array);
    let mut all: Vec<Overriding> = of_roles.into_iter().flatten().filter_map(of_role).collect();
    let of_database = Level::Database.former(run).and_then(Value::as_object).filter(|_| level == Level::Server);
    all.extend(of_database.into_iter().flatten().filter_map(|(name, value)| {
        let (statement, name, value) = (Level::Database.statement(run), name.clone(), value.as_str()?.into());
        Some(Overriding { statement, name, value, is_ours: true })
    }));
    all
}

/// The settings that override these with another value, with what resets each.
fn overridden(run: &Run, settings: &[Setting], overriding: &[Overriding]) -> String {
    let number = |text: &str| text.parse::<f64>().ok();
    let is_same = |one: &str, other: &str| one == other || number(one).is_some_and(|one| number(other) == Some(one));
    let differs =
        |one: &&Overriding| settings.iter().any(|(name, value)| *name == one.name && !is_same(value, &one.value));
    let found: Vec<&Overriding> = overriding.iter().filter(differs).collect();
    let mut text = String::new();
    if !found.is_empty() {
        text += "-- settings that override these, and what resets each:\n";
    }
    for Overriding { statement, name, value, .. } in found.iter().take(LISTED_MAX) {
        text += &remark(&format!("{statement} RESET {name}; -- it is {value}"));
    }
    if found.len() > LISTED_MAX {
        text += &remark(&format!("and {} more, which \\drds of psql lists", found.len() - LISTED_MAX));
    }
    if found.iter().any(|one| one.is_ours) {
        text += "-- (some held in this run's session too: \"now\" on this page is with them)\n";
    }
    if run.subject.get("role_settings").is_some_and(Value::is_null) {
        text += "-- (what ALTER ROLE has set, which overrides them, could not be read)\n";
    }
    text
}

/// Who can run the statements of a level, and where.
fn place(run: &Run, level: Level) -> String {
    let is_standby = run.findings.iter().any(|finding| STANDBY.made(finding));
    let on = match (is_standby, level) {
        (false, _) => "",
        (true, Level::Database) => "-- (on the primary: a standby takes over what is set there for a database)\n",
        (true, Level::Server) => "-- (on the standby itself, for which alone it holds)\n",
    };
    let by = match level {
        Level::Database => "",
        Level::Server => {
            "-- (a superuser can run it; a managed service, or allow_alter_system = off,\n\
             -- refuses it: set them where its configuration is kept)\n"
        }
    };
    format!("{on}{by}")
}
