//! The account that a server runs as. PostgreSQL refuses to run as root, so root becomes another user; all other users
//! keep their account.

use std::io;

use sys::process::Credentials;

use super::error::PrivateServerError;
use crate::parameters::{accounts, field_in};

/// Users that root may become, the first that exists.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// The account of the server: `None` where it is that of this process.
pub(super) fn account_of_server() -> Result<Option<Credentials>, PrivateServerError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let known = match accounts() {
        // A container may have no list.
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(PrivateServerError::io("/etc/passwd"))?,
    };
    let found = USERS.iter().find_map(|name| account_named(&known, name));
    found.map(Some).ok_or(PrivateServerError::NoAccount)
}

/// The group that `/etc/passwd` gives a user, who is not root.
pub(super) fn group_of(user: u32) -> Option<u32> {
    group_in(&accounts().ok()?, user)
}

fn group_in(accounts: &str, user: u32) -> Option<u32> {
    field_in(accounts, &user.to_string(), 3)?.parse().ok().filter(|_| user != 0)
}

/// An account in the text of `/etc/passwd`; never root's.
fn account_named(accounts: &str, name: &str) -> Option<Credentials> {
    let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut numbers = line.split(':').skip(2).map(str::parse);
    let account = Credentials { user: numbers.next()?.ok()?, group: numbers.next()?.ok()? };
    (account.user != 0).then_some(account)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_the_whole_name_and_is_never_root() {
        let accounts =
            "root:x:0:0::/:\nnobody2:x:7:7::/:\nnobody:x:65534:65533:nobody:/:/bin/false\npostgres:x:0:0::/:\n";
        assert_eq!(account_named(accounts, "nobody"), Some(Credentials { user: 65534, group: 65533 }));
        assert_eq!(account_named(accounts, "postgres"), None);
        assert_eq!(account_named(accounts, "other"), None);
        assert_eq!([65534, 7, 0, 8].map(|user| group_in(accounts, user)), [Some(65533), Some(7), None, None]);
    }
}
