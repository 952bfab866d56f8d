//! What stands on the terminal: the server, sessions at work over time, and a table of those seconds.

use std::collections::{BTreeMap, HashMap};
use std::iter;
use std::time::Duration;

use jiff::Timestamp;
use measure::quantity::three_digits;
use measure::wait_class::Class;
use profile::source::sampled::{CLIENT, State};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use crate::chart::{AXIS, Chart, Column};
use crate::fit::{first_that_fits, padded, shortened, shortened_line, sign};
use crate::history::History;
use crate::palette::{BOLD, DIM, mark};
use crate::reads;
use crate::second::{Blocked, Second, SessionSums, StatementKey, StatementSums, Unseen};
use crate::sums::Sums;
use crate::view::{PANES, Pane, View};

/// What is known of the server and of the terminal besides the samples.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The server as people name it, with its version.
    pub server: String,
    /// From what the samples are, in a few words.
    pub level: String,
    /// Whether texts of statements stay unseen.
    pub hides_texts: bool,
    /// What the terminal can show.
    pub has_color: bool,
    /// Whether its characters are those of Unicode.
    pub has_unicode: bool,
    /// Why reads of files are not traced, where they are not.
    pub untraced: Option<String>,
    /// Why there are no samples at the moment.
    pub trouble: Option<String>,
}

/// What stands for a statement that is not known, and the least part of the time that it is shown with.
const UNKNOWN_STATEMENT: &str = "(not known)";
const SHOWN_PART: f64 = 0.0005;

/// Cells of the bar that shows a statement's classes.
const BAR: usize = 10;

/// Levels by which the tree of blockers is indented; deeper ones stand at the last.
const LEVELS_MAX: usize = 6;

/// The keys, and fewer of them where there is less room.
const KEYS: [&str; 3] = [
    "q quit  space stop/go  <- -> step  PgUp PgDn  +/- zoom  1-5 tables  ? help",
    "q quit  space stop  1-5 tables  ? help",
    "q quit  ? help",
];

/// The same below the help, where `q` has another meaning.
const KEYS_OF_HELP: [&str; 3] = ["q leave this help  1-5 tables  ^C quit", "q leave this help", "q leave"];

/// Columns from which on the table of sessions has room for user and database, and for the statement.
const USER_WIDTH: usize = 60;
const TEXT_WIDTH: usize = 72;

/// How many columns user and database take.
const WHO_WIDTH: usize = 18;

/// Made for terminals of 80 columns and 24 lines.
const HELP: &[&str] = &[
    "Bars: sessions at work on average, by class; a column is 1, 5, 15 or 60 s.",
    "Tables are of the marked columns: 5 seconds, or one column if it is longer.",
    "",
    "q, ^C       quit                       space, p    stop, and go on",
    "left right  step back and forth        PgUp PgDn   ten columns",
    "Home End    the oldest, the newest     + -         shorter and longer columns",
    "1 2 3 4 5   statements, sessions, waits, blockers, reads   tab  the next table",
    "up down     move the table             ? or h      these lines; q leaves them",
    "",
    "C CPU                  Q waiting for a processor  S stolen by the hypervisor",
    "R single-block reads   M multi-block reads        I other I/O",
    "W commits              L application locks        X concurrency, configuration",
    "N network              O everything else          ? no samples",
    "",
    "% is of the time of all sessions at work; ses. is sessions at work on average.",
    "Who blocks whom is asked twice a second at most. An event as a number, such as",
    "IO:#70, is one whose name the server has not told yet. Sessions of other roles",
    "are unseen until the role of readpath is granted pg_read_all_stats.",
    "The last hour is kept. Nothing is changed on the server.",
];

/// Most lines of the legend, and from which height of a terminal on it may take more than one.
const LEGEND_LINES_MAX: usize = 3;
const LEGEND_HEIGHT_MIN: u16 = 16;

/// Part of the time of sessions at work under which a class is not in the legend.
const LEGEND_PART_MIN: f64 = 0.0005;

/// Holds the lock of a session that was not asked about.
const UNKNOWN_HOLDER: &str = "Holder not known: who blocks whom is asked twice a second at most.";

/// Holds the locks of a prepared transaction: no process has this number.
const PREPARED: u32 = 0;
const PREPARED_HOLDER: &str = "A prepared transaction.";

/// What is drawn at one moment.
pub(crate) struct Drawn<'a> {
    history: &'a History,
    view: &'a View,
    facts: &'a Facts,
    /// The seconds up to the last one that is seen.
    seen: Vec<&'a Second>,
    sums: Sums,
}

impl<'a> Drawn<'a> {
    /// Sums what the view asks for.
    pub(crate) fn new(history: &'a History, view: &'a View, facts: &'a Facts) -> Drawn<'a> {
        let seconds = history.seconds();
        let end = seconds.len() - view.after(seconds.len(), history.ever()).min(seconds.len());
        let seen: Vec<&Second> = seconds.range(..end).collect();
        let begin = seen.len().saturating_sub(view.span());
        let sums = Sums::over(seen[begin..].iter().copied());
        Drawn { history, view, facts, seen, sums }
    }

    /// Draws all of it; the help takes the place of the chart and the tables. Gives the first line of the table that is
    /// seen: keys may have moved it further than it has lines.
    pub(crate) fn draw(&self, frame: &mut Frame<'_>) -> usize {
        let area = frame.area();
        let width = usize::from(area.width);
        let rows = [Constraint::Length(1), Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
        let parts = Layout::vertical(rows).split(area);
        let line = |frame: &mut Frame<'_>, line: Line<'static>, part: Rect| {
            frame.render_widget(Paragraph::new(shortened_line(line, width, self.sign())), part);
        };
        line(frame, self.title(width), parts[0]);
        line(frame, self.headline(width), parts[1]);
        let (keys, first) = match self.view.pane {
            Pane::Help => {
                let lines = HELP.iter().map(|line| shortened_line(Line::from(*line), width, self.sign()));
                let lines: Vec<Line<'_>> = lines.collect();
                frame.render_widget(Paragraph::new(lines), parts[2]);
                (KEYS_OF_HELP, self.view.first)
            }
            _ => (KEYS, self.chart_and_table(frame, parts[2], area.height)),
        };
        let keys = first_that_fits(keys.map(String::from), width, self.sign());
        line(frame, Line::from(keys).style(DIM), parts[3]);
        first
    }

    /// Gives the first line of the table that is seen.
    fn chart_and_table(&self, frame: &mut Frame<'_>, area: Rect, height: u16) -> usize {
        // With the line of marks an odd number: half of the axis is at the top of a line.
        let chart = (height.saturating_sub(8) / 2).clamp(3, 14) | 1;
        let width = usize::from(area.width);
        let fitted = |line: Line<'static>| shortened_line(line, width, self.sign());
        let legend = self.legend(width, if height < LEGEND_HEIGHT_MIN { 1 } else { LEGEND_LINES_MAX });
        let legend_height = u16::try_from(legend.len()).unwrap_or(1);
        let rows = [chart, 1, legend_height, 1].map(Constraint::Length);
        let rows: Vec<Constraint> = rows.into_iter().chain([Constraint::Min(1)]).collect();
        let parts = Layout::vertical(rows).split(area);
        self.chart(usize::from(area.width.saturating_sub(AXIS))).draw(parts[0], frame.buffer_mut());
        frame.render_widget(Paragraph::new(fitted(self.times(area.width))), parts[1]);
        frame.render_widget(Paragraph::new(legend.into_iter().map(fitted).collect::<Vec<_>>()), parts[2]);
        frame.render_widget(Paragraph::new(fitted(self.tabs(width))), parts[3]);
        let (head, lines) = self.table(width);
        let skipped = self.view.first.min(lines.len().saturating_sub(1));
        let seen = head.into_iter().chain(lines.into_iter().skip(skipped)).take(usize::from(parts[4].height));
        frame.render_widget(Paragraph::new(seen.map(fitted).collect::<Vec<_>>()), parts[4]);
        skipped
    }

    /// A class's letter, and its colour where there is some.
    fn mark(&self, class: Class) -> (char, Style) {
        let (letter, color) = mark(class);
        (letter, if self.facts.has_color { Style::default().fg(color) } else { Style::default() })
    }

    /// What ends a text that has no room.
    fn sign(&self) -> &'static str {
        sign(self.facts.has_unicode)
    }

    fn title(&self, width: usize) -> Line<'static> {
        let state = match (&self.facts.trouble, self.view.is_stopped()) {
            (Some(_), _) => "no samples",
            (None, true) => "STOPPED",
            (None, false) => "live",
        };
        let now = self.seen.last().map_or(String::new(), |second| clock(second.ended));
        let right = format!("{now}  {state}");
        let room = width.saturating_sub(right.len() + 1);
        let server = &self.facts.server;
        let address = server.split_once("  ").map_or(server.as_str(), |(address, _)| address);
        let texts = [format!("readpath top  {server}"), server.clone(), address.into()];
        let left = first_that_fits(texts, room, self.sign());
        Line::from(format!("{} {right}", padded(&left, room))).style(BOLD)
    }

    fn headline(&self, width: usize) -> Line<'static> {
        if let Some(trouble) = &self.facts.trouble {
            return Line::from(trouble.clone());
        }
        let without_samples = format!("{} s without samples", three_digits(self.sums.all.lost.as_secs_f64()));
        let Some(active) = self.sums.active() else {
            return Line::from(match self.sums.all.lost.is_zero() {
                true => "Waiting for the first second.".to_string(),
                false => without_samples,
            });
        };
        let seconds = self.sums.all.time.as_secs_f64();
        let (rate, level) = (three_digits(self.sums.all.looks as f64 / seconds), &self.facts.level);
        let lost = match self.sums.all.lost.is_zero() {
            true => String::new(),
            false => format!("; {without_samples}"),
        };
        let unseen = unseen(self.sums.all.unseen);
        let active = three_digits(active);
        let at_work = format!("{active} sessions at work on average of {} s{unseen}{lost}", seconds.round());
        // What matters least goes first where there is no room.
        Line::from(first_that_fits(
            [
                format!("{at_work}  ({rate} samples a second, {level})"),
                format!("{at_work}  ({rate} samples/s, {level})"),
                format!("{at_work}  ({rate} samples/s)"),
                at_work,
                format!("{active} sessions at work{unseen}{lost}"),
            ],
            width,
            self.sign(),
        ))
    }

    fn chart(&self, width: usize) -> Chart {
        let (column, count) = (self.view.column(), self.seen.len());
        // Columns end at the last second that is seen.
        let begins = (1..=width).map(|number| count.saturating_sub(number * column));
        let mut columns: Vec<Column> = Vec::new();
        let mut end = count;
        for begin in begins {
            if end == begin {
                break;
            }
            columns.push(column_of(&self.seen[begin..end]));
            end = begin;
        }
        columns.reverse();
        Chart {
            columns,
            marked: self.view.span().div_ceil(column),
            has_color: self.facts.has_color,
            has_unicode: self.facts.has_unicode,
        }
    }

    /// The time of the first column where the columns begin, that of the last one at the right, and what a column is
    /// where there is room.
    fn times(&self, width: u16) -> Line<'static> {
        let (axis, width, column) = (usize::from(AXIS), usize::from(width.saturating_sub(AXIS)), self.view.column());
        let Some(last) = self.seen.last() else { return Line::default() };
        let columns = self.seen.len().div_ceil(column).min(width);
        let first = self.seen[self.seen.len().saturating_sub((columns * column).max(1))];
        let each = match column {
            1 => "a second each".to_string(),
            column => format!("{column} s each"),
        };
        let unit = format!("sessions at work, {each}");
        let (left, right) = (clock(first.ended), clock(last.ended));
        let begin = (width - columns).min(width.saturating_sub(right.len()));
        let before = first_that_fits([unit.clone(), each.clone(), String::new()], begin.saturating_sub(2), self.sign());
        let room = columns.saturating_sub(right.len() + 1);
        let below = match before.is_empty() {
            true => {
                let texts = [format!("{left}  {unit}"), format!("{left}  {each}"), left, String::new()];
                first_that_fits(texts, room, self.sign())
            }
            false => first_that_fits([left, String::new()], room, self.sign()),
        };
        let rest = width.saturating_sub(begin + right.len());
        Line::from(format!("{:axis$}{before:<begin$}{below:<rest$}{right}", "")).style(DIM)
    }

    /// The classes with their letters, in as many lines of this width as they take, up to `most`.
    fn legend(&self, width: usize, most: usize) -> Vec<Line<'static>> {
        let (mut lines, mut used) = (vec![Vec::new()], 0);
        // What is too little for a mark in the chart needs no letter, and would come and go.
        let seen = self.sums.all.classes.iter().filter(|(_, time)| self.sums.part(*time) >= LEGEND_PART_MIN);
        for (class, time) in seen {
            let (letter, style) = self.mark(*class);
            let text = format!("{} {}", class.title(true), percent(self.sums.part(*time)));
            let length = 2 + text.width();
            if used > 0 && used + length > width && lines.len() < most {
                lines.push(Vec::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                line.push(Span::styled(format!("{letter} "), style.add_modifier(Modifier::BOLD)));
                line.push(Span::raw(format!("{text}  ")));
            }
            used += length + 2;
        }
        lines.into_iter().map(Line::from).collect()
    }

    /// The tables with their keys; where there is no room for all titles, that of the table that is seen.
    fn tabs(&self, width: usize) -> Line<'static> {
        let tab = |key: char, title: &str| format!(" {key} {title} ");
        let whole: usize = PANES.iter().map(|(key, _, title)| tab(*key, title).width() + 1).sum();
        let spans = PANES.map(|(key, pane, title)| {
            let is_seen = pane == self.view.pane;
            let style = if is_seen { Style::default().add_modifier(Modifier::REVERSED) } else { DIM };
            let text = if is_seen || whole <= width + 1 { tab(key, title) } else { format!(" {key} ") };
            [Span::styled(text, style), Span::raw(" ")]
        });
        Line::from(spans.into_iter().flatten().collect::<Vec<_>>())
    }

    /// The head of a table, and its lines.
    fn table(&self, width: usize) -> (Vec<Line<'static>>, Vec<Line<'static>>) {
        let head = |text: &str| vec![Line::from(text.to_string()).style(DIM)];
        match self.view.pane {
            Pane::Help => (Vec::new(), Vec::new()),
            Pane::Statements => (head("    %  ses.  by class    statement"), self.statements()),
            Pane::Sessions => {
                // Processes that serve no client are kept for the table of blockers: their work is not summed.
                let sessions = self.sums.all.sessions.iter().filter(|one| one.backend.kind == CLIENT);
                let lines = sessions.map(|one| self.session(one, width)).collect();
                (head(&session_line(["pid", "user@database", "% busy", "doing", "statement"], width)), lines)
            }
            Pane::Waits => {
                let lines = self.sums.all.events.iter().map(|(event, time)| self.wait(event, *time)).collect();
                (head("    %  ses.  wait event"), lines)
            }
            Pane::Blockers => self.blockers(),
            Pane::Reads => reads::table(&self.sums, self.facts.untraced.as_deref(), width),
        }
    }

    fn sessions(&self, time: Duration) -> String {
        format!("{:.2}", time.as_secs_f64() / self.sums.all.time.as_secs_f64().max(1e-9))
    }

    /// Statements, and at its place among them the time of which none is known: of sessions whose text and identifier
    /// were not seen, and of statements beyond those that a second keeps.
    fn statements(&self) -> Vec<Line<'static>> {
        let all = &self.sums.all.statements;
        let mut lines: Vec<Line<'static>> = all.iter().map(|one| self.statement(one)).collect();
        let unknown = self.sums.working().saturating_sub(all.iter().map(|one| one.time).sum());
        if self.sums.part(unknown) >= SHOWN_PART {
            let part = percent(self.sums.part(unknown));
            let line = format!("{part:>5}  {:>4}  {:BAR$}  {UNKNOWN_STATEMENT}", self.sessions(unknown), "");
            lines.insert(all.partition_point(|one| one.time >= unknown), Line::from(line));
        }
        lines
    }

    fn statement(&self, one: &StatementSums) -> Line<'static> {
        let mut spans =
            vec![Span::raw(format!("{:>5}  {:>4}  ", percent(self.sums.part(one.time)), self.sessions(one.time)))];
        spans.extend(self.bar(one));
        spans.push(Span::raw(format!("  {}", self.text(Some(one.key)))));
        Line::from(spans)
    }

    /// Cells by class, the first of which has the class of most time.
    fn bar(&self, one: &StatementSums) -> Vec<Span<'static>> {
        let (mut cells, mut done) = (0, Duration::ZERO);
        let mut spans = Vec::new();
        for (class, time) in &one.classes {
            done += *time;
            let end = (BAR as f64 * done.as_secs_f64() / one.time.as_secs_f64().max(1e-9)).round() as usize;
            let (letter, style) = self.mark(*class);
            spans.push(Span::styled(letter.to_string().repeat(end.saturating_sub(cells)), style));
            cells = cells.max(end);
        }
        spans.push(Span::raw(" ".repeat(BAR.saturating_sub(cells))));
        spans
    }

    fn session(&self, one: &SessionSums, width: usize) -> Line<'static> {
        let busy = one.time.as_secs_f64() / self.sums.all.time.as_secs_f64().max(1e-9);
        let who = shortened(&format!("{}@{}", one.backend.user, one.backend.database), WHO_WIDTH, self.sign());
        let doing = match (one.state, &one.event) {
            (State::Active, Some(event)) => event.to_string(),
            (State::Active, None) => "CPU".into(),
            (state, _) => state.name().to_string(),
        };
        let (doing, text) = (shortened(&doing, 23, self.sign()), self.text(one.statement));
        Line::from(session_line([&one.backend.pid.to_string(), &who, &percent(busy), &doing, &text], width))
    }

    fn wait(&self, event: &str, time: Duration) -> Line<'static> {
        Line::from(format!("{:>5}  {:>4}  {event}", percent(self.sums.part(time)), self.sessions(time)))
    }

    fn blockers(&self) -> (Vec<Line<'static>>, Vec<Line<'static>>) {
        if self.sums.all.blocked.is_empty() {
            return (vec![Line::from("No session waited for the lock of another.")], Vec::new());
        }
        // Each wait stands below the session at the top of its chain at that time: one that waited is later one that
        // blocks, and what waits for it then does not wait for those that it waited for.
        let mut tops: Vec<Option<u32>> = Vec::new();
        let mut below: HashMap<Option<u32>, Vec<&Blocked>> = HashMap::new();
        for one in &self.sums.all.blocked {
            let waits = below.entry(one.top()).or_default();
            if waits.is_empty() {
                tops.push(one.top());
            }
            waits.push(one);
        }
        let mut lines = Vec::new();
        for top in tops {
            lines.push(Line::from(self.root(top)).style(BOLD));
            self.tree(top, &below.remove(&top).unwrap_or_default(), &mut lines);
        }
        (Vec::new(), lines)
    }

    /// The sessions that waited below one, by time; those that waited for one of them stand under its first line. So
    /// each wait has one line, however the sessions blocked each other in turn.
    fn tree(&self, top: Option<u32>, waits: &[&Blocked], lines: &mut Vec<Line<'static>>) {
        let mut waiters: HashMap<Option<u32>, Vec<&Blocked>> = HashMap::new();
        for one in waits {
            waiters.entry(one.blocker()).or_default().push(one);
        }
        // Those that waited for a session whose own wait has no line stand below the top.
        for from in iter::once(top).chain(waits.iter().map(|one| one.blocker())) {
            let mut open = vec![(waiters.remove(&from).unwrap_or_default().into_iter(), 1)];
            while let Some((next, level)) = open.last_mut() {
                let level: usize = *level;
                let Some(one) = next.next() else {
                    open.pop();
                    continue;
                };
                lines.push(self.waiter(one, level));
                if let Some(below) = waiters.remove(&Some(one.waiter.pid)) {
                    open.push((below.into_iter(), (level + 1).min(LEVELS_MAX)));
                }
            }
        }
    }

    fn waiter(&self, one: &Blocked, level: usize) -> Line<'static> {
        let (time, text) = (three_digits(one.time.as_secs_f64()), self.text(one.statement));
        let indent = 2 * level;
        Line::from(format!("{:indent$}{}  {time} s  {}  {text}", "", one.waiter.label(), one.event))
    }

    fn root(&self, root: Option<u32>) -> String {
        let pid = match root {
            None => return UNKNOWN_HOLDER.into(),
            Some(PREPARED) => return PREPARED_HOLDER.into(),
            Some(pid) => pid,
        };
        match self.sums.all.sessions.iter().find(|one| one.backend.pid == pid) {
            Some(one) => format!("{} ({})  {}", one.backend.label(), one.state.name(), self.text(one.statement)),
            None => pid.to_string(),
        }
    }

    fn text(&self, key: Option<StatementKey>) -> String {
        let Some(key) = key else { return String::new() };
        let known = self.history.text(key).filter(|_| !self.facts.hides_texts);
        known.map_or_else(|| key.to_string(), String::from)
    }
}

/// The classes of some seconds, in their order. Columns are drawn again each second, and those of an hour hold each of
/// its seconds: nothing else of them is added up.
fn column_of(seconds: &[&Second]) -> Column {
    let (mut time, mut classes) = (Duration::ZERO, BTreeMap::<Class, Duration>::new());
    for second in seconds {
        time += second.time;
        second.classes.iter().for_each(|(class, sum)| *classes.entry(*class).or_default() += *sum);
    }
    let time = time.as_secs_f64();
    (time > 0.0).then(|| classes.into_iter().map(|(class, sum)| (class, sum.as_secs_f64() / time)).collect())
}

/// That there are sessions whose work is not seen, where there are some.
fn unseen(Unseen { hidden, silent }: Unseen) -> String {
    let mut said = String::new();
    if hidden > 0 {
        said.push_str(&format!("; {hidden} unseen: GRANT pg_read_all_stats"));
    }
    if silent > 0 {
        said.push_str(&format!("; {silent} with track_activities off"));
    }
    said
}

fn percent(part: f64) -> String {
    match 100.0 * part {
        whole if whole >= 9.95 => format!("{whole:.0} %"),
        small => format!("{small:.1} %"),
    }
}

/// A line of the table of sessions, with as many of its columns as have room.
fn session_line([pid, who, busy, doing, text]: [&str; 5], width: usize) -> String {
    let who = if width >= USER_WIDTH { format!("  {}", padded(who, WHO_WIDTH)) } else { String::new() };
    let text = if width >= TEXT_WIDTH { format!("  {text}") } else { String::new() };
    format!("{pid:>7}{who}  {busy:>6}  {doing:<23}{text}")
}

/// The time of day, UTC as everywhere in readpath.
fn clock(micros: i64) -> String {
    Timestamp::from_microsecond(micros).map_or(String::new(), |at| at.strftime("%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests;
