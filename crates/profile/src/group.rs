//! Statements that are one to whoever asks: the same text but for its literals, the same program, the same table.

use std::collections::HashMap;

use crate::observer::{Statement, StatementIndex};
use crate::tables::{Profile, StatementProfile};

/// Statements with the same key, added up.
#[derive(Clone, Debug, Default)]
pub struct StatementGroup {
    /// What they share.
    pub key: String,
    /// Which they are, in the order of their first lines.
    pub members: Vec<StatementIndex>,
    /// Their sums, under the first member's index. Plans stay with the members: they have different shapes.
    pub profile: StatementProfile,
}

impl Profile {
    /// Adds up the statements that share a key, in the order of their first lines.
    ///
    /// Own sums and waits are exact; inclusive sums count a call twice where a member calls another one.
    pub fn groups(&self, key: impl Fn(&Statement) -> String) -> Vec<StatementGroup> {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut groups: Vec<StatementGroup> = Vec::new();
        for profile in &self.statements {
            let Some(statement) = self.context.statements.get(profile.statement.0 as usize) else {
                continue;
            };
            let key = key(statement);
            let place = *places.entry(key.clone()).or_insert(groups.len());
            if place == groups.len() {
                let statement = profile.statement;
                let first = StatementProfile { statement, ..StatementProfile::default() };
                groups.push(StatementGroup { key, members: Vec::new(), profile: first });
            }
            groups[place].members.push(profile.statement);
            groups[place].profile.merge(profile);
        }
        groups
    }
}

impl StatementProfile {
    /// Adds another statement's sums; its plans stay where they are.
    pub fn merge(&mut self, other: &StatementProfile) {
        for (name, sums) in &other.calls {
            self.calls.entry_or_default(*name).merge(sums);
        }
        for (event, sums) in &other.waits {
            self.waits.entry_or_default(*event).merge(sums);
        }
        for (code, count) in &other.errors {
            *self.errors.entry(*code).or_default() += count;
        }
        self.own += other.own;
        self.inclusive += other.inclusive;
        self.inside += other.inside;
        self.between += other.between;
        self.think_time.merge(&other.think_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Cost;
    use crate::tables::CallSums;
    use crate::ticks::Ticks;

    #[test]
    fn statements_of_one_key_add_up_and_the_others_stay_apart() {
        let mut profile = Profile::default();
        for (place, text) in ["select 1", "update t", "select 2"].into_iter().enumerate() {
            profile.context.statements.push(Statement { text: text.into(), ..Statement::default() });
            let own = Cost { cpu: Some(Ticks(1 + place as i64)), ..Cost::default() };
            let sums = CallSums { calls: 1, own, ..CallSums::default() };
            let statement = StatementIndex(place as u32);
            let calls = [(0, sums)].into_iter().collect();
            profile.statements.push(StatementProfile { statement, calls, own, ..StatementProfile::default() });
        }
        let groups = profile.groups(|statement| statement.text[..6].to_owned());
        assert_eq!(groups.iter().map(|group| &*group.key).collect::<Vec<_>>(), ["select", "update"]);
        assert_eq!(groups[0].members, [StatementIndex(0), StatementIndex(2)]);
        assert_eq!(groups[0].profile.own.cpu, Some(Ticks(4)));
        assert_eq!(groups[0].profile.calls[&0].calls, 2);
    }
}
