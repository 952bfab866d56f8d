//! A server that holds the connection and does not answer is left: after the time for connecting, after the limit of a
//! statement, and at the first wish to stop. Hostile listeners, and Debian's PostgreSQL with all its processes stopped.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use server::{Address, Limits, Schema, ServerError, Session, schema};
use trial::Trial;

/// Far more than any wait here may take, and far less than for ever.
const LONG: Duration = Duration::from_secs(100);

/// What a server does with a connection.
type Play = fn(TcpStream) -> std::io::Result<()>;

/// Plays one server, to every connection; the address.
fn listen(play: Play) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || play(stream));
        }
    });
    format!("postgres://dba:pw@127.0.0.1:{port}/shop")
}

fn hold(_stream: TcpStream) -> std::io::Result<()> {
    thread::sleep(LONG);
    Ok(())
}

fn silent(stream: TcpStream) -> std::io::Result<()> {
    hold(stream)
}

/// Counts connections to the host that says nothing.
static HELD: AtomicUsize = AtomicUsize::new(0);

fn silent_and_counted(stream: TcpStream) -> std::io::Result<()> {
    HELD.fetch_add(1, Ordering::Relaxed);
    hold(stream)
}

fn http(mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
    hold(stream)
}

/// Refuses encryption as a server does, and sends a message that is none.
fn broken(mut stream: TcpStream) -> std::io::Result<()> {
    begin(&mut stream)?;
    stream.write_all(b"R\x00\x00\x00\x01\xff\xff")?;
    hold(stream)
}

/// Lets the user in, and reports a parameter for ever.
fn dripping(mut stream: TcpStream) -> std::io::Result<()> {
    begin(&mut stream)?;
    stream.write_all(b"R\x00\x00\x00\x08\x00\x00\x00\x00")?;
    loop {
        stream.write_all(b"S\x00\x00\x00\x08a\x00b\x00")?;
        thread::sleep(Duration::from_millis(50));
    }
}

/// Counts connections to hosts that refuse the password.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// Refuses the user's password.
fn refusing(stream: TcpStream) -> std::io::Result<()> {
    REFUSED.fetch_add(1, Ordering::Relaxed);
    refuse(stream, b"SFATAL\0C28P01\0Mpassword authentication failed\0\0")
}

/// Is not ready yet.
fn starting(stream: TcpStream) -> std::io::Result<()> {
    refuse(stream, b"SFATAL\0C57P03\0Mthe database system is starting up\0\0")
}

/// Refuses the session with an error of these fields.
fn refuse(mut stream: TcpStream, fields: &[u8]) -> std::io::Result<()> {
    begin(&mut stream)?;
    let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
    stream.write_all(&[&b"E"[..], &length[..], fields].concat())
}

/// Lets the user in, and answers no statement.
fn mute(mut stream: TcpStream) -> std::io::Result<()> {
    begin(&mut stream)?;
    stream.write_all(b"R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I")?;
    hold(stream)
}

/// Answers the wish for encryption with no, and takes the first message.
fn begin(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.read_exact(&mut [0; 8])?;
    stream.write_all(b"N")?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4])
}

const SERVERS: [(&str, Play); 5] =
    [("silent", silent), ("http", http), ("broken", broken), ("dripping", dripping), ("mute", mute)];

fn open(url: &str, stop: &Arc<AtomicBool>) -> ServerError {
    let address = Address::parse(url).unwrap();
    Session::open(&address, Limits::default(), Arc::clone(stop)).err().unwrap()
}

#[test]
fn a_server_that_does_not_answer_is_left_after_the_time_for_connecting() {
    for (name, play) in SERVERS {
        let started = Instant::now();
        let error = open(&format!("{}?connect_timeout=1", listen(play)), &Arc::default()).to_string();
        assert!(started.elapsed() < LONG / 2, "{name}: {:?}", started.elapsed());
        assert!(error.contains("127.0.0.1") && !error.contains("pw@"), "{name}: {error}");
        if name != "broken" && name != "http" {
            assert!(error.contains("has not answered for 1 s"), "{name}: {error}");
        }
    }
}

#[test]
fn a_host_that_does_not_answer_leaves_the_others_their_time_where_a_standby_is_preferred() {
    let Some(trial) = Trial::start(&[]) else { return };
    let host = |url: &str| url.split(['@', '/']).nth(3).unwrap().to_string();
    // The silent host comes last: a primary before it is the second choice.
    let hosts = format!("{},{}", host(&trial.url()), host(&listen(silent)));
    let address = format!("postgres://postgres@{hosts}/postgres?target_session_attrs=prefer-standby&connect_timeout=3");
    let session = Session::open(&Address::parse(&address).unwrap(), Limits::default(), Arc::default()).unwrap();
    assert!(!session.facts().is_standby);
}

#[test]
fn a_session_that_follows_another_is_of_the_same_server_and_not_of_a_host_before_it_that_is_there_by_then() {
    let Some(trial) = Trial::start(&[]) else { return };
    let second = trial.url().split(['@', '/']).nth(3).unwrap().to_string();
    let first = TcpListener::bind("127.0.0.3:0").unwrap().local_addr().unwrap();
    let address = format!("postgres://postgres@{first},{second}/postgres?connect_timeout=3");
    let session = Session::open(&Address::parse(&address).unwrap(), Limits::default(), Arc::default()).unwrap();
    let listener = TcpListener::bind(first).unwrap();
    listener.set_nonblocking(true).unwrap();
    assert!(session.another().is_ok());
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_silent_host_takes_no_time_from_those_behind_it_and_is_asked_once() {
    let host = |url: &str| url.split(['@', '/']).nth(3).unwrap().to_string();
    let hosts = |last: &str| format!("{},{}", host(&listen(silent_and_counted)), host(last));
    let url = format!("postgres://dba:pw@{}/shop?connect_timeout=1", hosts(&listen(starting)));
    let error = open(&url, &Arc::default()).to_string();
    assert!(error.contains("starting up") && HELD.load(Ordering::Relaxed) == 1, "{error}");
    let started = Instant::now();
    let url = format!("postgres://dba:pw@{}/shop?connect_timeout=1", hosts(&listen(silent)));
    let error = open(&url, &Arc::default()).to_string();
    assert!(started.elapsed() >= Duration::from_secs(2) && error.contains("has not answered for"), "{error}");
    assert_eq!(HELD.load(Ordering::Relaxed), 2);
    let Some(trial) = Trial::start(&[]) else { return };
    let address = format!("postgres://postgres@{}/postgres?connect_timeout=3", hosts(&trial.url()));
    let session = Session::open(&Address::parse(&address).unwrap(), Limits::default(), Arc::default());
    assert!(session.is_ok(), "{:?}", session.err());
    // The second connection, which shows whether a pooler stands between, goes where the first one went.
    assert_eq!(HELD.load(Ordering::Relaxed), 3);
}

#[test]
fn a_password_that_a_host_refuses_is_shown_to_no_other_host_and_not_again() {
    let host = |url: &str| url.split(['@', '/']).nth(3).unwrap().to_string();
    let hosts = format!("{},{}", host(&listen(refusing)), host(&listen(refusing)));
    for (asked, attributes) in ["any", "prefer-standby"].into_iter().enumerate() {
        let url = format!("postgres://dba:pw@{hosts}/shop?target_session_attrs={attributes}");
        let error = open(&url, &Arc::default()).to_string();
        assert!(error.contains("password authentication failed"), "{attributes}: {error}");
        assert_eq!(REFUSED.load(Ordering::Relaxed), asked + 1, "{attributes}");
    }
}

#[test]
fn a_host_that_is_not_ready_leaves_its_turn_to_the_next() {
    let Some(trial) = Trial::start(&[]) else { return };
    let host = |url: &str| url.split(['@', '/']).nth(3).unwrap().to_string();
    let hosts = format!("{},{}", host(&listen(starting)), host(&trial.url()));
    for attributes in ["any", "prefer-standby"] {
        let address = format!("postgres://postgres@{hosts}/postgres?target_session_attrs={attributes}");
        let session = Session::open(&Address::parse(&address).unwrap(), Limits::default(), Arc::default());
        assert!(session.is_ok(), "{attributes}: {:?}", session.err());
    }
}

#[test]
fn the_first_wish_to_stop_ends_a_wait_for_a_server() {
    for (name, play) in SERVERS.into_iter().filter(|(name, _)| *name != "broken" && *name != "http") {
        let stop = Arc::new(AtomicBool::new(false));
        let user = Arc::clone(&stop);
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            user.store(true, Ordering::Relaxed);
        });
        let started = Instant::now();
        let error = open(&format!("{}?connect_timeout=600", listen(play)), &stop);
        assert!(error.is_stop(), "{name}: {error}");
        assert!(started.elapsed() < LONG / 2, "{name}: {:?}", started.elapsed());
    }
}

#[test]
fn a_stopped_server_is_left_after_the_limit_of_a_statement_and_named() {
    let Some(trial) = Trial::start(&[]) else { return };
    // A busy machine opens the session and makes the schema within the same limits.
    let limits = Limits { statement: Duration::from_secs(2), ..Limits::default() };
    let address = Address::parse(&format!("{}?connect_timeout=5", trial.url())).unwrap();
    let mut made = Schema::create(Session::open(&address, limits, Arc::default()).unwrap()).unwrap();
    trial.signal_all(Signal::STOP);
    let started = Instant::now();
    let error = made.session().run("SELECT 1").unwrap_err();
    assert!(error.is_gone() && error.to_string().contains("has not answered for"), "{error}");
    assert!(made.finish().is_err());
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
    assert!(schema::standing().contains(&address.shown()));
    trial.signal_all(Signal::CONT);
    let session = Session::open(&address, Limits::default(), Arc::default()).unwrap();
    assert_eq!(schema::clean(session).unwrap(), Some(0));
}

#[test]
fn a_wish_to_stop_leaves_a_stopped_server_after_a_few_seconds_and_names_it() {
    let Some(trial) = Trial::start(&[]) else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let address = Address::parse(&trial.url()).unwrap();
    let mut made = Schema::create(Session::open(&address, Limits::default(), Arc::clone(&stop)).unwrap()).unwrap();
    trial.signal_all(Signal::STOP);
    let user = Arc::clone(&stop);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        user.store(true, Ordering::Relaxed);
    });
    let started = Instant::now();
    assert!(made.session().run("SELECT 1").unwrap_err().is_stop());
    assert!(made.finish().is_err());
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
    assert!(schema::standing().contains(&address.shown()));
    trial.signal_all(Signal::CONT);
}

#[test]
fn a_wish_to_stop_during_the_removal_does_not_wait_for_a_stopped_server() {
    let Some(trial) = Trial::start(&[]) else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let address = Address::parse(&trial.url()).unwrap();
    let made = Schema::create(Session::open(&address, Limits::default(), Arc::clone(&stop)).unwrap()).unwrap();
    trial.signal_all(Signal::STOP);
    let started = Instant::now();
    let removal = thread::spawn(move || made.finish());
    thread::sleep(Duration::from_millis(300));
    stop.store(true, Ordering::Relaxed);
    assert!(removal.join().unwrap().is_err());
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
    trial.signal_all(Signal::CONT);
}
