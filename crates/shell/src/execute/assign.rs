//! Execution of assignments to variables and arrays.

use crate::bounds::MAX_FIELDS;
use crate::state::{Shell, Stop, Value};
use crate::syntax::{Assigned, Assignment};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Shell {
    /// Carries out one assignment.
    pub(super) async fn assign(&mut self, assignment: &Assignment) -> Result<(), Stop> {
        self.assign_one(assignment).await?;
        if self.options.trace {
            let value = self.text_of(&assignment.name).unwrap_or_default();
            let text = format!("+ {}={value}\n", assignment.name);
            self.write(&self.streams.stderr, "", text.as_bytes()).await?;
        }
        Ok(())
    }

    async fn assign_one(&mut self, assignment: &Assignment) -> Result<(), Stop> {
        let name = assignment.name.as_str();
        match &assignment.value {
            Assigned::List(words) => {
                let words = self.expand_words(words).await?;
                match assignment.append {
                    true => self.append_list(name, words).await,
                    false => self.assign_list(name, words).await,
                }
            }
            Assigned::Text(word) => {
                let mut text = self.expand_text(word).await?;
                let Some(index) = &assignment.index else {
                    if assignment.append
                        && let Some(before) = self.text_of(name)
                    {
                        text.insert_str(0, &before);
                    }
                    return self.assign_text(name, &text).await;
                };
                let Some(index) = self.index_of(name, index).await? else {
                    self.error("", &format!("{name}: bad array subscript")).await;
                    return Err(Stop::Exit(1));
                };
                let mut list = self.list_of(name);
                if assignment.append
                    && let Some(before) = list.get(&index)
                {
                    text.insert_str(0, before);
                }
                if list.len() >= MAX_FIELDS {
                    return Err(self.too_large(name).await);
                }
                Arc::make_mut(&mut list).insert(index, Arc::from(text));
                let set = self.set_value(name, Value::List(list));
                self.refused(set).await
            }
        }
    }

    /// The elements of a variable as an array's.
    fn list_of(&self, name: &str) -> Arc<BTreeMap<u64, Arc<str>>> {
        match self.variables.get(name).and_then(|variable| variable.value.as_ref()) {
            Some(Value::List(list)) => Arc::clone(list),
            Some(Value::Text(text)) => Arc::new(BTreeMap::from([(0, Arc::clone(text))])),
            None => Arc::default(),
        }
    }

    /// Makes a variable an array.
    pub(crate) async fn assign_list(&mut self, name: &str, words: Vec<String>) -> Result<(), Stop> {
        self.extend_list(name, Arc::default(), words).await
    }

    /// Lengthens an array; a text is its first item.
    pub(crate) async fn append_list(&mut self, name: &str, words: Vec<String>) -> Result<(), Stop> {
        let list = self.list_of(name);
        self.extend_list(name, list, words).await
    }

    async fn extend_list(
        &mut self,
        name: &str,
        mut list: Arc<BTreeMap<u64, Arc<str>>>,
        words: Vec<String>,
    ) -> Result<(), Stop> {
        let from = list.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
        if list.len() + words.len() > MAX_FIELDS {
            return Err(self.too_large(name).await);
        }
        let indexed = words.into_iter().enumerate().map(|(at, word)| (from.saturating_add(at as u64), Arc::from(word)));
        Arc::make_mut(&mut list).extend(indexed);
        let set = self.set_value(name, Value::List(list));
        self.refused(set).await
    }

    /// Sets a variable; one that cannot be set ends the script, as in bash.
    pub(crate) async fn assign_text(&mut self, name: &str, text: &str) -> Result<(), Stop> {
        let set = self.set_text(name, text);
        self.refused(set).await
    }

    async fn refused(&mut self, set: Result<(), String>) -> Result<(), Stop> {
        match set {
            Ok(()) => Ok(()),
            Err(why) => {
                self.error("", &why).await;
                Err(Stop::Exit(1))
            }
        }
    }
}
