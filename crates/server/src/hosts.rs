//! The hosts of an address, in the order in which libpq tries them.
//!
//! The driver tries all of them and all addresses of their names, whatever they answer: it shows a wrong password to
//! each, and each counts it. It also waits without a limit for one that accepts the connection and says nothing. libpq
//! stops at one that answers and refuses the session ("Specifying Multiple Hosts" in its manual), unless that is only
//! starting or stopping, and gives each of them the time for connecting anew. So the driver is given one at a time.

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;

use measure::sorting;
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode, SslNegotiation};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, Error};

/// How to connect to each host alone, in the order in which they are tried: at least one. Where the numbers of names,
/// addresses and ports do not match, they stay together, and the driver refuses them.
pub(crate) fn of(whole: &Config) -> Vec<Config> {
    let (hosts, numbers, ports) = (whole.get_hosts().len(), whole.get_hostaddrs().len(), whole.get_ports().len());
    let count = hosts.max(numbers);
    let fits = |own: usize| own == 0 || own == count;
    let is_split = count > 1 && fits(hosts) && fits(numbers) && (fits(ports) || ports == 1);
    if !is_split {
        return vec![whole.clone()];
    }
    let mut places: Vec<usize> = (0..count).collect();
    put_in_order(&mut places, whole);
    places.into_iter().map(|place| with_one_host(whole, place)).collect()
}

/// The name by which a host has to be looked up.
pub(crate) fn name_of(host: &Config) -> Option<&str> {
    match host.get_hosts() {
        [Host::Tcp(name)] if host.get_hostaddrs().is_empty() && name.parse::<IpAddr>().is_err() => Some(name),
        _ => None,
    }
}

/// How to connect to a host at each of the addresses that its name has. Its certificate still has to be for the name.
pub(crate) fn at_each(host: &Config, mut numbers: Vec<IpAddr>) -> Vec<Config> {
    put_in_order(&mut numbers, host);
    let at = |number: IpAddr| {
        let mut one = host.clone();
        one.hostaddr(number);
        one
    };
    numbers.into_iter().map(at).collect()
}

/// The order of the address and of the system's resolver, or a random one where the address asks for it.
fn put_in_order<T: Hash>(items: &mut [T], config: &Config) {
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        let keys = RandomState::new();
        sorting::by_key(items, |item| keys.hash_one(item));
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

/// Whether a session that did not come about with encryption may do so without: it is only preferred, and nothing could
/// be encrypted, or `pg_hba.conf` takes no encrypted session from here. The server says that before it asks for a
/// password; one that it has seen and refused is not sent again in the clear. A pooler does not say where it refuses.
pub(crate) fn may_do_without_encryption(place: &Config, error: &Error) -> bool {
    // Where TLS is to come first the driver refuses to only prefer it, and so does libpq.
    let is_preferred = place.get_ssl_mode() == SslMode::Prefer;
    if !is_preferred || place.get_ssl_negotiation() != SslNegotiation::Postgres {
        return false;
    }
    let is_refused = error.as_db_error().is_some_and(|answer| {
        *answer.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
            && answer.routine().is_none_or(|routine| routine == "ClientAuthentication")
    });
    is_refused || error.to_string().starts_with("error performing TLS handshake")
}

/// Sets those of the settings that have a value.
macro_rules! set {
    ($config:ident: $($setting:ident = $value:expr,)+) => {
        $(if let Some(value) = $value { $config.$setting(value); })+
    };
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
    set! { one:
        hostaddr = whole.get_hostaddrs().get(place).copied(),
        port = ports.get(place).or(ports.first()).copied(),
        user = whole.get_user(),
        password = whole.get_password(),
        dbname = whole.get_dbname(),
        options = whole.get_options(),
        application_name = whole.get_application_name(),
        connect_timeout = whole.get_connect_timeout().copied(),
        tcp_user_timeout = whole.get_tcp_user_timeout().copied(),
        keepalives_interval = whole.get_keepalives_interval(),
        keepalives_retries = whole.get_keepalives_retries(),
    }
    one.keepalives(whole.get_keepalives()).keepalives_idle(whole.get_keepalives_idle());
    one.ssl_mode(whole.get_ssl_mode()).ssl_negotiation(whole.get_ssl_negotiation());
    one.channel_binding(whole.get_channel_binding()).target_session_attrs(whole.get_target_session_attrs());
    one.load_balance_hosts(whole.get_load_balance_hosts());
    // As in libpq, whatever is asked of the hosts beside it: a server encrypts no connection by its socket.
    if matches!(one.get_hosts(), [Host::Unix(_)]) && one.get_hostaddrs().is_empty() {
        one.ssl_mode(SslMode::Disable);
    }
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
        let three = config("host=a,/run/b,c hostaddr=10.0.0.1,10.0.0.2,::1 port=1,2,3");
        let second = "host=/run/b hostaddr=10.0.0.2 port=2";
        let each = ["host=a hostaddr=10.0.0.1 port=1", second, "host=c hostaddr=::1 port=3"];
        assert_eq!(of(&three), each.map(config));
        assert_eq!(of(&config("host=a,b port=5433")), ["host=a port=5433", "host=b port=5433"].map(config));
        assert_eq!(of(&config("host=a")), [config("host=a")]);
    }

    #[test]
    fn a_socket_beside_hosts_that_have_to_encrypt_is_not_passed_over() {
        let modes = |hosts: &str| of(&config(hosts)).iter().map(Config::get_ssl_mode).collect::<Vec<_>>();
        assert_eq!(modes("host=/run/a,b"), [SslMode::Disable, SslMode::Require]);
        // Its number counts, which leads over the network.
        assert_eq!(modes("host=/run/a,b hostaddr=10.0.0.1,10.0.0.2"), [SslMode::Require; 2]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_left_to_the_driver_which_refuses_them() {
        for wrong in ["host=a,b hostaddr=10.0.0.1", "host=a,b,c port=1,2"] {
            assert_eq!(of(&config(wrong)), [config(wrong)], "{wrong}");
        }
    }

    #[test]
    fn hosts_and_addresses_in_random_order_are_each_tried_once() {
        let hosts = of(&config("host=a,b,c load_balance_hosts=random"));
        let mut names: Vec<Vec<Host>> = hosts.iter().map(|host| host.get_hosts().to_vec()).collect();
        sorting::by_key(&mut names, |hosts| format!("{hosts:?}"));
        assert_eq!(names, ["a", "b", "c"].map(|name| vec![Host::Tcp(name.into())]));
        let numbers: Vec<IpAddr> = (1..=9_u8).map(|last| IpAddr::from([10, 0, 0, last])).collect();
        let places = at_each(&config("host=a load_balance_hosts=random"), numbers.clone());
        let mut found: Vec<IpAddr> = places.iter().flat_map(|place| place.get_hostaddrs().to_vec()).collect();
        sorting::ascending(&mut found);
        assert_eq!(found, numbers);
    }

    #[test]
    fn a_name_is_looked_up_once_and_still_names_the_host_to_encrypt_with() {
        let named = config("host=db.example port=5433");
        assert_eq!(name_of(&named), Some("db.example"));
        let places = at_each(&named, vec!["::1".parse().unwrap(), "10.0.0.1".parse().unwrap()]);
        let expected = ["host=db.example hostaddr=::1 port=5433", "host=db.example hostaddr=10.0.0.1 port=5433"];
        assert_eq!(places, expected.map(config));
        for known in ["host=::1", "host=10.0.0.1", "host=/run/a", "host=a hostaddr=10.0.0.1", "host=a,b"] {
            assert_eq!(name_of(&config(known)), None, "{known}");
        }
        assert!(places.iter().all(|place| name_of(place).is_none()));
    }
}
