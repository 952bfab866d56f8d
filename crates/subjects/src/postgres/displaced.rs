//! What a run pushed out of the shared buffers of a given server, where its blocks are read again by their users.

use measure::quantity::{size_in_words, three_digits};
use measure::schema::subjects::findings as row;
use measure::{Finding, Unit};
use server::identifier::name_to_paste;
use server::{ServerError, Session, schema};

/// The extension that shows what is in shared buffers.
const EXTENSION: &str = "pg_buffercache";

/// The schema of the extension, and whether we may look into the buffers by it; no row where the database has none.
const QUESTION: &str = "SELECT quote_ident(nspname), \
    has_function_privilege(quote_ident(nspname) || '.pg_buffercache_pages()', 'EXECUTE') \
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = 'pg_buffercache'";

/// Blocks of others in shared buffers.
#[derive(Debug)]
pub(super) struct Displaced {
    /// Where the extension is; or why there is no count.
    pub(super) extension: Result<String, String>,
    pub(super) before: u64,
}

impl Displaced {
    /// Counts them before anything of ours is there; `None` on a private server, where nothing is of others.
    pub(super) fn begin(session: &mut Session, is_private: bool) -> Result<Option<Displaced>, ServerError> {
        if is_private {
            return Ok(None);
        }
        let found = session.rows(QUESTION)?;
        let text = |at: usize| found.first()?.get(at)?.clone();
        let extension = match (text(0), text(1).as_deref()) {
            (Some(schema), Some("t")) => Ok(schema),
            // A dry run shows what is sent where there is the extension.
            _ if session.is_rehearsal() => Ok("public".into()),
            (Some(_), _) => {
                let user = &session.facts().user;
                Err(format!("{user} may not look: GRANT pg_monitor TO {} adds it", name_to_paste(user)))
            }
            (None, _) => Err(format!("the database has no extension {EXTENSION}")),
        };
        let before = extension.as_ref().map_or(Ok(0), |schema| of_others(session, schema))?;
        Ok(Some(Displaced { extension, before }))
    }

    /// Counts them again while ours are still there; `made` bytes of tables and indexes were.
    pub(super) fn end(self, session: &mut Session, made: u64) -> Result<Finding, ServerError> {
        let (buffers, block) = (session.facts().buffer_bytes, session.facts().block_bytes);
        let after = self.extension.as_ref().map_or(Ok(0), |schema| of_others(session, schema))?;
        Ok(self.finding(after, made, (buffers, block)))
    }

    /// What became of the others' blocks, of which `after` are there after `made` bytes were made, by the bytes of all
    /// buffers and of a block.
    pub(super) fn finding(&self, after: u64, made: u64, (buffers, block): (u64, u64)) -> Finding {
        let ours = made.min(buffers);
        let share = ours as f64 / buffers.max(1) as f64 * 100.0;
        let what = format!(
            "Tables and indexes of this run took up to {} of the server's {} of shared buffers ({} %)",
            size_in_words(ours >> 10 << 10),
            size_in_words(buffers),
            three_digits(share)
        );
        let finding = |message| row::DISPLACED.of(message).with("share", share, Unit::Percent);
        if let Err(reason) = &self.extension {
            return finding(format!("{what}. What they displaced there is not known, because {reason}."));
        }
        let lost = self.before.saturating_sub(after) * block;
        let before = size_in_words(self.before * block);
        let message = match lost {
            0 => format!("{what}. They displaced 0 bytes: all {before} of others are still there ({EXTENSION})."),
            _ => format!(
                "{what}. {} of the {before} that others had there are gone ({EXTENSION}), and are read again when they \
                 are asked for.",
                size_in_words(lost)
            ),
        };
        finding(message).with("displaced", lost as f64, Unit::Bytes)
    }
}

fn of_others(session: &mut Session, extension: &str) -> Result<u64, ServerError> {
    let ours = format!(
        "SELECT pg_relation_filenode(oid) FROM pg_class WHERE relnamespace = '{}'::regnamespace",
        schema::SCHEMA
    );
    let database = "SELECT oid FROM pg_database WHERE datname = current_database()";
    session.number(
        &format!(
            "SELECT count(*) FROM {extension}.{EXTENSION} WHERE relfilenode IS NOT NULL AND NOT (reldatabase = \
             ({database}) AND relfilenode IN ({ours}))"
        ),
        0,
    )
}
