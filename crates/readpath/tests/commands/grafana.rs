//! A real Grafana, where one is installed: it loads every dashboard, and runs the SQL of every panel on a server.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trial::Trial;

use crate::dashboards::{DASHBOARDS, FOLDER, dashboard, panels, sql};
use crate::user::User;

/// Where packages put what Grafana needs besides its program.
const HOMES: [&str; 2] = ["/usr/share/grafana", "/usr/local/share/grafana"];

const START_TIMEOUT: Duration = Duration::from_secs(120);

/// `admin:admin`, as HTTP wants it.
const LOGIN: &str = "Basic YWRtaW46YWRtaW4=";

/// The test server's own: by TCP it asks for one.
const PASSWORD: &str = "only-for-this-test";

/// A server of one test; dropping it ends it.
struct Grafana {
    child: Child,
    port: u16,
}

impl Drop for Grafana {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program, and the folder of its own files.
fn installed() -> Option<(PathBuf, &'static str)> {
    let home = HOMES.into_iter().find(|home| Path::new(home).is_dir());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let program = folders.map(|folder| folder.join("grafana-server")).find(|program| program.is_file());
    let found = program.zip(home);
    if found.is_none() {
        println!("skipped: grafana-server is not installed");
    }
    found
}

impl Grafana {
    /// Starts one that finds the dashboards and the test's server in its own configuration.
    fn start(user: &User, trial: &Trial) -> Option<Grafana> {
        let (program, home) = installed()?;
        let folder = user.home.path();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let configuration = format!(
            "[paths]\ndata = {0}/data\nlogs = {0}/logs\nplugins = {0}/plugins\nprovisioning = {0}\n\
             [server]\nhttp_addr = 127.0.0.1\nhttp_port = {port}\n\
             [analytics]\nreporting_enabled = false\ncheck_for_updates = false\ncheck_for_plugin_updates = false\n",
            folder.display()
        );
        let source = json!({"apiVersion": 1, "datasources": [{
            "name": "runs", "uid": "runs", "type": "grafana-postgresql-datasource", "access": "proxy",
            "url": trial.url_by_password("", "").rsplit(['@', '/']).nth(1), "user": "postgres",
            "secureJsonData": {"password": PASSWORD},
            "jsonData": {"database": "postgres", "sslmode": "disable", "postgresVersion": 1500}
        }]});
        let boards =
            json!({"apiVersion": 1, "providers": [{"name": "files", "type": "file", "options": {"path": FOLDER}}]});
        for (name, content) in [("datasources", source), ("dashboards", boards)] {
            // JSON is YAML.
            fs::create_dir(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("test.yaml"), content.to_string()).unwrap();
        }
        fs::write(folder.join("grafana.ini"), configuration).unwrap();
        let mut command = Command::new(program);
        command.arg("--homepath").arg(home).arg("--config").arg(folder.join("grafana.ini"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let grafana = Grafana { child, port };
        grafana.wait_until_ready();
        Some(grafana)
    }

    fn wait_until_ready(&self) {
        let begun = Instant::now();
        while self.ask("GET", "/api/health", &Value::Null).is_none_or(|(status, _)| status != 200) {
            assert!(begun.elapsed() < START_TIMEOUT, "grafana-server does not answer");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// The status of an answer, and its body.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        // The first version of HTTP sends a body in one piece and ends it with the connection.
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nAuthorization: {LOGIN}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split_whitespace().nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }

    /// What a panel's query gives, as Grafana asks its server.
    fn query(&self, sql: &str, format: &Value) -> (u16, Value) {
        let query = json!({
            "from": "946684800000", "to": "4102444800000",
            "queries": [{"refId": "A", "datasource": {"uid": "runs"}, "rawSql": sql, "format": format,
                         "intervalMs": 1000, "maxDataPoints": 1000}]
        });
        self.ask("POST", "/api/ds/query", &query).expect("an answer")
    }
}

/// The values of variables, which the browser puts into a query: all that there are.
fn with_variables(sql: &str, dashboard: &Value) -> String {
    let mut text = sql.to_string();
    for variable in dashboard["templating"]["list"].as_array().unwrap().iter().filter(|one| one["type"] == "query") {
        let name = format!("${{{}:sqlstring}}", variable["name"].as_str().unwrap());
        text = text.replace(&name, variable["query"].as_str().unwrap().split(" ORDER BY ").next().unwrap());
    }
    text
}

#[test]
fn a_real_grafana_loads_every_dashboard_and_runs_the_sql_of_every_panel() {
    let user = User::new();
    if installed().is_none() {
        return;
    }
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run(&format!("ALTER ROLE postgres PASSWORD '{PASSWORD}'"));
    for script in ["rows.sql", "events.sql", "recordings.sql"] {
        let text = fs::read_to_string(Path::new(FOLDER).join(script)).unwrap();
        let begin = text.find("CREATE TABLE").unwrap();
        trial.run(&text[begin..text.find("TRUNCATE").unwrap()]);
    }
    let Some(grafana) = Grafana::start(&user, &trial) else { return };
    for name in DASHBOARDS {
        let ours = dashboard(name);
        let path = format!("/api/dashboards/uid/{}", ours["uid"].as_str().unwrap());
        let (status, theirs) = grafana.ask("GET", &path, &Value::Null).expect("an answer");
        assert_eq!(status, 200, "{name}: {theirs}");
        let loaded = theirs["dashboard"]["panels"].as_array().map(Vec::len);
        assert_eq!(loaded, ours["panels"].as_array().map(Vec::len), "{name}: {theirs}");
        for panel in panels(&ours) {
            let sql = with_variables(sql(panel), &ours);
            let (status, answer) = grafana.query(&sql, &panel["targets"][0]["format"]);
            assert!(status == 200 && answer["results"]["A"]["error"].is_null(), "{}: {answer}", panel["title"]);
        }
    }
}
