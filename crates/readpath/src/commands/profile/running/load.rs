//! The command that is the load of a private server.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use server::private::PrivateServer;
use sys::process::{BoundChild, Signal};

use crate::exit::Failure;

/// How long a command may take to end that is asked to.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The user's variables by which PostgreSQL's own programs would go to another server, whatever PGHOST says, or would
/// refuse this one, which asks for no password and is reached by a socket.
const OF_OTHER_SERVERS: [&str; 8] = [
    "PGSERVICE",
    "PGHOSTADDR",
    "PGTARGETSESSIONATTRS",
    "PGREQUIREAUTH",
    "PGREQUIREPEER",
    "PGCHANNELBINDING",
    "PGGSSENCMODE",
    "PGSSLCERTMODE",
];

/// A command under way.
pub(super) struct Load {
    child: BoundChild,
    name: String,
}

/// How it ended.
pub(super) struct Ended {
    /// A sentence, where it failed.
    pub(super) complaint: Option<String>,
    /// Its exit code, where it failed.
    pub(super) code: Option<u8>,
}

impl Load {
    /// Starts it with the server in its environment, as PostgreSQL's own programs look for one. What it prints goes to
    /// standard error: standard output is for the profile.
    pub(super) fn start(words: &[PathBuf], server: &PrivateServer) -> Result<Load, Failure> {
        let name = words.first().map_or(String::new(), |word| word.display().to_string());
        let mut command = Command::new(words.first().cloned().unwrap_or_default());
        let config = server.config();
        let folder = server.data_directory().parent().map(PathBuf::from).unwrap_or_default();
        command.args(&words[1..]).stdin(Stdio::null()).stdout(io::stderr());
        forget_other_servers(&mut command);
        command.env("PGHOST", folder).env("PGPORT", "5432").env("DATABASE_URL", server.url());
        command.env("PGUSER", config.get_user().unwrap_or_default());
        command.env("PGDATABASE", config.get_dbname().unwrap_or_default());
        let child = BoundChild::spawn(command, None, Signal::TERM)
            .map_err(|error| Failure::failed(format!("{name} cannot be started: {error}.")))?;
        Ok(Load { child, name })
    }

    /// Whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        self.child.ended().is_some()
    }

    /// Ends it, if it has not ended by itself.
    pub(super) fn end(self) -> Ended {
        let Some(status) = self.child.ended() else {
            // A shell does not pass the signal on to what it runs.
            self.child.end_group(END_TIMEOUT);
            return Ended { complaint: None, code: None };
        };
        if status.success() {
            return Ended { complaint: None, code: None };
        }
        let complaint = format!(
            "The command that was the load, {}, ended with {}. The database of a private server is empty at first: the \
             load has to make its tables, as `sh -c 'pgbench -i && pgbench -T 20'` does.",
            self.name,
            words(status)
        );
        Ended { complaint: Some(complaint), code: Some(code(status)) }
    }
}

fn forget_other_servers(command: &mut Command) {
    for name in OF_OTHER_SERVERS {
        command.env_remove(name);
    }
}

fn words(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => format!("signal {}", status.signal().unwrap_or(0)),
    }
}

/// The shell's convention for a command that a signal ended.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_load_of_a_private_server_goes_to_the_server_that_the_users_environment_names() {
        let mut command = Command::new("pgbench");
        command.env("PGSERVICE", "production").env("PGHOSTADDR", "192.0.2.7").env("PGOPTIONS", "-c work_mem=1MB");
        forget_other_servers(&mut command);
        let kept: Vec<_> = command.get_envs().filter(|(_, value)| value.is_some()).map(|(name, _)| name).collect();
        assert_eq!(kept, ["PGOPTIONS"]);
    }
}
