//! The parameters of a connection: what an address says, and what the environment and its files add to it.
//!
//! All of it means what it means to libpq (PostgreSQL's documentation, "Database Connection Control Functions",
//! "Environment Variables", "The Password File", "The Connection Service File"). The address comes first, then the
//! service, then the environment. PGOPTIONS is not read: what changes a measurement stands on the command line.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::net::Ipv6Addr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use sys::file::plain;

/// Where a server's socket lies when the address names no host, as PostgreSQL's own programs have it on Debian and
/// Fedora.
pub(crate) const SOCKET_FOLDER: &str = "/var/run/postgresql";

/// The beginnings of a server's address.
pub const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The variables that are read, each with the parameter that it stands for.
const VARIABLES: [(&str, &str); 14] = [
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGDATABASE", "dbname"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGPASSFILE", "passfile"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGSERVICE", "service"),
    ("PGSERVICEFILE", "servicefile"),
];

/// Parameters that libpq knows and the driver does not, and that change nothing here: texts are in UTF-8, the session
/// has a name of ours, and neither Kerberos nor compression by TLS is used.
const WITHOUT_EFFECT: [&str; 6] =
    ["client_encoding", "fallback_application_name", "gssdelegation", "gsslib", "krbsrvname", "sslcompression"];

/// The user's file of certificate authorities, in the home directory. Where it is there, `sslmode=require` without
/// another file asks for proof by it.
const AUTHORITIES: &str = ".postgresql/root.crt";

/// Largest service file that is read: a service takes some hundred bytes.
const SERVICE_FILE_MAX: u64 = 1 << 20;

/// The folder of the system's service file, where PGSYSCONFDIR names no other.
const SYSTEM_FOLDER: &str = "/etc/postgresql-common";

/// What the user's environment says about servers.
#[derive(Clone, Default)]
pub struct Defaults {
    parameters: Parameters,
    home: Option<PathBuf>,
    system: PathBuf,
}

impl Defaults {
    /// Those of an environment, whose variables `variable` gives, and of a home directory with `.pgpass` and
    /// `.pg_service.conf`.
    pub fn new(variable: impl Fn(&str) -> Option<String>, home: Option<PathBuf>) -> Defaults {
        let read = VARIABLES.iter().filter_map(|(name, keyword)| Some((keyword.to_string(), variable(name)?)));
        let system = variable("PGSYSCONFDIR").unwrap_or_else(|| SYSTEM_FOLDER.into()).into();
        Defaults { parameters: Parameters(read.collect()), home, system }
    }
}

/// Shows no value: one is a password.
impl fmt::Debug for Defaults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Defaults {{ {:?}, home: {:?} }}", self.parameters, self.home)
    }
}

/// Keywords and their values.
#[derive(Clone, Default)]
pub(crate) struct Parameters(BTreeMap<String, String>);

/// Shows no value: one is a password.
impl fmt::Debug for Parameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl Parameters {
    /// Those of `postgres://USER:PASSWORD@HOST:PORT,…/DATABASE?KEYWORD=VALUE&…`; errors say what cannot be read.
    pub(crate) fn of_url(url: &str) -> Result<Parameters, String> {
        let rest = SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme)).unwrap_or(url);
        let mut found = Parameters::default();
        let rest = match account_of(rest) {
            Some((account, rest)) => {
                let (user, password) = account.split_once(':').unwrap_or((account, ""));
                found.add("user", user)?;
                found.add("password", password)?;
                rest
            }
            None => rest,
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (hosts, database) = place.split_once('/').unwrap_or((place, ""));
        let (hosts, ports): (Vec<_>, Vec<_>) = hosts.split(',').map(host_and_port).unzip();
        if hosts.iter().any(|host| !host.is_empty()) {
            found.add("host", &hosts.join(","))?;
        }
        if ports.iter().any(|port| !port.is_empty()) {
            found.add("port", &ports.join(","))?;
        }
        found.add("dbname", database)?;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (keyword, value) = pair.split_once('=').ok_or("a parameter has no `=`")?;
            match (decoded(keyword)?.as_str(), value) {
                // As it stands in addresses for other drivers, which libpq reads too.
                ("ssl", "true") => found.add("sslmode", "require")?,
                (keyword, value) => found.add(keyword, value)?,
            }
        }
        Ok(found)
    }

    /// Adds a value as it stands in an address; an empty one says nothing.
    fn add(&mut self, keyword: &str, written: &str) -> Result<(), String> {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if keyword.is_empty() || !keyword.chars().all(is_word) {
            return Err("a keyword is no word".into());
        }
        if !written.is_empty() {
            self.0.insert(keyword.into(), decoded(written)?);
        }
        Ok(())
    }

    /// These, completed by the environment and its files. Errors where a service that is named cannot be used.
    pub(crate) fn completed(mut self, defaults: &Defaults) -> Result<Parameters, String> {
        let environment = &defaults.parameters;
        if let Some(service) = self.get("service").or(environment.get("service")) {
            let found = self.service(service, defaults)?;
            found.into_iter().for_each(|(keyword, value)| self.add_missing(keyword, value));
        }
        for (keyword, value) in &environment.0 {
            self.add_missing(keyword.clone(), value.clone());
        }
        let authorities = defaults.home.as_ref().map(|home| home.join(AUTHORITIES)).filter(|file| file.is_file());
        if let Some(authorities) = authorities.as_ref().and_then(|file| file.to_str()) {
            self.add_missing("sslrootcert".into(), authorities.into());
        }
        Ok(self)
    }

    fn add_missing(&mut self, keyword: String, value: String) {
        self.0.entry(keyword).or_insert(value);
    }

    /// What the service file of the user, or else that of the system, says about a service.
    fn service(&self, name: &str, defaults: &Defaults) -> Result<Vec<(String, String)>, String> {
        let named = self.get("servicefile").or(defaults.parameters.get("servicefile")).map(PathBuf::from);
        let own = named.or_else(|| Some(defaults.home.as_ref()?.join(".pg_service.conf")));
        for path in own.into_iter().chain([defaults.system.join("pg_service.conf")]) {
            let Ok(bytes) = plain::read(&path, SERVICE_FILE_MAX) else { continue };
            let found = of_service(&String::from_utf8_lossy(&bytes), name);
            let found = found.map_err(|line| format!("line {line} of {} is no KEYWORD=VALUE", path.display()))?;
            if let Some(found) = found {
                return Ok(found);
            }
        }
        Err(format!("no service file defines the service {name}"))
    }

    /// The password that the password file has for these; `Err` holds the reason why the file is not read.
    ///
    /// For several hosts it has to be the same: one host's password is not shown to another one.
    pub(crate) fn password_of_file(&self, defaults: &Defaults) -> Result<Option<String>, String> {
        let named = self.get("passfile").map(PathBuf::from);
        let Some(path) = named.or_else(|| Some(defaults.home.as_ref()?.join(".pgpass"))) else { return Ok(None) };
        let Ok(found) = fs::metadata(&path) else { return Ok(None) };
        if !found.is_file() || found.mode() & 0o077 != 0 {
            let advice = "it has to be a file that its owner alone may read: chmod 0600";
            return Err(format!("{} is not read, because {advice}", path.display()));
        }
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        let user = self.get("user").map(String::from).or_else(login).unwrap_or_default();
        let database = self.get("dbname").unwrap_or(&user);
        let ports: Vec<&str> = self.get("port").map_or(Vec::new(), |ports| ports.split(',').collect());
        let password = |(at, host): (usize, &str)| {
            let port = ports.get(at).or(ports.first()).filter(|port| !port.is_empty()).unwrap_or(&"5432");
            let host = if host.is_empty() || host == SOCKET_FOLDER { "localhost" } else { host };
            password_in(&text, [host, port, database, &user])
        };
        let hosts = self.get("host").or(self.get("hostaddr")).unwrap_or_default();
        let mut passwords = hosts.split(',').enumerate().map(password);
        let first = passwords.next().flatten();
        Ok(first.filter(|first| passwords.all(|other| other.as_ref() == Some(first))))
    }

    /// The value of a keyword.
    pub(crate) fn get(&self, keyword: &str) -> Option<&str> {
        self.0.get(keyword).map(String::as_str)
    }

    /// Takes a value away.
    pub(crate) fn take(&mut self, keyword: &str) -> Option<String> {
        self.0.remove(keyword)
    }

    /// Sets a value.
    pub(crate) fn set(&mut self, keyword: &str, value: impl Into<String>) {
        self.0.insert(keyword.into(), value.into());
    }

    /// Puts what libpq takes into the driver's words, and leaves out what has no effect here. Errors are a clause.
    pub(crate) fn translate(&mut self) -> Result<(), String> {
        for keyword in WITHOUT_EFFECT {
            self.take(keyword);
        }
        if self.get("sslcert").or(self.get("sslkey")).is_some() {
            return Err("readpath shows a server no certificate of its user (sslcert, sslkey)".into());
        }
        match self.take("gssencmode").as_deref() {
            None | Some("disable" | "prefer") => {}
            Some(_) => return Err("nothing is encrypted by GSSAPI: gssencmode can be disable or prefer".into()),
        }
        if self.take("sslsni").is_some_and(|sent| sent != "1") {
            return Err("a connection by TLS names the host to the server: sslsni can only be 1".into());
        }
        // 0 leaves it to the system.
        if let Some(count) = self.take("keepalives_count").filter(|count| count != "0") {
            self.set("keepalives_retries", count);
        }
        // In milliseconds to libpq, in seconds to the driver.
        if let Some(millis) = self.get("tcp_user_timeout").and_then(|millis| millis.parse::<u64>().ok()) {
            self.set("tcp_user_timeout", millis.div_ceil(1000).to_string());
        }
        match self.get("target_session_attrs") {
            Some("primary") => self.set("target_session_attrs", "read-write"),
            Some("standby") => self.set("target_session_attrs", "read-only"),
            // The driver has no word for it: a connection tries the hosts twice.
            Some("prefer-standby") => self.set("target_session_attrs", "any"),
            _ => {}
        }
        if self.has_zone() {
            return Err("readpath connects to no IPv6 address with a zone, as fe80::1%eth0: give another one".into());
        }
        self.name_addressed_folders();
        Ok(())
    }

    /// Whether the number of a host holds within one network of this machine alone. The driver leaves out which one.
    fn has_zone(&self) -> bool {
        let hosts = ["host", "hostaddr"].into_iter().filter_map(|keyword| self.get(keyword));
        let is_number = |(number, _): (&str, &str)| number.parse::<Ipv6Addr>().is_ok();
        hosts.flat_map(|hosts| hosts.split(',')).any(|host| host.split_once('%').is_some_and(is_number))
    }

    /// Whether any host will do, and a standby among them is tried first.
    pub(crate) fn prefer_standby(&self) -> bool {
        self.get("target_session_attrs") == Some("prefer-standby")
    }

    /// To libpq the number of a host counts where its name is the folder of a socket. The host is then called by its
    /// number: the driver encrypts no connection to a folder.
    fn name_addressed_folders(&mut self) {
        let (Some(hosts), Some(numbers)) = (self.get("host"), self.get("hostaddr")) else { return };
        let pairs = hosts.split(',').zip(numbers.split(',').chain(std::iter::repeat("")));
        let named = pairs.map(|(host, number)| if host.starts_with('/') && !number.is_empty() { number } else { host });
        let named = named.collect::<Vec<_>>().join(",");
        self.set("host", named);
    }

    /// The parameters as the driver reads them: `host='a' port='5432'`.
    pub(crate) fn written(&self) -> String {
        let quoted = |value: &String| value.replace('\\', "\\\\").replace('\'', "\\'");
        let pairs = self.0.iter().map(|(keyword, value)| format!("{keyword}='{}'", quoted(value)));
        pairs.collect::<Vec<_>>().join(" ")
    }
}

/// The user and password in front of the hosts, and the rest. To libpq the first `@` ends them; a password that holds
/// one goes on to the last one before the database, and is not taken for a host.
pub(crate) fn account_of(rest: &str) -> Option<(&str, &str)> {
    let at = rest.find(['@', '/']).filter(|at| rest[*at..].starts_with('@'))?;
    let hosts = &rest[at + 1..];
    let hosts = &hosts[..hosts.find(['/', '?']).unwrap_or(hosts.len())];
    let at = hosts.rfind('@').map_or(at, |more| at + 1 + more);
    Some((&rest[..at], &rest[at + 1..]))
}

/// `HOST:PORT` or `[ADDRESS]:PORT`; empty where there is none.
fn host_and_port(chunk: &str) -> (&str, &str) {
    let (host, port) = match chunk.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address, rest.strip_prefix(':').unwrap_or(rest)),
        None => chunk.split_once(':').unwrap_or((chunk, "")),
    };
    (host, port)
}

/// A path as it stands behind an address: its slashes as they are.
pub fn encoded_path(path: &Path) -> String {
    let parts = path.as_os_str().as_encoded_bytes().split(|byte| *byte == b'/');
    parts.map(encoded).collect::<Vec<_>>().join("/")
}

/// A text as it stands in an address, with everything escaped that would end it.
pub(crate) fn encoded(text: &[u8]) -> String {
    let letter = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(*byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.iter().map(letter).collect()
}

/// A text with its `%2F` and the like replaced by what they stand for; a `%` without digits stands for itself.
pub(crate) fn decoded(written: &str) -> Result<String, String> {
    let mut parts = written.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => bytes.extend([byte].iter().chain(&part.as_bytes()[2..])),
            None => bytes.extend(b"%".iter().chain(part.as_bytes())),
        }
    }
    String::from_utf8(bytes).map_err(|_| "what `%` stands for is no UTF-8".into())
}

/// What a service file says about a service; the number of the line that is in no format.
fn of_service(text: &str, name: &str) -> Result<Option<Vec<(String, String)>>, usize> {
    let mut found: Option<Vec<(String, String)>> = None;
    for (number, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            match found {
                Some(_) => break,
                None if section.strip_suffix(']') == Some(name) => found = Some(Vec::new()),
                None => {}
            }
        } else if let Some(found) = &mut found {
            let (keyword, value) = line.split_once('=').ok_or(number + 1)?;
            found.push((keyword.into(), value.into()));
        }
    }
    Ok(found)
}

/// The password of the first line `HOST:PORT:DATABASE:USER:PASSWORD` that fits; `*` fits all, and a backslash goes
/// before a colon or a backslash that belongs to a field.
fn password_in(text: &str, wanted: [&str; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|(fields, password)| {
        let fits = |(field, wanted): (&Field, &str)| field.is_any || field.text == wanted;
        (fields.len() == 4 && fields.iter().zip(wanted).all(fits)).then_some(password.text)
    })
}

/// A field of the password file.
#[derive(Default)]
struct Field {
    text: String,
    is_any: bool,
}

/// The first four fields of a line and the rest.
fn fields(line: &str) -> (Vec<Field>, Field) {
    let (mut fields, mut field, mut letters) = (Vec::new(), Field::default(), line.chars());
    while let Some(letter) = letters.next() {
        let is_first = field.text.is_empty();
        match letter {
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            '\\' => {
                field.text.extend(letters.next());
                field.is_any = false;
            }
            _ => {
                field.text.push(letter);
                field.is_any = is_first && letter == '*';
            }
        }
    }
    (fields, field)
}

/// The name of the user who runs this.
fn login() -> Option<String> {
    field_of_account(0)
}

/// The home directory of the user who runs this, as the system knows it: libpq takes it where HOME names none.
pub fn home_of_account() -> Option<PathBuf> {
    field_of_account(5).map(PathBuf::from).filter(|home| home.is_absolute())
}

/// A field of the line of the user who runs this, in the system's list of accounts.
fn field_of_account(at: usize) -> Option<String> {
    field_in(&accounts().ok()?, &geteuid().as_raw().to_string(), at)
}

/// A field of the line of the user of this number; `None` where it is no UTF-8.
pub(crate) fn field_in(accounts: &str, number: &str, at: usize) -> Option<String> {
    let line = accounts.lines().find(|line| line.split(':').nth(2) == Some(number))?;
    line.split(':').nth(at).filter(|field| !field.contains(char::REPLACEMENT_CHARACTER)).map(String::from)
}

/// The system's list of accounts.
pub(crate) fn accounts() -> io::Result<String> {
    accounts_in(Path::new("/etc/passwd"))
}

/// A list of accounts. Names of people stand there in any encoding, and one that is no UTF-8 must not hide the others.
fn accounts_in(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A field as the password file writes it.
    fn escaped(text: &str) -> String {
        text.replace('\\', "\\\\").replace(':', "\\:")
    }

    fn of(url: &str) -> Parameters {
        Parameters::of_url(url).unwrap()
    }

    #[test]
    fn an_address_says_what_it_says_to_libpq() {
        let found = of("postgresql://me:se%20cret@a:1,[::1]:2,%2Frun%2Fpg/my%20db?sslmode=require&user=other");
        for (keyword, value) in [
            ("user", "other"),
            ("password", "se cret"),
            ("host", "a,::1,/run/pg"),
            ("port", "1,2,"),
            ("dbname", "my db"),
            ("sslmode", "require"),
        ] {
            assert_eq!(found.get(keyword), Some(value), "{keyword}");
        }
        for nothing in ["postgres://", "postgres:///", "postgres://?", "postgres:///?user="] {
            assert!(of(nothing).0.is_empty(), "{nothing}");
        }
        assert_eq!(of("postgres://h/db?application_name=a@b").get("host"), Some("h"));
        assert_eq!(of("postgres://:5433").get("port"), Some("5433"));
        assert!(Parameters::of_url("postgres://h/?x").is_err());
        assert!(Parameters::of_url("postgres://h/?a b=c").is_err());
    }

    #[test]
    fn the_first_line_of_the_password_file_that_fits_counts() {
        let text = "#h:1:d:u:no\nh:1:d\nh:2:d:u:no\nh:*:d:u:first\n*:*:*:*:second:half\n";
        let password = |fields: [&str; 4]| password_in(text, fields);
        assert_eq!(password(["h", "1", "d", "u"]).as_deref(), Some("first"));
        assert_eq!(password(["g", "1", "d", "u"]).as_deref(), Some("second:half"));
        assert_eq!(password_in("\\*:1:d:u:p", ["h", "1", "d", "u"]), None);
        assert_eq!(password_in("\\*:1:d:u:p", ["*", "1", "d", "u"]).as_deref(), Some("p"));
    }

    #[test]
    fn a_password_goes_to_no_host_that_has_another_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(".pgpass");
        fs::write(&path, "a:*:*:*:one\nb:*:*:*:two\nc:*:*:*:one\n").unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let defaults = Defaults::new(|_| None, Some(home.path().into()));
        let password = |url: &str| of(url).password_of_file(&defaults).unwrap();
        assert_eq!(password("postgres://u@a,c/d").as_deref(), Some("one"));
        assert_eq!(password("postgres://u@a,b/d"), None);
    }

    #[test]
    fn a_server_proves_itself_to_the_users_own_authorities_where_no_others_are_named() {
        let home = tempfile::tempdir().unwrap();
        let named = |other: Option<&str>, query: &str| {
            let variable = |name: &str| other.filter(|_| name == "PGSSLROOTCERT").map(String::from);
            let defaults = Defaults::new(variable, Some(home.path().into()));
            let completed = of(&format!("postgres://h/d?{query}")).completed(&defaults).unwrap();
            completed.get("sslrootcert").map(String::from)
        };
        assert_eq!(named(None, "sslmode=require"), None);
        let file = home.path().join(AUTHORITIES);
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        assert_eq!(named(None, "sslmode=require").as_deref(), file.to_str());
        assert_eq!(named(Some("/other.crt"), "sslmode=require").as_deref(), Some("/other.crt"));
        assert_eq!(named(None, "sslrootcert=system").as_deref(), Some("system"));
    }

    #[test]
    fn the_time_until_a_lost_connection_is_given_up_is_in_milliseconds() {
        let given = |millis: &str| {
            let mut found = of(&format!("postgres://h/d?tcp_user_timeout={millis}"));
            found.translate().unwrap();
            found.get("tcp_user_timeout").map(String::from)
        };
        let seconds = ["0", "1", "7000", "7001", "soon"].map(given);
        assert_eq!(seconds, ["0", "1", "7", "8", "soon"].map(|seconds| Some(seconds.to_string())));
    }

    #[test]
    fn a_name_of_another_encoding_hides_no_account() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwd");
        fs::write(&path, b"jm:x:7:7:J. M\xfcller:/home/m\xfcller:/bin/sh\npg:x:26:27::/var/lib/pgsql:/bin/sh").unwrap();
        let accounts = accounts_in(&path).unwrap();
        let home = |number| field_in(&accounts, number, 5);
        assert_eq!((home("26").as_deref(), home("7")), (Some("/var/lib/pgsql"), None));
        assert_eq!(field_in(&accounts, "7", 0).as_deref(), Some("jm"));
    }

    #[test]
    fn a_service_ends_where_the_next_one_begins() {
        let text = "# c\n[a]\nhost=1\n\n[b]\nhost=2\nport=3\n[c]\nbroken\n";
        let b = vec![("host".to_string(), "2".to_string()), ("port".into(), "3".into())];
        assert_eq!(of_service(text, "b"), Ok(Some(b)));
        assert_eq!(of_service(text, "d"), Ok(None));
        assert_eq!(of_service(text, "c"), Err(9));
    }

    proptest! {
        #[test]
        fn no_text_of_a_file_or_an_address_panics(text in "\\PC*|[a-z:@/?%=&,*#\\[\\]\\\\\n]*") {
            let _ = password_in(&text, ["h", "1", "d", "u"]);
            let _ = of_service(&text, "a");
            let _ = Parameters::of_url(&text);
            let _ = crate::place::Address::parse(&format!("postgres://{text}"));
        }

        #[test]
        fn a_password_that_was_written_is_found(fields in proptest::array::uniform5("[^\n\r#]{1,8}")) {
            let [host, port, database, user, password] = &fields;
            let line = fields.each_ref().map(|field| escaped(field)).join(":");
            // A field that is `*` alone fits all, and itself too.
            let found = password_in(&line, [host, port, database, user]);
            prop_assert_eq!(found.as_ref(), Some(password));
        }

        #[test]
        fn a_password_of_an_address_is_shown_nowhere(password in "[a-zA-Z0-9:@,.;!?&=_ -]{6,16}") {
            let word = format!("postgres://me:{password}@db.example/shop");
            if let Ok(address) = crate::place::Address::parse(&word) {
                let shown = format!("{} {address:?}", address.shown());
                prop_assert!(!shown.contains(&password), "{}", shown);
            }
        }
    }
}
