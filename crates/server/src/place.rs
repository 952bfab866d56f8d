//! What `--on` names: the address of a given server, or the version of a private one.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::cluster::{COPY, ClusterCopy};
use crate::encryption::Encryption;
use crate::error::ServerError;
use crate::parameters::{Defaults, Parameters, SOCKET_FOLDER, account_of, decoded, encoded};

pub use crate::parameters::{SCHEMES, encoded_path};

/// How long a connection to one host may take to come about, where the address does not say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(86_400);

/// What a dry run takes for the address of a private server.
const NOWHERE: &str = "postgres://postgres@%2Fnonexistent/postgres";

/// The name that the server's administrator sees.
const APPLICATION: &str = "readpath";

/// What `--on` names.
#[derive(Clone, Debug)]
pub enum Place {
    /// A running server, treated as production.
    Given(Address),
    /// A server that this program starts, of this major version.
    Private {
        /// 15, 16 and so on.
        major: u32,
    },
    /// A server that this program starts, with the programs in this directory.
    Installed {
        /// That of `postgres` and `initdb`, or its parent.
        directory: PathBuf,
    },
    /// A server that this program starts on a copy of a data directory.
    Copy(ClusterCopy),
}

impl FromStr for Place {
    type Err = ServerError;

    fn from_str(word: &str) -> Result<Place, ServerError> {
        if SCHEMES.iter().any(|scheme| word.starts_with(scheme)) {
            return Address::parse(word).map(Place::Given);
        }
        let own = word.strip_prefix("postgres:");
        if own == Some("") {
            return Address::parse(SCHEMES[0]).map(Place::Given);
        }
        if let Some(written) = word.strip_prefix(COPY) {
            return ClusterCopy::parse(written).map(Place::Copy).map_err(|reason| {
                ServerError::Place(format!(
                    "'{}' names no copy of a data directory ({reason}): write {COPY}DIRECTORY?dbname=NAME",
                    without_password(word, &SCHEMES)
                ))
            });
        }
        if let Some(directory) = own.filter(|rest| rest.starts_with(['/', '.'])) {
            return Ok(Place::Installed { directory: directory.into() });
        }
        match own.and_then(|version| version.parse().ok()) {
            Some(major) => Ok(Place::Private { major }),
            None => Err(ServerError::Place(format!(
                "'{}' names no server: write postgres://USER@HOST:PORT/DATABASE for an existing server, or \
                 postgres:VERSION, such as postgres:18, or postgres:DIRECTORY with an installed one's programs, \
                 for one that is started for the run",
                without_password(word, &SCHEMES)
            ))),
        }
    }
}

/// How to reach a server.
#[derive(Clone, Debug)]
pub struct Address {
    config: Box<Config>,
    encryption: Encryption,
    /// Whether a standby among the hosts is preferred to others.
    prefers_standby: bool,
    /// What an address consists of; `None` for a private server.
    parameters: Option<Parameters>,
    /// Why the user's password file was not read.
    file_refused: Option<String>,
}

impl Address {
    /// An address from `postgres://…`. Errors say what is wrong with it and never repeat its password.
    pub fn parse(url: &str) -> Result<Address, ServerError> {
        Parameters::of_url(url).and_then(Address::of_parameters).map_err(|reason| {
            ServerError::Place(format!(
                "'{}' cannot be read ({reason}): write postgres://USER@HOST:PORT/DATABASE",
                without_password(url, &SCHEMES)
            ))
        })
    }

    /// The address that a dry run takes for a private server, which is not started.
    pub fn nowhere() -> Address {
        Address::parse(NOWHERE).expect("it is well-formed")
    }

    /// The address, completed by what the user's environment says, as libpq does. Errors where a service that is named
    /// is not defined.
    pub fn completed(&self, defaults: &Defaults) -> Result<Address, ServerError> {
        let unusable = |reason| ServerError::Place(format!("{} cannot be completed: {reason}", self.shown()));
        let parameters = self.parameters.clone().unwrap_or_default().completed(defaults).map_err(unusable)?;
        let mut address = Address::of_parameters(parameters.clone()).map_err(unusable)?;
        if address.config.get_password().is_none() {
            match parameters.password_of_file(defaults) {
                Ok(Some(password)) => drop(address.config.password(password)),
                Ok(None) => {}
                Err(reason) => address.file_refused = Some(reason),
            }
        }
        Ok(address)
    }

    fn of_parameters(written: Parameters) -> Result<Address, String> {
        let mut known = written.clone();
        let encryption = Encryption::taken_from(&mut known);
        for ours in ["service", "servicefile", "passfile"] {
            known.take(ours);
        }
        known.translate()?;
        let config = Config::from_str(&known.written()).map_err(|error| {
            std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
        })?;
        let address = Address::of(config);
        // What nothing is encrypted with is not looked for: the file of authorities may not be there.
        let encryption = match address.config.get_ssl_mode() {
            SslMode::Disable => Encryption::default(),
            _ => encryption,
        };
        let prefers_standby = written.prefer_standby();
        Ok(Address { encryption, prefers_standby, parameters: Some(written), ..address })
    }

    /// The address of a private server, from a configuration that is known to work.
    pub fn of(mut config: Config) -> Address {
        if config.get_hosts().is_empty() {
            // A host that has only a number is called by it: the driver encrypts no connection to a nameless one.
            let mut names: Vec<String> = config.get_hostaddrs().iter().map(ToString::to_string).collect();
            if names.is_empty() {
                let usual = if Path::new(SOCKET_FOLDER).is_dir() { SOCKET_FOLDER } else { "localhost" };
                names.push(usual.into());
            }
            for name in names {
                config.host(name);
            }
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.application_name(APPLICATION);
        // The kernel protects a socket from listeners: as in libpq, connections there are not encrypted.
        if config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_))) && config.get_hostaddrs().is_empty() {
            config.ssl_mode(SslMode::Disable);
        }
        Address {
            config: Box::new(config),
            encryption: Encryption::default(),
            prefers_standby: false,
            parameters: None,
            file_refused: None,
        }
    }

    /// Whether it is a server that others have too.
    pub fn is_given(&self) -> bool {
        self.parameters.is_some()
    }

    /// How to connect.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// How to connect to a standby alone, which is tried first where one is preferred.
    pub(crate) fn config_of_standby(&self) -> Option<Config> {
        let mut config = self.prefers_standby.then(|| (*self.config).clone())?;
        config.target_session_attrs(TargetSessionAttrs::ReadOnly);
        Some(config)
    }

    /// Why a password may be missing although the user's password file has one.
    pub(crate) fn file_refused(&self) -> Option<&str> {
        self.file_refused.as_deref()
    }

    /// How long each address of each host may take until a session is there: TCP, TLS, authentication and the first
    /// facts.
    pub(crate) fn connect_timeout_each(&self) -> Duration {
        self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT).min(CONNECT_TIMEOUT_MAX)
    }

    /// What to show while a connection comes about: how long it is waited for. How many addresses a name has is not
    /// known before.
    pub fn waiting(&self) -> String {
        let tries = if self.prefers_standby { 2 } else { 1 };
        let each = self.connect_timeout_each().saturating_mul(tries);
        if self.has_names() {
            return format!("waiting for the server, at most {} s for each name and address", each.as_secs());
        }
        let hosts = self.config.get_hosts().len().max(self.config.get_hostaddrs().len()).max(1);
        let whole = each.saturating_mul(u32::try_from(hosts).unwrap_or(u32::MAX));
        format!("waiting for the server, at most {} s", whole.as_secs())
    }

    /// What encrypts connections to it. Errors where the authorities that the address names cannot be read.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, ServerError> {
        self.encryption.connector().map_err(|reason| ServerError::Encryption { server: self.shown(), reason })
    }

    /// Whether a host has to be looked up by its name.
    fn has_names(&self) -> bool {
        let is_name = |host: &Host| matches!(host, Host::Tcp(name) if name.parse::<IpAddr>().is_err());
        self.config.get_hostaddrs().is_empty() && self.config.get_hosts().iter().any(is_name)
    }

    /// Whether the connection stays on this machine: a socket, or a name of the machine itself.
    pub fn is_local(&self) -> bool {
        let is_loopback = |host: &Host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => name == "localhost" || name.starts_with("127.") || name == "::1",
        };
        self.config.get_hosts().iter().all(is_loopback)
            && self.config.get_hostaddrs().iter().all(|address| address.is_loopback())
    }

    /// The address for people and documents, as `--on` takes it: without the password, with all hosts, of which any may
    /// have answered. The folder of a socket alone stands behind it, where its slashes need no escapes.
    pub fn shown(&self) -> String {
        let user = self.config.get_user().map_or(String::new(), |user| format!("{}@", encoded(user.as_bytes())));
        let ports = self.config.get_ports();
        // One port is that of all hosts.
        let port = |at: usize| ports.get(at).or(ports.first()).map_or(String::new(), |port| format!(":{port}"));
        let host = |(at, host): (usize, &Host)| match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]{}", port(at)),
            Host::Tcp(name) => format!("{name}{}", port(at)),
            Host::Unix(folder) => format!("{}{}", encoded(folder.as_os_str().as_encoded_bytes()), port(at)),
        };
        let (hosts, folder) = match self.config.get_hosts() {
            [Host::Unix(folder)] => (port(0), format!("?host={}", encoded_path(folder))),
            hosts => (hosts.iter().enumerate().map(host).collect::<Vec<_>>().join(","), String::new()),
        };
        let database = self.config.get_dbname().map_or(String::new(), |name| format!("/{}", encoded(name.as_bytes())));
        format!("postgres://{user}{hosts}{database}{folder}")
    }
}

/// An address as a word to paste into a shell, to which `?` and `[` begin patterns.
pub fn word_of_shell(address: &str) -> String {
    if address.contains(['?', '[']) { format!("'{address}'") } else { address.into() }
}

/// A word of a command line as it may be kept and shown: the passwords of servers' addresses are left out, whether they
/// stand before the host or after `password=`. Addresses begin with one of `schemes`; several may stand in one word,
/// with commas between, or with anything else, as in a script for `sh -c`.
pub fn without_password(word: &str, schemes: &[&str]) -> String {
    let (mut shown, mut rest) = (String::new(), word);
    while let Some(at) = schemes.iter().filter_map(|scheme| behind_first_letter(rest, scheme)).min() {
        let (one, others) = rest.split_at(at);
        let own = one.trim_end_matches(|last: char| last == ',' || last.is_whitespace());
        shown += &without_first_password(own, schemes);
        shown += &one[own.len()..];
        rest = others;
    }
    shown + &without_first_password(rest, schemes)
}

/// Where a scheme stands in a text that may begin with one itself.
fn behind_first_letter(text: &str, scheme: &str) -> Option<usize> {
    let first = text.chars().next()?.len_utf8();
    Some(first + text[first..].find(scheme)?)
}

fn without_first_password(word: &str, schemes: &[&str]) -> String {
    let Some(start) = schemes.iter().find_map(|scheme| Some(word.find(scheme)? + scheme.len())) else {
        return word.into();
    };
    let (scheme, rest) = word.split_at(start);
    // A password may hold what ends a host name, or the address itself; it ends at the last `@`.
    let before_named = &rest[..named_password(rest)];
    let host = match account_of(before_named) {
        Some((account, _)) => account.len(),
        None if is_sound(rest) => 0,
        None => before_named.rfind('@').unwrap_or(0),
    };
    let end = rest[host..].find('?').map_or(rest.len(), |at| host + at);
    let (place, query) = (&rest[..end], rest.get(end + 1..));
    let place = match place.rsplit_once('@') {
        Some((account, host)) => format!("{}@{host}", account.split(':').next().unwrap_or_default()),
        None => without_word_for_port(place),
    };
    let kept = |pair: &&str| !is_password(pair.split('=').next().unwrap_or_default());
    let query = query.map(|query| query.split('&').filter(kept).collect::<Vec<_>>().join("&"));
    match query.filter(|query| !query.is_empty()) {
        Some(query) => format!("{scheme}{place}?{query}"),
        None => format!("{scheme}{place}"),
    }
}

fn is_password(keyword: &str) -> bool {
    decoded(keyword).is_ok_and(|word| word.eq_ignore_ascii_case("password"))
}

/// Where `?password=` or `&password=` stands, behind which an `@` ends no account; the end where neither does.
fn named_password(rest: &str) -> usize {
    let is_named = |at: &usize| is_password(rest[at + 1..].split(['=', '&']).next().unwrap_or_default());
    rest.match_indices(['?', '&']).map(|(at, _)| at).find(is_named).unwrap_or(rest.len())
}

/// Whether an address can be read that begins with its host. One that cannot may begin with a password with a slash in
/// it, which is then taken for the end of a port.
fn is_sound(rest: &str) -> bool {
    let is_number = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
    Parameters::of_url(rest).is_ok_and(|found| found.get("port").is_none_or(|ports| ports.split(',').all(is_number)))
}

/// Without `@` the host may have been forgotten: what stands for the port is then the password.
fn without_word_for_port(place: &str) -> String {
    match colon_of_port(place) {
        Some(at) if !place[at + 1..].starts_with(|letter: char| letter.is_ascii_digit()) => place[..at].into(),
        _ => place.into(),
    }
}

/// The first colon behind a host. Those within a host's number, such as `[::1]`, are before no port.
pub fn colon_of_port(place: &str) -> Option<usize> {
    let is_in_number = |at: usize| {
        let Some(open) = place[..at].rfind('[') else { return false };
        let number = place[open + 1..].split([']', '%']).next().unwrap_or_default();
        at <= open + number.len() && number.parse::<IpAddr>().is_ok()
    };
    place.match_indices(':').map(|(at, _)| at).find(|at| !is_in_number(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(word: &str) -> String {
        word.parse::<Place>().unwrap_err().to_string()
    }

    #[test]
    fn a_password_is_shown_nowhere() {
        let Ok(Place::Given(address)) = "postgres://me:se:cr@et@db.example:5433/shop".parse() else { panic!() };
        assert_eq!(address.shown(), "postgres://me@db.example:5433/shop");
        for (word, shown) in [
            ("--on=postgres://me:se@cret@host/db", "--on=postgres://me@host/db"),
            ("postgresql:///db?password=secret&user=me", "postgresql:///db?user=me"),
            ("postgresql:///db?Password=secret", "postgresql:///db"),
            ("postgresql:///db?pass%77ord=secret", "postgresql:///db"),
            ("postgres://me:1se?cret@db/shop?user=me", "postgres://me@db/shop?user=me"),
            ("postgres://me:secret?tail@db", "postgres://me@db"),
            ("postgres://me:secret", "postgres://me"),
            ("postgres://host:5433/db", "postgres://host:5433/db"),
            ("lio", "lio"),
            ("postgres://h/db?x=1,postgresql://me:se@h/db", "postgres://h/db?x=1,postgresql://me@h/db"),
            ("postgres://[::1]:5432/db", "postgres://[::1]:5432/db"),
            ("postgres://a,[fe80::1%25eth0]/db?x=1", "postgres://a,[fe80::1%25eth0]/db?x=1"),
            ("postgres://[me:secret]/db", "postgres://[me"),
            ("postgres://me:s3/cr?t@db/shop", "postgres://me@db/shop"),
            ("postgres://me:1/cr?t@db/shop?user=me", "postgres://me@db/shop?user=me"),
            ("postgres://db:5432,b/shop?user=me@corp", "postgres://db:5432,b/shop?user=me@corp"),
            ("postgres://db/shop?password=s@cret&x", "postgres://db/shop?x"),
            ("postgres://db:no-port/shop?user=me&password=s@cret", "postgres://db?user=me"),
            ("postgres://db?password=s@cret", "postgres://db"),
            (
                "psql postgres://me:one@h/a?sslmode=require -c x; psql postgres://me:two@h/b",
                "psql postgres://me@h/a?sslmode=require -c x; psql postgres://me@h/b",
            ),
            ("\u{e9},postgres://h?password=one, postgres://me:two@h", "\u{e9},postgres://h, postgres://me@h"),
            (
                "postgres://me:s@a,b/db,engine,postgres://you:cret@c/db",
                "postgres://me@a,b/db,engine,postgres://you@c/db",
            ),
        ] {
            assert_eq!(without_password(word, &SCHEMES), shown);
        }
        assert!(!refusal("postgres://me:secret@host:no-port/db").contains("secret"));
    }

    #[test]
    fn the_folder_of_a_socket_is_shown_as_a_path_and_leads_to_the_same_server() {
        let shown = |url: &str| Address::parse(url).unwrap().shown();
        for (url, wanted) in [
            ("postgres://me:secret@%2Frun%2Fmy%20pg:5433/shop", "postgres://me@:5433/shop?host=/run/my%20pg"),
            ("postgres://me@/shop?host=/run/pg&sslmode=disable", "postgres://me@/shop?host=/run/pg"),
            ("postgres://me@%2Fa%40b%3Fc", "postgres://me@?host=/a%40b%3Fc"),
        ] {
            assert_eq!(shown(url), wanted);
            assert_eq!(shown(wanted), wanted, "it is read as it is shown");
            assert_eq!(without_password(wanted, &SCHEMES), wanted);
            assert_eq!(word_of_shell(wanted), format!("'{wanted}'"));
        }
        assert_eq!(word_of_shell("postgres://me@host/db"), "postgres://me@host/db");
        assert_eq!(word_of_shell("postgres://[::1]:5432/db"), "'postgres://[::1]:5432/db'");
    }

    #[test]
    fn all_hosts_of_an_address_are_shown_because_any_may_have_answered() {
        let shown = |url: &str| Address::parse(url).unwrap().shown();
        for (url, wanted) in [
            ("postgres://me:secret@a:5432,b:5433/shop", "postgres://me@a:5432,b:5433/shop"),
            ("postgres://me@a,[::1]/shop?port=5433", "postgres://me@a:5433,[::1]:5433/shop"),
            ("postgres://me@%2Frun%2Fpg,b/shop", "postgres://me@%2Frun%2Fpg,b/shop"),
        ] {
            assert_eq!(shown(url), wanted);
            assert_eq!(shown(wanted), wanted, "it is read as it is shown");
        }
    }

    #[test]
    fn what_libpq_takes_is_taken_where_the_driver_has_another_word_or_none() {
        let of = |query: &str| Address::parse(&format!("postgres://me@a,b/shop?{query}")).unwrap().config;
        assert_eq!(of("ssl=true").get_ssl_mode(), SslMode::Require);
        assert_eq!(of("target_session_attrs=primary").get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        assert_eq!(of("target_session_attrs=standby").get_target_session_attrs(), TargetSessionAttrs::ReadOnly);
        assert_eq!(of("target_session_attrs=prefer-standby"), of(""));
        assert_eq!(of("keepalives_count=4").get_keepalives_retries(), Some(4));
        for nothing in ["gssencmode=disable", "client_encoding=utf8&sslsni=1", "keepalives_count=0", "krbsrvname=pg"] {
            assert_eq!(of(nothing), of(""), "{nothing}");
        }
        assert!(refusal("postgres://h/?sslcert=me.crt&sslkey=me.key").contains("no certificate of its user"));
        assert!(refusal("postgres://h/?gssencmode=require").contains("disable or prefer"));
        assert!(refusal("postgres://h/?sslsni=0").contains("sslsni can only be 1"));
    }

    #[test]
    fn an_address_with_a_zone_which_the_driver_leaves_out_is_refused_before_it_is_connected_to() {
        for zoned in ["[fe80::1%25eth0]/shop", "db,[fe80::1%eth0]:5433/shop", "db/shop?hostaddr=fe80::1%252"] {
            let refused = refusal(&format!("postgres://me@{zoned}"));
            assert!(refused.contains("IPv6 address with a zone"), "{refused}");
        }
        for other in ["[fe80::1]/shop", "%2Frun%2Fa%25b/shop"] {
            assert!(Address::parse(&format!("postgres://me@{other}")).is_ok(), "{other}");
        }
        let variable = |name: &str| (name == "PGHOST").then(|| "fe80::1%eth0".to_string());
        let completed = Address::parse("postgres://me@/shop").unwrap().completed(&Defaults::new(variable, None));
        assert!(completed.unwrap_err().to_string().contains("IPv6 address with a zone"));
    }

    #[test]
    fn a_preferred_standby_is_tried_first_and_any_host_after_it() {
        let of = |query: &str| Address::parse(&format!("postgres://me@a,b/shop?{query}")).unwrap();
        let standby = of("target_session_attrs=prefer-standby&connect_timeout=5");
        let first = standby.config_of_standby().unwrap();
        assert_eq!(first.get_target_session_attrs(), TargetSessionAttrs::ReadOnly);
        assert_eq!(standby.config.get_target_session_attrs(), TargetSessionAttrs::Any);
        assert!(of("target_session_attrs=any").config_of_standby().is_none());
    }

    #[test]
    fn what_is_said_while_connecting_is_true_of_each_host_and_of_each_address_of_a_name() {
        let waiting = |hosts: &str, query: &str| {
            Address::parse(&format!("postgres://me@{hosts}/shop?connect_timeout=5{query}")).unwrap().waiting()
        };
        assert!(waiting("10.0.0.1", "").ends_with("at most 5 s"));
        assert!(waiting("10.0.0.1,[::1]", "").ends_with("at most 10 s"));
        assert!(waiting("10.0.0.1,[::1]", "&target_session_attrs=prefer-standby").ends_with("at most 20 s"));
        assert!(waiting("10.0.0.1,db.example", "").ends_with("at most 5 s for each name and address"));
    }

    #[test]
    fn the_number_of_a_host_counts_where_its_name_is_the_folder_of_a_socket() {
        let encrypted = "postgres://me@%2Frun%2Fpg:5433/shop?hostaddr=192.0.2.7&sslmode=require";
        let encrypted = Address::parse(encrypted).unwrap();
        assert_eq!(encrypted.shown(), "postgres://me@192.0.2.7:5433/shop");
        assert_eq!(encrypted.config.get_hosts(), [Host::Tcp("192.0.2.7".into())], "a name to encrypt with");
        assert_eq!(encrypted.config.get_ssl_mode(), SslMode::Require);
        let two = Address::parse("postgres://me@db.example,%2Frun%2Fpg/shop?hostaddr=192.0.2.7,::1").unwrap();
        assert_eq!(two.shown(), "postgres://me@db.example,[::1]/shop");
    }

    #[test]
    fn authorities_are_looked_for_only_where_a_connection_is_encrypted() {
        let connector = |url: &str| Address::parse(&format!("{url}?sslmode=verify-full&sslrootcert=/none")).unwrap();
        assert!(connector("postgres://me@%2Frun%2Fpg/shop").connector().is_ok());
        assert!(connector("postgres://me@db.example/shop").connector().is_err());
    }

    #[test]
    fn an_environment_completes_an_address_by_the_number_of_a_host_as_libpq_does() {
        let of = |variables: &'static [(&'static str, &'static str)]| {
            let variable = move |name: &str| variables.iter().find(|(known, _)| *known == name);
            let defaults = Defaults::new(|name| Some(variable(name)?.1.into()), None);
            Address::parse("postgres://me@/shop").unwrap().completed(&defaults).unwrap()
        };
        let six = of(&[("PGHOSTADDR", "::1,127.0.0.1"), ("PGPORT", "5433")]);
        assert_eq!(six.shown(), "postgres://me@[::1]:5433,127.0.0.1:5433/shop");
        assert!(six.is_local() && !of(&[("PGHOSTADDR", "192.0.2.7")]).is_local());
        let primary = of(&[("PGTARGETSESSIONATTRS", "primary"), ("PGCHANNELBINDING", "require")]);
        assert!(format!("{primary:?}").contains("ReadWrite"), "{primary:?}");
    }

    #[test]
    fn what_names_no_server_says_what_does() {
        assert!(refusal("oracle:19").contains("postgres:18"));
        assert!(refusal("postgres:x").contains("postgres://USER@HOST"));
        assert!(refusal("postgres://host:port/").contains("cannot be read"), "{}", refusal("postgres://host:port/"));
        assert!(refusal("postgres://h/?sslmode=always").contains("sslmode"));
    }

    #[test]
    fn a_version_is_a_private_server() {
        assert!(matches!("postgres:18".parse(), Ok(Place::Private { major: 18 })));
        let installed = "postgres:/usr/lib/postgresql/15".parse();
        assert!(matches!(installed, Ok(Place::Installed { directory }) if directory.ends_with("15")));
        for given in ["postgres:///db", "postgres:", "postgres://"] {
            assert!(matches!(given.parse(), Ok(Place::Given(_))), "{given}");
        }
    }

    #[test]
    fn only_this_machine_is_local() {
        let is_local = |url: &str| Address::parse(url).unwrap().is_local();
        assert!(is_local("postgres://me@localhost/db") && is_local("postgres://me@%2Frun%2Fpg/db"));
        assert!(is_local("postgres:///db?user=me"));
        assert!(!is_local("postgres://me@db.example/db") && !is_local("postgres://me@localhost,db.example/db"));
    }
}
