//! The rehearsal of a watch: it notes what would be sent to a server, and sends nothing.

use std::sync::Arc;

use profile::observe::instruments::Instruments;
use server::{Address, ServerError, Statements};

use super::Watch;
use super::settings::{ASK_EVERY, ASK_EVERY_LACKING, RATE, RATE_MAX, Settings, WatchedFor};
use crate::hits::BufferHits;
use crate::sql::SqlSampler;
use crate::tracing::TracedServer;

impl Watch {
    /// Sends nothing and notes what a watch with these settings would send to a server of this major version.
    ///
    /// # Errors
    /// None but those of a session that sends nothing.
    pub fn rehearse(
        address: &Address,
        settings: Settings,
        recorder: (Statements, u32),
        watched_for: WatchedFor,
    ) -> Result<(), ServerError> {
        let statements = recorder.0.clone();
        let sampler = SqlSampler::rehearsal(address, recorder)?;
        let mut watch = Watch::over(address, sampler, settings, (Instruments::default(), Arc::default()))?;
        if let Some(sampler) = watch.sampler.as_mut().filter(|_| settings.traces_reads) {
            TracedServer::rehearse_begin(sampler.session())?;
        }
        watch.begin_counters()?;
        let [few, many] = [settings.rate.unwrap_or(RATE).min(RATE_MAX), 1.0 / ASK_EVERY.as_secs_f64()];
        statements.remark(&format!(
            "{few} times a second, at varying intervals; where the server's memory can be read, {many} times a second, \
             and up to {} as long as a session or a wait has no name yet:",
            1.0 / ASK_EVERY_LACKING.as_secs_f64()
        ));
        watch.look_once()?;
        statements.remark("at most twice a second, while a session waits for a lock:");
        if let Some(sampler) = &mut watch.sampler {
            sampler.blocking()?;
        }
        if let Some(sampler) = watch.sampler.as_mut().filter(|_| settings.traces_reads) {
            TracedServer::rehearse(sampler.session(), &statements)?;
        }
        match watched_for {
            WatchedFor::Profile => {
                statements.remark("at the end:");
                watch.close();
            }
            WatchedFor::Recording => watch.rehearse_segments(&statements)?,
            WatchedFor::Screen => {
                statements.remark("at most once a second:");
                if let Some(sampler) = &mut watch.sampler {
                    BufferHits::ask(sampler.session())?;
                }
            }
        }
        Ok(())
    }

    /// Notes what a recorder asks when segments end.
    fn rehearse_segments(&mut self, statements: &Statements) -> Result<(), ServerError> {
        // Readpath's own statements are found by their texts, which come again where one of them may be new.
        let first = "when the first segment ends, and any before whose end readpath's role sent a statement for the \
                     first time:";
        for when in [first, "when each further segment ends:"] {
            statements.remark(when);
            let question = self.counters_question();
            if let Some(sampler) = &mut self.sampler {
                let answer = question.ask(sampler.session())?;
                self.give_counters(answer);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::tests::SETTINGS;

    #[test]
    fn a_dry_run_says_how_often_each_question_about_traced_reads_is_asked() {
        let (address, statements) = (Address::parse("postgres://me@localhost/shop").unwrap(), Statements::default());
        let settings = Settings { traces_reads: true, ..SETTINGS };
        Watch::rehearse(&address, settings, (statements.clone(), 18), WatchedFor::Profile).unwrap();
        let script = statements.script();
        let place = |part: &str| script.find(part).unwrap_or_else(|| panic!("no {part} in {script}"));
        assert!(place("io_method") < place("50 times a second"), "once");
        // What else is asked takes its time, which is no time of samples.
        let counters = place("pg_stat_statements(false)");
        assert!(place("io_method") < counters && counters < place("50 times a second"), "{script}");
        assert!(place("where I/O workers read the files:") < place("pg_aios"), "{script}");
        assert!(place("pg_aios") < place("whose relation has no name yet:"), "{script}");
        assert!(place("whose relation has no name yet:") < place("pg_filenode_relation"), "{script}");
    }

    #[test]
    fn a_dry_run_says_that_a_recorder_asks_for_counters_with_each_segment_and_a_screen_not_at_all() {
        let script = |watched_for: WatchedFor| {
            let (address, statements) =
                (Address::parse("postgres://me@localhost/shop").unwrap(), Statements::default());
            Watch::rehearse(&address, SETTINGS, (statements.clone(), 18), watched_for).unwrap();
            statements.script()
        };
        let (profile, screen) = (script(WatchedFor::Profile), script(WatchedFor::Screen));
        assert!(profile.contains("at the end:") && profile.contains("pg_stat_statements(true)"), "{profile}");
        assert!(!screen.contains("at the end:") && !screen.contains("pg_stat_statements(true)"), "{screen}");
        assert!(screen.contains("sum(blks_hit)") && !profile.contains("sum(blks_hit)"), "{screen}");
        let recording = script(WatchedFor::Recording);
        assert!(!recording.contains("at the end:") && !recording.contains("sum(blks_hit)"), "{recording}");
        let (first, further) = recording.split_once("when each further segment ends:").unwrap();
        assert!(first.contains("pg_stat_statements(true)"), "{first}");
        assert!(further.contains("pg_stat_statements(false)") && further.contains("active_time"), "{further}");
    }
}
