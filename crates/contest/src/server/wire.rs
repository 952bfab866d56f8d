//! PostgreSQL's wire protocol, version 3, as far as the benchmark needs it: statements, their rows as text, and COPY.
//!
//! `psql` would do, but not every build of the server comes with it, and a statement's processor time can be told only
//! where one backend answers all statements and its process is known. There is no authentication: the private server
//! trusts whoever reaches its socket. Source: PostgreSQL's manual, chapter "Frontend/Backend Protocol".

use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Version 3.0, as the start-up message tells it.
const PROTOCOL: u32 = 3 << 16;

/// Longest message that is believed; the benchmark's longest answer is a plan of a few kilobytes.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Columns of a row as text; a null is empty.
pub(crate) type Row = Vec<String>;

/// One connection, answered by one backend.
#[derive(Debug)]
pub(crate) struct Session {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    /// The backend's process.
    pub(crate) process: u32,
}

struct Message {
    kind: u8,
    body: Vec<u8>,
}

impl Session {
    /// Connects to the server behind `socket` as its superuser.
    pub(crate) fn connect(socket: &Path) -> Result<Session, String> {
        let sentence = |error| format!("{} does not answer: {error}", socket.display());
        let writer = UnixStream::connect(socket).map_err(sentence)?;
        let reader = BufReader::new(writer.try_clone().map_err(sentence)?);
        let mut session = Session { reader, writer, process: 0 };
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        body.extend(b"user\0postgres\0database\0postgres\0\0");
        session.send_raw(&[], &body)?;
        session.answer()?;
        if session.process == 0 { Err("the server did not tell its backend's process".into()) } else { Ok(session) }
    }

    /// Runs one statement, or several with semicolons between, and gives the rows of all.
    pub(crate) fn rows(&mut self, statement: &str) -> Result<Vec<Row>, String> {
        self.send(b'Q', &text(statement))?;
        self.answer().map_err(|reason| format!("`{statement}`: {reason}"))
    }

    /// The single value that a statement gives.
    pub(crate) fn value(&mut self, statement: &str) -> Result<String, String> {
        let value = self.rows(statement)?.into_iter().next().and_then(|row| row.into_iter().next());
        value.ok_or_else(|| format!("`{statement}` gave no row"))
    }

    /// Runs a `COPY .. FROM STDIN` and feeds it chunks until there are none. A chunk that is an error ends it; the
    /// session is of no use then.
    pub(crate) fn copy(
        &mut self,
        statement: &str,
        chunks: impl Iterator<Item = Result<Vec<u8>, String>>,
    ) -> Result<(), String> {
        self.send(b'Q', &text(statement))?;
        loop {
            let message = self.receive()?;
            match message.kind {
                b'G' => break,
                b'E' => return Err(format!("`{statement}`: {}", complaint(&message.body))),
                _ => {}
            }
        }
        for chunk in chunks {
            self.send(b'd', &chunk?)?;
        }
        self.send(b'c', &[])?;
        self.answer().map(drop).map_err(|reason| format!("`{statement}`: {reason}"))
    }

    /// Reads until the server is ready for the next statement.
    fn answer(&mut self) -> Result<Vec<Row>, String> {
        let (mut rows, mut refused) = (Vec::new(), None);
        loop {
            let Message { kind, body } = self.receive()?;
            match kind {
                b'D' => rows.push(row(&body).ok_or("the server sent a row that cannot be read")?),
                b'E' if self.process == 0 => return Err(complaint(&body)),
                b'E' => refused = Some(complaint(&body)),
                b'K' => self.process = body.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes)),
                b'R' if !body.starts_with(&[0, 0, 0, 0]) => return Err("the server asks for a password".into()),
                b'Z' => return refused.map_or(Ok(rows), Err),
                _ => {}
            }
        }
    }

    fn send(&mut self, kind: u8, body: &[u8]) -> Result<(), String> {
        self.send_raw(&[kind], body)
    }

    fn send_raw(&mut self, kind: &[u8], body: &[u8]) -> Result<(), String> {
        let length = (body.len() + 4) as u32;
        let message = [kind, &length.to_be_bytes(), body].concat();
        self.writer.write_all(&message).map_err(gone)
    }

    fn receive(&mut self) -> Result<Message, String> {
        let mut head = [0; 5];
        self.reader.read_exact(&mut head).map_err(gone)?;
        let [kind, length @ ..] = head;
        let length = (u32::from_be_bytes(length) as usize).saturating_sub(4);
        if length > MESSAGE_BYTES_MAX {
            return Err(format!("the server sent a message of {length} bytes"));
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).map_err(gone)?;
        Ok(Message { kind, body })
    }
}

fn gone(error: std::io::Error) -> String {
    format!("the connection to PostgreSQL broke: {error}")
}

fn text(statement: &str) -> Vec<u8> {
    [statement.as_bytes(), b"\0"].concat()
}

/// The columns of a `DataRow`; `None` where the message is shorter than it says.
fn row(body: &[u8]) -> Option<Row> {
    let (count, mut rest) = body.split_first_chunk()?;
    let mut row = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, after) = rest.split_first_chunk()?;
        // A null has the length -1.
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        let (value, after) = after.split_at_checked(length)?;
        row.push(String::from_utf8_lossy(value).into_owned());
        rest = after;
    }
    Some(row)
}

/// The sentence of an `ErrorResponse`.
fn complaint(body: &[u8]) -> String {
    let mut fields = body.split(|byte| *byte == 0);
    let message = fields.find_map(|field| field.strip_prefix(b"M"));
    message.map_or_else(|| "no reason".into(), |message| String::from_utf8_lossy(message).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_its_columns_as_text() {
        let body = b"\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\x01c";
        assert_eq!(row(body), Some(vec!["ab".into(), String::new(), "c".into()]));
        assert_eq!(row(&body[..6]), None);
        assert_eq!(row(b""), None);
    }

    #[test]
    fn a_complaint_is_the_servers_sentence() {
        assert_eq!(complaint(b"SERROR\0C42P01\0Mrelation \"a\" does not exist\0\0"), "relation \"a\" does not exist");
        assert_eq!(complaint(b""), "no reason");
    }

    #[test]
    fn a_socket_that_is_not_there_is_named() {
        assert!(Session::connect(Path::new("/no/such/socket")).unwrap_err().contains("/no/such/socket"));
    }
}
