//! A connection on which every wait ends: with the answer, at its limit, or soon after ^C.
//!
//! One thread owns the connection and waits for it. The driver is asynchronous for this alone: a blocking read of a
//! server that has stopped could not be left.

use std::future::{self, Future};
use std::io::Cursor;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::SinkExt;
use futures_util::future::{Either, select};
use sys::threads::NotStarted;
use tokio::net::{TcpStream, lookup_host};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Error, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::ServerError;
use crate::hosts;
use crate::place::Address;

/// How often a wait looks at the clock and at the wish to stop: some microseconds of this thread, which has nothing
/// else to do.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long the server may take to accept a cancellation, or the end of a session.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a COPY may take after ^C to end by itself: the server then has at most what is on the way to it.
const COPY_ENDS_WITHIN: Duration = Duration::from_secs(1);

/// How long what is no PostgreSQL server may take to speak first.
const SPEAKS_WITHIN: Duration = Duration::from_secs(1);

/// The port of a server whose address names none.
const USUAL_PORT: u16 = 5432;

/// A row: the columns as text, `None` where one is null.
pub type Row = Vec<Option<String>>;

/// What stands for a value that is no UTF-8, of which the driver gives nothing. A server passes on what its other
/// databases hold in other encodings, such as the names of their roles and the texts of their statements.
pub const UNREADABLE: &str = "(text in another encoding)";

/// What ^C means to a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnStop {
    /// It ends at once: nothing has been made yet.
    Leave,
    /// The statement is cancelled, and its end is waited for.
    Cancel,
    /// The removal of what was made goes on, for as long as a user waits.
    Finish,
}

impl OnStop {
    /// How long a wait may still take.
    fn grace(self) -> Duration {
        match self {
            OnStop::Leave => Duration::ZERO,
            OnStop::Cancel => Duration::from_secs(3),
            OnStop::Finish => Duration::from_secs(5),
        }
    }
}

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline<'a> {
    /// Without a wish to stop.
    pub(crate) limit: Duration,
    /// Raised by ^C.
    pub(crate) stop: &'a AtomicBool,
    /// What that means.
    pub(crate) on_stop: OnStop,
}

impl Deadline<'_> {
    /// Waits for `work`; `None` where the wait was given up. `cancel` is called again and again after ^C, with the time
    /// since: a cancellation that arrives before its statement ends nothing.
    async fn wait<T>(&self, work: impl Future<Output = T>, cancel: impl AsyncFn(Duration)) -> Option<T> {
        let mut work = pin!(work);
        let (started, mut stopped) = (Instant::now(), None);
        loop {
            if let Ok(done) = timeout(LOOK_EVERY, work.as_mut()).await {
                return Some(done);
            }
            if self.stop.load(Ordering::Relaxed) {
                let since = stopped.get_or_insert_with(Instant::now).elapsed();
                if since >= self.on_stop.grace() {
                    return None;
                }
                if self.on_stop == OnStop::Cancel {
                    cancel(since).await;
                }
            }
            if started.elapsed() >= self.limit {
                return None;
            }
        }
    }

    /// Whether what failed failed because the user wants to stop.
    fn is_stopped(&self) -> bool {
        self.on_stop != OnStop::Finish && self.stop.load(Ordering::Relaxed)
    }
}

/// Serves a connection as long as it is polled.
type Driver = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A connection.
pub(crate) struct Wire {
    runtime: Runtime,
    /// `None` once the connection has ended or was given up.
    open: Option<(Client, Driver)>,
    /// The one address of one host that it leads to.
    place: Config,
    connector: MakeRustlsConnect,
    server: String,
    opening_end: Instant,
}

impl Wire {
    /// Connects to the first host that grants a session, with nothing set. As in libpq, `deadline` holds for each
    /// address of each host anew: one that says nothing leaves the others their time.
    pub(crate) fn connect(address: &Address, deadline: &Deadline<'_>) -> Result<Wire, ServerError> {
        let connector = address.connector()?;
        let search = Search { address, connector, deadline: *deadline, started: Instant::now() };
        // Where a standby is preferred, all hosts are asked for one first.
        if let Some(standby) = address.config_of_standby() {
            match search.among(&hosts::of(&standby)) {
                Err(failure) if !failure.is_final => {}
                found => return found.map_err(|failure| failure.error),
            }
        }
        search.among(&hosts::of(address.config())).map_err(|failure| failure.error)
    }

    /// Another connection to the same address of the same host.
    pub(crate) fn again(&self, address: &Address, deadline: &Deadline<'_>) -> Result<Wire, ServerError> {
        let connector = self.connector.clone();
        let search = Search { address, connector, deadline: *deadline, started: Instant::now() };
        search.connect(self.place.clone()).map_err(|failure| failure.error)
    }

    /// When the time ends that its host had for connecting. What a session is asked first belongs to that time.
    pub(crate) fn opening_end(&self) -> Instant {
        self.opening_end
    }

    /// Runs a statement, or several with semicolons between, and returns the rows.
    pub(crate) fn query(&mut self, statement: &str, deadline: &Deadline<'_>) -> Result<Vec<Row>, ServerError> {
        let at_once = Duration::ZERO;
        let messages = self.run(statement, deadline, at_once, async |client| client.simple_query(statement).await)?;
        let row = |message: SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => {
                let value = |at: usize| row.try_get(at).unwrap_or(Some(UNREADABLE)).map(String::from);
                Some((0..row.len()).map(value).collect())
            }
            _ => None,
        };
        Ok(messages.into_iter().filter_map(row).collect())
    }

    /// Runs a text that the server refuses unless it is one statement: the extended protocol parses no list.
    pub(crate) fn execute_one(&mut self, statement: &str, deadline: &Deadline<'_>) -> Result<(), ServerError> {
        self.run(statement, deadline, Duration::ZERO, async |client| client.execute(statement, &[]).await).map(drop)
    }

    /// Runs a `COPY … FROM STDIN`, feeds it the chunks, and returns the number of rows.
    pub(crate) fn copy(
        &mut self,
        statement: &str,
        chunks: &mut dyn Iterator<Item = Vec<u8>>,
        deadline: &Deadline<'_>,
    ) -> Result<u64, ServerError> {
        let copied = self.run(statement, deadline, COPY_ENDS_WITHIN, async |client| {
            let mut sink = pin!(client.copy_in(statement).await?);
            // After a wish to stop the copy ends early, and its rows go with their table. Dropping the sink would leave
            // an error in the server's log, for which the driver gives no reason, and cancelling one with a row.
            for chunk in chunks.take_while(|_| !deadline.is_stopped()) {
                // The error of the copy's end holds the reason.
                if sink.send(Cursor::new(chunk)).await.is_err() {
                    break;
                }
            }
            sink.finish().await
        })?;
        if deadline.is_stopped() { Err(ServerError::Stopped) } else { Ok(copied) }
    }

    /// Serves the connection until `work` on it is done. After ^C it is cancelled where it does not end in this time.
    fn run<T>(
        &mut self,
        statement: &str,
        deadline: &Deadline<'_>,
        ends_within: Duration,
        work: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, ServerError> {
        let Some((client, driver)) = &mut self.open else { return Err(ServerError::closed(statement)) };
        let started = Instant::now();
        let (client, connector, mut is_over) = (&*client, &self.connector, false);
        let cancel = async |since: Duration| {
            if since >= ends_within {
                // A server that cannot be reached has nothing to cancel.
                let _ = timeout(FAREWELL_TIMEOUT, client.cancel_token().cancel_query(connector.clone())).await;
            }
        };
        let served = async {
            let mut work = pin!(work(client));
            let served = future::poll_fn(|context| {
                if !is_over && let Poll::Ready(ended) = driver.as_mut().poll(context) {
                    is_over = true;
                    ended?;
                }
                work.as_mut().poll(context)
            });
            served.await
        };
        let outcome = self.runtime.block_on(deadline.wait(served, cancel));
        if is_over || outcome.is_none() {
            self.open = None;
        }
        match outcome {
            Some(Err(_)) if deadline.is_stopped() => Err(ServerError::Stopped),
            Some(outcome) => outcome.map_err(|error| ServerError::of_statement(statement, &error)),
            None => {
                let doing = ServerError::during(statement);
                Err(given_up(deadline, self.server.clone(), doing, started.elapsed()))
            }
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some((client, driver)) = self.open.take() {
            // Without its client the driver ends the session as the protocol has it.
            drop(client);
            let _ = self.runtime.block_on(async { timeout(FAREWELL_TIMEOUT, driver).await });
        }
    }
}

/// A search for a host that grants a session.
struct Search<'a> {
    address: &'a Address,
    connector: MakeRustlsConnect,
    /// That of each attempt.
    deadline: Deadline<'a>,
    started: Instant,
}

/// Why an attempt brought no session.
struct Failure {
    error: ServerError,
    /// Whether the search ends with it.
    is_final: bool,
}

impl Failure {
    fn last(error: ServerError) -> Failure {
        Failure { error, is_final: true }
    }

    fn is_foreign(&self) -> bool {
        matches!(self.error, ServerError::Foreign { .. })
    }

    /// Whether what agreed to encrypt could not, and said nothing in PostgreSQL's words: what those say is final.
    fn is_closed_to_encryption(&self) -> bool {
        !self.is_final && matches!(self.error, ServerError::Encryption { .. })
    }
}

impl Search<'_> {
    /// Tries the hosts in their order.
    fn among(&self, hosts: &[Config]) -> Result<Wire, Failure> {
        let mut failure = self.silence();
        for place in hosts.iter().flat_map(|host| self.places(host)) {
            match place.and_then(|place| self.connect(place)) {
                Err(other) if !other.is_final => failure = other,
                outcome => return outcome,
            }
        }
        Err(failure)
    }

    /// A host at each of the addresses that its name has.
    fn places(&self, host: &Config) -> Vec<Result<Config, Failure>> {
        match hosts::name_of(host).map(|name| self.look_up(name)) {
            None => vec![Ok(host.clone())],
            Some(Ok(numbers)) => hosts::at_each(host, numbers).into_iter().map(Ok).collect(),
            Some(Err(failure)) => vec![Err(failure)],
        }
    }

    fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, Failure> {
        let server = self.address.shown();
        if let Err(error) = can_start_a_thread() {
            return Err(Failure::last(ServerError::Machine(format!("{server} is not looked up: {error}"))));
        }
        let runtime = runtime().map_err(Failure::last)?;
        let found = runtime.block_on(self.deadline.wait(lookup_host((name, 0)), async |_: Duration| ()));
        // The system's resolver of names cannot be interrupted; it is not waited for.
        runtime.shutdown_background();
        match found {
            Some(Ok(found)) => Ok(found.map(|address| address.ip()).collect()),
            Some(Err(error)) => {
                let error = ServerError::Unreachable { server, reason: error.to_string() };
                Err(Failure { error, is_final: false })
            }
            None => Err(self.silence()),
        }
    }

    /// Connects to one address of one host. As libpq does, without encryption where that is only preferred and fails.
    fn connect(&self, place: Config) -> Result<Wire, Failure> {
        // Where encryption is asked for first, what is no PostgreSQL server shows by its first byte.
        let suspected = (place.get_ssl_mode() == SslMode::Disable).then_some(SPEAKS_WITHIN);
        self.connect_suspiciously(place, suspected)
    }

    /// The same. After this time without a session, where one is given, it checks whether what listens there speaks
    /// first.
    fn connect_suspiciously(&self, place: Config, suspected: Option<Duration>) -> Result<Wire, Failure> {
        let runtime = runtime().map_err(Failure::last)?;
        let opening_end = Instant::now() + self.deadline.limit;
        let handshake = async {
            let handshake = pin!(place.connect(self.connector.clone()));
            match select(handshake, pin!(is_foreign(&place, suspected))).await {
                Either::Left((session, _)) => Some(session),
                Either::Right((true, _)) => None,
                Either::Right((false, handshake)) => Some(handshake.await),
            }
        };
        let outcome = runtime.block_on(self.deadline.wait(handshake, async |_: Duration| ()));
        let server = self.address.shown();
        match outcome {
            Some(None) => Err(Failure { error: ServerError::Foreign { server }, is_final: false }),
            Some(Some(Ok((client, connection)))) => {
                let driver: Driver = Box::pin(connection);
                let connector = self.connector.clone();
                Ok(Wire { runtime, open: Some((client, driver)), place, connector, server, opening_end })
            }
            Some(Some(Err(error))) => {
                let is_final = hosts::is_refusal(&error);
                let may_be_plain = hosts::may_do_without_encryption(&place, &error);
                let error = ServerError::connecting(server, self.address.file_refused(), &error);
                let failure = Failure { error, is_final };
                if may_be_plain { self.until(opening_end).connect_plainly(place, failure) } else { Err(failure) }
            }
            None => Err(self.silence()),
        }
    }

    /// Connects without encryption, after it failed with it.
    fn connect_plainly(&self, mut place: Config, encrypted: Failure) -> Result<Wire, Failure> {
        place.ssl_mode(SslMode::Disable);
        // What agreed to encrypt and sent other bytes has said what they were before it was asked.
        let suspected = if encrypted.is_foreign() { Duration::ZERO } else { SPEAKS_WITHIN };
        match self.connect_suspiciously(place.clone(), Some(suspected)) {
            // What is in the way of encryption says more than that there is no session without it.
            Err(Failure { error: ServerError::Encryption { .. }, .. }) => Err(Failure { is_final: true, ..encrypted }),
            Err(failure) if failure.is_final || failure.is_foreign() => Err(failure),
            // One that has said anything in PostgreSQL's words is not asked in another way.
            Err(Failure { error: ServerError::Unreachable { .. }, .. })
                if encrypted.is_closed_to_encryption()
                    && runtime().is_ok_and(|runtime| runtime.block_on(speaks_first(&place))) =>
            {
                let error = ServerError::Foreign { server: self.address.shown() };
                Err(Failure { error, ..encrypted })
            }
            Err(_) => Err(encrypted),
            outcome => outcome,
        }
    }

    /// The same search with the time that an attempt has left.
    fn until(&self, end: Instant) -> Search<'_> {
        let limit = end.saturating_duration_since(Instant::now());
        let deadline = Deadline { limit, ..self.deadline };
        Search { address: self.address, connector: self.connector.clone(), deadline, started: self.started }
    }

    /// What is said where none has answered in its time. After a wish to stop, no other is waited for.
    fn silence(&self) -> Failure {
        let error = given_up(&self.deadline, self.address.shown(), "while connecting".into(), self.started.elapsed());
        Failure { error, is_final: self.deadline.stop.load(Ordering::Relaxed) }
    }
}

/// Whether what listens at a place speaks first, checked after this time; without one nothing is suspected.
async fn is_foreign(place: &Config, suspected: Option<Duration>) -> bool {
    let Some(suspected) = suspected else { return false };
    sleep(suspected).await;
    speaks_first(place).await
}

/// Whether what listens at a place speaks before it is spoken to, as an SSH server does and no PostgreSQL server. Many
/// of those hang up at what they do not understand, so that nothing of what they said is read. A PostgreSQL server that
/// is asked all the same, as it was just started again, notes nothing of a connection on which nothing is sent.
async fn speaks_first(place: &Config) -> bool {
    let number = match (place.get_hostaddrs(), place.get_hosts()) {
        ([number, ..], _) => Some(*number),
        ([], [Host::Tcp(name)]) => name.parse().ok(),
        _ => None,
    };
    let Some(number) = number else { return false };
    let port = place.get_ports().first().copied().unwrap_or(USUAL_PORT);
    let spoken = async { TcpStream::connect((number, port)).await?.peek(&mut [0]).await };
    timeout(SPEAKS_WITHIN, spoken).await.is_ok_and(|spoken| spoken.is_ok_and(|bytes| bytes > 0))
}

fn runtime() -> Result<Runtime, ServerError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| ServerError::Machine(format!("no connection can be served: {error}")))
}

/// Names of hosts are looked up on a thread that the driver's runtime starts, and it panics where it cannot. One that
/// has just ended can be started again, unless another process of the user was faster.
fn can_start_a_thread() -> Result<(), NotStarted> {
    let _ = thread::Builder::new().spawn(|| ())?.join();
    Ok(())
}

fn given_up(deadline: &Deadline<'_>, server: String, doing: String, waited: Duration) -> ServerError {
    match deadline.is_stopped() {
        true => ServerError::Stopped,
        false => ServerError::Silent { server, doing, waited },
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn an_address_of_a_name_that_says_nothing_leaves_the_next_one_its_time() {
        // The kernel accepts connections to it, and no program answers them. At the other address nothing listens.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let address = Address::parse(&format!("postgres://me@db.invalid:{port}/shop?sslmode=disable")).unwrap();
        let (connector, stop) = (address.connector().unwrap(), AtomicBool::new(false));
        let deadline = Deadline { limit: Duration::from_millis(200), stop: &stop, on_stop: OnStop::Leave };
        let search = Search { address: &address, connector, deadline, started: Instant::now() };
        let found = |numbers: &[[u8; 4]]| {
            let numbers = numbers.iter().map(|number| IpAddr::from(*number)).collect();
            search.among(&hosts::at_each(address.config(), numbers)).err().unwrap()
        };
        let (mute, closed) = ([127, 0, 0, 1], [127, 0, 0, 2]);
        for (numbers, reason) in [([mute, closed], "refused"), ([closed, mute], "has not answered")] {
            let failure = found(&numbers);
            assert!(failure.error.to_string().contains(reason) && !failure.is_final, "{}", failure.error);
        }
        stop.store(true, Ordering::Relaxed);
        let stopped = found(&[mute, closed]);
        assert!(stopped.error.is_stop() && stopped.is_final, "{}", stopped.error);
    }

    /// What a server does with a connection.
    type Server = fn(TcpStream);

    /// Takes the first message of a connection.
    fn take_first(stream: &mut TcpStream) {
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4]).unwrap();
    }

    /// Agrees to encrypt, and cannot.
    fn encrypting_badly(mut stream: TcpStream) {
        take_first(&mut stream);
        stream.write_all(b"Sno record of TLS").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }

    /// Refuses the session at a place in the server's source.
    fn refuse(mut stream: TcpStream, routine: &str) {
        take_first(&mut stream);
        stream.write_all(b"N").unwrap();
        take_first(&mut stream);
        send_error(&mut stream, &format!("SFATAL\0C28000\0Mnot from here\0R{routine}\0\0"));
    }

    fn send_error(stream: &mut TcpStream, fields: &str) {
        let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
        stream.write_all(&[&b"E"[..], &length[..], fields.as_bytes()].concat()).unwrap();
    }

    /// Refuses a session without encryption in the words of version 13.
    fn refusing_as_13_does(mut stream: TcpStream) {
        take_first(&mut stream);
        send_error(&mut stream, "SFATAL\0C28000\0Mno pg_hba.conf entry for host \"h\", user \"me\", SSL off\0\0");
    }

    /// Answers as a server of web pages does.
    fn serving_pages(mut stream: TcpStream) {
        take_first(&mut stream);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }

    /// Says what it is, and hangs up at what it does not understand, as an SSH server does.
    fn speaking_first(mut stream: TcpStream) {
        let _ = stream.write_all(b"SSH-2.0-other\r\n");
        let _ = stream.read_exact(&mut [0]);
    }

    /// Says what it is, and waits for words that it understands.
    fn speaking_first_and_waiting(mut stream: TcpStream) {
        let _ = stream.write_all(b"SSH-2.0-other\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    }

    /// Answers with a message that belongs elsewhere.
    fn answering_out_of_turn(mut stream: TcpStream) {
        take_first(&mut stream);
        stream.write_all(b"NZ\0\0\0\x05I").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }

    /// Takes the connection and ends it.
    fn saying_nothing(mut stream: TcpStream) {
        take_first(&mut stream);
    }

    /// Refuses the session as where `pg_hba.conf` has no line for it.
    fn refusing_for_encryption(stream: TcpStream) {
        refuse(stream, "ClientAuthentication");
    }

    /// Refuses the session as where an account that has proved itself may not log in.
    fn refusing_the_account(stream: TcpStream) {
        refuse(stream, "InitializeSessionUserId");
    }

    /// Why an address behind `postgres://` brings no session; none where it does.
    fn failure_at(rest: &str) -> Option<String> {
        let address = Address::parse(&format!("postgres://{rest}")).unwrap();
        let (connector, stop) = (address.connector().unwrap(), AtomicBool::new(false));
        let deadline = Deadline { limit: Duration::from_secs(5), stop: &stop, on_stop: OnStop::Leave };
        let search = Search { address: &address, connector, deadline, started: Instant::now() };
        search.connect(address.config().clone()).err().map(|failure| failure.error.to_string())
    }

    /// How many connections wait to be taken.
    fn waiting(server: &TcpListener) -> usize {
        server.set_nonblocking(true).unwrap();
        (0..9).take_while(|_| server.accept().is_ok()).count()
    }

    #[test]
    fn nothing_is_sent_without_encryption_where_it_has_to_be_or_where_the_account_was_refused() {
        for asked in ["sslmode=prefer&sslnegotiation=direct", "sslnegotiation=direct"] {
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let failure = failure_at(&format!("me@{}/shop?{asked}", server.local_addr().unwrap()));
            assert!(failure.unwrap().contains("sslnegotiation=direct"));
            assert_eq!(waiting(&server), 1, "{asked}");
        }
        let cases: [(&str, Server); 2] =
            [("sslmode=require", encrypting_badly), ("sslmode=prefer", refusing_the_account)];
        for (asked, first) in cases {
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = server.local_addr().unwrap();
            let first = thread::spawn(move || {
                first(server.accept().unwrap().0);
                server
            });
            assert!(failure_at(&format!("me@{address}/shop?{asked}")).is_some(), "{asked}");
            assert_eq!(waiting(&first.join().unwrap()), 0, "{asked}");
        }
    }

    #[test]
    fn something_else_than_postgresql_is_not_said_to_be_a_server_that_does_not_respond() {
        let foreign = "is no PostgreSQL server: check the host and the port";
        let closed = "does not respond: it closed the connection before it answered;";
        let cases: [(&str, Server, &str); 5] = [
            ("sslmode=prefer", serving_pages, foreign),
            ("sslmode=disable", serving_pages, foreign),
            ("sslmode=prefer", answering_out_of_turn, foreign),
            ("sslmode=prefer", saying_nothing, closed),
            ("sslmode=disable", saying_nothing, closed),
        ];
        for (asked, answer, part) in cases {
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = server.local_addr().unwrap();
            let serving = thread::spawn(move || answer(server.accept().unwrap().0));
            let failure = failure_at(&format!("me@{address}/shop?{asked}")).unwrap();
            assert!(failure.contains(part), "{asked}: {failure}");
            serving.join().unwrap();
        }
    }

    #[test]
    fn a_server_of_13_that_takes_encrypted_sessions_alone_is_said_to_require_encryption() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let serving = thread::spawn(move || refusing_as_13_does(server.accept().unwrap().0));
        let failure = failure_at(&format!("me@{address}/shop?sslmode=disable")).unwrap();
        assert!(failure.contains("cannot be reached with the encryption"), "{failure}");
        serving.join().unwrap();
    }

    #[test]
    fn what_speaks_first_and_hangs_up_is_no_postgresql_server_and_none_that_encrypts_in_another_way() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        thread::spawn(move || server.incoming().flatten().for_each(speaking_first));
        for _ in 0..5 {
            let failure = failure_at(&format!("me@{address}/shop")).unwrap();
            assert!(failure.contains("is no PostgreSQL server"), "{failure}");
        }
    }

    #[test]
    fn what_speaks_first_and_stays_is_said_to_be_no_postgresql_server_before_the_time_for_connecting_ends() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        thread::spawn(move || {
            for stream in server.incoming().flatten() {
                thread::spawn(move || speaking_first_and_waiting(stream));
            }
        });
        for asked in ["sslmode=prefer", "sslmode=disable"] {
            let started = Instant::now();
            let failure = failure_at(&format!("me@{address}/shop?{asked}")).unwrap();
            assert!(failure.contains("is no PostgreSQL server"), "{asked}: {failure}");
            assert!(started.elapsed() < Duration::from_secs(4), "{asked}: {:?}", started.elapsed());
        }
    }

    #[test]
    fn bytes_that_are_none_of_tls_are_no_reason_to_change_what_encryption_is_asked_for() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let serving = thread::spawn(move || encrypting_badly(server.accept().unwrap().0));
        let failure = failure_at(&format!("me@{address}/shop?sslmode=require")).unwrap();
        assert!(failure.contains("is no PostgreSQL server"), "{failure}");
        serving.join().unwrap();
    }

    #[test]
    fn a_server_that_takes_sessions_without_encryption_alone_is_reached_where_encryption_is_only_preferred() {
        for first in [encrypting_badly, refusing_for_encryption] {
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = server.local_addr().unwrap().port();
            thread::spawn(move || {
                first(server.accept().unwrap().0);
                let mut second = server.accept().unwrap().0;
                take_first(&mut second);
                second.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
                let _ = second.read_to_end(&mut Vec::new());
            });
            assert_eq!(failure_at(&format!("me@127.0.0.1:{port}/shop")), None);
        }
    }
}
