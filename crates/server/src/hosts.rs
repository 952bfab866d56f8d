//! The hosts of an address, tried one after the other as libpq tries them.
//!
//! The driver tries all of them, whatever they answer: it shows a wrong password to each, and each counts it. libpq
//! stops at a host that answers and refuses the session ("Specifying Multiple Hosts" in its manual), unless that host
//! is only starting or stopping. The driver still tries every address of a host's name.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;

use measure::sorting;
use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Serves a connection as long as it is polled.
pub(crate) type Driver = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// How to connect to each host alone, in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct Hosts {
    first: Config,
    others: Vec<Config>,
}

impl Hosts {
    /// The hosts of an address. Where the numbers of names, addresses and ports do not match, the driver refuses them.
    pub(crate) fn of(whole: &Config) -> Hosts {
        let (hosts, numbers, ports) = (whole.get_hosts().len(), whole.get_hostaddrs().len(), whole.get_ports().len());
        let count = hosts.max(numbers);
        let fits = |own: usize| own == 0 || own == count;
        let is_split = count > 1 && fits(hosts) && fits(numbers) && (fits(ports) || ports == 1);
        let mut places: Vec<usize> = (0..if is_split { count } else { 0 }).collect();
        if whole.get_load_balance_hosts() == LoadBalanceHosts::Random {
            let keys = RandomState::new();
            sorting::by_key(&mut places, |place| keys.hash_one(*place));
        }
        let mut each = places.into_iter().map(|place| with_one_host(whole, place));
        Hosts { first: each.next().unwrap_or_else(|| whole.clone()), others: each.collect() }
    }

    /// Connects to the first host that grants a session.
    pub(crate) async fn connect(&self, connector: &MakeRustlsConnect) -> Result<(Client, Driver), Error> {
        let (mut host, mut others) = (&self.first, self.others.iter());
        loop {
            let error = match host.connect(connector.clone()).await {
                Ok((client, connection)) => {
                    let driver: Driver = Box::pin(connection);
                    return Ok((client, driver));
                }
                Err(error) => error,
            };
            match others.next().filter(|_| !is_refusal(&error)) {
                Some(next) => host = next,
                None => return Err(error),
            }
        }
    }
}

/// Whether a host has answered and refused the session, so that no other host is tried.
pub(crate) fn is_refusal(error: &Error) -> bool {
    match error.code() {
        Some(code) => *code != SqlState::CANNOT_CONNECT_NOW,
        // It asks for a password and there is none, or it asks in a way that the driver or the address does not allow.
        None => ["authentication error", "invalid configuration"].contains(&error.to_string().as_str()),
    }
}

/// All settings with one of the hosts: the driver offers no way to shorten its list.
fn with_one_host(whole: &Config, place: usize) -> Config {
    let mut one = Config::new();
    match whole.get_hosts().get(place) {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        Some(Host::Unix(folder)) => drop(one.host_path(folder)),
        None => {}
    }
    let ports = whole.get_ports();
    if let Some(number) = whole.get_hostaddrs().get(place) {
        one.hostaddr(*number);
    }
    if let Some(port) = ports.get(place).or(ports.first()) {
        one.port(*port);
    }
    if let Some(user) = whole.get_user() {
        one.user(user);
    }
    if let Some(password) = whole.get_password() {
        one.password(password);
    }
    if let Some(database) = whole.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = whole.get_options() {
        one.options(options);
    }
    if let Some(name) = whole.get_application_name() {
        one.application_name(name);
    }
    if let Some(time) = whole.get_connect_timeout() {
        one.connect_timeout(*time);
    }
    if let Some(time) = whole.get_tcp_user_timeout() {
        one.tcp_user_timeout(*time);
    }
    if let Some(time) = whole.get_keepalives_interval() {
        one.keepalives_interval(time);
    }
    if let Some(count) = whole.get_keepalives_retries() {
        one.keepalives_retries(count);
    }
    one.keepalives(whole.get_keepalives()).keepalives_idle(whole.get_keepalives_idle());
    one.ssl_mode(whole.get_ssl_mode()).ssl_negotiation(whole.get_ssl_negotiation());
    one.channel_binding(whole.get_channel_binding()).target_session_attrs(whole.get_target_session_attrs());
    one.load_balance_hosts(whole.get_load_balance_hosts());
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "user=me password=pw dbname=shop options='-c work_mem=1MB' application_name=app sslmode=require \
        sslnegotiation=direct connect_timeout=7 tcp_user_timeout=8 keepalives=0 keepalives_idle=9 \
        keepalives_interval=10 keepalives_retries=11 target_session_attrs=read-only channel_binding=require";

    fn config(hosts: &str) -> Config {
        format!("{TOLD} {hosts}").parse().unwrap()
    }

    #[test]
    fn nothing_that_the_driver_is_told_is_lost_where_it_is_told_of_one_host() {
        let Hosts { first, others } = Hosts::of(&config("host=a,/run/b,c hostaddr=10.0.0.1,10.0.0.2,::1 port=1,2,3"));
        assert_eq!(first, config("host=a hostaddr=10.0.0.1 port=1"));
        let expected = [config("host=/run/b hostaddr=10.0.0.2 port=2"), config("host=c hostaddr=::1 port=3")];
        assert_eq!(others, expected);
        let Hosts { first, others } = Hosts::of(&config("host=a,b port=5433"));
        assert_eq!((first, others), (config("host=a port=5433"), vec![config("host=b port=5433")]));
    }

    #[test]
    fn numbers_that_do_not_fit_are_left_to_the_driver_which_refuses_them() {
        for wrong in ["host=a,b hostaddr=10.0.0.1", "host=a,b,c port=1,2"] {
            let whole = config(wrong);
            let Hosts { first, others } = Hosts::of(&whole);
            assert!(first == whole && others.is_empty(), "{wrong}");
        }
    }

    #[test]
    fn hosts_in_random_order_are_each_tried_once() {
        let whole = config("host=a,b,c load_balance_hosts=random");
        let Hosts { first, others } = Hosts::of(&whole);
        let names = [first].into_iter().chain(others).map(|host| host.get_hosts().to_vec());
        let mut names: Vec<Vec<Host>> = names.collect();
        sorting::by_key(&mut names, |hosts| format!("{hosts:?}"));
        assert_eq!(names, ["a", "b", "c"].map(|name| vec![Host::Tcp(name.into())]));
    }
}
